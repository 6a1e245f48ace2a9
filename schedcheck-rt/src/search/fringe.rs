//! What to run next: bins of equal priority, each a stack (GAMBIT 4.4).
//!
//! Equal priorities therefore give depth-first search, which keeps the tree small.

use std::collections::BTreeMap;

/// Most priority functions one search can combine.
pub(super) const MAX_PRIORITIES: usize = 4;

/// Ranks by each priority function in turn; smaller runs first.
pub(super) type Rank = [i32; MAX_PRIORITIES];

/// Pending items by rank.
#[derive(Debug)]
pub(super) struct Fringe<T> {
    bins: BTreeMap<Rank, Vec<T>>,
    len: usize,
}

impl<T> Fringe<T> {
    pub(super) fn new() -> Self {
        Fringe { bins: BTreeMap::new(), len: 0 }
    }

    pub(super) fn push(&mut self, rank: Rank, item: T) {
        self.bins.entry(rank).or_default().push(item);
        self.len += 1;
    }

    /// The item added last among those of the smallest rank.
    pub(super) fn pop(&mut self) -> Option<T> {
        let mut bin = self.bins.first_entry()?;
        let item = bin.get_mut().pop();
        if bin.get().is_empty() {
            bin.remove();
        }
        self.len -= 1;
        item
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_rank_first_and_last_in_first_out_within() {
        let mut fringe = Fringe::new();
        for (rank, item) in [(1, 'a'), (0, 'b'), (1, 'c'), (0, 'd')] {
            fringe.push([rank, 0, 0, 0], item);
        }
        let order: String = std::iter::from_fn(|| fringe.pop()).collect();
        assert_eq!(order, "dbca");
        assert_eq!(fringe.len(), 0);
    }
}
