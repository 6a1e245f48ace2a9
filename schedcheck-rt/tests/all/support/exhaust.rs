//! All executions of a small body, without any reduction, and their classes.
//!
//! The modes and enablers that the model reports are claims about which steps commute. Here they are
//! checked: swapping two neighbouring steps that are claimed to commute must be possible and must
//! lead to the same result.

use super::{alone, report, result_of, show};
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::search::step::{
    Access, Alt, Choice, Decision, Event, Guide, Mode, Model, NO_STEP, ObjectId, Pending, Plan, StepIndex,
    ThreadId, Trace,
};
use std::collections::{BTreeMap, BTreeSet};

/// What all executions of a body amount to.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Classes of orders that differ only in steps that commute.
    pub(crate) classes: usize,
    /// Every result that was reported, or the word for a failure.
    pub(crate) results: BTreeSet<String>,
}

/// Clocks and modes of all steps, by thread: equal for executions of one class.
type Signature = BTreeMap<u16, Vec<(Alt, [u8; 2], Vec<u32>)>>;

#[derive(Default)]
struct Follow {
    /// `None` for a time-out that is forced because nothing else can happen.
    choices: Vec<Option<Choice>>,
    /// After the choices, default behaviour instead of the first thread.
    by_default: bool,
    /// Time-outs, spurious wake-ups and weak failures that may still be taken, together.
    budget: usize,
    branches: Vec<Vec<Choice>>,
    impossible: bool,
}

impl Follow {
    fn possible(&self, pending: &[Pending]) -> Vec<Choice> {
        let mut all = Vec::new();
        for op in pending {
            let costly = op.costly_alts.alternatives().filter(|_| self.budget > 0);
            let default = op.enabled.then_some(Alt::DEFAULT);
            all.extend(default.into_iter().chain(costly).map(|alt| Choice { thread: op.thread, alt }));
        }
        all
    }
}

impl Guide for Follow {
    fn choose(&mut self, step: StepIndex, _: Option<ThreadId>, pending: &[Pending]) -> Decision {
        let possible = self.possible(pending);
        // A step that touches nothing commutes with everything: no other order is needed.
        let is_local = |op: &&Pending| op.enabled && op.accesses == [Access::NONE; 2];
        let branches = match pending.iter().find(is_local) {
            Some(op) if !self.by_default => vec![Choice { thread: op.thread, alt: Alt::DEFAULT }],
            _ if pending.iter().any(|op| op.enabled) => possible.clone(),
            _ => Vec::new(),
        };
        let first = branches.first().filter(|_| !self.by_default).copied();
        self.branches.push(branches);
        let Some(choice) = self.choices.get(step as usize).copied().unwrap_or(first) else {
            return Decision::Default;
        };
        if !possible.contains(&as_branch(choice)) {
            self.impossible = true;
            return Decision::Stop;
        }
        Decision::Take(choice)
    }

    fn executed(&mut self, _: StepIndex, event: &Event) {
        if event.alt.budget().is_some() && !event.forced {
            self.budget -= 1;
        }
    }
}

/// A choice without its free alternative.
fn as_branch(choice: Choice) -> Choice {
    let alt = if choice.alt.budget().is_none() { Alt::DEFAULT } else { choice.alt };
    Choice { alt, ..choice }
}

struct Run {
    trace: Trace,
    branches: Vec<Vec<Choice>>,
    result: String,
    impossible: bool,
}

fn run(execution: &mut Execution, choices: Vec<Option<Choice>>, by_default: bool, budget: usize) -> Run {
    report("nothing");
    let mut guide = Follow { choices, by_default, budget, ..Follow::default() };
    let mut trace = Trace::default();
    execution.run(&Plan::default(), Some(&mut guide), &mut trace);
    let result = result_of(execution);
    Run { trace, branches: guide.branches, result, impossible: guide.impossible }
}

fn commute(a: Mode, b: Mode) -> bool {
    let class = |mode| match mode {
        Mode::Read | Mode::Await => 1,
        Mode::Mark => 2,
        Mode::AcquireShared | Mode::TryAcquireShared | Mode::ReleaseShared => 3,
        _ => 0,
    };
    a == Mode::None || b == Mode::None || class(a) != 0 && class(a) == class(b)
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
    for event in &trace.events {
        let mut clock = vec![0; threads];
        for (earlier, (other, known)) in trace.events.iter().zip(&clocks).enumerate() {
            if event.enabler == earlier as u32
                || other.thread == event.thread
                || event.forced
                || other.forced
                || dependent(&event.accesses, &other.accesses)
            {
                clock.iter_mut().zip(known).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
        }
        clock[event.thread.0 as usize] += 1;
        clocks.push(clock.clone());
        let modes = event.accesses.map(|access| access.mode as u8);
        by_thread.entry(event.thread.0).or_default().push((event.alt, modes, clock));
    }
    by_thread
}

fn choices(trace: &Trace) -> Vec<Option<Choice>> {
    let choice = |event: &Event| Choice { thread: event.thread, alt: event.alt };
    trace.events.iter().map(|event| (!event.forced).then(|| choice(event))).collect()
}

/// The places where default behaviour could have been preempted, and by whom.
pub(crate) fn preemptions(body: fn() -> TestResult) -> Vec<(StepIndex, ThreadId)> {
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let run = run(&mut execution, Vec::new(), true, 0);
    let steps = run.trace.events.iter().zip(&run.branches).enumerate();
    steps
        .flat_map(|(step, (event, enabled))| {
            enabled
                .iter()
                .map(|choice| choice.thread)
                .filter(|thread| *thread != event.thread)
                .map(move |thread| (step as u32, thread))
        })
        .collect()
}

/// Runs every order of `body` and checks that steps commute as claimed.
pub(crate) fn exhaust(body: fn() -> TestResult) -> Summary {
    exhaust_within(body, 0)
}

/// The same with up to `budget` time-outs, spurious wake-ups and weak failures.
pub(crate) fn exhaust_within(body: fn() -> TestResult, budget: usize) -> Summary {
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let mut classes: BTreeMap<Signature, String> = BTreeMap::new();
    let mut results = BTreeSet::new();
    let mut executions = 0;
    let mut plan = Vec::new();
    // Alternatives may be offered late, so any execution through a step counts.
    let mut offered: Vec<u16> = Vec::new();
    loop {
        offered.truncate(plan.len());
        let this = run(&mut execution, plan, false, budget);
        executions += 1;
        assert!(executions < 200_000, "too large for a test without reduction");
        results.insert(this.result.clone());
        match classes.insert(signature(&this.trace), this.result.clone()) {
            Some(seen) => assert_eq!(seen, this.result, "one class, one result:\n{}", show(&this.trace)),
            None => check_swaps(&mut execution, &this, budget),
        }
        offered.resize(this.trace.events.len().max(offered.len()), 0);
        for (offered, event) in offered.iter_mut().zip(&this.trace.events) {
            *offered = event.free_alts.max(*offered);
        }
        match next(&this, &offered) {
            Some(next) => plan = next,
            None => return Summary { classes: classes.len(), results },
        }
    }
}

/// The next order, depth first: another alternative of the last step that has one, or another thread.
fn next(run: &Run, offered: &[u16]) -> Option<Vec<Option<Choice>>> {
    let mut choices = choices(&run.trace);
    while let Some(last) = choices.pop() {
        let step = choices.len();
        let Some(last) = last else { continue };
        if last.alt.budget().is_none() && last.alt.0 + 1 < offered[step] {
            choices.push(Some(Choice { alt: Alt(last.alt.0 + 1), ..last }));
            return Some(choices);
        }
        let at = run.branches[step].iter().position(|branch| *branch == as_branch(last))?;
        if let Some(branch) = run.branches[step].get(at + 1) {
            choices.push(Some(*branch));
            return Some(choices);
        }
    }
    None
}

fn check_swaps(execution: &mut Execution, run_before: &Run, budget: usize) {
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
        let after = run(execution, swapped, false, budget);
        let told = || format!("steps {} and {step} were to commute:\n{}", step - 1, show(&run_before.trace));
        assert!(!after.impossible, "{}", told());
        assert_eq!(after.result, run_before.result, "{}", told());
        let same = signature(&after.trace) == signature(&run_before.trace);
        assert!(same, "{}\nswapped:\n{}", told(), show(&after.trace));
    }
}
