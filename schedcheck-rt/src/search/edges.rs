//! The choices a tree is made of, each kept once.
//!
//! A test has few different operations, and a tree has many lines that take them, so lines name
//! edges by number: 4 bytes instead of 16.

use super::step::{Access, Alt, Choice, Event, Mode, ObjectId, ThreadId};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// One choice and the accesses it makes.
#[derive(Clone, Copy, Debug, Eq)]
pub(super) struct Edge {
    pub(super) thread: ThreadId,
    pub(super) alt: Alt,
    pub(super) modes: [Mode; 2],
    pub(super) objects: [ObjectId; 2],
    /// Depends on everything (a forced time-out).
    pub(super) barrier: bool,
    /// As [`Event::comes_round`].
    pub(super) comes_round: bool,
}

impl Edge {
    pub(super) fn of(event: &Event) -> Self {
        let edge = Edge::new(event.choice(), &event.accesses);
        Edge { barrier: event.forced, comes_round: event.comes_round, ..edge }
    }

    pub(super) fn new(choice: Choice, accesses: &[Access; 2]) -> Self {
        let [first, second] = accesses;
        let (modes, objects) = ([first.mode, second.mode], [first.object, second.object]);
        Edge { thread: choice.thread, alt: choice.alt, modes, objects, barrier: false, comes_round: false }
    }

    /// All of it.
    #[inline]
    fn words(&self) -> (u64, u64) {
        let bytes =
            [self.modes[0] as u8, self.modes[1] as u8, u8::from(self.barrier), u8::from(self.comes_round)];
        let rest = u32::from(self.thread.0) << 16 | u32::from(self.alt.0);
        let what = u64::from(u32::from_le_bytes(bytes)) << 32 | u64::from(rest);
        (what, u64::from(self.objects[0].0) << 32 | u64::from(self.objects[1].0))
    }

    pub(super) fn choice(&self) -> Choice {
        Choice { thread: self.thread, alt: self.alt }
    }

    /// Costly alternatives need not happen, so they cover nothing but themselves.
    pub(super) fn optional(&self) -> bool {
        self.alt.budget().is_some()
    }
}

/// By hand: two words instead of ten.
impl PartialEq for Edge {
    #[inline]
    fn eq(&self, other: &Edge) -> bool {
        self.words() == other.words()
    }
}

impl Hash for Edge {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (what, objects) = self.words();
        state.write_u64(what);
        state.write_u64(objects);
    }
}

/// Number of an edge.
pub(super) type EdgeId = u32;

/// "No edge".
pub(super) const NO_EDGE: EdgeId = EdgeId::MAX;

/// All edges of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    all: Vec<Edge>,
    numbers: FxHashMap<Edge, EdgeId>,
}

impl Edges {
    pub(super) fn number(&mut self, edge: Edge) -> EdgeId {
        *self.numbers.entry(edge).or_insert_with(|| {
            self.all.push(edge);
            self.all.len() as EdgeId - 1
        })
    }

    pub(super) fn get(&self, number: EdgeId) -> Edge {
        self.all[number as usize]
    }

    /// Bytes they occupy.
    pub(super) fn bytes(&self) -> usize {
        let entry = size_of::<(Edge, EdgeId)>() + 1;
        self.all.capacity() * size_of::<Edge>() + self.numbers.capacity() * entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_edges_have_one_number() {
        let mut edges = Edges::default();
        let edge = |thread| {
            let choice = Choice { thread: ThreadId(thread), alt: Alt::DEFAULT };
            Edge::new(choice, &[Access::new(ObjectId(1), Mode::Read), Access::NONE])
        };
        let numbers = [1, 2, 1].map(|thread| edges.number(edge(thread)));
        assert_eq!(numbers, [0, 1, 0]);
        assert_eq!(edges.get(1), edge(2));
    }
}
