//! Executions to each bug of the papers, by every way to search: GAMBIT's Table 2.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use schedcheck_tests::project::Project;
use serde_json::Value;

use super::arguments::Arguments;
use super::report::{aligned, as_markdown};
use super::short;
use crate::Outcome;

/// Nothing but the order of the search: no predictions, no random runs and no levels go along.
const ALONE: &[&str] = &["--hunts", "0", "--random-runs", "0", "--levels", "off"];
const BOUNDED: &[&str] = &["--bound", "2"];

/// The columns with one value: a heading, and the arguments in two parts.
const WAYS: [(&str, &[&str], &[&str]); 7] = [
    ("default", &[], &[]),
    ("DPOR DF", ALONE, &["--priority", "dfs"]),
    ("DPOR BF(pb)", ALONE, &["--priority", "pb"]),
    ("DPOR BF(mdpor,pb)", ALONE, &["--priority", "mdpor,pb"]),
    ("PB(2) DF", BOUNDED, &["--priority", "dfs"]),
    ("PB(2) BF(ss,dpor)", BOUNDED, &["--priority", "ss,dpor"]),
    ("PB(2) BF(ss,mdpor)", BOUNDED, &["--priority", "ss,mdpor"]),
];

/// The columns by several seeds: a heading, the arguments, and after which of [`WAYS`] they stand.
const RANDOM: [(&str, &[&str], usize); 2] = [("DPOR BF(rand)", ALONE, 4), ("PB(2) BF(rand)", BOUNDED, 7)];

/// What became of a test.
#[derive(Clone, Debug)]
struct Verdict {
    outcome: String,
    complete: bool,
    executions: u64,
    milliseconds: u64,
    coverage: String,
}

/// Verdicts by test.
type Verdicts = BTreeMap<String, Verdict>;

struct Options {
    seconds: u64,
    seeds: u64,
    markdown: Option<String>,
}

/// Searches in every way and prints the table.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let options = Options::parse(arguments)?;
    let project = Project::copy_of("gambit");
    let explore = |args: &[&str]| explore(&project, options.seconds, args);
    let mut columns = Vec::new();
    for (at, (heading, args, order)) in WAYS.into_iter().enumerate() {
        eprintln!("{heading}");
        columns.push(single(heading, &explore(&[args, order].concat())?));
        for (heading, args, _) in RANDOM.into_iter().filter(|(.., after)| *after == at + 1) {
            let mut rounds = Vec::new();
            for seed in 1..=options.seeds {
                eprintln!("{heading}, seed {seed}");
                let priority = format!("rand:{seed}");
                rounds.push(explore(&[args, &["--priority", &priority]].concat())?);
            }
            columns.push(spread(heading, &rounds));
        }
    }
    let (unbounded, bounded) = (explore(&[])?, explore(BOUNDED)?);
    let tables = [bugs(&unbounded, &columns), coverage(&unbounded, &bounded)];
    eprint!("{}", tables.iter().map(|rows| aligned(rows) + "\n").collect::<String>());
    if let Some(file) = &options.markdown {
        let text: String = tables.iter().map(|rows| as_markdown(rows) + "\n").collect();
        fs::write(file, text).with_context(|| file.clone())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Explores all tests in one way.
fn explore(project: &Project, seconds: u64, args: &[&str]) -> Result<Verdicts> {
    let limit = format!("{seconds}s");
    let common = ["--all-tests", "--no-fail-fast", "--message-format", "json", "--max-time", &limit];
    let output = project.schedcheck(&[&common, args].concat()).run();
    let verdicts = output.verdicts();
    if verdicts.is_empty() {
        bail!("nothing was explored: {}", output.stderr);
    }
    Ok(verdicts.values().map(|line| (short(text(line, "test")).to_owned(), Verdict::of(line))).collect())
}

fn text<'l>(line: &'l Value, key: &str) -> &'l str {
    line[key].as_str().unwrap_or_default()
}

impl Verdict {
    /// What a `test-finished` line says.
    fn of(line: &Value) -> Verdict {
        let number = |key: &str| line[key].as_u64().unwrap_or_default();
        Verdict {
            outcome: text(line, "outcome").to_owned(),
            complete: line["complete"] == true,
            executions: number("executions"),
            milliseconds: number("elapsed_ms"),
            coverage: text(line, "coverage").to_owned(),
        }
    }
}

/// A column of the table: its headings, and what it says about a test.
type Column = (Vec<String>, Box<dyn Fn(&str) -> Vec<String>>);

fn found(verdicts: &Verdicts, test: &str) -> Option<u64> {
    verdicts.get(test).filter(|verdict| verdict.outcome != "passed").map(|verdict| verdict.executions)
}

fn single(heading: &str, verdicts: &Verdicts) -> Column {
    let verdicts = verdicts.clone();
    let cell = move |test: &str| {
        let complete = verdicts.get(test).is_some_and(|verdict| verdict.complete);
        let missing = if complete { "none" } else { "-" };
        vec![found(&verdicts, test).map_or(missing.to_owned(), |executions| executions.to_string())]
    };
    (vec![heading.to_owned()], Box::new(cell))
}

/// Average, least and most, over the seeds.
fn spread(heading: &str, rounds: &[Verdicts]) -> Column {
    let rounds = rounds.to_vec();
    let cells = move |test: &str| {
        let counts: Vec<Option<u64>> = rounds.iter().map(|verdicts| found(verdicts, test)).collect();
        let least = counts.iter().flatten().min().map_or("-".to_owned(), u64::to_string);
        match counts.iter().copied().collect::<Option<Vec<u64>>>() {
            Some(all) if !all.is_empty() => {
                let average = all.iter().sum::<u64>() / all.len() as u64;
                let most = all.iter().max().map_or(0, |most| *most);
                vec![average.to_string(), least, most.to_string()]
            }
            _ => vec!["-".to_owned(), least, "-".to_owned()],
        }
    };
    (vec![format!("{heading} avg"), "min".to_owned(), "max".to_owned()], Box::new(cells))
}

/// A row for each bug.
fn bugs(verdicts: &Verdicts, columns: &[Column]) -> Vec<Vec<String>> {
    let headings = columns.iter().flat_map(|(headings, _)| headings.clone());
    let mut rows =
        vec![["test", "bug", "default ms"].map(str::to_owned).into_iter().chain(headings).collect()];
    for (test, verdict) in verdicts.iter().filter(|(test, _)| !is_fixed(test)) {
        let begin = [test.clone(), verdict.outcome.clone(), verdict.milliseconds.to_string()];
        rows.push(begin.into_iter().chain(columns.iter().flat_map(|(_, cells)| cells(test))).collect());
    }
    rows
}

/// What is covered of the tests without a bug, with and without a bound.
fn coverage(unbounded: &Verdicts, bounded: &Verdicts) -> Vec<Vec<String>> {
    let mut rows = vec![vec![
        "test without a bug".to_owned(),
        "unbounded".to_owned(),
        "covered".to_owned(),
        "--bound 2".to_owned(),
        "covered".to_owned(),
    ]];
    for (test, free) in unbounded.iter().filter(|(test, _)| is_fixed(test)) {
        let cells = |verdict: &Verdict| {
            let end = if verdict.complete { "complete" } else { "budget" };
            // The limits in brackets are the same for all.
            let covered = verdict.coverage.split(" (").next().unwrap_or_default().to_owned();
            [format!("{} {end}", verdict.executions), covered]
        };
        let limited = bounded.get(test).map_or_else(Default::default, cells);
        rows.push([test.clone()].into_iter().chain(cells(free)).chain(limited).collect());
    }
    rows
}

/// Whether a test is the twin of another one, without its bug.
fn is_fixed(test: &str) -> bool {
    test.ends_with("_fixed")
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options> {
        let arguments = Arguments::read(arguments, &["--seconds", "--seeds", "--markdown"])?;
        Ok(Options {
            seconds: arguments.number("--seconds", 10)?,
            seeds: arguments.number("--seeds", 10)?,
            markdown: arguments.file("--markdown")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(executions: Option<u64>) -> Verdicts {
        let verdict = Verdict {
            outcome: if executions.is_some() { "panic" } else { "passed" }.to_owned(),
            complete: false,
            executions: executions.unwrap_or(99),
            milliseconds: 1,
            coverage: "some schedules (each with …)".to_owned(),
        };
        Verdicts::from([("reorder".to_owned(), verdict)])
    }

    #[test]
    fn a_bug_that_is_not_always_found_has_no_average() {
        let (_, cells) = spread("rand", &[verdicts(Some(4)), verdicts(Some(8))]);
        assert_eq!(cells("reorder"), ["6", "4", "8"]);
        let (_, cells) = spread("rand", &[verdicts(Some(4)), verdicts(None)]);
        assert_eq!(cells("reorder"), ["-", "4", "-"]);
    }

    #[test]
    fn rows_are_the_tests_with_a_bug() {
        let columns = [single("DF", &verdicts(None))];
        let rows = bugs(&verdicts(Some(4)), &columns);
        assert_eq!(rows[1], ["reorder", "panic", "1", "-"]);
        assert!(is_fixed("reorder_fixed"));
    }
}
