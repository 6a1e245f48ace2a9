//! What to run next: bins of equal priority, each a stack (GAMBIT 4.4).
//!
//! Equal priorities therefore give depth-first search, which keeps the tree small.

use super::lines::LineId;
use std::collections::BTreeMap;

/// Most priority functions one search can combine.
pub(super) const MAX_PRIORITIES: usize = 4;

/// Ranks by each priority function in turn; smaller runs first.
pub(super) type Rank = [i32; MAX_PRIORITIES];

/// The lines of one rank, a stack. Numbers take three bytes as long as that is enough.
#[derive(Clone, Debug)]
struct Bin {
    bytes: Vec<u8>,
    width: usize,
}

impl Bin {
    const fn new() -> Bin {
        Bin { bytes: Vec::new(), width: 3 }
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    fn push(&mut self, line: LineId) {
        if line >> (8 * (self.width - 1)) > 0xFF {
            self.widen();
        }
        if self.bytes.capacity() - self.bytes.len() < self.width {
            // By a sixteenth, not twofold: most of the memory is pending executions.
            self.bytes.reserve_exact((self.len() / 16 + 4) * self.width);
        }
        self.bytes.extend_from_slice(&line.to_le_bytes()[..self.width]);
    }

    #[cold]
    fn widen(&mut self) {
        let lines: Vec<LineId> = self.lines().collect();
        *self = Bin { bytes: Vec::with_capacity(4 * lines.len() + 4), width: 4 };
        self.bytes.extend(lines.into_iter().flat_map(LineId::to_le_bytes));
    }

    fn number(bytes: &[u8]) -> LineId {
        bytes.iter().rfold(0, |number, &byte| number << 8 | LineId::from(byte))
    }

    fn pop(&mut self) -> Option<LineId> {
        let start = self.bytes.len().checked_sub(self.width)?;
        let line = Self::number(&self.bytes[start..]);
        self.bytes.truncate(start);
        Some(line)
    }

    /// In the order in which they came.
    fn lines(&self) -> impl Iterator<Item = LineId> {
        self.bytes.chunks_exact(self.width).map(Self::number)
    }

    fn retain(&mut self, mut keep: impl FnMut(LineId) -> bool) {
        let mut kept = 0;
        for at in (0..self.bytes.len()).step_by(self.width) {
            if keep(Self::number(&self.bytes[at..at + self.width])) {
                self.bytes.copy_within(at..at + self.width, kept);
                kept += self.width;
            }
        }
        self.bytes.truncate(kept);
    }
}

/// Pending executions by rank.
#[derive(Clone, Debug)]
pub(super) struct Fringe {
    /// None of them is empty.
    bins: BTreeMap<Rank, Bin>,
    len: usize,
    /// Bytes in all bins.
    room: usize,
}

impl Fringe {
    pub(super) fn new() -> Self {
        Fringe { bins: BTreeMap::new(), len: 0, room: 0 }
    }

    pub(super) fn push(&mut self, rank: Rank, line: LineId) {
        let bin = self.bins.entry(rank).or_insert(const { Bin::new() });
        self.room -= bin.bytes.capacity();
        bin.push(line);
        self.room += bin.bytes.capacity();
        self.len += 1;
    }

    /// The line added last among those of the smallest rank.
    pub(super) fn pop(&mut self) -> Option<LineId> {
        let mut bin = self.bins.first_entry()?;
        let line = bin.get_mut().pop();
        if bin.get().bytes.is_empty() {
            self.room -= bin.get().bytes.capacity();
            bin.remove();
        }
        self.len -= 1;
        line
    }

    /// Takes a line out, wherever it is.
    pub(super) fn remove(&mut self, line: LineId) {
        let has = |(_, bin): &(&Rank, &Bin)| bin.lines().any(|one| one == line);
        let Some(rank) = self.bins.iter().find(has).map(|(rank, _)| *rank) else { return };
        self.len -= 1;
        if let Some(bin) = self.bins.get_mut(&rank) {
            bin.retain(|one| one != line);
            if bin.bytes.is_empty() {
                self.room -= bin.bytes.capacity();
                self.bins.remove(&rank);
            }
        }
    }

    /// Keeps only some of the lines.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(LineId, Rank) -> bool) {
        let (mut len, mut room) = (0, 0);
        self.bins.retain(|&rank, bin| {
            bin.retain(|line| keep(line, rank));
            len += bin.len();
            room += if bin.bytes.is_empty() { 0 } else { bin.bytes.capacity() };
            !bin.bytes.is_empty()
        });
        (self.len, self.room) = (len, room);
    }

    /// All lines, those that come last first.
    pub(super) fn worst_first(&self) -> impl Iterator<Item = LineId> {
        self.bins.values().rev().flat_map(Bin::lines)
    }

    /// All lines and their ranks, in order of rank.
    pub(super) fn lines(&self) -> impl Iterator<Item = (LineId, Rank)> {
        self.bins.iter().flat_map(|(&rank, bin)| bin.lines().map(move |line| (line, rank)))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.room + self.bins.len() * size_of::<(Rank, Bin)>()
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

    #[test]
    fn numbers_of_lines_may_take_four_bytes() {
        let mut fringe = Fringe::new();
        let lines = [0, 7, 0xFF_FFFF, 0x100_0000, 3, LineId::MAX - 1];
        lines.into_iter().for_each(|line| fringe.push([0; 4], line));
        fringe.push([1; 4], 0x12_3456);
        fringe.retain(|line, _| line != 7);
        let all: Vec<LineId> = fringe.lines().map(|(line, _)| line).collect();
        assert_eq!(all, [0, 0xFF_FFFF, 0x100_0000, 3, LineId::MAX - 1, 0x12_3456]);
        fringe.remove(3);
        let worst: Vec<LineId> = fringe.worst_first().collect();
        assert_eq!(worst, [0x12_3456, 0, 0xFF_FFFF, 0x100_0000, LineId::MAX - 1]);
        let order: Vec<LineId> = std::iter::from_fn(|| fringe.pop()).collect();
        assert_eq!(order, [LineId::MAX - 1, 0x100_0000, 0xFF_FFFF, 0, 0x12_3456]);
        assert_eq!((fringe.len(), fringe.bytes()), (0, 0));
    }
}
