//! Many executions of one test: the memory of its process stays what it was.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use schedcheck_tests::cli::Schedcheck;
use schedcheck_tests::watch::{Sample, watch};

use crate::bench::aligned;

/// Few happens-before classes, which the search may remember, in more schedules than are executed; depth
/// first, few of them are pending at a time.
const TEST: &str = "tests::mutex_3x4";

const PERIOD: Duration = Duration::from_secs(1);

/// The rows of the table.
const ROWS: usize = 24;

/// How much the second half of the time may add, as a part of what there was.
const GROWTH: f64 = 0.05;

/// So few bytes that a single allocation may add them.
const NOTHING: u64 = 64 << 10;

/// Says whether memory stayed flat.
pub(super) fn run(repository: &Path, millions: u64) -> Result<bool> {
    let folder = repository.join("tests/bench/ours");
    let folder = folder.as_path().try_into().context("a path that is not UTF-8")?;
    let executions = (millions * 1_000_000).to_string();
    let args = [
        "--all-tests",
        "-r",
        "--exact",
        TEST,
        "--reduction",
        "none",
        "--priority",
        "dpor",
        "--message-format",
        "json",
    ];
    let limits = ["--max-time", "10h", "--max-executions", &executions];
    let explorations = watch(Schedcheck::new(folder, &[&args[..], &limits[..]].concat()), PERIOD);
    let [exploration] = &explorations[..] else {
        bail!("one test was to be explored, not {}", explorations.len());
    };
    let samples = &exploration.samples;
    eprintln!("{}", table(samples));
    let (Some(middle), Some(last)) = (samples.get(samples.len() / 2), samples.last()) else {
        bail!("too short to see anything");
    };
    let growth = last.resident as f64 / middle.resident as f64 - 1.0;
    eprintln!(
        "{} executions, {} happens-before classes; the second half added {:.1} % to {} KiB",
        exploration.number("executions"),
        exploration.number("traces"),
        growth * 100.0,
        middle.resident / 1024,
    );
    Ok(growth <= GROWTH || last.resident <= middle.resident + NOTHING)
}

fn table(samples: &[Sample]) -> String {
    let mut rows = vec![["seconds", "executions", "KiB resident"].map(str::to_owned).to_vec()];
    for sample in samples.iter().step_by(samples.len().div_ceil(ROWS).max(1)) {
        let seconds = sample.at.as_secs().to_string();
        rows.push(vec![seconds, sample.executions.to_string(), (sample.resident / 1024).to_string()]);
    }
    aligned(&rows)
}
