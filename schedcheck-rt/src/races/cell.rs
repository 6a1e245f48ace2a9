//! What is remembered of eight bytes of memory: the accesses that a later one could race with.
//!
//! FastTrack (Flanagan and Freund, PLDI 2009) keeps the last write and the last reads, since all others happened before
//! one of them. The same idea with two more kinds of access, atomic ones, and with single bytes: an access is forgotten
//! for the bytes that a later one *covers*. A later access covers an earlier one if it comes after it in happens-before
//! and conflicts with everything that the earlier one conflicts with. Whatever races with the forgotten access then
//! races with the one that is kept: if it were ordered after the later, it would be ordered after the earlier too. So
//! the first access of an execution that races with any earlier one is noticed, and no other.
//!
//! Atomic accesses need no order among each other where both have the same bytes. Where they have some in common and one of
//! them writes, they do (the documentation of `std::sync::atomic` on accesses of mixed sizes). So an atomic access covers
//! another one only if it has the same bytes.
//!
//! An access is *redundant* if its thread has made one that covers it at the same time of its clock, whatever others have
//! done since. Its time passes whenever a thread publishes what it knows. So nobody can be ordered between the two: what
//! others did since and conflicts with the second access has raced with the first one, and ended the execution.

use super::clock::VectorClock;

/// How memory is accessed. One bit says that it writes, another that it is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Touch {
    /// A plain read.
    Read = 0b000,
    /// A plain write.
    Write = 0b001,
    /// An atomic load, or a compare-exchange that failed.
    AtomicRead = 0b010,
    /// An atomic operation that writes.
    AtomicWrite = 0b011,
    /// The end of a block of the heap; counts as a plain write.
    Free = 0b101,
}

impl Touch {
    const WRITES: u8 = 0b001;
    const ATOMIC: u8 = 0b010;

    pub(crate) const fn writes(self) -> bool {
        self as u8 & Self::WRITES != 0
    }

    pub(crate) const fn is_atomic(self) -> bool {
        self as u8 & Self::ATOMIC != 0
    }

    /// Whether two accesses to one byte need an order: one of them writes, and not both are atomic.
    const fn conflicts(self, other: Touch) -> bool {
        (self as u8 | other as u8) & Self::WRITES != 0 && !(self.is_atomic() && other.is_atomic())
    }

    /// Whether it conflicts with all that `other` conflicts with.
    #[inline]
    const fn covers(self, other: Touch) -> bool {
        (self.writes() || !other.writes()) && (!self.is_atomic() || other.is_atomic())
    }
}

/// One access, as a cell remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Entry {
    /// The time of its thread.
    pub(crate) time: u32,
    /// Where in the program it was made, as its caller counts places.
    pub(crate) place: u32,
    /// Its thread, by position in the execution.
    pub(crate) thread: u16,
    /// Which of the eight bytes, as a set; none: there is no access here.
    pub(crate) bytes: u8,
    pub(crate) touch: Touch,
}

impl Entry {
    #[cfg(test)]
    const NONE: Entry = Entry { time: 0, place: 0, thread: 0, bytes: 0, touch: Touch::Read };

    /// Whether an access of the same thread at the same time made `new` redundant.
    #[inline]
    const fn is_as_good_as(&self, new: &Entry) -> bool {
        self.thread == new.thread
            && self.time == new.time
            && new.bytes & !self.bytes == 0
            && self.covers(new)
            // After the end of memory nothing is redundant, and its end never is.
            && !matches!((self.touch, new.touch), (Touch::Free, _) | (_, Touch::Free))
    }

    /// Whether two accesses to some common bytes need an order.
    #[inline]
    const fn conflicts(&self, other: &Entry) -> bool {
        self.touch.conflicts(other.touch)
            || self.bytes != other.bytes && (self.touch.writes() || other.touch.writes())
    }

    /// Whether it conflicts with all that `other`, of which it has all bytes that are asked for, conflicts with there.
    #[inline]
    const fn covers(&self, other: &Entry) -> bool {
        self.touch.covers(other.touch) && (!self.touch.is_atomic() || self.bytes == other.bytes)
    }

    #[inline]
    fn happened_before(&self, thread: u16, clock: &VectorClock) -> bool {
        self.thread == thread || self.time <= clock.get(usize::from(self.thread))
    }

    /// A later access `new` comes: whether the two race, or this one was the end of the memory. If not, it is forgotten as far
    /// as it is covered.
    #[inline(always)]
    fn meets(&mut self, new: &Entry, clock: &VectorClock) -> bool {
        let shared = self.bytes & new.bytes;
        if shared == 0 {
            return false;
        }
        let is_before = self.happened_before(new.thread, clock);
        if !is_before && self.conflicts(new) || self.touch == Touch::Free {
            return true;
        }
        if is_before && new.covers(self) {
            self.bytes &= !shared;
        }
        false
    }
}

const INLINE: usize = 2;

/// What is remembered of eight bytes. All zeros: nothing.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Cell {
    /// The execution that it belongs to; another one remembers nothing.
    generation: u32,
    /// One more than the position of further entries in [`Overflow`]; 0: there are none.
    more: u32,
    entries: [Entry; INLINE],
}

/// Entries of cells that have more than fit into them. Their memory is kept between executions.
#[derive(Debug, Default)]
pub(crate) struct Overflow {
    lists: Vec<Vec<Entry>>,
    used: usize,
}

impl Overflow {
    /// Another execution begins: nobody refers to a list any more.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    fn take(&mut self) -> usize {
        if self.lists.len() == self.used {
            self.lists.push(Vec::new());
        }
        self.lists[self.used].clear();
        self.used += 1;
        self.used
    }
}

impl Cell {
    #[cfg(test)]
    const EMPTY: Cell = Cell { generation: 0, more: 0, entries: [Entry::NONE; INLINE] };

    /// The end of the memory, if it came before an access to these bytes.
    pub(crate) fn end_of(&self, generation: u32, bytes: u8) -> Option<Entry> {
        let is_end = |entry: &&Entry| entry.touch == Touch::Free && entry.bytes & bytes != 0;
        // It forgets all entries before it, so it is in the cell itself.
        self.entries.iter().filter(|_| self.generation == generation).find(is_end).copied()
    }

    fn further<'a>(&self, overflow: &'a Overflow) -> &'a [Entry] {
        match self.more {
            0 => &[],
            list => &overflow.lists[list as usize - 1],
        }
    }

    /// Whether no atomic operation wrote these bytes since they were plainly written or the memory was new: what was
    /// published through an atomic that was here before is not published through the one that is here now.
    pub(crate) fn is_new_atomic(&self, generation: u32, bytes: u8, overflow: &Overflow) -> bool {
        if self.generation != generation {
            return true;
        }
        let wrote = |entry: &Entry| entry.bytes & bytes != 0 && entry.touch == Touch::AtomicWrite;
        let [first, second] = &self.entries;
        !(wrote(first) || wrote(second) || self.more != 0 && self.further(overflow).iter().any(wrote))
    }

    /// Notes the access `new` of a thread with this clock. If it races with an earlier one, or comes after the end of
    /// the memory, that one is the answer, and the execution is over: what is left of the cell then does not matter.
    ///
    /// Always inlined: as an argument in memory, the new entry would stall on its own small stores.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        generation: u32,
        new: &Entry,
        clock: &VectorClock,
        overflow: &mut Overflow,
    ) -> Option<Entry> {
        if self.generation != generation {
            (self.generation, self.more) = (generation, 0);
            (self.entries[0], self.entries[1].bytes) = (*new, 0);
            return None;
        }
        if self.more != 0 {
            return self.note_among_many(new, clock, overflow);
        }
        // Redundant.
        if self.entries[0].is_as_good_as(new) {
            return None;
        }
        for entry in &mut self.entries {
            if entry.meets(new, clock) {
                return Some(*entry);
            }
        }
        let [first, second] = &mut self.entries;
        match (first.bytes, second.bytes) {
            (0, _) => *first = *new,
            (_, 0) => *second = *new,
            _ => self.begin_list(new, overflow),
        }
        None
    }

    /// Two entries are not enough.
    #[cold]
    fn begin_list(&mut self, new: &Entry, overflow: &mut Overflow) {
        self.more = overflow.take() as u32;
        overflow.lists[self.more as usize - 1].push(*new);
    }

    #[cold]
    fn note_among_many(
        &mut self,
        new: &Entry,
        clock: &VectorClock,
        overflow: &mut Overflow,
    ) -> Option<Entry> {
        let list = &mut overflow.lists[self.more as usize - 1];
        for entry in self.entries.iter_mut().chain(list.as_mut_slice()) {
            if entry.meets(new, clock) {
                return Some(*entry);
            }
        }
        match self.entries.iter_mut().chain(list.as_mut_slice()).find(|entry| entry.bytes == 0) {
            Some(free) => *free = *new,
            None => list.push(*new),
        }
        None
    }

    /// Forgets everything: the memory is new.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.generation = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Touch; 5] = [Touch::Read, Touch::Write, Touch::AtomicRead, Touch::AtomicWrite, Touch::Free];

    fn entry(thread: u16, time: u32, bytes: u8, touch: Touch) -> Entry {
        Entry { time, place: 0, thread, bytes, touch }
    }

    #[test]
    fn what_covers_another_access_conflicts_with_all_that_it_conflicts_with() {
        for covering in KINDS {
            for covered in KINDS {
                let implied =
                    KINDS.iter().all(|third| !covered.conflicts(*third) || covering.conflicts(*third));
                assert_eq!(covering.covers(covered), implied, "{covering:?} {covered:?}");
            }
        }
    }

    #[test]
    fn a_cell_has_half_a_cache_line() {
        assert_eq!((size_of::<Entry>(), size_of::<Cell>()), (12, 32));
    }

    #[test]
    fn bytes_beside_each_other_do_not_race() {
        let (mut cell, mut overflow) = (Cell::EMPTY, Overflow::default());
        let clock = VectorClock::default();
        let mut note = |thread, bytes| {
            cell.note(1, &entry(thread, 1, bytes, Touch::Write), &clock, &mut overflow).is_some()
        };
        assert!(!note(0, 0x0f));
        assert!(!note(1, 0xf0));
        assert!(note(2, 0x18));
    }

    #[test]
    fn many_unordered_readers_are_all_remembered() {
        let (mut cell, mut overflow) = (Cell::EMPTY, Overflow::default());
        let mut clock = VectorClock::default();
        for thread in 0..10 {
            let read = entry(thread, 1, 0xff, Touch::Read);
            assert_eq!(cell.note(1, &read, &clock, &mut overflow), None);
        }
        for thread in 0..9 {
            clock.set(thread, 1);
        }
        let write = entry(10, 1, 0xff, Touch::Write);
        let race = cell.note(1, &write, &clock, &mut overflow);
        assert_eq!(race.map(|earlier| earlier.thread), Some(9));
        clock.set(9, 1);
        assert_eq!(cell.note(1, &write, &clock, &mut overflow), None);
        let other = entry(11, 1, 0xff, Touch::Write);
        assert!(cell.note(1, &other, &clock, &mut overflow).is_some());
        assert_eq!(cell.note(2, &other, &clock, &mut overflow), None, "another execution remembers nothing");
    }

    #[test]
    fn memory_that_was_freed_may_not_be_accessed_in_any_order() {
        let (mut cell, mut overflow) = (Cell::EMPTY, Overflow::default());
        let clock = VectorClock::default();
        cell.note(1, &entry(0, 1, 0xff, Touch::Free), &clock, &mut overflow);
        for time in [1, 2] {
            // Not even at the same time.
            let after = cell.note(1, &entry(0, time, 0x01, Touch::Read), &clock, &mut overflow);
            assert_eq!(after.map(|earlier| earlier.touch), Some(Touch::Free));
        }
        cell.forget();
        assert_eq!(cell.note(1, &entry(1, 2, 0x01, Touch::Read), &clock, &mut overflow), None);
    }

    #[test]
    fn a_plain_write_makes_a_new_atomic() {
        let (mut cell, mut overflow) = (Cell::EMPTY, Overflow::default());
        let clock = VectorClock::default();
        let mut is_new_before = |time, touch| {
            let is_new = cell.is_new_atomic(1, 0xff, &overflow);
            assert_eq!(cell.note(1, &entry(0, time, 0xff, touch), &clock, &mut overflow), None);
            is_new
        };
        assert!(is_new_before(1, Touch::AtomicWrite), "nothing was known of it");
        assert!(!is_new_before(2, Touch::AtomicRead));
        is_new_before(3, Touch::Write);
        assert!(is_new_before(4, Touch::AtomicRead));
        assert!(is_new_before(5, Touch::AtomicWrite));
        assert!(!is_new_before(6, Touch::AtomicRead));
    }
}
