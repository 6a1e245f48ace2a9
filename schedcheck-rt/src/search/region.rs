//! Parts of the tree as bytes.
//!
//! What lies behind the free root of a line is explored by the executions of that part alone (rule
//! R3 of [`super::wakeup`]): a *region*. It can be taken out of one tree and put into another at the
//! same line: of another process, or of the same search another day. The whole tree is the region of
//! its first line.
//!
//! Lines are written in the order in which they hang, each with its way and, while it is pending, its
//! rank, by numbers of tables that come first.

use super::bytes::{Damaged, Reader, Writer};
use super::edges::{Edge, EdgeId, NO_EDGE};
use super::fringe::Rank;
use super::lines::{AWAY, DRAINED, EXECUTED, LineId, NO_LINE, OWN, PADDED};
use super::records::{Renaming, read_edge, write_edge};
use super::step::StepIndex;
use super::tree::{ROOT, Tree};
use super::ways::WayId;
use rustc_hash::FxHashMap;

/// Ranks of the lines that are pending.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// One more than the number of the rank; 0 for none.
    pub(super) of_line: Vec<u32>,
    pub(super) ranks: Vec<Rank>,
}

impl Ranks {
    pub(super) fn set(&mut self, line: LineId, rank: Rank) {
        if self.ranks.last() != Some(&rank) {
            self.ranks.push(rank);
        }
        let at = line as usize;
        if self.of_line.len() <= at {
            self.of_line.resize(at + 1, 0);
        }
        self.of_line[at] = self.ranks.len() as u32;
    }

    fn of(&self, line: LineId) -> Option<u32> {
        self.of_line.get(line as usize)?.checked_sub(1)
    }
}

/// Bits of a written line, ahead of its start.
const IS_EXECUTED: u64 = 1;
const IS_DRAINED: u64 = 2;
const IS_PADDED: u64 = 4;
const HAS_CHILDREN: u64 = 8;
const IS_LAST: u64 = 16;
const IS_RANKED: u64 = 32;
/// Its region is kept elsewhere.
const IS_AWAY: u64 = 64;
const BITS: u32 = 7;

pub(super) fn write_rank(rank: &Rank, out: &mut Writer) {
    rank.iter().for_each(|&part| out.signed(part));
}

pub(super) fn read_rank(from: &mut Reader<'_>) -> Result<Rank, Damaged> {
    let mut rank = Rank::default();
    for part in &mut rank {
        *part = from.signed()?;
    }
    Ok(rank)
}

/// Writes regions.
pub(super) struct RegionWriter<'a> {
    tree: &'a Tree,
    ranks: &'a Ranks,
    lines: Writer,
    ways: Writer,
    way_numbers: FxHashMap<WayId, u64>,
    edges: Writer,
    edge_numbers: FxHashMap<EdgeId, u64>,
    /// Where the regions of lines are that are kept elsewhere.
    away: &'a FxHashMap<LineId, u64>,
}

impl<'a> RegionWriter<'a> {
    pub(super) fn new(tree: &'a Tree, ranks: &'a Ranks, away: &'a FxHashMap<LineId, u64>) -> Self {
        RegionWriter {
            tree,
            ranks,
            lines: Writer::default(),
            ways: Writer::default(),
            way_numbers: FxHashMap::default(),
            edges: Writer::default(),
            edge_numbers: FxHashMap::default(),
            away,
        }
    }

    /// The line and its region.
    pub(super) fn add(&mut self, top: LineId) {
        let free = self.tree.free(top);
        let mut children = self.tree.children(top).take_while(|&child| self.tree.start(child) >= free);
        // Branches of its chain are not part of the region, and hang behind the others.
        let last = children.clone().last();
        self.line(top, children.next(), true);
        let Some(last) = last else { return };
        let mut at = self.tree.lines.get(top).child;
        loop {
            let child = self.tree.lines.get(at).child;
            let next = self.tree.lines.get(at).next();
            let first_child = (child != NO_LINE).then_some(child);
            self.line(at, first_child, at == last || next == NO_LINE);
            at = match first_child {
                Some(child) => child,
                None => match self.next_after(at, last) {
                    Some(next) => next,
                    None => return,
                },
            };
        }
    }

    /// The line written after `line` and all below it.
    fn next_after(&self, mut line: LineId, last: LineId) -> Option<LineId> {
        loop {
            if line == last {
                return None;
            }
            match self.tree.lines.get(line).next() {
                NO_LINE => line = self.tree.parent(line),
                next => return Some(next),
            }
        }
    }

    fn line(&mut self, line: LineId, first_child: Option<LineId>, is_last: bool) {
        let record = self.tree.lines.get(line);
        let rank = self.ranks.of(line);
        let away = self.away.get(&line);
        let bit = |bit: u64, set: bool| if set { bit } else { 0 };
        let bits = bit(IS_EXECUTED, record.is(EXECUTED))
            | bit(IS_DRAINED, record.is(DRAINED))
            | bit(IS_PADDED, record.is(PADDED))
            | bit(HAS_CHILDREN, first_child.is_some())
            | bit(IS_LAST, is_last)
            | bit(IS_RANKED, rank.is_some())
            | bit(IS_AWAY, away.is_some());
        self.lines.number(u64::from(record.start()) << BITS | bits);
        let way = self.way(line);
        self.lines.number(way);
        if let Some(rank) = rank {
            self.lines.number(rank);
        }
        if let Some(&away) = away {
            self.lines.number(away);
        }
    }

    fn way(&mut self, line: LineId) -> u64 {
        let id = self.tree.lines.get(line).way;
        if let Some(&number) = self.way_numbers.get(&id) {
            return number;
        }
        let number = self.way_numbers.len() as u64;
        self.way_numbers.insert(id, number);
        let way = self.tree.lines.way(line);
        let own = if way.own == NO_EDGE { 0 } else { self.edge(way.own) + 1 };
        let steps = way.steps as usize;
        self.ways.number(own);
        self.ways.number(way.preemptions);
        self.ways.number(way.free);
        self.ways.count(steps);
        self.ways.count(way.words().count());
        for (at, word) in way.words().enumerate() {
            let is_edge = at < steps || (at - steps).is_multiple_of(2);
            let word = if is_edge { self.edge(word) } else { u64::from(word) };
            self.ways.number(word);
        }
        number
    }

    fn edge(&mut self, id: EdgeId) -> u64 {
        let next = self.edge_numbers.len() as u64;
        *self.edge_numbers.entry(id).or_insert_with(|| {
            write_edge(&self.tree.lines.edges.get(id), &mut self.edges);
            next
        })
    }

    /// Everything that was added.
    pub(super) fn finish(self, out: &mut Writer) {
        out.count(self.edge_numbers.len());
        out.block(self.edges.bytes());
        out.count(self.way_numbers.len());
        out.block(self.ways.bytes());
        out.count(self.ranks.ranks.len());
        self.ranks.ranks.iter().for_each(|rank| write_rank(rank, out));
        out.block(self.lines.bytes());
    }
}

/// Puts regions into a tree.
pub(super) struct RegionReader<'a> {
    lines: Reader<'a>,
    /// Numbers of the ways in this tree.
    ways: Vec<WayId>,
    ranks: Vec<Rank>,
    /// Lines to be executed.
    pub(super) pending: Vec<(LineId, Rank)>,
    /// Lines whose regions are elsewhere, and where.
    pub(super) away: Vec<(LineId, u64)>,
    /// Flags of new lines.
    flags: u32,
}

impl<'a> RegionReader<'a> {
    /// `is_own`: the new lines are those of a share.
    pub(super) fn new(
        tree: &mut Tree,
        names: &Renaming,
        from: &mut Reader<'a>,
        is_own: bool,
    ) -> Result<Self, Damaged> {
        let count: usize = from.number()?;
        let mut block = Reader::new(from.block()?);
        let edges: Vec<Edge> = (0..count).map(|_| read_edge(names, &mut block)).collect::<Result<_, _>>()?;
        let count: usize = from.number()?;
        let mut block = Reader::new(from.block()?);
        let ways = (0..count).map(|_| read_way(tree, &edges, &mut block)).collect::<Result<_, _>>()?;
        let count = from.count()?;
        let ranks = (0..count).map(|_| read_rank(from)).collect::<Result<_, _>>()?;
        let flags = if is_own { OWN } else { 0 };
        let lines = Reader::new(from.block()?);
        Ok(RegionReader { lines, ways, ranks, pending: Vec::new(), away: Vec::new(), flags })
    }

    /// The next region: that of `top`, of which this tree knows nothing but itself.
    pub(super) fn place(&mut self, tree: &mut Tree, top: LineId) -> Result<(), Damaged> {
        let (bits, start, way) = self.head()?;
        if start != tree.start(top) {
            return Err(Damaged);
        }
        let mut record = tree.lines.get_mut(top);
        record.way = way;
        record.set(EXECUTED, bits & IS_EXECUTED != 0);
        record.set(PADDED, bits & IS_PADDED != 0);
        drop(record);
        self.finish_line(tree, top, bits)?;
        if bits & HAS_CHILDREN == 0 {
            return Ok(());
        }
        // Where the next line hangs: parent, and the line it follows.
        let (mut parent, mut before) = (top, NO_LINE);
        let behind = tree.lines.get(top).child;
        // Whether each of the lines from `top` to `parent`, but for the first, is its parent's last.
        let mut are_last = Vec::new();
        loop {
            let (bits, start, way) = self.head()?;
            if start < tree.start(parent) || start == tree.start(parent) && parent != ROOT {
                return Err(Damaged);
            }
            let line = tree.lines.add_as(parent, start, way);
            let mut record = tree.lines.get_mut(line);
            let flags = [(EXECUTED, IS_EXECUTED), (DRAINED, IS_DRAINED), (PADDED, IS_PADDED)];
            flags.into_iter().for_each(|(flag, bit)| record.set(flag, bits & bit != 0));
            record.set(self.flags, true);
            drop(record);
            match before {
                NO_LINE => tree.lines.set_child(parent, line),
                before => tree.lines.set_next(before, line),
            }
            self.finish_line(tree, line, bits)?;
            if bits & HAS_CHILDREN != 0 {
                (parent, before) = (line, NO_LINE);
                are_last.push(bits & IS_LAST != 0);
                continue;
            }
            before = line;
            let mut is_last = bits & IS_LAST != 0;
            while is_last {
                if parent == top {
                    if behind != NO_LINE {
                        tree.lines.set_next(before, behind);
                    }
                    return Ok(());
                }
                before = parent;
                is_last = are_last.pop().unwrap_or(true);
                parent = tree.parent(before);
            }
        }
    }

    fn head(&mut self) -> Result<(u64, StepIndex, WayId), Damaged> {
        let word = self.lines.long()?;
        let start = StepIndex::try_from(word >> BITS).map_err(|_| Damaged)?;
        let way = *self.ways.get(self.lines.number::<usize>()?).ok_or(Damaged)?;
        Ok((word & ((1 << BITS) - 1), start, way))
    }

    fn finish_line(&mut self, tree: &mut Tree, line: LineId, bits: u64) -> Result<(), Damaged> {
        if bits & IS_RANKED != 0 {
            let rank = *self.ranks.get(self.lines.number::<usize>()?).ok_or(Damaged)?;
            self.pending.push((line, rank));
        }
        if bits & IS_AWAY != 0 {
            self.away.push((line, self.lines.long()?));
            tree.lines.get_mut(line).set(AWAY, true);
        }
        Ok(())
    }
}

fn read_way(tree: &mut Tree, edges: &[Edge], from: &mut Reader<'_>) -> Result<WayId, Damaged> {
    let edge = |number: usize| edges.get(number).copied().ok_or(Damaged);
    let own = match from.number::<usize>()?.checked_sub(1) {
        Some(number) => Some(edge(number)?),
        None => None,
    };
    let (preemptions, free) = (from.number()?, from.number()?);
    let (steps, count) = (from.number::<usize>()?, from.count()?);
    if steps > count || (count - steps) % 2 != 0 {
        return Err(Damaged);
    }
    let chain = (0..steps).map(|_| edge(from.number()?)).collect::<Result<Vec<_>, _>>()?;
    let mut sleepers = Vec::new();
    for _ in 0..(count - steps) / 2 {
        sleepers.push((edge(from.number()?)?, from.number()?));
    }
    Ok(tree.lines.add_way(own, &chain, free, sleepers.into_iter(), preemptions))
}
