//! The lines of a tree as they lie in memory: 8 bytes each, 12 if there are more than 16 million.
//!
//! A search may have millions of pending executions, so a line names everything by number: how it
//! leaves its parent is a way ([`super::ways`]), which all lines share that leave in the same way,
//! whatever the step; step and way are a place ([`super::places`]), of which there are few as well. Its branches are a list
//! through the lines themselves, and the last of them knows the parent. Lines lie in blocks that never
//! move, so that no more than a block is ever unused and adding one never copies the others.

use super::edges::{Edge, EdgeId, Edges, NO_EDGE};
use super::places::{PlaceId, Places};
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
/// It is the last branch of its parent.
const LAST: u32 = 1 << 26;
const START: u32 = LAST - 1;

/// One execution, pending or done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The step at which it leaves its parent, and flags.
    start: u32,
    /// Number of its way.
    pub(super) way: WayId,
    /// The branch that leaves it last; of several that leave at one step, the one created first.
    pub(super) child: LineId,
    /// The next branch of its parent in that order, or the parent if it is the [`LAST`].
    link: LineId,
}

/// A line as it lies in memory: three bytes of its link, three of its child, two of its place.
#[derive(Clone, Copy, Debug)]
struct Packed(u64);

impl Packed {
    #[inline]
    const fn new(link: LineId, child: LineId, place: PlaceId) -> Packed {
        Packed((link & NONE) as u64 | ((child & NONE) as u64) << 24 | (place as u64) << 48)
    }

    #[inline]
    const fn link(self) -> u32 {
        self.0 as u32 & NONE
    }

    #[inline]
    const fn child(self) -> u32 {
        (self.0 >> 24) as u32 & NONE
    }

    #[inline]
    const fn place(self) -> u32 {
        (self.0 >> 48) as u32
    }
}

/// Three bytes of which all bits are set: "none", unless a fourth one says otherwise.
const NONE: u32 = 0x00FF_FFFF;
/// Places that two bytes can tell apart.
const FEW_PLACES: usize = 1 << 16;

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
    #[expect(clippy::vec_box, reason = "blocks never move")]
    blocks: Vec<Box<[Packed; BLOCK]>>,
    /// The upper bytes of link, child and place, as soon as one of them is needed.
    #[expect(clippy::vec_box, reason = "blocks never move")]
    high: Vec<Box<[u32; BLOCK]>>,
    /// Lines ever made, and the first of those that are vacant, a list through `link`.
    made: usize,
    vacant: LineId,
    vacant_count: usize,
    places: Places,
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

    #[inline]
    pub(super) fn is(&self, flag: u32) -> bool {
        self.start & flag != 0
    }

    /// The next branch of its parent.
    #[inline]
    pub(super) fn next(&self) -> LineId {
        if self.is(LAST) { NO_LINE } else { self.link }
    }

    pub(super) fn set(&mut self, flag: u32, value: bool) {
        self.start = if value { self.start | flag } else { self.start & !flag };
    }
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { vacant: NO_LINE, ..Lines::default() }
    }

    #[inline]
    fn packed(&self, line: LineId) -> Packed {
        self.blocks[line as usize / BLOCK][line as usize % BLOCK]
    }

    #[inline]
    fn packed_mut(&mut self, line: LineId) -> &mut Packed {
        &mut self.blocks[line as usize / BLOCK][line as usize % BLOCK]
    }

    /// Inlined: callers look at one or two fields, and walk through many lines.
    #[inline]
    pub(super) fn get(&self, line: LineId) -> Line {
        let packed = self.packed(line);
        let (link, child, place) = if self.high.is_empty() {
            (widened(packed.link()), widened(packed.child()), packed.place())
        } else {
            self.with_high(line, packed)
        };
        let (start, way) = self.places.get(place);
        Line { start, way, child, link }
    }

    #[inline(never)]
    fn with_high(&self, line: LineId, packed: Packed) -> (LineId, LineId, PlaceId) {
        let high = self.high[line as usize / BLOCK][line as usize % BLOCK];
        (
            packed.link() | high & 0xFF << 24,
            packed.child() | high << 8 & 0xFF << 24,
            packed.place() | high << 16,
        )
    }

    /// The upper bytes of a line.
    const fn high(link: LineId, child: LineId, place: PlaceId) -> u32 {
        link & 0xFF << 24 | child >> 8 & 0xFF << 16 | place >> 16
    }

    /// The line that `line` leaves: its last branch knows.
    #[inline]
    pub(super) fn parent(&self, line: LineId) -> LineId {
        let mut record = self.get(line);
        while !record.is(LAST) {
            record = self.get(record.link);
        }
        record.link
    }

    pub(super) fn get_mut(&mut self, line: LineId) -> Changing<'_> {
        Changing { line: self.get(line), id: line, lines: self }
    }

    /// Sets one of its flags.
    pub(super) fn mark(&mut self, line: LineId, flag: u32, value: bool) {
        self.get_mut(line).set(flag, value);
    }

    /// Hangs another branch first.
    pub(super) fn set_child(&mut self, line: LineId, child: LineId) {
        if !self.high.is_empty() || child >= NONE {
            self.get_mut(line).child = child;
            return;
        }
        let packed = self.packed_mut(line);
        *packed = Packed::new(packed.link(), child, packed.place());
    }

    /// Hangs another branch behind it.
    pub(super) fn set_next(&mut self, line: LineId, next: LineId) {
        debug_assert_ne!(next, NO_LINE, "the last one has to know its parent");
        let mut line = self.get_mut(line);
        line.set(LAST, false);
        line.link = next;
    }

    fn put(&mut self, id: LineId, line: Line) {
        let place = self.place_of(line.start, line.way);
        let is_large = |number: u32| number >= NONE && number != u32::MAX;
        if self.high.is_empty() && (is_large(line.link) || is_large(line.child)) {
            self.widen();
        }
        *self.packed_mut(id) = Packed::new(line.link, line.child, place);
        if let Some(high) = self.high.get_mut(id as usize / BLOCK) {
            high[id as usize % BLOCK] = Self::high(line.link, line.child, place);
        }
    }

    /// The number of a place, which may be new.
    #[inline]
    fn place_of(&mut self, start: u32, way: WayId) -> PlaceId {
        self.places.find(start, way).unwrap_or_else(|| self.add_place(start, way))
    }

    fn add_place(&mut self, start: u32, way: WayId) -> PlaceId {
        if self.high.is_empty() && self.places.len() == FEW_PLACES {
            self.drop_unused_places(|way| way);
            if self.places.len() > FEW_PLACES / 4 * 3 {
                self.widen();
            }
        }
        self.places.add(start, way)
    }

    /// From now on there are upper bytes.
    fn widen(&mut self) {
        let high = |packed: &Packed| Self::high(widened(packed.link()), widened(packed.child()), 0);
        self.high =
            self.blocks.iter().map(|block| Box::new(std::array::from_fn(|at| high(&block[at])))).collect();
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
        assert!(start <= START, "executions have fewer than 2^26 steps");
        let (start, link) = if next == NO_LINE { (start | LAST, parent) } else { (start, next) };
        self.place(Line { start, way, child: NO_LINE, link })
    }

    fn place(&mut self, line: Line) -> LineId {
        let id = match self.vacant {
            NO_LINE => {
                if self.made.is_multiple_of(BLOCK) {
                    self.blocks.push(Box::new([Packed::new(NO_LINE, NO_LINE, 0); BLOCK]));
                    if !self.high.is_empty() {
                        self.high.push(Box::new([Self::high(NO_LINE, NO_LINE, 0); BLOCK]));
                    }
                }
                self.made += 1;
                self.made as LineId - 1
            }
            vacant => {
                self.vacant = self.get(vacant).link;
                self.vacant_count -= 1;
                vacant
            }
        };
        self.put(id, line);
        id
    }

    /// Gives its memory to lines to come.
    pub(super) fn remove(&mut self, id: LineId) {
        // Whoever was there last may still ask where it left.
        let start = self.get(id).start();
        self.put(id, Line { start, way: NO_WAY, child: NO_LINE, link: self.vacant });
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

    /// Drops ways and places that no line uses, if there may be many. Numbers of ways change.
    pub(super) fn drop_unused_ways(&mut self) {
        if !self.ways.may_shrink() && !self.places.may_shrink() {
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
        self.drop_unused_places(|way| numbers.get(way as usize).copied().unwrap_or(NO_WAY));
    }

    /// Drops places that no line uses, and renames ways in the others.
    fn drop_unused_places(&mut self, rename: impl Fn(WayId) -> WayId) {
        let mut used = vec![false; self.places.len()];
        let ids = 0..self.made as LineId;
        let unpacked = |lines: &Lines, id: LineId| {
            let packed = lines.packed(id);
            if lines.high.is_empty() { packed.place() } else { lines.with_high(id, packed).2 }
        };
        ids.clone().for_each(|id| used[unpacked(self, id) as usize] = true);
        let numbers = self.places.retain(&used, rename);
        for id in ids {
            let place = numbers[unpacked(self, id) as usize];
            let packed = self.packed_mut(id);
            *packed = Packed::new(packed.link(), packed.child(), place);
            if let Some(high) = self.high.get_mut(id as usize / BLOCK) {
                let high = &mut high[id as usize % BLOCK];
                *high = *high & 0xFFFF << 16 | place >> 16;
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

    /// Replaces the choices of the chain by what was really done. Whether that is different.
    pub(super) fn correct(&mut self, id: LineId, done: impl Iterator<Item = Edge>) -> bool {
        let mut changed = None;
        let kept = self.ways.get(self.get(id).way);
        for ((at, known), edge) in kept.chain().enumerate().zip(done) {
            if self.edges.get(known) != edge {
                let edge = self.edges.number(edge);
                changed.get_or_insert_with(|| kept.to_way()).words[at] = edge;
            }
        }
        let Some(changed) = changed else { return false };
        let way = self.ways.number_of(&changed);
        self.get_mut(id).way = way;
        true
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
            + self.places.bytes()
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
    fn a_line_takes_8_bytes() {
        assert_eq!(size_of::<Packed>(), 8);
    }

    #[test]
    fn numbers_may_take_four_bytes() {
        let mut lines = Lines::new();
        let all = [0, 1, NONE - 1, NO_LINE, NONE, NONE + 1, 0x1234_5678, NO_LINE - 1, 0xFE00_0000, 5];
        let mut made = Vec::new();
        for &parent in all.iter().cycle().take(600) {
            let line = lines.add_as(parent, 7, 3);
            lines.set_child(line, parent);
            made.push((line, parent));
            assert_eq!(lines.high.is_empty(), made.len() <= 4, "{parent:x}");
            for &(line, parent) in &made {
                let record = lines.get(line);
                assert_eq!((lines.parent(line), record.child, record.next()), (parent, parent, NO_LINE));
                assert_eq!((record.start(), record.way), (7, 3));
            }
        }
    }

    #[test]
    fn there_may_be_many_places() {
        let mut lines = Lines::new();
        let count = 3 * FEW_PLACES as u32;
        let is = |lines: &Lines, line: LineId, start: StepIndex| {
            let record = lines.get(line);
            (record.start(), record.way, record.child, lines.parent(line)) == (start, start / 7, NO_LINE, 5)
        };
        // Few of them at a time: those that are out of use give way.
        for start in 0..count {
            let line = lines.add_as(5, start, start / 7);
            assert!(is(&lines, line, start));
            lines.remove(line);
        }
        assert!(lines.high.is_empty() && lines.places.len() <= FEW_PLACES, "{}", lines.places.len());
        let made: Vec<LineId> = (0..count).map(|start| lines.add_as(5, start, start / 7)).collect();
        assert!(!lines.high.is_empty());
        assert!((0..count).zip(&made).all(|(start, &line)| is(&lines, line, start)));
        for (start, &line) in (0..count).zip(&made) {
            if start % 8 != 0 {
                lines.remove(line);
            }
        }
        lines.drop_unused_places(|way| way);
        assert_eq!(lines.places.len(), count as usize, "the places of vacant lines, too");
        assert!((0..count).zip(&made).step_by(8).all(|(start, &line)| is(&lines, line, start)));
    }

    #[test]
    fn the_last_branch_knows_the_parent() {
        let mut lines = Lines::new();
        let root = lines.add_as(0, 0, 0);
        let [first, second, third] = [9, 8, 7].map(|start| lines.add_as(root, start, start));
        lines.set_next(first, second);
        lines.set_next(second, third);
        lines.mark(second, EXECUTED, true);
        let order = [first, second, third].map(|line| (lines.get(line).next(), lines.parent(line)));
        assert_eq!(order, [(second, root), (third, root), (NO_LINE, root)]);
        assert!(lines.get(second).is(EXECUTED) && !lines.get(third).is(EXECUTED));
        assert_eq!([first, second, third].map(|line| lines.get(line).start()), [9, 8, 7]);
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
