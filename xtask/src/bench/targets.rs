//! What the figures should be.

use super::figures::{End, Figures, OURS};

/// A target and whether it is reached; `None` if it was not measured.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) what: String,
    pub(super) wanted: String,
    pub(super) measured: String,
    pub(super) reached: Option<bool>,
}

/// By these, rates are compared: large enough for a clock.
pub(super) const RATED: [&str; 4] = ["fetch_add_2x9", "mutex_3x4", "condvar_6", "mpsc_2x8"];

/// Programs of which the number of happens-before classes is known.
const CLASSES: [(&str, u64); 4] =
    [("fetch_add_2x3", 20), ("fetch_add_2x9", 48_620), ("mutex_3x2", 90), ("mutex_3x4", 34_650)];

const WITH_BUG: &str = "lost_update";

const TIMES_SHUTTLE: f64 = 3.0;
const TIMES_LOOM: f64 = 25.0;
const NANOSECONDS_PER_OPERATION: f64 = 60.0;
const NANOSECONDS_PER_EXECUTION: f64 = 1000.0;
const EXECUTIONS_TO_THE_BUG: u64 = 3;
const BYTES_PER_PENDING: f64 = 64.0;
const TIMES_WITH_RACES: f64 = 2.0;

/// Compares the figures with the targets.
pub(super) fn check(figures: &Figures) -> Vec<Target> {
    let mut targets = Vec::new();
    for (peer, name, wanted) in [("shuttle", "shuttle's best", TIMES_SHUTTLE), ("loom", "loom", TIMES_LOOM)] {
        for program in RATED {
            let ratio = figures.ratio(program, peer);
            targets.push(Target {
                what: format!("rate on {program} beside {name}"),
                wanted: format!("at least {wanted} times"),
                measured: ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2} times")),
                reached: ratio.map(|ratio| ratio >= wanted),
            });
        }
    }
    let costs = figures.costs(OURS);
    targets.push(at_most("ns per visible operation", costs.map(|(_, each)| each), NANOSECONDS_PER_OPERATION));
    targets.push(at_most("ns fixed per execution", costs.map(|(fixed, _)| fixed), NANOSECONDS_PER_EXECUTION));
    targets.extend(RATED.map(|program| {
        let cost = figures.cost_of_races(program).map(|cost| cost.fastest);
        Target {
            what: format!("time on {program} with races on"),
            wanted: format!("less than {TIMES_WITH_RACES} times"),
            measured: cost.map_or("-".to_owned(), |cost| format!("{cost:.2} times")),
            reached: cost.map(|cost| cost < TIMES_WITH_RACES),
        }
    }));
    targets.extend(CLASSES.map(|(program, classes)| count(figures, program, classes)));
    let found = figures.cell(WITH_BUG, OURS);
    let found = found.first().filter(|found| found.end == End::Failed).map(|found| found.executions as f64);
    targets.push(at_most("executions until the lost update", found, EXECUTIONS_TO_THE_BUG as f64));
    let fringe = figures.cell(RATED[0], OURS).first().and_then(|measurement| measurement.bytes_per_pending);
    targets.push(at_most("bytes of the search per pending execution", fringe, BYTES_PER_PENDING));
    targets
}

fn count(figures: &Figures, program: &str, classes: u64) -> Target {
    let cell = figures.cell(program, OURS);
    let exhausted = cell.first().filter(|measurement| measurement.end == End::Exhausted);
    Target {
        what: format!("executions to exhaust {program}"),
        wanted: format!("{classes}"),
        measured: exhausted.map_or("-".to_owned(), |measurement| measurement.executions.to_string()),
        reached: Some(exhausted.is_some_and(|measurement| measurement.executions == classes)),
    }
}

fn at_most(what: &str, measured: Option<f64>, limit: f64) -> Target {
    Target {
        what: what.to_owned(),
        wanted: format!("at most {limit}"),
        measured: measured.map_or("-".to_owned(), |measured| format!("{measured:.0}")),
        reached: measured.map(|measured| measured <= limit),
    }
}
