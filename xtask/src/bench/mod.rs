//! Speed beside loom and shuttle: the same programs, in the same minutes, on the same machine.
//!
//! Rates are executions per second of time on a core, which other work on the machine disturbs less
//! than time on the wall; ours are also given by the engine's own clock.

mod figures;
mod growth;
mod guided;
mod machine;
mod ours;
mod peers;
mod report;
mod scale;
mod table;
mod targets;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use figures::Figures;
pub(crate) use report::aligned;

const USAGE: &str = "\
Usage: cargo xtask bench [OPTIONS]

  --rounds N         repeat everything N times; the table has medians [default: 3]
  --seconds N        what a peer gets for a program in a round [default: 1]
  --markdown FILE    write the table as Markdown, too
  --json FILE        write all figures as JSON, too

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
    [("padded_0", 17.0), ("padded_8", 33.0), ("padded_16", 49.0), ("padded_32", 81.0)];

/// What the command line asks for.
struct Options {
    rounds: u32,
    time: Duration,
    markdown: Option<String>,
    json: Option<String>,
}

/// Measures and prints the table.
pub(crate) fn run(repository: &Path, arguments: &[&str]) -> Outcome {
    match *arguments {
        ["--table", "gambit", ref options @ ..] => return table::run(options),
        ["--table", "guided", ref options @ ..] => return guided::run(options),
        ["--table", "scale", ref options @ ..] => return scale::run(options),
        ["--figure", "memory", ref options @ ..] => return growth::run(options),
        _ => {}
    }
    let options = Options::parse(arguments)?;
    let peers = peers::build(repository)?;
    let mut figures = Figures::default();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        ours::measure(repository, &mut figures)?;
        for tool in peers::TOOLS {
            peers::measure(&peers, tool, options.time, &mut figures)?;
        }
    }
    let machine = machine::describe(repository)?;
    let targets = targets::check(&figures);
    eprint!("{}", report::text(&machine, &figures, &targets));
    if let Some(file) = &options.markdown {
        fs::write(file, report::markdown(&machine, &figures, &targets)).with_context(|| file.clone())?;
    }
    if let Some(file) = &options.json {
        let json = serde_json::to_string_pretty(&report::json(&machine, &figures, &targets))?;
        fs::write(file, json + "\n").with_context(|| file.clone())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options { rounds: 3, time: Duration::from_secs(1), markdown: None, json: None };
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            let Some(&value) = arguments.next() else {
                bail!("{name} needs a value, or is not known\n{USAGE}");
            };
            match name {
                "--rounds" => options.rounds = value.parse().context("--rounds")?,
                "--seconds" => {
                    let seconds = value.parse().context("--seconds")?;
                    options.time = Duration::try_from_secs_f64(seconds).context("--seconds")?;
                }
                "--markdown" => options.markdown = Some(value.to_owned()),
                "--json" => options.json = Some(value.to_owned()),
                _ => bail!("{name} is not known\n{USAGE}"),
            }
        }
        Ok(options)
    }
}
