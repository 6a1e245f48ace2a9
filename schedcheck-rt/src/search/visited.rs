//! Points that a bounded search has expanded, and which others that makes needless.
//!
//! A *point* is the class of the steps so far, the thread that ran last, and the preemptions spent. What can
//! follow depends on the class alone, since equal classes are equal states. What it costs depends on the last
//! thread, but only in the next step: to go on with that thread is free, to leave it is a preemption if it could
//! go on and does not yield; from then on it is the same. So a point needs not be expanded if one of the same
//! class was that
//!
//! * spent fewer preemptions: whatever the next step costs there, it is at most one more;
//! * or as many, with the same last thread, or with one that can be left for free.
//!
//! Every way on from here, step by step the same, then costs no more from there; so by induction over its length
//! all that is reached from here within the bound is reached from there within the bound. This is the pruning of
//! CHESS with the conditions that make it sound.
//!
//! **Trusted code.** At a point whose last thread is held nobody else may run. Such a point can be made needless
//! by one where all may, but makes needless only itself. Without a bound preemptions do not matter: a point at
//! which all may run stands for all points of its class.

use super::bytes::{Damaged, Reader, Writer};
use super::history::mix;
use super::step::ThreadId;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// A point of an execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Signature of the steps before it.
    pub(super) class: u64,
    pub(super) last: Option<ThreadId>,
    /// Whether that thread can be left for free.
    pub(super) free: bool,
    /// Whether that thread is held: only it may go on.
    pub(super) held: bool,
    /// Preemptions so far; 0 in a search without a bound.
    pub(super) spent: u32,
}

/// All threads.
const ALL: u64 = (1 << THREADS) - 1;
/// Threads that a set has room for; those with larger numbers stand for themselves.
const THREADS: u32 = 48;

/// The points of a class that were expanded with the fewest preemptions: how many, and their last threads, as a set of
/// bits; [`ALL`] if one can be left for free.
#[derive(Clone, Copy, Debug)]
struct Best(u64);

impl Best {
    /// `None` if so many preemptions cannot be remembered.
    fn new(spent: u32, last: u64) -> Option<Best> {
        let spent = u16::try_from(spent).ok()?;
        Some(Best(u64::from(spent) << THREADS | last))
    }

    fn spent(self) -> u32 {
        (self.0 >> THREADS) as u32
    }

    fn last(self) -> u64 {
        self.0 & ALL
    }

    /// Whether these points stand for those of `new`.
    fn covers(self, new: Best) -> bool {
        self.spent() < new.spent() || self.spent() == new.spent() && self.last() & new.last() == new.last()
    }
}

/// All points that were expanded.
#[derive(Clone, Debug, Default)]
pub(super) struct Visited {
    /// By class, or by class and thread where that stands for itself only.
    best: FxHashMap<u64, Best>,
    /// In a share: the keys that changed.
    changed: Option<Vec<u64>>,
}

impl Visited {
    /// Notes from now on what changes.
    pub(super) fn note_changes(&mut self) {
        self.changed.get_or_insert_default();
    }

    /// Whether a point is to be expanded, which it counts as from now on.
    pub(super) fn expand(&mut self, point: &Point, bounded: bool) -> bool {
        let thread = point.last.map_or(u32::MAX, |thread| u32::from(thread.0));
        let alone = point.held || !point.free && thread >= THREADS - 1;
        let last = if alone || point.free || !bounded { ALL } else { 1 << thread };
        let Some(new) = Best::new(point.spent, last) else { return true };
        if !alone {
            return self.add(point.class, new);
        }
        if self.best.get(&point.class).is_some_and(|best| best.covers(new)) {
            return false;
        }
        self.add(point.class ^ mix(u64::from(thread) + 1), new)
    }

    fn add(&mut self, key: u64, new: Best) -> bool {
        let mut all = new;
        match self.best.entry(key) {
            Entry::Vacant(entry) => _ = entry.insert(new),
            Entry::Occupied(mut entry) => {
                let best = *entry.get();
                if best.covers(new) {
                    return false;
                }
                if best.spent() == new.spent() {
                    all.0 |= best.0;
                }
                entry.insert(all);
            }
        }
        if let Some(changed) = &mut self.changed {
            changed.push(key);
        }
        true
    }

    /// Writes all of it.
    pub(super) fn write(&self, out: &mut Writer) {
        let mut keys: Vec<u64> = self.best.keys().copied().collect();
        keys.sort_unstable();
        self.write_some(&keys, out);
    }

    /// Writes what changed.
    pub(super) fn write_changes(&self, out: &mut Writer) {
        self.write_some(self.changed.as_deref().unwrap_or_default(), out);
    }

    fn write_some(&self, keys: &[u64], out: &mut Writer) {
        out.count(keys.len());
        for key in keys {
            out.hash(*key);
            out.hash(self.best[key].0);
        }
    }

    /// Takes in what another process has expanded.
    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        for _ in 0..from.count()? {
            let (key, best) = (from.hash()?, Best(from.hash()?));
            self.add(key, best);
        }
        Ok(())
    }

    /// Bytes that it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.best.capacity() * (size_of::<(u64, Best)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(last: u16, spent: u32) -> Point {
        Point { class: 7, last: Some(ThreadId(last)), free: false, held: false, spent }
    }

    #[test]
    fn a_point_stands_for_those_that_cost_no_less() {
        let mut visited = Visited::default();
        assert!(visited.expand(&point(1, 1), true));
        assert!(!visited.expand(&point(1, 1), true) && !visited.expand(&point(2, 2), true));
        assert!(visited.expand(&point(2, 1), true), "to go on with it is free here only");
        assert!(visited.expand(&Point { free: true, ..point(3, 1) }, true));
        assert!(!visited.expand(&point(4, 1), true), "leaving 3 costs nothing");
        assert!(visited.expand(&point(4, 0), true));
        assert!(visited.expand(&point(5, 0), true), "what is known of costlier points does not count");
        assert!(!visited.expand(&Point { free: true, ..point(3, 1) }, true));
        assert!(visited.expand(&Point { class: 8, ..point(4, 0) }, true));
    }

    #[test]
    fn threads_with_large_numbers_stand_for_themselves() {
        let mut visited = Visited::default();
        assert!(visited.expand(&point(100, 0), true) && visited.expand(&point(200, 0), true));
        assert!(!visited.expand(&point(100, 0), true) && visited.expand(&point(1, 0), true));
        assert!(!visited.expand(&point(300, 1), true));
        // Far more preemptions than anybody asks for are not remembered.
        assert!(visited.expand(&point(1, 1 << 16), true) && visited.expand(&point(1, 1 << 16), true));
    }

    #[test]
    fn a_held_thread_stands_for_itself() {
        let mut visited = Visited::default();
        let held = |last, spent| Point { held: true, ..point(last, spent) };
        for bounded in [true, false] {
            visited.best.clear();
            assert!(visited.expand(&held(1, 0), bounded) && !visited.expand(&held(1, 0), bounded));
            assert!(visited.expand(&held(2, 0), bounded) && visited.expand(&point(3, 0), bounded));
            assert_eq!(visited.expand(&held(4, 0), bounded), bounded, "whoever is last does not matter");
        }
    }

    #[test]
    fn what_changed_is_read_elsewhere() {
        let mut visited = Visited::default();
        visited.expand(&point(1, 3), true);
        visited.note_changes();
        visited.expand(&point(2, 2), true);
        let mut out = Writer::default();
        visited.write_changes(&mut out);
        let mut other = Visited::default();
        other.expand(&point(3, 2), true);
        other.read(&mut Reader::new(out.bytes())).unwrap();
        assert!(!other.expand(&point(2, 2), true) && !other.expand(&point(3, 2), true));
        assert!(other.expand(&point(4, 2), true));
    }
}
