//! Time and executions to the bugs of the GAMBIT table: ours beside loom, shuttle and plain repetition.
//!
//! All tools run the same sources, `tests/fixtures/gambit`. Ours explores them as they are; for the others
//! `tests/bench/suite` compiles them with the peer's synchronisation in the place of std's. Each attempt is one
//! process with a limit of time. A tool that also fails the twin without the bug has found nothing.

mod attempt;
mod ours;
mod table;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::figures::OURS;
use attempt::{Peer, Suite};
pub(super) use table::{curves, json, sections};

/// What became of one attempt to find a bug.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Finding {
    Found {
        executions: u64,
        seconds: f64,
    },
    /// The tool is done and says that there is no bug.
    Missed {
        executions: u64,
    },
    OutOfTime {
        executions: u64,
    },
    /// The tool gave up because an execution was too long.
    StepLimit {
        executions: u64,
        seconds: f64,
    },
    /// The tool cannot run the program, for this reason.
    Unsupported(&'static str),
    Crashed(String),
}

/// A way to search, with its peer; ours has none.
pub(super) struct Way {
    pub(super) tool: &'static str,
    peer: Peer,
    /// What the peer calls it.
    name: &'static str,
    random: bool,
}

const WAYS: [Way; 8] = [
    Way { tool: "shuttle random", peer: Peer::Shuttle, name: "random", random: true },
    Way { tool: "shuttle PCT 2", peer: Peer::Shuttle, name: "pct 2", random: true },
    Way { tool: "shuttle PCT 3", peer: Peer::Shuttle, name: "pct 3", random: true },
    Way { tool: "shuttle URW", peer: Peer::Shuttle, name: "urw", random: true },
    Way { tool: "shuttle DFS", peer: Peer::Shuttle, name: "dfs", random: false },
    Way { tool: "loom", peer: Peer::Loom, name: "full", random: false },
    Way { tool: "loom, bound 2", peer: Peer::Loom, name: "bound 2", random: false },
    Way { tool: "native stress", peer: Peer::Native, name: "stress", random: true },
];

/// All tools in the order of the table.
fn tools() -> impl Iterator<Item = &'static str> {
    [OURS].into_iter().chain(WAYS.iter().map(|way| way.tool))
}

/// Everything that was tried.
#[derive(Default)]
pub(super) struct Hunt {
    /// Attempts by test and tool, one for each seed.
    attempts: BTreeMap<(String, &'static str), Vec<Finding>>,
    /// What ours says that each bug is.
    kinds: BTreeMap<String, String>,
    /// What a tool says about the twin without the bug, if that is wrong.
    false_alarms: BTreeMap<(String, &'static str), String>,
    seeds: u64,
    limit: Duration,
}

/// One attempt that is still to be made.
#[derive(Clone, Copy)]
struct Job<'a> {
    test: &'a str,
    way: &'static Way,
    seed: u64,
}

/// Lets every tool look for every bug, several times where chance has a part in it.
pub(super) fn run(repository: &Path, seeds: u64, limit: Duration) -> Result<Hunt> {
    let suite = Suite::build(repository)?;
    let mut hunt = Hunt { seeds, limit, ..Hunt::default() };
    ours::explore(&mut hunt)?;
    let bugs: Vec<String> = hunt.kinds.keys().cloned().collect();
    eprintln!("loom, shuttle and native stress: {} bugs", bugs.len());
    let of = |way: &'static Way| {
        let rounds = if way.random { seeds } else { 1 };
        bugs.iter().flat_map(move |test| (1..=rounds).map(move |seed| Job { test, way, seed }))
    };
    for (job, finding) in carry_out(&suite, limit, WAYS.iter().flat_map(of).collect()) {
        hunt.attempts.entry((job.test.to_owned(), job.way.tool)).or_default().push(finding);
    }
    eprintln!("the twins without a bug");
    let found = |test: &str, tool| {
        let findings = hunt.attempts.get(&(test.to_owned(), tool));
        findings.is_some_and(|all| all.iter().any(|finding| finding.is_failure()))
    };
    let twins = suite.twins();
    let mut jobs = Vec::new();
    for way in &WAYS {
        for twin in &twins {
            let mut of_this = bugs.iter().filter(|bug| twin_of(bug, &twins) == Some(twin));
            if of_this.any(|bug| found(bug, way.tool)) {
                jobs.push(Job { test: twin, way, seed: 1 });
            }
        }
    }
    for (job, finding) in carry_out(&suite, limit.min(Duration::from_secs(1)), jobs) {
        let Some(alarm) = finding.alarm() else { continue };
        for bug in bugs.iter().filter(|bug| twin_of(bug, &twins).is_some_and(|twin| twin == job.test)) {
            hunt.false_alarms.insert((bug.clone(), job.way.tool), alarm.clone());
        }
    }
    Ok(hunt)
}

/// Makes the attempts on all cores; those that need the cores for themselves after the others.
fn carry_out<'a>(suite: &Suite, limit: Duration, jobs: Vec<Job<'a>>) -> Vec<(Job<'a>, Finding)> {
    let (native, peers): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.way.peer == Peer::Native);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut findings = Vec::new();
    for (jobs, workers) in [(peers, cores), (native, 1)] {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let finding = suite.attempt(job.way.peer, job.way.name, job.test, job.seed, limit);
                        done.lock().expect("adding does not panic").push((job, finding));
                    }
                });
            }
        });
        findings.extend(done.into_inner().expect("adding does not panic"));
    }
    findings
}

/// The test without the bug: `reorder_fixed` for `reorder_4_1`.
fn twin_of<'a>(bug: &str, twins: &'a [String]) -> Option<&'a String> {
    let stem = |twin: &str| twin.strip_suffix("_fixed").map(str::to_owned);
    let matching = twins.iter().filter(|twin| stem(twin).is_some_and(|stem| bug.starts_with(&stem)));
    matching.max_by_key(|twin| twin.len())
}

impl Finding {
    fn is_failure(&self) -> bool {
        matches!(self, Finding::Found { .. } | Finding::StepLimit { .. })
    }

    /// What is wrong with this finding in a program without a bug.
    fn alarm(&self) -> Option<String> {
        match self {
            Finding::Found { executions, .. } => Some(format!("fails the twin, at execution {executions}")),
            Finding::StepLimit { .. } => Some("runs into its limit of steps in the twin".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_the_twin_that_is_most_like_it() {
        let twins = ["bag::bag_1_fixed", "bag::bag_2_fixed", "order::reorder_fixed"].map(str::to_owned);
        assert_eq!(twin_of("bag::bag_2", &twins), Some(&twins[1]));
        assert_eq!(twin_of("order::reorder_4_1", &twins), Some(&twins[2]));
        assert_eq!(twin_of("other::test", &twins), None);
    }
}
