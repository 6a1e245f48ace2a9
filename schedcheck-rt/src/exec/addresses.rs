//! Which object lives at an address.
//!
//! Atomics keep std's exact layout, so they cannot carry a number: their address is their identity
//! within one execution. An open-addressing table, emptied between executions by raising a
//! generation instead of by clearing.

use crate::search::step::ObjectId;

#[derive(Clone, Copy)]
struct Entry {
    address: usize,
    generation: u32,
    object: ObjectId,
}

const EMPTY: Entry = Entry { address: 0, generation: 0, object: ObjectId::NONE };

/// The table. Generation 0 is never current, so that fresh entries are empty.
pub(crate) struct AddressTable {
    entries: Vec<Entry>,
    generation: u32,
    used: usize,
}

impl AddressTable {
    pub(crate) fn new() -> Self {
        AddressTable { entries: vec![EMPTY; 256], generation: 1, used: 0 }
    }

    /// Forgets all addresses.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.fill(EMPTY);
            self.generation = 1;
        }
    }

    fn start(&self, address: usize) -> usize {
        // Fibonacci hashing: the high bits of the product are well mixed, also for addresses that
        // differ only in a few low bits.
        let hash = (address as u64 >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 40) as usize & (self.entries.len() - 1)
    }

    /// The object at `address`; `create` makes one if there is none yet.
    #[inline]
    pub(crate) fn find_or(&mut self, address: usize, create: impl FnOnce() -> ObjectId) -> ObjectId {
        let mut at = self.start(address);
        loop {
            let entry = self.entries[at];
            if entry.generation != self.generation {
                break;
            }
            if entry.address == address {
                return entry.object;
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
        let object = create();
        self.entries[at] = Entry { address, generation: self.generation, object };
        self.used += 1;
        if self.used * 2 > self.entries.len() {
            self.grow();
        }
        object
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.entries);
        self.entries = vec![EMPTY; old.len() * 2];
        for entry in old.into_iter().filter(|entry| entry.generation == self.generation) {
            let mut at = self.start(entry.address);
            while self.entries[at].generation == self.generation {
                at = (at + 1) & (self.entries.len() - 1);
            }
            self.entries[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_object_until_the_table_is_cleared() {
        let mut table = AddressTable::new();
        let mut next = 0;
        let mut create = || {
            next += 1;
            ObjectId(next)
        };
        let first: Vec<_> = (0..1000).map(|i| table.find_or(0x1000 + i * 8, &mut create)).collect();
        let again: Vec<_> = (0..1000).map(|i| table.find_or(0x1000 + i * 8, &mut create)).collect();
        assert_eq!(first, again);
        table.clear();
        assert_eq!(table.find_or(0x1000, &mut create), ObjectId(1001));
    }
}
