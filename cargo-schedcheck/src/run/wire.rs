//! What a test binary under control sends us: one JSON object per line on its stdout.
//!
//! Fields may be missing (an older engine) or unknown (a newer one); only what the command cannot do without is required.
use std::collections::BTreeMap;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

/// One line of a child.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ChildEvent {
    /// One test of the binary, in answer to `do list`.
    Test(ListedTest),
    /// The end of the list.
    Listed,
    /// The child has read its request and begins.
    Started(Started),
    /// A sign of life, several times a second.
    Progress(Progress),
    /// A schedule failed; the child makes it shorter and executes it again before it tells.
    Failing,
    /// Something that was predicted, and what became of it.
    Prediction(Prediction),
    /// The verdict; nothing follows.
    Finished(Box<Finished>),
    /// The child cannot do what it was asked to; nothing follows.
    Refused {
        #[serde(default)]
        message: String,
    },
    /// Something the user should know; the search goes on.
    Warning {
        #[serde(default)]
        message: String,
    },
    /// What became of parts of a search that were to be joined.
    Merged(Merged),
    #[serde(other)]
    Unknown,
}

/// A search that was put together from parts.
#[derive(Clone, Debug, Deserialize)]
pub struct Merged {
    pub executions: u64,
    pub traces: u64,
    /// Schedules that are known and still to be executed.
    pub pending: u64,
    pub complete: bool,
    /// How many parts there are in all.
    pub parts: u64,
    /// Those that were not there.
    pub missing: Vec<u64>,
}

/// A test as the harness knows it.
#[derive(Clone, Debug, Deserialize)]
pub struct ListedTest {
    pub name: String,
    /// It carries `#[schedcheck]`.
    #[serde(default)]
    pub marked: bool,
    #[serde(default)]
    pub ignored: bool,
    /// The arguments of the attribute: `bound=2;max_time=10s`.
    #[serde(default)]
    pub options: String,
}

/// The arguments of an attribute, as names of settings and values.
pub fn arguments(attribute: &str) -> impl Iterator<Item = (String, &str)> {
    let pairs = attribute.split(';').filter_map(|argument| argument.split_once('='));
    pairs.map(|(name, value)| (name.replace('_', "-"), value))
}

/// What the child has decided before it begins.
#[derive(Debug, Default, Deserialize)]
pub struct Started {
    /// The time budget, which the test's own attribute may have set.
    pub max_time_ms: Option<u64>,
}

/// How far a search is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Progress {
    pub executions: u64,
    pub traces: u64,
    pub pending: u64,
    /// Executions in all, as far as can be told.
    pub estimate: Option<f64>,
    /// It is hardly outside of this range.
    pub estimate_low: Option<f64>,
    pub estimate_high: Option<f64>,
    pub bound_done: Option<u32>,
    pub elapsed_ms: u64,
    /// By number of preemptions: schedules done, and known but still to be done.
    pub levels: Vec<(u64, u64)>,
    /// Memory of the search, now.
    pub bytes: u64,
    /// The part of it that is no part of the execution tree: points that a bounded search remembers.
    pub remembered_bytes: u64,
    /// Nodes that it would need with one for each step; not told every time.
    pub step_nodes: Option<u64>,
    pub peak_pending: u64,
    pub peak_bytes: u64,
}

/// Something that may go wrong, derived from schedules that passed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prediction {
    pub kind: PredictionKind,
    pub verdict: PredictionVerdict,
    /// Schedules that were directed at it.
    #[serde(default)]
    pub hunts: u64,
    /// In the order in which they would be executed.
    #[serde(default)]
    pub places: Vec<Suspect>,
}

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PredictionKind {
    LockOrder,
    Atomicity,
    AtomicityOfTwo,
    LostWakeup,
    Conflict,
    #[serde(other)]
    Unknown,
}

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PredictionVerdict {
    /// A schedule that was directed at it failed.
    Confirmed,
    /// Nobody knows.
    NotReproduced,
    /// All schedules pass.
    Refuted,
}

/// One place of a prediction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suspect {
    /// The path of the thread.
    pub thread: String,
    /// What the thread is called; empty where no execution of the process that tells it had the thread.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub op: String,
    pub site: Location,
}

/// Every way the exploration of a test ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Passed,
    Deadlock,
    Panic,
    Livelock,
    DataRace,
    Misuse,
    Crash,
    Nondeterminism,
    Leak,
}

impl Outcome {
    /// Its name in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Deadlock => "deadlock",
            Self::Panic => "panic",
            Self::Livelock => "livelock",
            Self::DataRace => "data-race",
            Self::Misuse => "misuse",
            Self::Crash => "crash",
            Self::Nondeterminism => "nondeterminism",
            Self::Leak => "leak",
        }
    }
}

/// A place in the source, relative to the package or absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    pub line: usize,
    #[serde(default)]
    pub column: usize,
}

/// The verdict on a test and everything needed to explain and repeat it.
#[derive(Clone, Debug, Deserialize)]
pub struct Finished {
    pub outcome: Outcome,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub executions: u64,
    /// Other runs of the test body, of schedules that had been executed before: to see that they do the same.
    #[serde(default)]
    pub repeats: u64,
    #[serde(default)]
    pub traces: u64,
    #[serde(default)]
    pub complete: bool,
    #[serde(default)]
    pub bound_done: Option<u32>,
    /// The bound that was asked for.
    #[serde(default)]
    pub bound: Option<u32>,
    #[serde(default)]
    pub preemptions: u64,
    #[serde(default)]
    pub steps: u64,
    #[serde(default)]
    pub location: Option<Location>,
    /// The thread that failed, where one did: an index into `threads`.
    #[serde(default)]
    pub thread: Option<usize>,
    #[serde(default)]
    pub elapsed_ms: u64,
    /// Schedules that are known and were not executed.
    #[serde(default)]
    pub pending: Option<u64>,
    #[serde(default)]
    pub peak_pending: u64,
    #[serde(default)]
    pub peak_bytes: u64,
    /// A deadlock because a wake-up came before the wait for it, or to another thread.
    #[serde(default)]
    pub lost_wakeup: bool,
    #[serde(default)]
    pub schedule: Option<Schedule>,
    #[serde(default)]
    pub threads: Vec<Thread>,
    #[serde(default)]
    pub trace: Vec<Step>,
    #[serde(default)]
    pub blocked: Vec<Blocked>,
    /// Threads that wait for each other: each for the next, the last for the first.
    #[serde(default)]
    pub cycle: Vec<usize>,
    /// The two accesses of a data race, in the order in which they were executed.
    #[serde(default)]
    pub accesses: Vec<RacyAccess>,
    /// What would have ordered them.
    #[serde(default)]
    pub remedy: Option<String>,
    /// What the test printed in the failing schedule.
    #[serde(default)]
    pub output: String,
    /// Things the engine met but does not control.
    #[serde(default)]
    pub uncontrolled: Vec<String>,
    /// What was covered, as one sentence.
    #[serde(default)]
    pub coverage: String,
    /// Stands for the set of happens-before classes that were executed.
    #[serde(default)]
    pub trace_set: String,
    /// A replay that could not follow its file.
    #[serde(default)]
    pub diverged: Option<Diverged>,
    /// A replay whose decisions were found at other steps than recorded.
    #[serde(default)]
    pub carried_over: bool,
    /// Remarks for people.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What was predicted; told before the verdict, one by one.
    #[serde(skip)]
    pub predictions: Vec<Prediction>,
}

impl Finished {
    /// Drops places in the engine's own sources: they mean nothing to users.
    pub fn forget_engine_places(&mut self) {
        let forget = |place: &mut Option<Location>| {
            if place.as_ref().is_some_and(|place| place.file.starts_with("schedcheck-engine/src/")) {
                *place = None;
            }
        };
        forget(&mut self.location);
        self.trace.iter_mut().for_each(|step| forget(&mut step.site));
        self.blocked.iter_mut().for_each(|blocked| forget(&mut blocked.site));
        self.accesses.iter_mut().for_each(|access| forget(&mut access.site));
        let ours = |suspect: &Suspect| suspect.site.file.starts_with("schedcheck-engine/src/");
        self.predictions.retain(|prediction| !prediction.places.iter().any(ours));
    }

    /// Shows files below `root`, the folder that rustc was started in, as rustc does.
    pub fn shorten_places(&mut self, root: &Utf8Path) {
        let accesses = self.accesses.iter_mut().map(|access| &mut access.site);
        let waits = self.blocked.iter_mut().map(|blocked| &mut blocked.site);
        let places = accesses.chain(waits).chain([&mut self.location]).flatten();
        let steps = self.trace.iter_mut().flat_map(|step| {
            let within = step.within.as_mut().map(|within| &mut within.site);
            step.site.iter_mut().chain(within)
        });
        for place in places.chain(steps) {
            if let Ok(shorter) = Utf8Path::new(&place.file).strip_prefix(root) {
                place.file = shorter.to_string();
            }
        }
        let below = format!(" at {root}/");
        let calls = self.accesses.iter_mut().flat_map(|access| &mut access.stack);
        for call in calls.chain(&mut self.uncontrolled) {
            *call = call.replace(&below, " at ");
        }
    }

    /// A verdict that the child itself could not give.
    pub fn without_child(outcome: Outcome, message: String, last: &Progress) -> Self {
        Self {
            outcome,
            message,
            executions: last.executions,
            repeats: 0,
            traces: last.traces,
            complete: false,
            bound_done: last.bound_done,
            bound: None,
            preemptions: 0,
            steps: 0,
            location: None,
            thread: None,
            elapsed_ms: last.elapsed_ms,
            pending: Some(last.pending),
            peak_pending: last.peak_pending,
            peak_bytes: last.peak_bytes,
            lost_wakeup: false,
            schedule: None,
            threads: Vec::new(),
            trace: Vec::new(),
            blocked: Vec::new(),
            cycle: Vec::new(),
            accesses: Vec::new(),
            remedy: None,
            output: String::new(),
            uncontrolled: Vec::new(),
            coverage: String::new(),
            trace_set: String::new(),
            diverged: None,
            carried_over: false,
            notes: Vec::new(),
            predictions: Vec::new(),
        }
    }
}

/// A schedule as differences from the default behaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Of the sequence of operations.
    #[serde(default)]
    pub fingerprint: String,
    #[serde(default)]
    pub steps: u64,
    /// The text of the lines it points at, by `file:line`: they may move. Only in files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lines: BTreeMap<String, String>,
    #[serde(default)]
    pub deltas: Vec<Delta>,
}

/// One choice that differs from the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    pub step: u64,
    /// Path of the thread: `0` is the test's own, `0.2` the second one it spawned.
    pub thread: String,
    #[serde(default = "zero")]
    pub alt: String,
    #[serde(default)]
    pub op: String,
    #[serde(default)]
    pub site: String,
    #[serde(default)]
    pub nth: u64,
    /// What the default would have been; nothing where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Point>,
}

/// A step by names that survive edits elsewhere: the `nth` time that a thread does an operation at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub thread: String,
    pub op: String,
    pub site: String,
    pub nth: u64,
}

fn zero() -> String {
    "0".to_owned()
}

/// A thread of the failing schedule.
#[derive(Clone, Debug, Deserialize)]
pub struct Thread {
    pub path: String,
    #[serde(default)]
    pub name: String,
}

/// One step of the failing schedule.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    #[serde(default)]
    pub step: u64,
    /// Index into [`Finished::threads`].
    pub thread: usize,
    pub op: String,
    #[serde(default)]
    pub object: Option<String>,
    #[serde(default)]
    pub site: Option<Location>,
    #[serde(default)]
    pub preemption: bool,
    /// Which way an operation with several outcomes went: `0` is the usual one.
    #[serde(default = "zero")]
    pub alt: String,
    #[serde(default)]
    pub note: Option<String>,
    /// What the user's own code called, if a dependency does this step.
    #[serde(default)]
    pub within: Option<Within>,
}

/// A call of a dependency.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Within {
    /// The function, as its caller names it.
    pub call: String,
    pub site: Location,
}

impl Step {
    /// Whether it went the usual way: not woken for no reason, not timed out, not failed for no reason.
    pub fn takes_default(&self) -> bool {
        self.alt == "0"
    }
}

/// One access of a data race.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RacyAccess {
    /// Index into [`Finished::threads`].
    pub thread: usize,
    /// `read`, `write`, `atomic read`, `atomic write` or `free`.
    pub action: String,
    /// How many bytes.
    #[serde(default)]
    pub size: u64,
    /// The last step of its thread before it, or the step that it is.
    #[serde(default)]
    pub step: Option<u64>,
    #[serde(default)]
    pub site: Option<Location>,
    /// The calls of user code that led to it, innermost first.
    #[serde(default)]
    pub stack: Vec<String>,
}

/// A thread that waits forever.
#[derive(Clone, Debug, Deserialize)]
pub struct Blocked {
    /// Index into [`Finished::threads`].
    pub thread: usize,
    pub op: String,
    #[serde(default)]
    pub object: Option<String>,
    #[serde(default)]
    pub site: Option<Location>,
    /// The thread that holds what this one waits for.
    #[serde(default)]
    pub holder: Option<usize>,
    /// Whom the last notification woke, if this one has missed it.
    #[serde(default)]
    pub notified: Option<Notified>,
    /// The step in which another thread locked the mutex that this one gave up to wait, nobody having notified since.
    #[serde(default)]
    pub unheard_change: Option<u64>,
}

/// Whom a notification woke.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notified {
    /// It was too early.
    Nobody,
    /// A thread that waits again; index into [`Finished::threads`].
    Woken(usize),
}

/// Where a replay left its file.
#[derive(Clone, Debug, Deserialize)]
pub struct Diverged {
    pub step: u64,
    #[serde(default)]
    pub expected: String,
    #[serde(default)]
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outcome_of_a_verdict_is_required() {
        let event: ChildEvent =
            serde_json::from_str(r#"{"event":"finished","outcome":"data-race","new":1}"#).unwrap();
        let ChildEvent::Finished(finished) = event else { panic!("{event:?}") };
        assert_eq!(finished.outcome, Outcome::DataRace);
        assert!(serde_json::from_str::<ChildEvent>(r#"{"event":"finished"}"#).is_err());
    }

    #[test]
    fn events_of_a_newer_engine_are_tolerated() {
        let event: ChildEvent = serde_json::from_str(r#"{"event":"checkpoint","at":3}"#).unwrap();
        assert!(matches!(event, ChildEvent::Unknown));
    }
}
