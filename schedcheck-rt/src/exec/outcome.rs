//! Every way an execution can end.

use super::call_stack::calls_of_user;
use crate::model::Site;
use crate::search::step::{Alt, BudgetKind, ThreadId};
use std::backtrace::Backtrace;
use std::sync::Arc;

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
    },
    /// Two accesses to the same memory that nothing orders, or one to memory that is gone.
    DataRace(DataRace),
    /// A primitive was used in a way it forbids.
    Misuse(String),
    /// The test is done and threads of it are not, where that was asked for.
    Leak(String),
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
    /// The calls that led there, if that is in std and for a report.
    pub(super) calls: Option<Arc<Backtrace>>,
    /// Panics of other threads before it, which may be its cause: who, what, where.
    pub earlier: Vec<String>,
}

impl PanicReport {
    /// Where the user should look: what was called in user code, if std panicked (`queue[0]`, `map(Result::unwrap)`).
    pub fn place(&self) -> Option<(String, u32, u32)> {
        let calls = self.calls.as_deref().map(calls_of_user).unwrap_or_default();
        calls.into_iter().next().map(|call| call.place).or_else(|| self.location.clone())
    }
}

/// A data race, or an access to memory that was freed.
#[derive(Clone, Debug)]
pub struct DataRace {
    /// What happened, in a sentence.
    pub message: String,
    /// What would have ordered the two accesses.
    pub remedy: String,
    /// The two accesses, in the order in which they were executed.
    pub accesses: [RacyAccess; 2],
}

/// One of the two accesses of a race.
#[derive(Clone, Debug)]
pub struct RacyAccess {
    /// Position of its thread in the execution.
    pub thread: usize,
    /// What it does: `read`, `write`, `atomic read`, `atomic write` or `free`.
    pub action: &'static str,
    /// How many bytes.
    pub size: usize,
    /// The last step of its thread before it, or the step that it is.
    pub step: Option<u32>,
    /// Where in the user's code, if that is known.
    pub place: Option<(String, u32, u32)>,
    /// Its calls, innermost first, as `function at file:line:column`.
    pub stack: Vec<String>,
}

/// Nothing can run, and not everything has ended.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The threads that wait for each other in a cycle, if there is one.
    pub cycle: Vec<ThreadId>,
    /// What became of the last notification that a thread could have waited for.
    pub lost_wakeup: Option<LostWakeup>,
    /// Another notification may never have been given.
    pub may_be_missing: bool,
}

/// A notification that did not reach the thread that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWakeup {
    /// It was given before anybody waited.
    Early,
    /// It woke one of several, which waits again.
    Wasted {
        /// Who that was.
        woken: ThreadId,
    },
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

/// What a plan wants of a thread, in words.
pub(super) fn expected_turn(thread: &str, alt: Alt) -> String {
    let does = match alt.budget() {
        None => "runs",
        Some(BudgetKind::Spurious) => "wakes up for no reason",
        Some(BudgetKind::Timeout) => "gives up waiting",
        Some(BudgetKind::Lateness) => "gives up waiting, late",
        Some(BudgetKind::WeakFailure) => "fails to exchange for no reason",
        Some(BudgetKind::Impatience) => "goes on without waiting",
    };
    format!("thread {thread} {does}")
}

/// A source place, in the form reports use.
pub fn place(site: Site) -> (String, u32, u32) {
    (site.file().to_owned(), site.line(), site.column())
}

/// A path from its package on if that comes from cargo's registry: the same on every machine.
pub(super) fn of_package(file: &str) -> &str {
    let registry = file.split_once("/registry/src/").and_then(|(_, below)| below.split_once('/'));
    registry.map_or(file, |(_, file)| file)
}

impl Outcome {
    /// The contract's word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed | Outcome::Abandoned => "passed",
            Outcome::Panicked(_) | Outcome::ExpectationMissed(_) => "panic",
            Outcome::Deadlock(_) => "deadlock",
            Outcome::Livelock { .. } => "livelock",
            Outcome::DataRace(_) => "data-race",
            Outcome::Misuse(_) => "misuse",
            Outcome::Leak(_) => "leak",
            Outcome::Diverged(_) => "nondeterminism",
            Outcome::Crash(_) => "crash",
        }
    }

    /// Whether it is a finding.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Outcome::Passed | Outcome::Abandoned | Outcome::Diverged(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_registry_have_the_same_path_everywhere() {
        let file = "/home/me/.cargo/registry/src/index.crates.io-1949/tokio-1.0.0/src/lib.rs";
        assert_eq!(of_package(file), "tokio-1.0.0/src/lib.rs");
        assert_eq!(of_package("/home/me/shop/src/lib.rs"), "/home/me/shop/src/lib.rs");
    }
}
