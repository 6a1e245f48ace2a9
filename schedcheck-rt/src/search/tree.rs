//! The execution tree: what is still to be run, and what must be remembered to run nothing twice.
//!
//! After GAMBIT 3.2 a node of the tree is one execution (a *line*): the execution it leaves, the
//! step at which it leaves it, the choices it makes there (its *chain*), and default behaviour from
//! then on. Points on a line where nothing branches off take no memory at all.
//!
//! The end of a chain is a *free root*: nothing sleeps there, so everything from there on is found
//! by the executions of that subtree alone (rule R3). The same holds for every later point of the
//! line. Two things follow. Insertions from outside stop there. And a point in the free part of a
//! line can only be reached from executions that pass through it, so once all lines that branch
//! off at it or later are drained, they can be forgotten: the tree deletes itself from below.
//! Lines that branch off inside a chain are kept as long as the chain, since insertions may still
//! come that way.

pub(super) use super::edges::Edge;
pub(super) use super::lines::LineId;
use super::lines::{AWAY, DRAINED, EXECUTED, Lines, NO_LINE, OWN, PADDED};
use super::step::{Delta, Event, Plan, StepIndex};
use super::ways::WayId;

/// The line that follows default behaviour from the start.
pub(super) const ROOT: LineId = 0;

/// An edge that is asleep at the points of a chain before `until`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub(super) edge: Edge,
    pub(super) until: StepIndex,
}

/// A new line.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewLine<'a> {
    pub(super) parent: LineId,
    /// Where it leaves its parent.
    pub(super) start: StepIndex,
    /// What its parent does there.
    pub(super) own: Option<Edge>,
    /// What it does.
    pub(super) chain: &'a [Edge],
    /// The first step at which it is free.
    pub(super) free: StepIndex,
    /// Who sleeps inside its chain.
    pub(super) sleepers: &'a [Sleeper],
    /// Preemptions of its schedule, as far as it is fixed.
    pub(super) preemptions: u32,
}

/// The lines and how they hang together.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) lines: Lines,
    /// Executions may still be inserted anywhere (`adopt.rs`): nothing is forgotten.
    pub(super) keeps_all: bool,
    /// In a share: no line is made outside of it, that is for the owner of the tree to do.
    pub(super) is_closed: bool,
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut lines = Lines::new();
        let root = lines.add((ROOT, 0), (None, &[]), 0, std::iter::empty(), 0);
        debug_assert_eq!(root, ROOT, "it is the first one");
        Tree { lines, keeps_all: false, is_closed: false }
    }

    /// Adds a line.
    pub(super) fn branch(&mut self, new: NewLine<'_>) -> LineId {
        let steps = |step: StepIndex| step - new.start;
        let asleep = new.sleepers.iter().map(|sleeper| (sleeper.edge, steps(sleeper.until)));
        let way = self.lines.add_way(new.own, new.chain, steps(new.free), asleep, new.preemptions);
        self.hang((new.parent, new.start), way)
    }

    /// A line that branches off with one step, behind which nobody sleeps.
    pub(super) fn twig(
        &mut self,
        (parent, start): (LineId, StepIndex),
        own: Option<Edge>,
        edge: Edge,
        preemptions: u32,
    ) -> LineId {
        let way = self.lines.add_twig(own, edge, preemptions);
        self.hang((parent, start), way)
    }

    /// Adds a line in its place among the branches of its parent.
    fn hang(&mut self, (parent, start): (LineId, StepIndex), way: WayId) -> LineId {
        let mut before = NO_LINE;
        let mut next = self.lines.get(parent).child;
        while next != NO_LINE && self.start(next) >= start {
            before = next;
            next = self.lines.get(next).next();
        }
        let id = self.lines.add_before(parent, start, way, next);
        match before {
            NO_LINE => self.lines.set_child(parent, id),
            before => self.lines.set_next(before, id),
        }
        self.revive(parent);
        id
    }

    /// An insertion into the chain of a drained line gives it something to do again.
    fn revive(&mut self, line: LineId) {
        let mut id = line;
        while self.lines.get(id).is(DRAINED) {
            self.lines.mark(id, DRAINED, false);
            id = self.lines.parent(id);
        }
    }

    #[inline]
    pub(super) fn start(&self, line: LineId) -> StepIndex {
        self.lines.get(line).start()
    }

    /// First step at which nothing from outside matters any more.
    #[inline]
    pub(super) fn free(&self, line: LineId) -> StepIndex {
        self.lines.free(line)
    }

    pub(super) fn own(&self, line: LineId) -> Option<Edge> {
        self.lines.own(line)
    }

    /// Preemptions of its schedule, as far as it was fixed when it was made.
    pub(super) fn preemptions(&self, line: LineId) -> u32 {
        self.lines.preemptions(line)
    }

    /// The edge a line itself takes at a step of its chain.
    #[inline]
    pub(super) fn chained(&self, line: LineId, step: StepIndex) -> Edge {
        let start = self.start(line);
        self.lines.chain_step(line, (step - start) as usize).expect("a step of the chain")
    }

    /// What an executed line does at a step, nothing at its end; `None` if that is not known.
    #[expect(clippy::option_option, reason = "to do nothing is not the same as not to know")]
    pub(super) fn own_edge(&self, line: LineId, step: StepIndex) -> Option<Option<Edge>> {
        let at = step - self.start(line);
        if at < self.lines.way(line).steps {
            return Some(Some(self.chained(line, step)));
        }
        self.lines.kept_step(line, at)
    }

    /// Whether something branches off at a step or behind it.
    pub(super) fn branches_from(&self, line: LineId, step: StepIndex) -> bool {
        self.children(line).next().is_some_and(|last| self.start(last) >= step)
    }

    /// Keeps what an executed line did, as far as something branches off, for executions that nobody
    /// asked for; unless that would be much.
    pub(super) fn keep_steps(&mut self, line: LineId, events: &[Event], most: usize) {
        let (start, free) = (self.start(line), self.free(line));
        let Some(last) = self.children(line).next().map(|last| self.start(last)).filter(|&last| last >= free)
        else {
            return;
        };
        let own = events.iter().take(last as usize + 1).skip(start as usize);
        if self.lines.kept_count() + (last - start) as usize <= most {
            self.lines.keep(line, own.map(Edge::of));
        }
    }

    /// How many nodes a tree of the same executions would have with one node for each step.
    pub(super) fn step_nodes(&self) -> usize {
        let mut nodes = 0;
        let mut open = vec![ROOT];
        while let Some(line) = open.pop() {
            let last = self.lines.get(line).child;
            let leaves = if last == NO_LINE { 0 } else { self.start(last) };
            nodes += (leaves.max(self.free(line)) - self.start(line)) as usize;
            open.extend(self.children(line));
        }
        nodes
    }

    /// The lines that branch off, those that do last first.
    pub(super) fn children(&self, line: LineId) -> impl Iterator<Item = LineId> + Clone {
        let first = self.lines.get(line).child;
        let some = |line: LineId| (line != NO_LINE).then_some(line);
        std::iter::successors(some(first), move |&line| some(self.lines.get(line).next()))
    }

    /// The lines that branch off `line` and belong to the same region; `is_top`: to its own, which begins where it is free.
    pub(super) fn region_children(&self, line: LineId, is_top: bool) -> impl Iterator<Item = LineId> + Clone {
        let from = if is_top { self.free(line) } else { 0 };
        self.children(line).take_while(move |&child| self.start(child) >= from)
    }

    /// In a share: whether what branches off there belongs to somebody else.
    pub(super) fn is_outside(&self, line: LineId, step: StepIndex) -> bool {
        let record = self.lines.get(line);
        !record.is(OWN) || record.is(AWAY) && step < self.free(line)
    }

    /// Forgets the lines in the region of `top`.
    pub(super) fn forget_region(&mut self, top: LineId) {
        let free = self.free(top);
        let mut child = self.lines.get(top).child;
        while child != NO_LINE && self.start(child) >= free {
            let next = self.lines.get(child).next();
            self.forget(child);
            child = next;
        }
        self.lines.set_child(top, child);
    }

    /// The lines that branch off at one step, in order of creation.
    pub(super) fn children_at(&self, line: LineId, step: StepIndex) -> impl Iterator<Item = LineId> + Clone {
        let later = move |&child: &LineId| self.start(child) > step;
        self.children(line).skip_while(later).take_while(move |&child| self.start(child) == step)
    }

    /// `first`, which leaves its parent at `step`, and those made later that do so there, with what they do.
    #[inline]
    pub(super) fn alternatives(
        &self,
        first: LineId,
        step: StepIndex,
    ) -> impl Iterator<Item = (LineId, Edge)> {
        let mut next = first;
        std::iter::from_fn(move || {
            let line = next;
            if line == NO_LINE {
                return None;
            }
            let record = self.lines.get(line);
            if record.start() != step {
                return None;
            }
            next = record.next();
            Some((line, self.lines.chain_step(line, 0).expect("a line does something")))
        })
    }

    /// What is asleep at a point of the chain.
    pub(super) fn sleepers_at(&self, line: LineId, step: StepIndex) -> impl Iterator<Item = Edge> {
        self.lines.sleepers(line).filter(move |&(_, until)| step < until).map(|(edge, _)| edge)
    }

    /// Lines from the root to `line`.
    pub(super) fn path(&self, line: LineId, path: &mut Vec<LineId>) {
        path.clear();
        let mut at = line;
        while at != ROOT {
            path.push(at);
            at = self.lines.parent(at);
        }
        path.push(ROOT);
        path.reverse();
    }

    /// The same beside another path, since whose execution no line was made: `path` is made of its beginning
    /// and of what lies between that and `line`. How many lines the two have in common.
    pub(super) fn path_beside(&self, line: LineId, other: &[LineId], path: &mut Vec<LineId>) -> usize {
        path.clear();
        let mut ahead = other.len();
        let mut at = line;
        loop {
            // Lines leave their parents ever later.
            let start = self.start(at);
            while ahead > 1 && self.start(other[ahead - 1]) > start {
                ahead -= 1;
            }
            if ahead > 0 && other[ahead - 1] == at {
                break;
            }
            path.push(at);
            if at == ROOT {
                break;
            }
            at = self.lines.parent(at);
        }
        let common = if path.last() == Some(&ROOT) { 0 } else { ahead };
        path.extend(other[..common].iter().rev());
        path.reverse();
        let more =
            other[common..].iter().zip(&path[common..]).take_while(|(other, own)| other == own).count();
        common + more
    }

    /// What to execute for the last line of `path`.
    ///
    /// A chain is spelled out: whether the same thread going on is default behaviour depends on
    /// what it is about to do (a yield asks for others).
    ///
    /// `plan` is that of another path. The two have the first `kept` lines in common, and ahead of the step
    /// `same` those say today what they said when `plan` was made.
    pub(super) fn plan(&self, path: &[LineId], kept: usize, same: StepIndex, plan: &mut Plan) {
        let known = kept.saturating_sub(1);
        plan.prefix = same;
        let keeps = plan.deltas.iter().rposition(|delta| delta.step < same).map_or(0, |last| last + 1);
        plan.deltas.truncate(keeps);
        for (depth, &id) in path.iter().enumerate().skip(known) {
            let start = self.start(id);
            let end = path.get(depth + 1).map_or(StepIndex::MAX, |&next| self.start(next));
            if end <= same {
                continue;
            }
            let skipped = same.saturating_sub(start);
            for (edge, step) in self.lines.chain(id).skip(skipped as usize).zip(start + skipped..end) {
                if !edge.barrier {
                    plan.deltas.push(Delta { step, choice: edge.choice() });
                }
                plan.prefix = step + 1;
            }
        }
    }

    /// `line` was executed: its chain is now known for certain. Whether it is not as it was thought to be.
    pub(super) fn executed(&mut self, line: LineId, events: &[Event]) -> bool {
        let start = self.start(line) as usize;
        self.lines.mark(line, EXECUTED, true);
        let done = events.get(start..).unwrap_or_default();
        self.lines.correct(line, done.iter().map(Edge::of))
    }

    /// `line` is to be executed as `events` have it, to their end.
    pub(super) fn spell_out(&mut self, line: LineId, events: &[Event]) {
        let known = self.start(line) as usize + self.lines.way(line).steps as usize;
        let more = events.get(known..).unwrap_or_default();
        self.lines.extend(line, more.iter().map(Edge::of));
    }

    /// Whether the chain of `line` goes on behind the reversed operation.
    pub(super) fn set_padded(&mut self, line: LineId, padded: bool) {
        self.lines.mark(line, PADDED, padded);
    }

    /// `line` could not be executed beyond `step`, which lies in its chain. True if it is to be
    /// executed again without the rest of its chain, false if it counts as never made.
    pub(super) fn refuse(&mut self, line: LineId, step: StepIndex) -> bool {
        let again = self.lines.get(line).is(PADDED) && step > self.start(line);
        if again {
            self.lines.cut(line, step);
        } else {
            self.lines.mark(line, EXECUTED, true);
        }
        again
    }

    /// Forgets what nobody can reach any more, from `line` upwards.
    pub(super) fn settle(&mut self, line: LineId) {
        let mut id = line;
        loop {
            self.forget_drained_children(id);
            let line = self.lines.get(id);
            let live = self.children(id).any(|child| !self.is_drained(child));
            if !line.is(EXECUTED) || live || line.is(DRAINED) || line.is(AWAY) {
                return;
            }
            self.lines.mark(id, DRAINED, true);
            if id == ROOT {
                return;
            }
            id = self.lines.parent(id);
        }
    }

    /// Whether `line` has been executed.
    pub(super) fn is_executed(&self, line: LineId) -> bool {
        self.lines.get(line).is(EXECUTED)
    }

    /// Whether nothing is left to do at `line` or below it.
    pub(super) fn is_drained(&self, line: LineId) -> bool {
        self.lines.get(line).is(DRAINED)
    }

    /// The line that `line` leaves.
    pub(super) fn parent(&self, line: LineId) -> LineId {
        self.lines.parent(line)
    }

    fn forget_drained_children(&mut self, id: LineId) {
        while !self.keeps_all {
            let last = self.lines.get(id).child;
            if last == NO_LINE || self.start(last) < self.free(id) {
                return;
            }
            // What branches off there, to the line behind.
            let start = self.start(last);
            let mut next = last;
            while next != NO_LINE {
                let line = self.lines.get(next);
                if line.start() != start {
                    break;
                }
                if !line.is(DRAINED) {
                    return;
                }
                next = line.next();
            }
            let mut gone = last;
            while gone != next {
                let line = gone;
                gone = self.lines.get(line).next();
                self.forget(line);
            }
            self.lines.set_child(id, next);
        }
    }

    fn forget(&mut self, id: LineId) {
        let mut child = self.lines.get(id).child;
        while child != NO_LINE {
            let next = self.lines.get(child).next();
            self.forget(child);
            child = next;
        }
        self.lines.remove(id);
    }

    /// Bytes that the tree occupies.
    pub(super) fn bytes(&self) -> usize {
        self.lines.bytes()
    }

    /// Whether `line` was ever the number of a line.
    pub(super) fn has(&self, line: LineId) -> bool {
        self.lines.has(line)
    }

    /// Lines in memory, done ones included.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }
}
