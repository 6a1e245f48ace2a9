//! The simplest schedule of a happens-before class.
//!
//! All linearisations of a trace do the same, so a failure can be shown by the one that is easiest
//! to follow: fewest preemptions, then fewest switches of thread. Dijkstra's algorithm over cuts of
//! the trace (how far each thread has come, who ran last). The number of cuts is exponential in the
//! number of threads only; beyond a limit the schedule is left as it is.
//!
//! Leaving a thread counts as a preemption if its next step could run and is no yield: it does not
//! block, or what it waits for is there. The result is a plan, to be confirmed by running it.

use super::dependence::blocks;
use super::history::History;
use super::step::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Preemptions, then switches.
type Cost = (u32, u32);

/// How far each thread has come.
type Cut = SmallVec<[u32; 8]>;

/// Cuts looked at before giving up.
const LIMIT: usize = 200_000;

/// The plan with the fewest preemptions, then switches, that executes the class of `trace`; and
/// its number of preemptions. `None` if that is too much work.
pub fn minimise(trace: &Trace) -> Option<(Plan, u32)> {
    let mut history = History::default();
    history.read(trace);
    let threads = history.threads();
    let mut open = BinaryHeap::new();
    let mut best: FxHashMap<(Cut, u16), Cost> = FxHashMap::default();
    let mut came_from: FxHashMap<(Cut, u16), u16> = FxHashMap::default();
    let nobody = u16::MAX;
    let start: Cut = SmallVec::from_elem(0, threads);
    best.insert((start.clone(), nobody), (0, 0));
    open.push((Reverse((0, 0)), 0, start, nobody));
    while let Some((Reverse(cost), done, cut, last)) = open.pop() {
        if best.get(&(cut.clone(), last)).is_some_and(|&known| known < cost) {
            continue;
        }
        if done == trace.events.len() {
            let order = trace_back(&came_from, cut, last);
            return Some((plan(trace, &history, &order), cost.0));
        }
        if best.len() > LIMIT {
            return None;
        }
        let goes_on = last != nobody && could_run(trace, &history, &cut, ThreadId(last));
        for thread in 0..threads as u16 {
            let at = thread as usize;
            let Some(&step) = history.of_thread(ThreadId(thread)).get(cut[at] as usize) else {
                continue;
            };
            let clock = history.clock(step);
            if (0..threads).any(|other| other != at && clock[other] > cut[other]) {
                continue;
            }
            let switched = u32::from(last != nobody && last != thread);
            let cost = (cost.0 + u32::from(goes_on && last != thread), cost.1 + switched);
            let mut next = cut.clone();
            next[at] += 1;
            let key = (next, thread);
            if best.get(&key).is_none_or(|&known| cost < known) {
                best.insert(key.clone(), cost);
                came_from.insert(key.clone(), last);
                open.push((Reverse(cost), done + 1, key.0, thread));
            }
        }
    }
    None
}

/// Whether the next operation of a thread, executed or not, is not blocked at a cut.
fn could_run(trace: &Trace, history: &History, cut: &Cut, thread: ThreadId) -> bool {
    let passed = |step: StepIndex| history.index(step) <= cut[trace.events[step as usize].thread.0 as usize];
    let accesses = match history.of_thread(thread).get(cut[thread.0 as usize] as usize) {
        Some(&step) => {
            let event = &trace.events[step as usize];
            if event.forced || event.yields || event.enabler != NO_STEP && !passed(event.enabler) {
                return false;
            }
            event.accesses
        }
        None => {
            let mut pending = trace.pending.iter();
            let Some(pending) = pending.find(|pending| pending.thread == thread) else {
                return false;
            };
            let locks = |a: &Access| matches!(a.mode, Mode::Acquire | Mode::AcquireShared);
            if pending.yields || !pending.enabled && !pending.accesses.iter().any(locks) {
                return false;
            }
            pending.accesses
        }
    };
    accesses.iter().filter(|access| blocks(access.mode)).all(|access| {
        let mut holders = 0i64;
        for before in (0..trace.events.len() as StepIndex).filter(|&step| passed(step)) {
            for other in trace.events[before as usize].accesses.iter() {
                holders += match other.mode {
                    _ if other.object != access.object => 0,
                    Mode::Acquire | Mode::TryAcquire => 1 << 32,
                    Mode::Release => -(1 << 32),
                    Mode::AcquireShared | Mode::TryAcquireShared => 1,
                    Mode::ReleaseShared => -1,
                    _ => 0,
                };
            }
        }
        match access.mode {
            Mode::Acquire => holders == 0,
            Mode::AcquireShared => holders < 1 << 32,
            _ => true,
        }
    })
}

/// The threads in the order of the cheapest way to a cut.
fn trace_back(came_from: &FxHashMap<(Cut, u16), u16>, cut: Cut, last: u16) -> Vec<ThreadId> {
    let mut order = Vec::new();
    let mut at = (cut, last);
    while let Some(&before) = came_from.get(&at) {
        order.push(ThreadId(at.1));
        at.0[at.1 as usize] -= 1;
        at.1 = before;
    }
    order.reverse();
    order
}

fn plan(trace: &Trace, history: &History, order: &[ThreadId]) -> Plan {
    let mut plan = Plan { deltas: Vec::new(), prefix: order.len() as StepIndex };
    let mut taken = vec![0; history.threads()];
    for (step, &thread) in order.iter().enumerate() {
        let executed = history.of_thread(thread)[taken[thread.0 as usize]];
        taken[thread.0 as usize] += 1;
        let event = &trace.events[executed as usize];
        let choice = event.choice();
        // What is forced happens by itself.
        if !event.forced {
            plan.deltas.push(Delta { step: step as StepIndex, choice });
        }
    }
    plan
}
