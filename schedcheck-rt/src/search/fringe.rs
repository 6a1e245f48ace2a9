//! What to run next: bins of equal priority, each a stack (GAMBIT 4.4).
//!
//! Equal priorities therefore give depth-first search, which keeps the tree small.

use super::lines::LineId;
use std::collections::BTreeMap;

/// Most priority functions one search can combine.
pub(super) const MAX_PRIORITIES: usize = 4;

/// Ranks by each priority function in turn; smaller runs first.
pub(super) type Rank = [i32; MAX_PRIORITIES];

/// Pending executions by rank.
#[derive(Clone, Debug)]
pub(super) struct Fringe {
    bins: BTreeMap<Rank, Vec<LineId>>,
    len: usize,
    /// Places in all bins.
    room: usize,
}

impl Fringe {
    pub(super) fn new() -> Self {
        Fringe { bins: BTreeMap::new(), len: 0, room: 0 }
    }

    pub(super) fn push(&mut self, rank: Rank, line: LineId) {
        let bin = self.bins.entry(rank).or_default();
        self.room -= bin.capacity();
        if bin.len() == bin.capacity() {
            // By a quarter, not twofold: most of the memory is pending executions.
            bin.reserve_exact(bin.len() / 4 + 1);
        }
        bin.push(line);
        self.room += bin.capacity();
        self.len += 1;
    }

    /// The line added last among those of the smallest rank.
    pub(super) fn pop(&mut self) -> Option<LineId> {
        let mut bin = self.bins.first_entry()?;
        let line = bin.get_mut().pop();
        if bin.get().is_empty() {
            self.room -= bin.get().capacity();
            bin.remove();
        }
        self.len -= 1;
        line
    }

    /// Takes a line out, wherever it is.
    pub(super) fn remove(&mut self, line: LineId) {
        let Some((rank, at)) = self.bins.iter().find_map(|(rank, bin)| {
            let at = bin.iter().position(|&one| one == line)?;
            Some((*rank, at))
        }) else {
            return;
        };
        self.len -= 1;
        if let Some(bin) = self.bins.get_mut(&rank) {
            bin.remove(at);
            if bin.is_empty() {
                self.room -= bin.capacity();
                self.bins.remove(&rank);
            }
        }
    }

    /// Keeps only some of the lines.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(LineId, Rank) -> bool) {
        let (mut len, mut room) = (0, 0);
        self.bins.retain(|&rank, bin| {
            bin.retain(|&line| keep(line, rank));
            len += bin.len();
            room += if bin.is_empty() { 0 } else { bin.capacity() };
            !bin.is_empty()
        });
        (self.len, self.room) = (len, room);
    }

    /// All lines, those that come last first.
    pub(super) fn worst_first(&self) -> impl Iterator<Item = LineId> {
        self.bins.values().rev().flat_map(|bin| bin.iter().copied())
    }

    /// All lines and their ranks, in order of rank.
    pub(super) fn lines(&self) -> impl Iterator<Item = (LineId, Rank)> {
        self.bins.iter().flat_map(|(&rank, bin)| bin.iter().map(move |&line| (line, rank)))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.room * size_of::<LineId>() + self.bins.len() * size_of::<(Rank, Vec<LineId>)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_rank_first_and_last_in_first_out_within() {
        let mut fringe = Fringe::new();
        for (rank, line) in [(1, 10), (0, 11), (1, 12), (0, 13)] {
            fringe.push([rank, 0, 0, 0], line);
        }
        let order: Vec<LineId> = std::iter::from_fn(|| fringe.pop()).collect();
        assert_eq!(order, [13, 11, 12, 10]);
        fringe.push([0; 4], 14);
        fringe.remove(14);
        fringe.remove(15);
        assert_eq!((fringe.len(), fringe.bytes()), (0, 0));
    }
}
