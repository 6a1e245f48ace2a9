//! Runs a body outside and inside an execution.

pub(crate) mod exhaust;
pub(crate) mod explore;

use schedcheck_rt::exec::outcome::Outcome;
use schedcheck_rt::exec::{Execution, Test, TestResult, outside};
use schedcheck_rt::search::step::{Access, Alt, Choice, Delta, Model, NO_STEP, Plan, ThreadId, Trace};
use std::cell::Cell;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

thread_local! {
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// While one test executes, another must not use facades: they would take part in the execution.
pub(crate) fn alone() -> impl Drop {
    struct Alone(Option<MutexGuard<'static, ()>>);
    impl Drop for Alone {
        fn drop(&mut self) {
            if self.0.is_some() {
                IS_ALONE.set(false);
            }
        }
    }
    let guard = if IS_ALONE.replace(true) {
        None
    } else {
        Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    };
    Alone(guard)
}

static REPORTED: Mutex<String> = Mutex::new(String::new());

/// Called by a body: what it found out.
pub(crate) fn report(found: impl std::fmt::Debug) {
    let text = format!("{found:?}");
    outside(|| text.as_str().clone_into(&mut REPORTED.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// What the body of the last execution reported.
pub(crate) fn reported() -> String {
    REPORTED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The same, or the word for its failure.
pub(crate) fn result_of(execution: &Execution) -> String {
    match execution.outcome().word() {
        "passed" => reported(),
        word => word.to_owned(),
    }
}

/// Numbers that look random and are the same every time: a linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// "At this step this thread takes this alternative."
pub(crate) type Turn = (u32, u16, Alt);

/// Executes `body` with default behaviour but for `turns`.
pub(crate) fn execute(body: fn() -> TestResult, turns: &[Turn]) -> (Trace, Outcome) {
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 10_000);
    let deltas = turns
        .iter()
        .map(|(step, thread, alt)| Delta {
            step: *step,
            choice: Choice { thread: ThreadId(*thread), alt: *alt },
        })
        .collect();
    let mut trace = Trace::default();
    execution.run(&Plan { deltas, prefix: 0 }, None, &mut trace);
    (trace, execution.outcome().clone())
}

/// Executes `body`, which must pass.
pub(crate) fn passes(body: fn() -> TestResult, turns: &[Turn]) -> Trace {
    let (trace, outcome) = execute(body, turns);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}\n{}", show(&trace));
    trace
}

/// The promise holds as plain std and under control, also with any single preemption.
pub(crate) fn promised(body: fn() -> TestResult) {
    let _alone = alone();
    body().expect("holds outside an execution");
    passes(body, &[]);
    for (step, thread) in exhaust::preemptions(body) {
        let (trace, outcome) = execute(body, &[(step, thread.0, Alt::DEFAULT)]);
        let passed = matches!(outcome, Outcome::Passed);
        assert!(passed, "preempted at {step} by {thread:?}: {outcome:?}\n{}", show(&trace));
    }
}

/// A trace, a line per step.
pub(crate) fn show(trace: &Trace) -> String {
    let mut text = String::new();
    let access = |access: &Access| format!("{}:{:?}", access.object.0 as i32, access.mode);
    for (step, event) in trace.events.iter().enumerate() {
        let accesses: Vec<_> = event.accesses.iter().map(access).collect();
        let _ = write!(text, "{step:3} thread {} {}", event.thread.0, accesses.join(" "));
        if event.enabler != NO_STEP {
            let _ = write!(text, " after {}", event.enabler);
        }
        let _ = writeln!(text, " alternative {} of {}", event.alt.0, event.free_alts);
    }
    text
}
