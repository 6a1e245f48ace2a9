//! Speed beside loom and shuttle: the same programs, in the same minutes, on the same machine.
//!
//! Rates are executions per second of time on a core, which other work on the machine disturbs less
//! than time on the wall; ours are also given by the engine's own clock.

mod arguments;
mod bugs;
mod chart;
mod figures;
mod growth;
mod guided;
mod machine;
mod ours;
mod peers;
mod publish;
mod report;
mod scale;
mod table;
mod targets;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::Outcome;
use arguments::{file, number, seconds};
use figures::Figures;
pub(crate) use report::aligned;

const USAGE: &str = "\
Usage: cargo xtask bench [OPTIONS]

  Ours beside loom and shuttle: rates, bugs and memory, in about a quarter of an hour on two cores.

  --only PART        `rates`, `bugs` or `memory` (repeatable)
  --quick            one round, one seed, half of the time: a minute or two, once everything is built
  --rounds N         measure rates N times; the table has medians [default: 3]; ours is explored three
                     times in each round, with races off and on in turn
  --seconds N        what a peer gets for a program in a round, and memory for each search [default: 1]
  --seeds N          look for bugs N times where chance has a part in it [default: 5]
  --limit N          seconds in which a bug must be found [default: 2]
  --markdown FILE    write the tables as Markdown, too
  --json FILE        write all figures as JSON, too
  --svg FILE         draw them, too
  --publish          write all of that to docs/bench, and the shortest form into the README

  --table bugs       the same as --only bugs
  --table gambit     executions to the bugs of papers, by every way to search (GAMBIT, Table 2):
                     --seconds N for each test, --seeds N, --markdown FILE
  --table guided     median executions to the bugs of a thesis on guided testing, guided and not:
                     --seeds N [default: 50], --executions N [default: 3000], --markdown FILE
  --table scale      one search by 1 and 2 processes, in 1 and 4 parts, and the cost of an execution as
                     the tree grows: --seconds N for the growth [default: 120], --markdown FILE
  --figure memory    memory of the search over time (GAMBIT, Figure 5): --seconds N, --svg FILE
";

/// Programs that loom and shuttle are known for, and larger ones of the same shape, by which rates are
/// compared: ours are done with the small ones before a clock notices.
const COMPARED: [&str; 9] = [
    "fetch_add_2x3",
    "fetch_add_2x9",
    "mutex_3x2",
    "mutex_3x4",
    "condvar_2",
    "condvar_6",
    "mpsc_1x3",
    "mpsc_2x8",
    "lost_update",
];

/// The same schedules in ever longer programs, with the atomic operations of one execution.
const PADDED: [(&str, f64); 4] =
    [("padded_0", 19.0), ("padded_8", 35.0), ("padded_16", 51.0), ("padded_32", 83.0)];

/// All programs whose rates are measured.
fn programs() -> impl Iterator<Item = &'static str> {
    COMPARED.into_iter().chain(PADDED.map(|(program, _)| program))
}

/// A test without its module.
fn short(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// Parts that a run can have.
const PARTS: [&str; 3] = ["rates", "bugs", "memory"];

/// Seconds of each search whose memory is measured, for one second of a peer.
const MEMORY: u64 = 10;

/// What the command line asks for.
struct Options {
    only: Vec<String>,
    rounds: u32,
    time: Duration,
    seeds: u64,
    limit: Duration,
    markdown: Option<String>,
    json: Option<String>,
    svg: Option<String>,
    publish: bool,
}

/// Measures and prints the tables.
pub(crate) fn run(repository: &Path, arguments: &[&str]) -> Outcome {
    match *arguments {
        ["help" | "-h" | "--help"] => {
            eprint!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        ["--table", "bugs", ref options @ ..] => {
            return compare(repository, &Options::parse(&[&["--only", "bugs"], options].concat())?);
        }
        ["--table", "gambit", ref options @ ..] => return table::run(options),
        ["--table", "guided", ref options @ ..] => return guided::run(options),
        ["--table", "scale", ref options @ ..] => return scale::run(options),
        ["--figure", "memory", ref options @ ..] => return growth::run(options),
        _ => {}
    }
    compare(repository, &Options::parse(arguments)?)
}

/// Ours beside the others.
fn compare(repository: &Path, options: &Options) -> Outcome {
    let mut machine = machine::describe(repository)?;
    let command: Vec<String> = std::env::args().skip(1).collect();
    machine.push(("command", format!("cargo xtask {}", command.join(" "))));
    let mut sections = vec![report::facts(&machine)];
    let mut panels = Vec::new();
    let facts = machine.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
    let mut all = json!({ "machine": facts.collect::<serde_json::Map<_, _>>() });
    let (mut figures, mut targets) = (Figures::default(), Vec::new());
    if options.wants("rates") {
        figures = rates(repository, options)?;
        targets = targets::check(&figures);
        panels.push(chart::rates(&figures));
        sections.extend(report::sections(&figures, &targets));
        all["rates"] = report::json(&figures, &targets);
    }
    let mut bugs_at = None;
    if options.wants("bugs") {
        let hunt = bugs::run(repository, options.seeds, options.limit)?;
        panels.push(chart::found(&bugs::curves(&hunt)));
        bugs_at = Some(sections.len());
        sections.extend(bugs::sections(&hunt));
        all["bugs"] = bugs::json(&hunt);
    }
    if options.wants("memory") {
        let curves = growth::measure((options.time.as_secs_f64() * MEMORY as f64) as u64)?;
        panels.push(growth::panel(&curves).into());
        sections.extend(growth::sections(&curves));
        all["memory"] = growth::json(&curves);
    }
    eprint!("{}", report::text(&sections));
    let drawing = chart::drawing(&panels);
    if let (true, Some(bugs)) = (options.publish, bugs_at) {
        let (machine, bugs) = (machine.as_slice(), &sections[bugs]);
        let measured = publish::Measured { machine, figures: &figures, targets: &targets, bugs };
        publish::publish(repository, &sections, &all, &drawing, &measured)?;
    }
    let files = [
        (&options.markdown, report::markdown(&sections)),
        (&options.json, serde_json::to_string_pretty(&all)? + "\n"),
        (&options.svg, drawing),
    ];
    for (file, contents) in files {
        if let Some(file) = file {
            fs::write(file, contents).with_context(|| file.clone())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn rates(repository: &Path, options: &Options) -> Result<Figures> {
    let peers = peers::build(repository)?;
    let mut figures = Figures::default();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        ours::measure(repository, &mut figures)?;
        for tool in peers::TOOLS {
            peers::measure(&peers, tool, options.time, &mut figures)?;
        }
    }
    Ok(figures)
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options {
            only: Vec::new(),
            rounds: 3,
            time: Duration::from_secs(1),
            seeds: 5,
            limit: Duration::from_secs(2),
            markdown: None,
            json: None,
            svg: None,
            publish: false,
        };
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            if name == "--quick" {
                let half = Duration::from_millis(500);
                options = Options { rounds: 1, seeds: 1, time: half, limit: half, ..options };
                continue;
            }
            if name == "--publish" {
                options.publish = true;
                continue;
            }
            let Some(&value) = arguments.next() else {
                bail!("{name} needs a value, or is not known\n{USAGE}");
            };
            match name {
                "--only" if PARTS.contains(&value) => options.only.push(value.to_owned()),
                "--rounds" => options.rounds = number(name, value)?,
                "--seconds" => options.time = seconds(name, value)?,
                "--seeds" => options.seeds = number(name, value)?,
                "--limit" => options.limit = seconds(name, value)?,
                "--markdown" => options.markdown = Some(file(name, value)?),
                "--json" => options.json = Some(file(name, value)?),
                "--svg" => options.svg = Some(file(name, value)?),
                "--table" | "--figure" => {
                    bail!("{name} {value} is not known, or does not come first\n{USAGE}")
                }
                _ => bail!("{name} {value} is not known\n{USAGE}"),
            }
        }
        if options.publish && !options.only.is_empty() {
            bail!("--publish is for whole runs\n{USAGE}");
        }
        Ok(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_limits_are_chosen() {
        let options = Options::parse(&["--quick", "--only", "bugs", "--limit", "0.25"]).unwrap();
        assert!(options.wants("bugs") && !options.wants("rates"));
        assert_eq!((options.seeds, options.limit), (1, Duration::from_millis(250)));
        for mistake in [["--only", "speed"], ["--seeds", "0"], ["--limit", "-1"], ["--table", "gambit"]] {
            assert!(Options::parse(&mistake).is_err(), "{mistake:?}");
        }
    }
}
