//! The package `tests/bench/ours`, explored by the command.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use schedcheck_tests::cli::Schedcheck;
use schedcheck_tests::watch::{Watched, watch};

use super::figures::{End, Figures, Measurement, OURS, WITH_RACES};
use super::programs;

/// How often the time on a core is looked at.
const PERIOD: Duration = Duration::from_millis(2);

/// Shorter runs say nothing about a rate.
const SHORTEST: Duration = Duration::from_millis(50);

/// How often exploring without and with a search for data races take turns in a round. What disturbs one of a program's
/// runs lasts a second or so; the runs of both ways lie beside each other, and there are enough of each that some are
/// undisturbed.
const TURNS: u32 = 3;

/// Explores every program, one after the other, without and with a search for data races, in turn.
pub(super) fn measure(repository: &Path, figures: &mut Figures) -> Result<()> {
    for _ in 0..TURNS {
        measure_as(OURS, "off", repository, figures)?;
        measure_as(WITH_RACES, "on", repository, figures)?;
    }
    Ok(())
}

fn measure_as(tool: &str, races: &str, repository: &Path, figures: &mut Figures) -> Result<()> {
    let folder = repository.join("tests/bench/ours");
    let folder = folder.as_path().try_into().context("a path that is not UTF-8")?;
    let args = ["--all-tests", "-r", "-j", "1", "--no-fail-fast", "--message-format", "json"];
    // Nothing beside the search itself: every execution is of another class.
    let alone = ["--random-runs", "0", "--levels", "off", "--races", races];
    let args = [args.as_slice(), &alone].concat();
    let explorations = watch(Schedcheck::new(folder, &args), PERIOD);
    for program in programs() {
        let test = format!("tests::{program}");
        let Some(exploration) = explorations.iter().find(|watched| watched.finished["test"] == *test) else {
            bail!("the command did not explore {program}");
        };
        figures.add(program, tool, measurement(exploration));
    }
    Ok(())
}

fn measurement(exploration: &Watched) -> Measurement {
    let executions = exploration.number("executions");
    let end = match (exploration.finished["outcome"] == "passed", exploration.finished["complete"] == true) {
        (true, true) => End::Exhausted,
        (true, false) => End::OutOfTime,
        (false, _) => End::Failed,
    };
    let per_second = |time: Duration| match end {
        End::Exhausted | End::OutOfTime if time >= SHORTEST => executions as f64 / time.as_secs_f64(),
        _ => f64::NAN,
    };
    let pending = exploration.number("peak_pending");
    Measurement {
        end,
        executions,
        rate: per_second(exploration.cpu()),
        own_rate: per_second(Duration::from_millis(exploration.number("elapsed_ms"))),
        bytes_per_pending: (pending > 0).then(|| exploration.number("peak_bytes") as f64 / pending as f64),
    }
}
