//! Which object lives at an address.
//!
//! Atomics keep std's exact layout, so they cannot carry a number: their address is their identity.
//! Addresses are the same in every execution (see `heap.rs`), so an address keeps its number from
//! one execution to the next, and the search may compare objects across executions. An
//! open-addressing table; what belongs to one execution is told by a generation.

use crate::model::ObjectKind;
use crate::search::step::ObjectId;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy)]
struct Entry {
    /// Address and kind; 0 for an empty entry.
    key: u64,
    object: ObjectId,
    /// The execution that used it last.
    generation: u32,
    /// Objects of this kind that lived here one after the other in that execution.
    lives: u32,
    /// Bytes of it, of a memory cell.
    size: u32,
}

const EMPTY: Entry = Entry { key: 0, object: ObjectId::NONE, generation: 0, lives: 0, size: 0 };

/// The table. Generation 0 is never current.
pub(crate) struct AddressTable {
    entries: Vec<Entry>,
    used: usize,
    /// Numbers of the second and later objects at one address in one execution.
    later_lives: FxHashMap<(u64, u32), ObjectId>,
    /// The execution that used memory cells last, and the pages on which it did, as a set of hashes.
    cells_of: u32,
    pages: u64,
}

/// What was found at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) object: ObjectId,
    /// It is its first use in this execution.
    pub(crate) fresh: bool,
}

#[inline]
fn key_of(address: usize, kind: ObjectKind) -> u64 {
    address as u64 | u64::from(kind.code()) << 56
}

/// The page of an address, as one of 64.
#[inline]
fn page(address: usize) -> u64 {
    1 << ((address >> 12).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
}

impl AddressTable {
    pub(crate) fn new() -> Self {
        let entries = vec![EMPTY; 256];
        AddressTable { entries, used: 0, later_lives: FxHashMap::default(), cells_of: 0, pages: 0 }
    }

    #[inline]
    fn start(&self, key: u64) -> usize {
        // Fibonacci hashing: the high bits of the product are well mixed, also for addresses that
        // differ only in a few low bits.
        let hash = (key >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 40) as usize & (self.entries.len() - 1)
    }

    #[inline]
    fn position(&self, key: u64) -> usize {
        let mut at = self.start(key);
        while self.entries[at].key != key && self.entries[at].key != 0 {
            at = (at + 1) & (self.entries.len() - 1);
        }
        at
    }

    fn entry(&mut self, key: u64, create: impl FnOnce() -> ObjectId) -> &mut Entry {
        let mut at = self.position(key);
        if self.entries[at].key == 0 {
            if (self.used + 1) * 2 > self.entries.len() {
                self.grow();
                at = self.position(key);
            }
            self.used += 1;
            self.entries[at] = Entry { key, object: create(), ..EMPTY };
        }
        &mut self.entries[at]
    }

    /// The object at `address` if this execution has used it already.
    #[inline]
    pub(crate) fn known(&self, address: usize, kind: ObjectKind, generation: u32) -> Option<ObjectId> {
        let key = key_of(address, kind);
        let entry = &self.entries[self.position(key)];
        (entry.key == key && entry.generation == generation).then_some(entry.object)
    }

    /// The object at `address`; `create` numbers it if it was never seen.
    #[inline]
    pub(crate) fn find(
        &mut self,
        address: usize,
        kind: ObjectKind,
        generation: u32,
        create: impl FnOnce() -> ObjectId,
    ) -> Found {
        let entry = self.entry(key_of(address, kind), create);
        let fresh = entry.generation != generation;
        entry.generation = generation;
        Found { object: entry.object, fresh }
    }

    /// The memory cell at `address`, which this execution has used already, has so many bytes.
    pub(crate) fn set_size(&mut self, address: usize, size: usize, generation: u32) {
        let at = self.position(key_of(address, ObjectKind::Memory));
        self.entries[at].size = size as u32;
        if self.cells_of != generation {
            (self.cells_of, self.pages) = (generation, 0);
        }
        self.pages |= page(address);
    }

    /// Whether this execution has used memory cells on the page of `address`, as far as the hashes tell.
    fn has_cells_near(&self, address: usize, generation: u32) -> bool {
        self.cells_of == generation && self.pages & page(address) != 0
    }

    /// The memory cells used in this execution that the byte at `address` belongs to: more than one if it was used in
    /// several sizes. They are aligned to their size.
    pub(crate) fn cells_over(&self, address: usize, generation: u32) -> impl Iterator<Item = ObjectId> {
        // They lie on its page, and few pages have any.
        let sizes = if self.has_cells_near(address, generation) { &[1, 2, 4, 8, 16][..] } else { &[] };
        sizes.iter().filter_map(move |&size| {
            let key = key_of(address & !(size - 1), ObjectKind::Memory);
            let entry = &self.entries[self.position(key)];
            let met = entry.key == key && entry.generation == generation && entry.size as usize == size;
            met.then_some(entry.object)
        })
    }

    /// A new object at `address`, even if another one lived there earlier in this execution: it
    /// may have moved away.
    pub(crate) fn be_born(
        &mut self,
        address: usize,
        kind: ObjectKind,
        generation: u32,
        mut create: impl FnMut() -> ObjectId,
    ) -> ObjectId {
        let key = key_of(address, kind);
        let entry = self.entry(key, &mut create);
        if entry.generation != generation {
            entry.generation = generation;
            entry.lives = 0;
            return entry.object;
        }
        entry.lives += 1;
        let life = entry.lives;
        *self.later_lives.entry((key, life)).or_insert_with(create)
    }

    /// The objects that were ever met between two addresses.
    pub(crate) fn within(&self, start: usize, end: usize) -> impl Iterator<Item = ObjectId> {
        let address = |entry: &&Entry| (entry.key << 8 >> 8) as usize;
        self.entries
            .iter()
            .filter(move |entry| (start..end).contains(&address(entry)))
            .map(|entry| entry.object)
    }

    /// Number, address and kind, and life of all objects from number `first` on, in order.
    pub(crate) fn names_from(&self, first: u32) -> Vec<(ObjectId, u64, u32)> {
        let first_lives = self.entries.iter().filter(|entry| entry.key != 0);
        let first_lives = first_lives.map(|entry| (entry.object, entry.key, 0));
        let later_lives = self.later_lives.iter().map(|(&(key, life), &object)| (object, key, life));
        let mut names: Vec<_> =
            first_lives.chain(later_lives).filter(|(object, ..)| object.0 >= first).collect();
        names.sort_unstable();
        names
    }

    /// The object of such a name; `create` numbers it if it was never seen.
    pub(crate) fn named(&mut self, key: u64, life: u32, create: impl FnOnce() -> ObjectId) -> ObjectId {
        match life {
            0 => self.entry(key, create).object,
            life => *self.later_lives.entry((key, life)).or_insert_with(create),
        }
    }

    /// Generations begin anew: none of those noted is the current one.
    #[cold]
    pub(crate) fn forget_generations(&mut self) {
        for entry in &mut self.entries {
            entry.generation = 0;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.entries);
        self.entries = vec![EMPTY; old.len() * 2];
        for entry in old.into_iter().filter(|entry| entry.key != 0) {
            let at = self.position(entry.key);
            self.entries[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_number_and_is_fresh_once_in_every_execution() {
        let mut table = AddressTable::new();
        let mut next = 0;
        let mut create = || {
            next += 1;
            ObjectId(next)
        };
        for generation in 1..4 {
            for index in 0..1000 {
                let address = 0x1000 + index * 8;
                let found = table.find(address, ObjectKind::Memory, generation, &mut create);
                assert_eq!(found, Found { object: ObjectId(index as u32 + 1), fresh: true });
                let again = table.find(address, ObjectKind::Memory, generation, &mut create);
                assert_eq!(again, Found { object: ObjectId(index as u32 + 1), fresh: false });
            }
        }
    }

    #[test]
    fn a_byte_belongs_to_the_cells_around_it() {
        let mut table = AddressTable::new();
        for (number, address, size) in [(1, 0x1000, 8), (2, 0x1008, 1), (3, 0x100c, 4)] {
            table.find(address, ObjectKind::Memory, 1, || ObjectId(number));
            table.set_size(address, size, 1);
        }
        let cells = |address| table.cells_over(address, 1).collect::<Vec<_>>();
        assert_eq!((cells(0x1007), cells(0x1008)), (vec![ObjectId(1)], vec![ObjectId(2)]));
        assert_eq!((cells(0x1009), cells(0x100f)), (vec![], vec![ObjectId(3)]));
        assert_eq!(table.cells_over(0x1000, 2).count(), 0, "not in this execution");
    }

    #[test]
    fn two_objects_that_live_at_one_address_one_after_the_other_are_two() {
        let mut table = AddressTable::new();
        let mut next = 0;
        let mut create = || {
            next += 1;
            ObjectId(next)
        };
        let mut pair =
            |generation| [(); 2].map(|()| table.be_born(0x2000, ObjectKind::Mutex, generation, &mut create));
        let first = pair(1);
        assert_ne!(first[0], first[1]);
        assert_eq!(first, pair(2), "the same two in the next execution");
    }
}
