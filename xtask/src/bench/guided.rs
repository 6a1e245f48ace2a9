//! Executions to the bugs of a thesis on guided testing, by ways that know where to look and ways that do not.
//!
//! The programs are those of `tests/fixtures/guided`. Each column is the median over many seeds; a bug that
//! fewer than half of the seeds find within the limit has none.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use schedcheck_tests::project::Project;

use super::arguments::Arguments;
use super::report::{aligned, as_markdown};
use super::short;
use crate::Outcome;

/// Without predictions, which only the default is to have.
const ALONE: [&str; 2] = ["--hunts", "0"];

/// The columns: a heading, the arguments, and whether anything in them is random.
const WAYS: [(&str, &[&str], bool); 6] = [
    ("random walk", &["--sample", "walk"], true),
    ("PCT 2", &["--sample", "pct:2"], true),
    ("PCT 3", &["--sample", "pct:3"], true),
    ("PB(2) DF", &["--bound", "2", "--priority", "dfs"], false),
    ("mdpor,pb + seeds", &ALONE, true),
    ("default: predict + confirm", &[], true),
];

const SEQUENCE: &str = "seq,distance";

/// Executions to the bug by test, of one round; a test whose bug was not found is not there.
type Round = BTreeMap<String, u64>;

struct Options {
    seeds: u64,
    executions: u64,
    markdown: Option<String>,
}

/// Searches in every way and prints the table.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let options = Options::parse(arguments)?;
    let project = Project::copy_of("guided");
    let mut columns = Vec::new();
    for (heading, args, random) in WAYS {
        let seeds = if random { options.seeds } else { 1 };
        columns.push((heading, rounds(&project, &options, heading, seeds, args)?));
    }
    let mut along = vec![Round::new(); options.seeds as usize];
    for (family, sequence) in sequences(&project)? {
        let args = [&ALONE[..], &["--priority", SEQUENCE, "--seq", &sequence, &family]].concat();
        let heading = format!("{SEQUENCE}: {family}");
        let family = rounds(&project, &options, &heading, options.seeds, &args)?;
        along.iter_mut().zip(family).for_each(|(all, round)| all.extend(round));
    }
    columns.push((SEQUENCE, along));
    let rows = table(&columns);
    eprint!("{}", aligned(&rows));
    if let Some(file) = &options.markdown {
        fs::write(file, as_markdown(&rows)).with_context(|| file.clone())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rounds(
    project: &Project,
    options: &Options,
    heading: &str,
    seeds: u64,
    args: &[&str],
) -> Result<Vec<Round>> {
    eprintln!("{heading}");
    (1..=seeds).map(|seed| round(project, options, seed, args)).collect()
}

/// Explores all tests with a bug once.
fn round(project: &Project, options: &Options, seed: u64, args: &[&str]) -> Result<Round> {
    let (limit, seed) = (options.executions.to_string(), seed.to_string());
    let common = ["--all-tests", "--no-fail-fast", "--message-format", "json", "--skip", "_fixed"];
    let limits = ["--max-executions", &limit, "--max-time", "10m", "--seed", &seed];
    let output = project.schedcheck(&[&common, &limits[..], args].concat()).run();
    if !matches!(output.code, 0 | 100) {
        bail!("nothing was explored: {}", output.stderr);
    }
    let failures = output.verdicts().into_values().filter(|verdict| verdict["outcome"] != "passed");
    let found = failures.map(|verdict| {
        let test = verdict["test"].as_str().unwrap_or_default();
        (short(test).to_owned(), verdict["executions"].as_u64().unwrap_or_default())
    });
    Ok(found.collect())
}

/// The places that comments `// seq: FAMILY NUMBER` mark, as a sequence for each family.
fn sequences(project: &Project) -> Result<Vec<(String, String)>> {
    let mut places: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    for entry in fs::read_dir(project.path.join("src"))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (line, text) in fs::read_to_string(&path)?.lines().enumerate() {
            let Some((_, marks)) = text.split_once("// seq: ") else { continue };
            for mark in marks.split(", ") {
                let (family, number) = mark.split_once(' ').context("`seq: FAMILY NUMBER`")?;
                let place = format!("src/{file}:{}", line + 1);
                places.entry(family.to_owned()).or_default().insert(number.trim().parse()?, place);
            }
        }
    }
    let joined = |places: BTreeMap<u32, String>| places.into_values().collect::<Vec<_>>().join(" -> ");
    Ok(places.into_iter().map(|(family, places)| (family, joined(places))).collect())
}

/// A row for each test that was found in some way.
fn table(columns: &[(&str, Vec<Round>)]) -> Vec<Vec<String>> {
    let mut tests: Vec<&String> =
        columns.iter().flat_map(|(_, rounds)| rounds.iter().flat_map(BTreeMap::keys)).collect();
    tests.sort();
    tests.dedup();
    let headings = columns.iter().map(|(heading, _)| (*heading).to_owned());
    let mut rows = vec![["test".to_owned()].into_iter().chain(headings).collect::<Vec<_>>()];
    for test in tests {
        let cells = columns.iter().map(|(_, rounds)| {
            median(rounds, test).map_or_else(|| "-".to_owned(), |executions| executions.to_string())
        });
        rows.push([test.clone()].into_iter().chain(cells).collect());
    }
    rows
}

/// The middle one of all rounds, those without a finding last.
fn median(rounds: &[Round], test: &str) -> Option<u64> {
    let mut all: Vec<u64> = rounds.iter().map(|round| round.get(test).copied().unwrap_or(u64::MAX)).collect();
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2).copied().filter(|&executions| executions < u64::MAX)
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options> {
        let arguments = Arguments::read(arguments, &["--seeds", "--executions", "--markdown"])?;
        Ok(Options {
            seeds: arguments.number("--seeds", 50)?,
            executions: arguments.number("--executions", 3000)?,
            markdown: arguments.file("--markdown")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_that_most_seeds_miss_has_no_median() {
        let round = |executions: Option<u64>| executions.map(|n| ("a".to_owned(), n)).into_iter().collect();
        let rounds = |all: &[Option<u64>]| all.iter().map(|one| round(*one)).collect::<Vec<Round>>();
        assert_eq!(median(&rounds(&[Some(9), Some(1), Some(4)]), "a"), Some(4));
        assert_eq!(median(&rounds(&[Some(9), None, Some(4)]), "a"), Some(9));
        assert_eq!(median(&rounds(&[None, None, Some(4)]), "a"), None);
    }
}
