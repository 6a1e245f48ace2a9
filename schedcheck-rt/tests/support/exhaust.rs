//! All executions of a small body, without any reduction, and their classes.
//!
//! The modes and enablers that the model reports are claims about which steps commute. Here they are
//! checked: swapping two neighbouring steps that are claimed to commute must be possible and must
//! lead to the same result.

use super::{alone, show};
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::search::step::{
    Access, Alt, Choice, Decision, Event, Guide, Mode, Model, NO_STEP, ObjectId, Pending, Plan, StepIndex,
    ThreadId, Trace,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

static RESULT: Mutex<String> = Mutex::new(String::new());

/// Called by a body: what it found out.
pub fn report(found: impl std::fmt::Debug) {
    *RESULT.lock().unwrap_or_else(PoisonError::into_inner) = format!("{found:?}");
}

/// What all executions of a body amount to.
#[derive(Debug)]
pub struct Summary {
    /// Executions, one per order.
    pub executions: usize,
    /// Classes of orders that differ only in steps that commute.
    pub classes: usize,
    /// Every result that was reported, or the word for a failure.
    pub results: BTreeSet<String>,
}

/// Clocks and modes of all steps, by thread: equal for executions of one class.
type Signature = BTreeMap<u16, Vec<(Alt, [u8; 2], Vec<u32>)>>;

#[derive(Default)]
struct Follow {
    choices: Vec<Choice>,
    /// After the choices, default behaviour instead of the first thread.
    by_default: bool,
    branches: Vec<Vec<ThreadId>>,
    impossible: bool,
}

impl Guide for Follow {
    fn choose(&mut self, step: StepIndex, _: Option<ThreadId>, pending: &[Pending]) -> Decision {
        let possible = || pending.iter().filter(|op| op.enabled);
        // A step that touches nothing commutes with everything: no other order is needed.
        let local = possible().find(|op| op.accesses == [Access::NONE; 2]).filter(|_| !self.by_default);
        let branches: Vec<_> = local.map_or_else(|| possible().collect(), |op| vec![op]);
        self.branches.push(branches.iter().map(|op| op.thread).collect());
        let first = branches.first().filter(|_| !self.by_default);
        let first = first.map(|op| Choice { thread: op.thread, alt: Alt::DEFAULT });
        let Some(choice) = self.choices.get(step as usize).copied().or(first) else {
            return Decision::Default;
        };
        if !possible().any(|op| op.thread == choice.thread) {
            self.impossible = true;
            return Decision::Stop;
        }
        Decision::Take(choice)
    }

    fn executed(&mut self, _: StepIndex, _: &Event) {}
}

struct Run {
    trace: Trace,
    branches: Vec<Vec<ThreadId>>,
    result: String,
    impossible: bool,
}

fn run(execution: &mut Execution, choices: Vec<Choice>, by_default: bool) -> Run {
    report("nothing");
    let mut guide = Follow { choices, by_default, ..Follow::default() };
    let mut trace = Trace::default();
    execution.run(&Plan::default(), Some(&mut guide), &mut trace);
    let outcome = execution.outcome();
    let result = match outcome.word() {
        "passed" => RESULT.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        word => word.to_owned(),
    };
    Run { trace, branches: guide.branches, result, impossible: guide.impossible }
}

fn commute(a: Mode, b: Mode) -> bool {
    let class = |mode| match mode {
        Mode::Read | Mode::Await => 1,
        Mode::Mark => 2,
        Mode::AcquireShared | Mode::TryAcquireShared | Mode::ReleaseShared => 3,
        _ => 0,
    };
    class(a) != 0 && class(a) == class(b)
}

fn dependent(a: &[Access; 2], b: &[Access; 2]) -> bool {
    a.iter().any(|x| {
        b.iter().any(|y| x.object == y.object && x.object != ObjectId::NONE && !commute(x.mode, y.mode))
    })
}

fn signature(trace: &Trace) -> Signature {
    let threads = trace.events.iter().map(|event| event.thread.0 as usize + 1).max().unwrap_or(0);
    let mut clocks: Vec<Vec<u32>> = Vec::new();
    let mut by_thread: Signature = BTreeMap::new();
    for (step, event) in trace.events.iter().enumerate() {
        let mut clock = vec![0; threads];
        for earlier in 0..step {
            let other = &trace.events[earlier];
            if event.enabler == earlier as u32
                || other.thread == event.thread
                || event.forced
                || other.forced
                || dependent(&event.accesses, &other.accesses)
            {
                clock
                    .iter_mut()
                    .zip(&clocks[earlier])
                    .for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
        }
        clock[event.thread.0 as usize] += 1;
        clocks.push(clock.clone());
        let modes = event.accesses.map(|access| access.mode as u8);
        by_thread.entry(event.thread.0).or_default().push((event.alt, modes, clock));
    }
    by_thread
}

fn choices(trace: &Trace) -> Vec<Choice> {
    trace.events.iter().map(|event| Choice { thread: event.thread, alt: event.alt }).collect()
}

/// The places where default behaviour could have been preempted, and by whom.
pub fn preemptions(body: fn() -> TestResult) -> Vec<(StepIndex, ThreadId)> {
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let run = run(&mut execution, Vec::new(), true);
    let steps = run.trace.events.iter().zip(&run.branches).enumerate();
    steps
        .flat_map(|(step, (event, enabled))| {
            enabled.iter().filter(|thread| **thread != event.thread).map(move |thread| (step as u32, *thread))
        })
        .collect()
}

/// Runs every order of `body` and checks that steps commute as claimed.
pub fn exhaust(body: fn() -> TestResult) -> Summary {
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let mut classes: BTreeMap<Signature, String> = BTreeMap::new();
    let mut results = BTreeSet::new();
    let mut executions = 0;
    let mut plan: Vec<Choice> = Vec::new();
    loop {
        let this = run(&mut execution, plan, false);
        executions += 1;
        assert!(executions < 200_000, "too large for a test without reduction");
        results.insert(this.result.clone());
        match classes.insert(signature(&this.trace), this.result.clone()) {
            Some(seen) => assert_eq!(seen, this.result, "one class, one result:\n{}", show(&this.trace)),
            None => check_swaps(&mut execution, &this),
        }
        match next(&this) {
            Some(next) => plan = next,
            None => return Summary { executions, classes: classes.len(), results },
        }
    }
}

/// The next order, depth first: another alternative of the last step that has one, or another thread.
fn next(run: &Run) -> Option<Vec<Choice>> {
    let mut choices = choices(&run.trace);
    while let Some(last) = choices.pop() {
        let step = choices.len();
        let event = &run.trace.events[step];
        if event.forced {
            continue;
        }
        if last.alt.0 + 1 < event.free_alts {
            choices.push(Choice { alt: Alt(last.alt.0 + 1), ..last });
            return Some(choices);
        }
        let at = run.branches[step].iter().position(|thread| *thread == last.thread)?;
        if let Some(thread) = run.branches[step].get(at + 1) {
            choices.push(Choice { thread: *thread, alt: Alt::DEFAULT });
            return Some(choices);
        }
    }
    None
}

fn check_swaps(execution: &mut Execution, run_before: &Run) {
    let events = &run_before.trace.events;
    for step in 1..events.len() {
        let (first, second) = (&events[step - 1], &events[step]);
        let claimed = first.thread != second.thread
            && !first.forced
            && !second.forced
            && (second.enabler == NO_STEP || second.enabler as usize != step - 1)
            && !dependent(&first.accesses, &second.accesses);
        if !claimed {
            continue;
        }
        let mut swapped = choices(&run_before.trace);
        swapped.swap(step - 1, step);
        let after = run(execution, swapped, false);
        let told = || format!("steps {} and {step} were to commute:\n{}", step - 1, show(&run_before.trace));
        assert!(!after.impossible, "{}", told());
        assert_eq!(after.result, run_before.result, "{}", told());
        let same = signature(&after.trace) == signature(&run_before.trace);
        assert!(same, "{}\nswapped:\n{}", told(), show(&after.trace));
    }
}
