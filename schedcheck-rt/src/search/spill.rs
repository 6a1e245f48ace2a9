//! The less important part of a large search on a disk (GAMBIT's "simple addition").
//!
//! A region is explored by its own executions alone (rule R3 of [`super::wakeup`]), so one in which nothing
//! is executed for the time being is not needed in memory: nobody outside looks into it. It is written down
//! as for another process ([`super::share`]), forgotten, and put back when nothing better is left. Regions are
//! chosen from those whose lines come last.

use super::bytes::{Damaged, Reader, Writer, checksum};
use super::engine::{Search, Strategy};
use super::fringe::Fringe;
use super::lines::{AWAY, EXECUTED, LineId};
use super::records::Renaming;
use super::region::{RegionReader, RegionWriter};
use super::share::{Shares, unit};
use super::tree::Tree;
use rustc_hash::FxHashMap;

/// Regions that were written down together have numbers that differ only in this many bits.
const BITS: u32 = 20;
/// Parts into which a search is thought to be divided: the size of what is chosen.
const PARTS: usize = 32;

impl Search {
    /// Bytes that the search could do without for some time, and those of the classes it has seen.
    pub fn memory(&self) -> (usize, usize) {
        let lines = |tree: &Tree, fringe: &Fringe| tree.len() * 20 + fringe.len() * 4;
        let spare = match &self.strategy {
            Strategy::Optimal(search) => lines(&search.tree, &search.fringe),
            Strategy::Enumerate(search) => lines(&search.tree, &search.fringe),
            Strategy::Backtrack(_) => 0,
        };
        (spare, self.seen.len() * 9)
    }

    /// No longer remembers which classes were executed: an optimal search needs that only to count them, and
    /// counts every execution as a class of its own from now on.
    pub fn forget_classes(&mut self) {
        if matches!(self.strategy, Strategy::Optimal(_)) {
            self.seen = Default::default();
            self.counts_all = true;
        }
    }

    /// Takes about half of what is pending out of memory, as bytes to be put back under this number, which
    /// is not in use. `None` if nothing can be taken out.
    pub fn spill(&mut self, number: u32) -> Option<Vec<u8>> {
        match &mut self.strategy {
            Strategy::Optimal(search) => {
                search.forget_last();
                search.stop_steering();
                search.shares.spill(&mut search.tree, &mut search.fringe, number)
            }
            Strategy::Enumerate(search) => search.shares.spill(&mut search.tree, &mut search.fringe, number),
            Strategy::Backtrack(_) => None,
        }
    }

    /// The number under which something was taken out last.
    pub fn spilled(&self) -> Option<u32> {
        let stored = &self.shares()?.stored;
        stored.values().map(|place| (place >> BITS) as u32).max()
    }

    /// Puts back what was taken out under this number.
    pub fn unspill(&mut self, number: u32, bytes: &[u8]) -> Result<(), Damaged> {
        match &mut self.strategy {
            Strategy::Optimal(search) => {
                search.forget_last();
                search.shares.unspill(&mut search.tree, &mut search.fringe, number, bytes)
            }
            Strategy::Enumerate(search) => {
                search.shares.unspill(&mut search.tree, &mut search.fringe, number, bytes)
            }
            Strategy::Backtrack(_) => Err(Damaged),
        }
    }

    /// Executions that are known but not in memory.
    pub(super) fn spilled_count(&self) -> usize {
        self.shares().map_or(0, |shares| shares.spilled)
    }

    /// Known executions that are neither on a disk nor given away.
    pub fn at_hand(&self) -> usize {
        self.size().0
    }

    fn shares(&self) -> Option<&Shares> {
        match &self.strategy {
            Strategy::Optimal(search) => Some(&search.shares),
            Strategy::Enumerate(search) => Some(&search.shares),
            Strategy::Backtrack(_) => None,
        }
    }
}

impl Shares {
    fn spill(&mut self, tree: &mut Tree, fringe: &mut Fringe, number: u32) -> Option<Vec<u8>> {
        let (size, wanted) = ((fringe.len() / PARTS).max(1), fringe.len() / 2);
        let mut tops = Vec::new();
        let (mut found, mut chosen) = (Vec::new(), 0);
        for line in fringe.worst_first() {
            if chosen >= wanted || tops.len() + 1 >= 1 << BITS {
                break;
            }
            if tree.lines.get(line).is(AWAY) {
                continue;
            }
            let Some(top) = unit(tree, line, size, &mut found) else { continue };
            // The line itself stays, so only what hangs below one that was executed saves anything.
            if !tree.lines.get(top).is(EXECUTED) {
                continue;
            }
            for &line in &found {
                tree.lines.get_mut(line).set(AWAY, true);
            }
            tree.lines.get_mut(top).set(AWAY, true);
            chosen += found.len();
            tops.push(top);
        }
        if tops.is_empty() {
            return None;
        }
        let mut ranks = super::region::Ranks::default();
        fringe.retain(|line, rank| {
            let is_chosen = tree.lines.get(line).is(AWAY);
            if is_chosen {
                ranks.set(line, rank);
            }
            !is_chosen
        });
        let mut out = Writer::default();
        out.count(tops.len());
        out.count(chosen);
        let nothing = FxHashMap::default();
        let mut regions = RegionWriter::new(tree, &ranks, &nothing);
        tops.iter().for_each(|&top| regions.add(top));
        regions.finish(&mut out);
        for (&top, at) in tops.iter().zip(0u64..) {
            tree.forget_region(top);
            self.stored.insert(top, u64::from(number) << BITS | at);
        }
        self.spilled += chosen;
        let bytes = out.into_bytes();
        self.sums.insert(number, checksum(&bytes));
        Some(bytes)
    }

    fn unspill(
        &mut self,
        tree: &mut Tree,
        fringe: &mut Fringe,
        number: u32,
        bytes: &[u8],
    ) -> Result<(), Damaged> {
        // What a disk changed, or another search wrote, could be read as a smaller one, which would be taken for complete.
        if self.sums.get(&number) != Some(&checksum(bytes)) {
            return Err(Damaged);
        }
        let from = &mut Reader::new(bytes);
        let (count, chosen): (usize, usize) = (from.number()?, from.number()?);
        let mut tops: Vec<(u64, LineId)> = self
            .stored
            .iter()
            .filter(|(_, place)| **place >> BITS == u64::from(number))
            .map(|(&line, &place)| (place, line))
            .collect();
        tops.sort_unstable();
        if tops.len() != count {
            return Err(Damaged);
        }
        // Numbers of objects are those of this search, also if it was loaded since.
        let mut regions = RegionReader::new(tree, &Renaming::default(), from, false)?;
        for &(_, top) in &tops {
            regions.place(tree, top)?;
            tree.lines.get_mut(top).set(AWAY, false);
            self.stored.remove(&top);
        }
        for (line, rank) in regions.pending {
            fringe.push(rank, line);
        }
        self.spilled = self.spilled.saturating_sub(chosen);
        self.sums.remove(&number);
        Ok(())
    }
}
