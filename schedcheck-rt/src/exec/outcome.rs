//! Every way an execution can end.

use crate::model::Site;
use crate::search::step::ThreadId;

/// How one execution ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The test did what it promises.
    Passed,
    /// An assumption of the test did not hold, or the guide stopped it: says nothing.
    Abandoned,
    /// A panic that nobody handled.
    Panicked(PanicReport),
    /// The test was to panic and did not, or not as it should.
    ExpectationMissed(String),
    /// Threads wait for each other, or for something that will never happen.
    Deadlock(Deadlock),
    /// The execution goes on for ever although every thread gets its turn.
    Livelock {
        /// How many steps it had taken.
        steps: u32,
        /// Its state repeats, as opposed to: it reached the step limit.
        repeats: bool,
    },
    /// A primitive was used in a way it forbids.
    Misuse(String),
    /// The plan asked for something that was not possible.
    Diverged(Divergence),
    /// The process received a fatal signal or ended while the test ran.
    Crash(String),
}

/// A panic, as its hook saw it.
#[derive(Clone, Debug)]
pub struct PanicReport {
    /// Whose.
    pub thread: ThreadId,
    /// What it said.
    pub message: String,
    /// Where.
    pub location: Option<(String, u32, u32)>,
    /// Panics of other threads before it, which may be its cause: who, what, where.
    pub earlier: Vec<String>,
}

/// Nothing can run, and not everything has ended.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The threads that wait for each other in a cycle, if there is one.
    pub cycle: Vec<ThreadId>,
    /// A notification was given before its waiter waited.
    pub lost_wakeup: bool,
}

/// The first step at which a plan could not be followed.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The step.
    pub step: u32,
    /// What the plan wanted.
    pub expected: String,
    /// What was there.
    pub found: String,
}

/// A source place, in the form reports use.
pub fn place(site: Site) -> (String, u32, u32) {
    (site.file().to_owned(), site.line(), site.column())
}

impl Outcome {
    /// The contract's word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed | Outcome::Abandoned => "passed",
            Outcome::Panicked(_) | Outcome::ExpectationMissed(_) => "panic",
            Outcome::Deadlock(_) => "deadlock",
            Outcome::Livelock { .. } => "livelock",
            Outcome::Misuse(_) => "misuse",
            Outcome::Diverged(_) => "nondeterminism",
            Outcome::Crash(_) => "crash",
        }
    }

    /// Whether it is a finding.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Outcome::Passed | Outcome::Abandoned | Outcome::Diverged(_))
    }
}
