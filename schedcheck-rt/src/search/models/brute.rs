//! The truth about a toy program, by enumeration.
//!
//! Three times: over happens-before prefixes, which gives the set of classes; over states, which
//! knows nothing of dependence and so checks that the classes lose no final state; and, for tiny
//! programs, over whole schedules one by one, which takes no two points for the same.

use super::super::history::History;
use super::super::step::*;
use super::toy::{Program, State};
use rustc_hash::{FxHashMap, FxHashSet};

/// Everything a program can do.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Signature of every class and the fewest preemptions that lead to it.
    pub(crate) classes: FxHashMap<u64, u32>,
    /// Final states reached by classes, and by plain enumeration of states.
    pub(crate) finals: FxHashSet<u64>,
    pub(crate) finals_by_state: FxHashSet<u64>,
    /// Prefix classes, times the thread that ran last.
    pub(crate) points: usize,
}

/// The possible choices in a state, and whether they are forced time-outs.
fn choices(state: &State<'_>, budget: Budget) -> Vec<(Choice, bool)> {
    let pending = state.pending();
    let quiescent = !pending.iter().any(|p| p.enabled);
    let forced = State::forced_timeout(&pending).filter(|_| quiescent);
    let mut all = Vec::new();
    let held = state.held();
    for p in pending.iter().filter(|p| held.is_none_or(|held| held == p.thread)) {
        if p.enabled {
            let alts = state.free_alts(p.thread).max(1);
            all.extend((0..alts).map(|alt| (Choice { thread: p.thread, alt: Alt(alt) }, false)));
        }
        for alt in p.costly_alts.alternatives() {
            let choice = Choice { thread: p.thread, alt };
            let kind = alt.budget().expect("costly");
            if forced == Some(p.thread) && alt == Alt::TIMEOUT {
                all.push((choice, true));
            } else if budget.allows(kind, state.used) {
                all.push((choice, false));
            }
        }
    }
    all
}

/// Whether an execution cannot end here. Costly alternatives need not be taken.
fn must_go_on(choices: &[(Choice, bool)]) -> bool {
    choices.iter().any(|(choice, forced)| *forced || choice.alt.budget().is_none())
}

/// Enumerates; `None` if there is more than `limit`.
pub(crate) fn truth(program: &Program, budget: Budget, limit: usize) -> Option<Truth> {
    let mut truth = Truth::default();
    let mut history = History::default();
    let mut trace = Trace::default();
    // Fewest preemptions to each prefix class and last thread.
    let mut best: FxHashMap<(u64, Option<ThreadId>), u32> = FxHashMap::default();
    let mut open = vec![(State::new(program), Vec::<Event>::new())];
    while let Some((state, events)) = open.pop() {
        let options = choices(&state, budget);
        if !must_go_on(&options) {
            trace.events.clone_from(&events);
            history.read(&trace);
            let least = truth.classes.entry(history.signature()).or_insert(u32::MAX);
            *least = (*least).min(state.preemptions);
            truth.finals.insert(state.fingerprint());
        }
        for (choice, forced) in options {
            let mut next = state.clone();
            let event = next.step(choice, forced);
            let mut events = events.clone();
            events.push(event);
            trace.events.clone_from(&events);
            history.read(&trace);
            let key = (history.signature(), Some(choice.thread));
            let least = best.entry(key).or_insert(u32::MAX);
            if next.preemptions < *least {
                *least = next.preemptions;
                open.push((next, events));
            }
            if best.len() > limit {
                return None;
            }
        }
    }
    truth.points = best.len();
    truth.finals_by_state = final_states(program, budget);
    Some(truth)
}

/// The classes of all schedules that are allowed, one by one; `None` if there are more than `limit`.
/// Nothing is taken for equal here.
pub(crate) fn classes_of_schedules(
    program: &Program,
    budget: Budget,
    bound: u32,
    limit: usize,
) -> Option<FxHashSet<u64>> {
    let mut classes = FxHashSet::default();
    let mut history = History::default();
    let mut trace = Trace::default();
    let mut open = vec![(State::new(program), Vec::<Event>::new())];
    let mut schedules = 0;
    while let Some((state, events)) = open.pop() {
        let options = choices(&state, budget);
        if !must_go_on(&options) {
            schedules += 1;
            if schedules > limit {
                return None;
            }
            trace.events.clone_from(&events);
            history.read(&trace);
            classes.insert(history.signature());
        }
        for (choice, forced) in options {
            let mut next = state.clone();
            let event = next.step(choice, forced);
            if next.preemptions <= bound {
                open.push((next, [events.as_slice(), &[event]].concat()));
            }
        }
    }
    Some(classes)
}

fn final_states(program: &Program, budget: Budget) -> FxHashSet<u64> {
    let mut seen = FxHashSet::default();
    let mut finals = FxHashSet::default();
    let mut open = vec![State::new(program)];
    while let Some(state) = open.pop() {
        let options = choices(&state, budget);
        if !must_go_on(&options) {
            finals.insert(state.fingerprint());
        }
        for (choice, forced) in options {
            let mut next = state.clone();
            next.step(choice, forced);
            if seen.insert((next.fingerprint(), next.used)) {
                open.push(next);
            }
        }
    }
    finals
}
