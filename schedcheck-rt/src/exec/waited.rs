//! Whether a writer may have waited for a reader-writer lock that it has.
//!
//! Requests commute with whatever others do to the lock, so the execution at hand need not show it: it stands for all that have
//! the same order of what depends on each other. In one of these the writer asked while another thread had the lock, unless
//! all others had given it up before it asked, by that order. For that the steps before the request are gone through, which
//! only a writer that goes on as a reader pays for.

use crate::search::dependence::commute;
use crate::search::step::{Access, Event, Mode, ObjectId, ThreadId};
use rustc_hash::FxHashMap;

/// Whether `writer`, which has `lock` for writing after these steps, may have found it taken.
pub(super) fn may_have_waited(events: &[Event], writer: ThreadId, lock: ObjectId) -> bool {
    let takes = |event: &Event| event.thread == writer && mode_of_taking(event, lock).is_some();
    let taken = events.iter().rposition(takes);
    taken.is_some_and(|taken| is_marked(&events[..=taken], lock))
}

/// Whether the mark of waiting writers may be there after the last of these steps, which takes the lock.
///
/// An attempt that succeeds does not set it. But another writer may have set it, and may be about to take it away, having
/// given up the lock.
fn is_marked(events: &[Event], lock: ObjectId) -> bool {
    let Some((taken, before)) = events.split_last() else { return false };
    let asked = before.iter().rposition(|event| event.thread == taken.thread);
    let happened = asked.map_or_else(Vec::new, |asked| happened_before(&before[..=asked]));
    let others_had_it = before.iter().enumerate().any(|(step, event)| {
        event.thread != taken.thread
            && gives_up(event, lock)
            && !happened.get(step).is_some_and(|known| *known)
    });
    others_had_it
        && (mode_of_taking(taken, lock) == Some(Mode::Acquire)
            || before
                .iter()
                .rposition(|event| mode_of_taking(event, lock).is_some())
                .is_some_and(|last| is_marked(&before[..=last], lock)))
}

fn mode_of_taking(event: &Event, lock: ObjectId) -> Option<Mode> {
    let takes = |mode| matches!(mode, Mode::Acquire | Mode::TryAcquire);
    let mut modes = event.accesses.iter().filter(|access| access.object == lock).map(|access| access.mode);
    modes.find(|mode| takes(*mode))
}

fn gives_up(event: &Event, lock: ObjectId) -> bool {
    let gives_up = |mode| matches!(mode, Mode::Release | Mode::ReleaseShared | Mode::ReleaseInTurn);
    event.accesses.iter().any(|access| access.object == lock && gives_up(access.mode))
}

/// Which of these steps are ordered before the last one, or are it: by their threads, by what they depend on, and by what
/// made them possible.
fn happened_before(events: &[Event]) -> Vec<bool> {
    let mut known = vec![false; events.len()];
    let mut threads: Vec<ThreadId> = Vec::new();
    let mut uses: FxHashMap<ObjectId, Vec<Mode>> = FxHashMap::default();
    let mut all = false;
    for (step, event) in events.iter().enumerate().rev() {
        let used = |access: &Access| access.object != ObjectId::NONE && access.mode != Mode::None;
        let depends = |access: &Access| {
            let later = uses.get(&access.object);
            used(access) && later.is_some_and(|later| later.iter().any(|mode| !commute(*mode, access.mode)))
        };
        let is_last = step + 1 == events.len();
        let comes_before = all || is_last || event.forced || threads.contains(&event.thread);
        if !comes_before && !known[step] && !event.accesses.iter().any(depends) {
            continue;
        }
        known[step] = true;
        all |= event.forced;
        if !threads.contains(&event.thread) {
            threads.push(event.thread);
        }
        if let Some(enabler) = known.get_mut(event.enabler as usize) {
            *enabler = true;
        }
        for access in event.accesses.iter().filter(|access| used(access)) {
            let later = uses.entry(access.object).or_default();
            if !later.contains(&access.mode) {
                later.push(access.mode);
            }
        }
    }
    known
}
