//! What others write on a thread's stack, as scoped threads do, as far as it matters to a loop that waits there.
//!
//! A loop goes round in vain if its thread is as it was a round ago ([`super::spin`]). If what others have written on its
//! stack were part of that, the answer would depend on where their steps fell: before the round, within it or behind it, which
//! differs between equivalent schedules. So those bytes are not compared. Instead a write counts as a difference in the round
//! in which the thread comes to know of it: it happens before this comparison and did not before the last one. That is the
//! same in all equivalent schedules.
//!
//! Nothing is lost: a write that it does not know of it has not read, or that would be a data race; and if it reads it in a
//! later round, it comes to know of it by a step of the writer on something that the round uses, which opens the gate.
//!
//! Such writes are seen only where races are looked for. Elsewhere, what has changed on a thread's stack while it did not run
//! is taken for what was there a round ago. That may be too much: a round that looks at the same thing twice, under a lock that
//! others take in between, counts as one in vain. So the coverage statement names the bound on rounds there, for every loop.

use super::controller::World;
use super::fixed_stack;
use super::own_stack;
use crate::races::VectorClock;
use std::ops::Range;

/// Writes that are kept.
const MOST: usize = 10_000;
/// Those of them that are looked at in order to make one of two.
const LATELY: usize = 4;

/// Writes of one thread, one behind the other, at one moment of its clock.
#[derive(Clone, Debug)]
struct Write {
    bytes: Range<usize>,
    writer: usize,
    time: u32,
}

impl Write {
    fn is_known_to(&self, clock: &VectorClock) -> bool {
        self.time <= clock.get(self.writer)
    }
}

/// All writes of an execution on stacks of others.
#[derive(Debug, Default)]
pub(crate) struct ForeignWrites {
    writes: Vec<Write>,
    /// There were more than are kept: then every loop counts as one whose state differs.
    too_many: bool,
}

impl ForeignWrites {
    pub(super) fn forget(&mut self) {
        self.writes.clear();
        self.too_many = false;
    }

    /// `writer` writes at a moment of its clock.
    fn note(&mut self, bytes: Range<usize>, (writer, time): (usize, u32)) {
        let lately = self.writes.iter_mut().rev().take(LATELY);
        for last in lately.take_while(|last| (last.writer, last.time) == (writer, time)) {
            if last.bytes.start <= bytes.start && bytes.start <= last.bytes.end {
                last.bytes.end = last.bytes.end.max(bytes.end);
                return;
            }
        }
        if self.writes.len() < MOST {
            self.writes.push(Write { bytes, writer, time });
        } else {
            self.too_many = true;
        }
    }

    /// Whether the byte at `address` was written by somebody else, of which who knew so much did not know.
    pub(super) fn is_news(&self, address: usize, knew: &VectorClock) -> bool {
        self.writes.iter().any(|write| write.bytes.contains(&address) && !write.is_known_to(knew))
    }

    /// Whether there is something on this stack of which its thread knows now and did not before.
    pub(super) fn came_to_know(&self, stack: Range<usize>, knew: &VectorClock, knows: &VectorClock) -> bool {
        let on_it = |write: &&Write| write.bytes.start < stack.end && stack.start < write.bytes.end;
        let news = |write: &Write| !write.is_known_to(knew) && write.is_known_to(knows);
        self.too_many || self.writes.iter().filter(on_it).any(news)
    }
}

impl World {
    /// Whether the running thread is in a loop, and nobody tells what others write on its stack.
    #[inline]
    pub(super) fn compares_blindly(&self) -> bool {
        self.races.is_none() && self.spins[self.running].compares()
    }

    /// The running thread gives up its turn.
    #[cold]
    pub(super) fn keep_stack(&mut self) {
        // SAFETY: a thread gives up its turn on the engine's stack, to which user code called.
        let frame = unsafe { own_stack::caller(self.engine_top) };
        let base = self.threads[self.running].stack_base;
        self.spins[self.running].keep(frame.stack(), base);
    }

    /// The running thread has its turn again.
    #[cold]
    pub(super) fn take_foreign_for_own(&mut self) {
        let base = self.threads[self.running].stack_base;
        self.spins[self.running].take_foreign_for_own(base);
    }

    /// The running thread writes memory that is not its own stack.
    #[inline]
    pub(super) fn note_foreign_write(&mut self, address: usize, size: usize) {
        if fixed_stack::is_place_of_one(address)
            && let Some(races) = &self.races
            && !races.is_own_stack(address)
        {
            self.foreign.note(address..address + size, races.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(times: [u32; 2]) -> VectorClock {
        let mut clock = VectorClock::default();
        times.into_iter().enumerate().for_each(|(thread, time)| clock.set(thread, time));
        clock
    }

    #[test]
    fn writes_count_in_the_round_in_which_one_comes_to_know_of_them() {
        let mut foreign = ForeignWrites::default();
        foreign.note(100..108, (1, 5));
        foreign.note(108..112, (1, 5));
        foreign.note(100..104, (1, 7));
        assert_eq!(foreign.writes.len(), 2, "{foreign:?}");
        let knew = |time| clock([0, time]);
        for (address, time, news) in
            [(99, 0, false), (111, 4, true), (111, 5, false), (103, 5, true), (103, 7, false)]
        {
            assert_eq!(foreign.is_news(address, &knew(time)), news, "{address} {time}");
        }
        for (before, now, came) in [(0, 4, false), (0, 5, true), (5, 6, false), (5, 7, true), (7, 9, false)] {
            assert_eq!(foreign.came_to_know(50..200, &knew(before), &knew(now)), came, "{before} {now}");
            assert!(!foreign.came_to_know(112..200, &knew(before), &knew(now)));
        }
    }

    #[test]
    fn writes_at_the_same_place_are_one_and_too_many_are_no_reason_to_wait() {
        let mut foreign = ForeignWrites::default();
        for _ in 0..MOST {
            foreign.note(100..108, (1, 5));
            foreign.note(300..304, (1, 5));
        }
        assert_eq!(foreign.writes.len(), 2, "{foreign:?}");
        (0..MOST).for_each(|at| foreign.note(100 + 10 * at..101 + 10 * at, (1, 6)));
        assert_eq!(foreign.writes.len(), MOST);
        assert!(foreign.came_to_know(0..1, &clock([0, 9]), &clock([0, 9])));
        foreign.forget();
        assert!(!foreign.came_to_know(0..1, &clock([0, 9]), &clock([0, 9])));
    }
}
