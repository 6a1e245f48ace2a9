//! The lines of a tree as they lie in memory: 16 bytes each, 20 if there are more than 16 million.
//!
//! A search may have millions of pending executions, so a line names everything by number: how it
//! leaves its parent is a way ([`super::ways`]), which all lines share that leave in the same way,
//! whatever the step, and its branches are a list through the lines themselves. Lines lie in blocks that never
//! move, so that no more than a block is ever unused and adding one never copies the others.

use super::edges::{Edge, EdgeId, Edges, NO_EDGE};
use super::step::StepIndex;
use super::ways::{Kept, NO_WAY, WayId, Ways};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// Number of a line.
pub(super) type LineId = u32;

/// "No line".
pub(super) const NO_LINE: LineId = LineId::MAX;

/// It was executed.
pub(super) const EXECUTED: u32 = 1 << 31;
/// Nothing is left to do below it.
pub(super) const DRAINED: u32 = 1 << 30;
/// Its chain goes on behind the reversed operation.
pub(super) const PADDED: u32 = 1 << 29;
/// Somebody else sees to it: another process, or nobody as long as it lies on a disk.
pub(super) const AWAY: u32 = 1 << 28;
/// It is part of the share that this process was given.
pub(super) const OWN: u32 = 1 << 27;
const START: u32 = OWN - 1;

/// One execution, pending or done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) parent: LineId,
    /// The step at which it leaves its parent, and flags.
    start: u32,
    /// Number of its way.
    pub(super) way: WayId,
    /// The branch that leaves it last; of several that leave at one step, the one created first.
    pub(super) child: LineId,
    /// The next branch of its parent in that order.
    pub(super) next: LineId,
}

/// A line as it lies in memory: `start`, then the lower three bytes of `parent`, `way`, `child` and `next`.
#[derive(Clone, Copy, Debug)]
struct Packed([u32; 4]);

impl Packed {
    #[inline]
    fn new(start: u32, [parent, way, child, next]: [u32; 4]) -> Packed {
        let (way, child) = (way & NONE, child & NONE);
        Packed([start, parent & NONE | way << 24, way >> 8 | child << 16, child >> 16 | next << 8])
    }

    #[inline]
    fn low(self) -> [u32; 4] {
        let Packed([_, a, b, c]) = self;
        [a & NONE, a >> 24 | (b & 0xFFFF) << 8, b >> 16 | (c & 0xFF) << 16, c >> 8]
    }
}

/// Three bytes of which all bits are set: "none", unless a fourth one says otherwise.
const NONE: u32 = 0x00FF_FFFF;

/// A number of which three bytes were kept, if a fourth was not needed.
#[inline(always)]
const fn widened(low: u32) -> u32 {
    if low == NONE { u32::MAX } else { low }
}

/// A line that is being changed.
#[derive(Debug)]
pub(super) struct Changing<'a> {
    lines: &'a mut Lines,
    id: LineId,
    line: Line,
}

impl Deref for Changing<'_> {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.line
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Line {
        &mut self.line
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.lines.put(self.id, self.line);
    }
}

const BLOCK: usize = 256;

/// All lines of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    blocks: Vec<Box<[Packed; BLOCK]>>,
    /// The fourth bytes, as soon as one of them is needed.
    #[expect(clippy::vec_box, reason = "blocks never move")]
    high: Vec<Box<[u32; BLOCK]>>,
    /// Lines ever made, and the first of those that are vacant, a list through `next`.
    made: usize,
    vacant: LineId,
    vacant_count: usize,
    ways: Ways,
    pub(super) edges: Edges,
    twigs: Twigs,
    /// What executed lines did from their start on, as far as it was kept; and how many steps that is.
    kept: FxHashMap<LineId, Box<[EdgeId]>>,
    kept_count: usize,
}

/// What leaves its parent with one step: what the parent does there, the step, the preemptions.
type Twig = (Option<Edge>, Edge, u32);

/// The ways of twigs that were made last. Most lines are twigs, and most do what others did elsewhere.
#[derive(Clone, Debug, Default)]
struct Twigs(Vec<Option<(Twig, WayId)>>);

impl Twigs {
    /// How many of them are kept.
    const MANY: usize = 64;

    /// Where one of them is, if it is there.
    fn place((_, edge, preemptions): &Twig) -> usize {
        let number = u32::from(edge.thread.0) ^ edge.objects[0].0 << 2 ^ preemptions << 1;
        number as usize % Self::MANY
    }

    #[inline]
    fn get(&self, twig: &Twig) -> Option<WayId> {
        let (known, way) = self.0.get(Self::place(twig))?.as_ref()?;
        (known == twig).then_some(*way)
    }

    fn put(&mut self, twig: Twig, way: WayId) {
        self.0.resize(Self::MANY, None);
        self.0[Self::place(&twig)] = Some((twig, way));
    }
}

impl Line {
    #[inline]
    pub(super) fn start(&self) -> StepIndex {
        self.start & START
    }

    pub(super) fn is(&self, flag: u32) -> bool {
        self.start & flag != 0
    }

    pub(super) fn set(&mut self, flag: u32, value: bool) {
        self.start = if value { self.start | flag } else { self.start & !flag };
    }
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { vacant: NO_LINE, ..Lines::default() }
    }

    /// Inlined: callers look at one or two fields, and walk through many lines.
    #[inline]
    pub(super) fn get(&self, line: LineId) -> Line {
        let (block, at) = (line as usize / BLOCK, line as usize % BLOCK);
        let packed = self.blocks[block][at];
        let low = packed.low();
        let [parent, way, child, next] = if self.high.is_empty() {
            let [parent, way, child, next] = low;
            // Not `map`, which is a call for each of the four if the compiler does not see through it.
            [widened(parent), widened(way), widened(child), widened(next)]
        } else {
            self.with_high(line, low)
        };
        Line { parent, start: packed.0[0], way, child, next }
    }

    #[inline(never)]
    fn with_high(&self, line: LineId, [parent, way, child, next]: [u32; 4]) -> [u32; 4] {
        let high = self.high[line as usize / BLOCK][line as usize % BLOCK];
        const TOP: u32 = 0xFF << 24;
        [parent | high << 24, way | high << 16 & TOP, child | high << 8 & TOP, next | high & TOP]
    }

    pub(super) fn get_mut(&mut self, line: LineId) -> Changing<'_> {
        Changing { line: self.get(line), id: line, lines: self }
    }

    /// Sets one of its flags.
    pub(super) fn mark(&mut self, line: LineId, flag: u32, value: bool) {
        let start = &mut self.blocks[line as usize / BLOCK][line as usize % BLOCK].0[0];
        *start = if value { *start | flag } else { *start & !flag };
    }

    /// Hangs another branch first.
    pub(super) fn set_child(&mut self, line: LineId, child: LineId) {
        if !self.high.is_empty() || child >= NONE {
            self.get_mut(line).child = child;
            return;
        }
        let Packed([_, _, b, c]) = &mut self.blocks[line as usize / BLOCK][line as usize % BLOCK];
        (*b, *c) = (*b & 0xFFFF | child << 16, *c & !0xFF | child >> 16);
    }

    /// Hangs another branch behind it.
    pub(super) fn set_next(&mut self, line: LineId, next: LineId) {
        if !self.high.is_empty() || next >= NONE {
            self.get_mut(line).next = next;
            return;
        }
        let Packed([_, _, _, c]) = &mut self.blocks[line as usize / BLOCK][line as usize % BLOCK];
        *c = *c & 0xFF | next << 8;
    }

    fn put(&mut self, id: LineId, line: Line) {
        let (block, at) = (id as usize / BLOCK, id as usize % BLOCK);
        let numbers = [line.parent, line.way, line.child, line.next];
        if self.high.is_empty() && numbers.iter().any(|&number| number >= NONE && number != u32::MAX) {
            self.widen();
        }
        self.blocks[block][at] = Packed::new(line.start, numbers);
        if let Some(high) = self.high.get_mut(block) {
            high[at] = u32::from_le_bytes(numbers.map(|number| (number >> 24) as u8));
        }
    }

    /// From now on there are fourth bytes.
    fn widen(&mut self) {
        let high = |packed: Packed| {
            u32::from_le_bytes(packed.low().map(|low| if low == NONE { u8::MAX } else { 0 }))
        };
        self.high = self.blocks.iter().map(|block| Box::new(block.map(high))).collect();
    }

    /// Adds a line that leaves `parent` at `start` with `chain`, and hangs nowhere yet. `sleepers`
    /// are edges and the steps at which they are awake.
    pub(super) fn add(
        &mut self,
        (parent, start): (LineId, StepIndex),
        (own, chain): (Option<Edge>, &[Edge]),
        free: StepIndex,
        sleepers: impl Iterator<Item = (Edge, StepIndex)>,
        preemptions: u32,
    ) -> LineId {
        let sleepers = sleepers.map(|(edge, until)| (edge, until - start));
        let way = self.add_way(own, chain, free - start, sleepers, preemptions);
        self.add_as(parent, start, way)
    }

    /// The number of a way, which may be new. Steps are counted from where it leaves.
    pub(super) fn add_way(
        &mut self,
        own: Option<Edge>,
        chain: &[Edge],
        free: u32,
        sleepers: impl Iterator<Item = (Edge, u32)>,
        preemptions: u32,
    ) -> WayId {
        let Lines { ways, edges, .. } = self;
        let own = own.map_or(NO_EDGE, |own| edges.number(own));
        let (mut sleepers, mut until) = (sleepers, None);
        let mut chain_edges = chain.iter();
        let words = std::iter::from_fn(|| {
            if let Some(&edge) = chain_edges.next() {
                return Some(edges.number(edge));
            }
            until.take().or_else(|| {
                let (edge, awake) = sleepers.next()?;
                until = Some(awake);
                Some(edges.number(edge))
            })
        });
        ways.number((own, preemptions), free, chain.len(), words)
    }

    /// The number of a way of one step, behind which nobody sleeps.
    pub(super) fn add_twig(&mut self, own: Option<Edge>, edge: Edge, preemptions: u32) -> WayId {
        let twig = (own, edge, preemptions);
        if let Some(way) = self.twigs.get(&twig) {
            return way;
        }
        let way = self.add_way(own, &[edge], 1, std::iter::empty(), preemptions);
        self.twigs.put(twig, way);
        way
    }

    /// Adds a line that hangs nowhere yet.
    pub(super) fn add_as(&mut self, parent: LineId, start: StepIndex, way: WayId) -> LineId {
        self.add_before(parent, start, way, NO_LINE)
    }

    /// Adds a line that `next` follows among the branches of its parent; it is to be hung there.
    pub(super) fn add_before(
        &mut self,
        parent: LineId,
        start: StepIndex,
        way: WayId,
        next: LineId,
    ) -> LineId {
        assert!(start <= START, "executions have fewer than 2^27 steps");
        self.place(Line { parent, start, way, child: NO_LINE, next })
    }

    fn place(&mut self, line: Line) -> LineId {
        let id = match self.vacant {
            NO_LINE => {
                if self.made.is_multiple_of(BLOCK) {
                    self.blocks.push(Box::new([Packed::new(0, [u32::MAX; 4]); BLOCK]));
                    if !self.high.is_empty() {
                        self.high.push(Box::new([u32::MAX; BLOCK]));
                    }
                }
                self.made += 1;
                self.made as LineId - 1
            }
            vacant => {
                self.vacant = self.get(vacant).next;
                self.vacant_count -= 1;
                vacant
            }
        };
        self.put(id, line);
        id
    }

    /// Gives its memory to lines to come.
    pub(super) fn remove(&mut self, id: LineId) {
        let vacant = self.vacant;
        self.put(id, Line { way: NO_WAY, next: vacant, ..self.get(id) });
        if let Some(steps) = self.kept.remove(&id) {
            self.kept_count -= steps.len();
        }
        self.vacant = id;
        self.vacant_count += 1;
    }

    /// Keeps what a line did from its start on.
    pub(super) fn keep(&mut self, line: LineId, steps: impl Iterator<Item = Edge>) {
        let steps: Box<[EdgeId]> = steps.map(|edge| self.edges.number(edge)).collect();
        self.kept_count += steps.len();
        if let Some(before) = self.kept.insert(line, steps) {
            self.kept_count -= before.len();
        }
    }

    /// What a line did, counted from its start: nothing behind its end, `None` if nothing was kept.
    #[expect(clippy::option_option, reason = "to do nothing is not the same as not to know")]
    pub(super) fn kept_step(&self, line: LineId, at: u32) -> Option<Option<Edge>> {
        let steps = self.kept.get(&line)?;
        Some(steps.get(at as usize).map(|&edge| self.edges.get(edge)))
    }

    /// How many steps are kept.
    pub(super) fn kept_count(&self) -> usize {
        self.kept_count
    }

    /// Lets go of all that was kept.
    pub(super) fn forget_kept(&mut self) {
        if !self.kept.is_empty() {
            self.kept = FxHashMap::default();
            self.kept_count = 0;
        }
    }

    /// Drops ways that no line uses, if there may be many. Numbers of ways change.
    pub(super) fn drop_unused_ways(&mut self) {
        if !self.ways.may_shrink() {
            return;
        }
        let mut used = vec![false; self.ways.len()];
        for line in 0..self.made as LineId {
            if let Some(used) = used.get_mut(self.get(line).way as usize) {
                *used = true;
            }
        }
        self.twigs = Twigs::default();
        let numbers = self.ways.retain(&used);
        for id in 0..self.made as LineId {
            let line = self.get(id);
            if let Some(&way) = numbers.get(line.way as usize) {
                self.put(id, Line { way, ..line });
            }
        }
    }

    #[inline]
    pub(super) fn way(&self, line: LineId) -> Kept<'_> {
        self.ways.get(self.get(line).way)
    }

    /// The first step at which nothing from outside matters any more.
    #[inline]
    pub(super) fn free(&self, line: LineId) -> StepIndex {
        let line = self.get(line);
        line.start() + self.ways.free(line.way)
    }

    /// What the parent does where the line leaves it.
    #[inline]
    pub(super) fn own(&self, line: LineId) -> Option<Edge> {
        let own = self.way(line).own;
        (own != NO_EDGE).then(|| self.edges.get(own))
    }

    #[inline]
    pub(super) fn preemptions(&self, line: LineId) -> u32 {
        self.way(line).preemptions
    }

    /// The choices that the line makes from its start on.
    pub(super) fn chain(&self, line: LineId) -> impl Iterator<Item = Edge> {
        self.way(line).chain().map(|edge| self.edges.get(edge))
    }

    /// One of them, counted from its start.
    #[inline]
    pub(super) fn chain_step(&self, line: LineId, at: usize) -> Option<Edge> {
        self.way(line).step(at).map(|edge| self.edges.get(edge))
    }

    /// Who is asleep inside the chain, and until which step.
    pub(super) fn sleepers(&self, line: LineId) -> impl Iterator<Item = (Edge, StepIndex)> {
        let start = self.get(line).start();
        self.way(line).sleepers().map(move |(edge, until)| (self.edges.get(edge), start + until))
    }

    /// Replaces the choices of the chain by what was really done.
    pub(super) fn correct(&mut self, id: LineId, done: impl Iterator<Item = Edge>) {
        let mut changed = None;
        let kept = self.ways.get(self.get(id).way);
        for ((at, known), edge) in kept.chain().enumerate().zip(done) {
            if self.edges.get(known) != edge {
                let edge = self.edges.number(edge);
                changed.get_or_insert_with(|| kept.to_way()).words[at] = edge;
            }
        }
        if let Some(changed) = changed {
            let way = self.ways.number_of(&changed);
            self.get_mut(id).way = way;
        }
    }

    /// Makes the chain longer.
    pub(super) fn extend(&mut self, id: LineId, more: impl Iterator<Item = Edge>) {
        let mut way = self.way(id).to_way();
        let sleepers: SmallVec<[u32; 8]> = way.words.drain(way.steps as usize..).collect();
        for edge in more {
            way.words.push(self.edges.number(edge));
        }
        way.steps = way.words.len() as u32;
        way.words.extend(sleepers);
        let way = self.ways.number_of(&way);
        self.get_mut(id).way = way;
    }

    /// Cuts the chain off before `step`, which is not its first.
    pub(super) fn cut(&mut self, id: LineId, step: StepIndex) {
        let mut way = self.way(id).to_way();
        let kept = step - self.get(id).start();
        let sleepers: SmallVec<[u32; 8]> = way.words.drain(way.steps as usize..).collect();
        way.words.truncate(kept as usize);
        for &[edge, until] in sleepers.as_chunks().0 {
            way.words.extend([edge, until.min(kept)]);
        }
        (way.free, way.steps) = (kept, kept);
        let way = self.ways.number_of(&way);
        self.get_mut(id).way = way;
    }

    /// Whether `line` was ever the number of a line.
    pub(super) fn has(&self, line: LineId) -> bool {
        (line as usize) < self.made
    }

    /// Lines in memory.
    pub(super) fn len(&self) -> usize {
        self.made - self.vacant_count
    }

    /// Bytes that all of it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK * size_of::<Packed>()
            + self.high.len() * BLOCK * size_of::<u32>()
            + self.ways.bytes()
            + self.edges.bytes()
            + self.kept_count * size_of::<EdgeId>()
            + self.kept.capacity() * (size_of::<(LineId, Box<[EdgeId]>)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::{Access, Alt, Choice, Mode, ObjectId, ThreadId};
    use super::*;

    fn edge(thread: u16) -> Edge {
        let choice = Choice { thread: ThreadId(thread), alt: Alt::DEFAULT };
        Edge::new(choice, &[Access::new(ObjectId(1), Mode::Read), Access::NONE])
    }

    #[test]
    fn a_line_takes_16_bytes() {
        assert_eq!(size_of::<Packed>(), 16);
    }

    #[test]
    fn numbers_may_take_four_bytes() {
        let mut lines = Lines::new();
        let all = [0, 1, NONE - 1, NO_LINE, NONE, NONE + 1, 0x1234_5678, NO_LINE - 1, 0xFE00_0000, 5];
        let mut made = Vec::new();
        for &parent in all.iter().cycle().take(600) {
            let line = lines.add_as(parent, 7, 3);
            lines.get_mut(line).child = parent;
            made.push((line, parent));
            assert_eq!(lines.high.is_empty(), made.len() <= 4, "{parent:x}");
            for &(line, parent) in &made {
                let line = lines.get(line);
                assert_eq!((line.parent, line.child, line.next), (parent, parent, NO_LINE));
                assert_eq!((line.start(), line.way), (7, 3));
            }
        }
    }

    #[test]
    fn what_was_put_in_comes_out_and_memory_is_used_again() {
        let mut lines = Lines::new();
        for _ in 0..3 {
            let chain = [edge(1), edge(2), edge(3)];
            let sleepers = [(edge(4), 6), (edge(5), 9)];
            let long = lines.add((0, 5), (Some(edge(9)), &chain), 8, sleepers.into_iter(), 2);
            let short = lines.add((0, 5), (None, &chain[..1]), 6, std::iter::empty(), 0);
            assert_eq!(lines.chain(long).collect::<Vec<_>>(), chain);
            assert_eq!(lines.sleepers(long).collect::<Vec<_>>(), sleepers);
            assert_eq!((lines.free(long), lines.own(long), lines.preemptions(long)), (8, Some(edge(9)), 2));
            assert_eq!((lines.free(short), lines.own(short), lines.preemptions(short)), (6, None, 0));
            lines.correct(long, [edge(7), edge(8)].into_iter());
            assert_eq!(lines.chain(long).collect::<Vec<_>>(), [edge(7), edge(8), edge(3)]);
            lines.cut(long, 7);
            assert_eq!(lines.chain(long).collect::<Vec<_>>(), [edge(7), edge(8)]);
            assert_eq!(lines.sleepers(long).collect::<Vec<_>>(), [(edge(4), 6), (edge(5), 7)]);
            lines.extend(long, [edge(2)].into_iter());
            assert_eq!(lines.chain(long).collect::<Vec<_>>(), [edge(7), edge(8), edge(2)]);
            assert_eq!((lines.free(long), lines.sleepers(long).count()), (7, 2));
            lines.remove(long);
            lines.remove(short);
            assert_eq!(lines.len(), 0);
        }
        assert_eq!((lines.made, lines.ways.len()), (2, 5));
    }

    #[test]
    fn ways_that_no_line_uses_are_dropped() {
        let mut lines = Lines::new();
        let mut kept = Vec::new();
        for number in 0..3000 {
            let chain = [edge(1), edge(2)];
            let line = lines.add((0, 5), (None, &chain), 7, std::iter::empty(), number);
            if number % 10 == 0 { kept.push((line, number)) } else { lines.remove(line) }
        }
        let before = lines.bytes();
        lines.drop_unused_ways();
        assert_eq!(lines.ways.len(), 300);
        assert!(lines.bytes() < before / 2);
        for (line, number) in kept {
            assert_eq!(lines.preemptions(line), number);
            assert_eq!(lines.chain(line).collect::<Vec<_>>(), [edge(1), edge(2)]);
        }
    }
}
