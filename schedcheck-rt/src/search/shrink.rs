//! The simplest schedule of a happens-before class.
//!
//! All linearisations of a trace do the same, so a failure can be shown by the one that is easiest
//! to follow: fewest preemptions, then fewest switches of thread. Dijkstra's algorithm over cuts of
//! the trace (how far each thread has come, who ran last). The number of cuts is exponential in the
//! number of threads only; beyond a limit the schedule is left as it is.
//!
//! Leaving a thread counts as a preemption if its next step could run and is no yield: it does not
//! block, or what it waits for is there. The result is a plan, to be confirmed by running it: what a
//! blocked operation waits for is not always known, so it may have more preemptions than was thought,
//! and then even more than the schedule that was found.
//!
//! **Readers in line.** A read that stands in line behind writers (`model/rwlock.rs`) is two steps. The first is
//! an acquisition by an alternative, and takes nothing. The second waits for those who hold the lock and
//! for those who want to write, that is, who are about to acquire it. One that was blocked to the end
//! although no writer held the lock is such a second step.

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
/// Steps looked at, of which a cut may take as many as there are.
const STEPS_LIMIT: usize = 1_000_000_000;

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
    let limit = LIMIT.min(STEPS_LIMIT / trace.events.len().max(1));
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
        if best.len() > limit {
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
            let shared = |a: &&Access| a.mode == Mode::AcquireShared;
            if let Some(access) = pending.accesses.iter().find(shared)
                && !pending.enabled
                && holders(trace, access.object, |_| true) < EXCLUSIVE
                && (wants_to_write(trace, history, cut, access.object)
                    || was_downgraded(trace, access.object))
            {
                return false;
            }
            pending.accesses
        }
    };
    accesses.iter().filter(|access| blocks(access.mode)).all(|access| match access.mode {
        Mode::Acquire => holders(trace, access.object, passed) == 0,
        Mode::AcquireShared => holders(trace, access.object, passed) < EXCLUSIVE,
        _ => true,
    })
}

/// What one who holds a lock exclusively counts in [`holders`].
const EXCLUSIVE: i64 = 1 << 32;

/// Who holds a lock after the steps that are `passed`.
fn holders(trace: &Trace, lock: ObjectId, passed: impl Fn(StepIndex) -> bool) -> i64 {
    let mut holders = 0;
    for before in (0..trace.events.len() as StepIndex).filter(|&step| passed(step)) {
        let event = &trace.events[before as usize];
        for access in event.accesses.iter().filter(|access| access.object == lock) {
            holders += match access.mode {
                Mode::Acquire | Mode::TryAcquire => EXCLUSIVE,
                Mode::Release => -EXCLUSIVE,
                Mode::Downgrade => 1 - EXCLUSIVE,
                Mode::AcquireShared if event.alt != Alt::DEFAULT => 0,
                Mode::AcquireShared | Mode::TryAcquireShared => 1,
                Mode::ReleaseShared | Mode::ReleaseInTurn => -1,
                _ => 0,
            };
        }
    }
    holders
}

/// Whether somebody is about to acquire a lock exclusively at a cut.
fn wants_to_write(trace: &Trace, history: &History, cut: &Cut, lock: ObjectId) -> bool {
    let wants = |accesses: &[Access; 2]| accesses.contains(&Access::new(lock, Mode::Acquire));
    cut.iter().enumerate().any(|(thread, &done)| {
        let thread = ThreadId(thread as u16);
        match history.of_thread(thread).get(done as usize) {
            Some(&next) => wants(&trace.events[next as usize].accesses),
            None => trace.pending.iter().any(|pending| pending.thread == thread && wants(&pending.accesses)),
        }
    })
}

/// Whether a writer of the lock has gone on as a reader: then others may be held back without somebody who wants to write.
fn was_downgraded(trace: &Trace, lock: ObjectId) -> bool {
    let downgrade = Access::new(lock, Mode::Downgrade);
    trace.events.iter().any(|event| event.accesses.contains(&downgrade))
}

/// How many preemptions an execution had.
pub fn preemptions(trace: &Trace) -> u32 {
    let switches = trace.events.windows(2).filter(|pair| pair[0].thread != pair[1].thread);
    switches.filter(|pair| pair[1].previous_enabled).count() as u32
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
