//! The execution tree: what is still to be run, and what must be remembered to run nothing twice.
//!
//! After GAMBIT 3.2 a node of the tree is one execution (a [`Line`]): the execution it leaves, the
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

use super::step::{Access, Alt, Choice, Delta, Event, Mode, ObjectId, Plan, StepIndex, ThreadId};
use smallvec::SmallVec;

/// Number of a line.
pub(super) type LineId = u32;

/// The line that follows default behaviour from the start.
pub(super) const ROOT: LineId = 0;

/// One choice and the accesses it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) thread: ThreadId,
    pub(super) alt: Alt,
    pub(super) modes: [Mode; 2],
    pub(super) objects: [ObjectId; 2],
    /// Depends on everything (a forced time-out).
    pub(super) barrier: bool,
}

impl Edge {
    pub(super) fn of(event: &Event) -> Self {
        Edge { barrier: event.forced, ..Edge::new(event.choice(), &event.accesses) }
    }

    pub(super) fn new(choice: Choice, accesses: &[Access; 2]) -> Self {
        let modes = accesses.map(|access| access.mode);
        let objects = accesses.map(|access| access.object);
        Edge { thread: choice.thread, alt: choice.alt, modes, objects, barrier: false }
    }

    pub(super) fn choice(&self) -> Choice {
        Choice { thread: self.thread, alt: self.alt }
    }

    /// Costly alternatives need not happen, so they cover nothing but themselves.
    pub(super) fn optional(&self) -> bool {
        self.alt.budget().is_some()
    }
}

/// An edge that is asleep at the points of a chain before `until`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub(super) edge: Edge,
    pub(super) until: StepIndex,
}

/// What only few lines have.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// Sleepers inside the chain.
    pub(super) sleepers: Vec<Sleeper>,
    /// Lines that branch off, by step, then by creation.
    pub(super) children: Vec<LineId>,
    /// How many of them are not drained.
    pub(super) live: u32,
}

/// One execution, pending or done.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) parent: LineId,
    pub(super) start: StepIndex,
    pub(super) free: StepIndex,
    pub(super) executed: bool,
    pub(super) drained: bool,
    /// Its chain goes on behind the reversed operation.
    pub(super) padded: bool,
    /// What the parent itself does at `start`; `None` at its end.
    pub(super) own: Option<Edge>,
    pub(super) chain: SmallVec<[Edge; 1]>,
    pub(super) extras: Option<Box<Extras>>,
}

/// The lines.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) lines: Vec<Line>,
    vacant: Vec<LineId>,
    bytes: usize,
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut tree = Tree { lines: Vec::new(), vacant: Vec::new(), bytes: 0 };
        tree.add(Line {
            parent: ROOT,
            start: 0,
            free: 0,
            executed: false,
            drained: false,
            padded: false,
            own: None,
            chain: SmallVec::new(),
            extras: None,
        });
        tree
    }

    fn add(&mut self, line: Line) -> LineId {
        self.bytes += cost(&line);
        if let Some(id) = self.vacant.pop() {
            self.lines[id as usize] = line;
            id
        } else {
            self.lines.push(line);
            self.lines.len() as LineId - 1
        }
    }

    /// Adds a line below `parent`: at `start` it does `chain`, and after `free` it is free.
    pub(super) fn branch(
        &mut self,
        parent: LineId,
        start: StepIndex,
        free: StepIndex,
        own: Option<Edge>,
        chain: &[Edge],
        sleepers: &[Sleeper],
    ) -> LineId {
        let mut line = Line {
            parent,
            start,
            free,
            executed: false,
            drained: false,
            padded: false,
            own,
            chain: SmallVec::from_slice(chain),
            extras: None,
        };
        if free > start + 1 && !sleepers.is_empty() {
            line.extras = Some(Box::new(Extras { sleepers: sleepers.to_vec(), ..Extras::default() }));
        }
        let id = self.add(line);
        let place = self.children(parent).partition_point(|&other| self.start(other) <= start);
        self.bytes -= cost(&self.lines[parent as usize]);
        let extras = self.lines[parent as usize].extras.get_or_insert_default();
        extras.children.insert(place, id);
        extras.live += 1;
        self.bytes += cost(&self.lines[parent as usize]);
        self.revive(parent);
        id
    }

    /// An insertion into the chain of a drained line gives it something to do again.
    fn revive(&mut self, line: LineId) {
        let mut id = line;
        while self.lines[id as usize].drained {
            self.lines[id as usize].drained = false;
            id = self.lines[id as usize].parent;
            self.lines[id as usize].extras.get_or_insert_default().live += 1;
        }
    }

    pub(super) fn start(&self, line: LineId) -> StepIndex {
        self.lines[line as usize].start
    }

    /// First step at which nothing from outside matters any more.
    pub(super) fn free(&self, line: LineId) -> StepIndex {
        self.lines[line as usize].free
    }

    pub(super) fn own(&self, line: LineId) -> Option<Edge> {
        self.lines[line as usize].own
    }

    /// The edge a line itself takes at a step of its chain.
    pub(super) fn chained(&self, line: LineId, step: StepIndex) -> Edge {
        let line = &self.lines[line as usize];
        line.chain[(step - line.start) as usize]
    }

    pub(super) fn children(&self, line: LineId) -> &[LineId] {
        self.lines[line as usize].extras.as_ref().map_or(&[], |extras| &extras.children)
    }

    /// The lines that branch off at one step, in order of creation.
    pub(super) fn children_at(&self, line: LineId, step: StepIndex) -> &[LineId] {
        let children = self.children(line);
        let from = children.partition_point(|&child| self.start(child) < step);
        let to = children.partition_point(|&child| self.start(child) <= step);
        &children[from..to]
    }

    /// What is asleep at a point of the chain.
    pub(super) fn sleepers_at(&self, line: LineId, step: StepIndex) -> impl Iterator<Item = Edge> {
        let extras = self.lines[line as usize].extras.as_ref();
        let sleepers = extras.map_or(&[][..], |extras| &extras.sleepers);
        sleepers.iter().filter(move |sleeper| step < sleeper.until).map(|sleeper| sleeper.edge)
    }

    /// Lines from the root to `line`.
    pub(super) fn path(&self, line: LineId, path: &mut Vec<LineId>) {
        path.clear();
        let mut at = line;
        while at != ROOT {
            path.push(at);
            at = self.lines[at as usize].parent;
        }
        path.push(ROOT);
        path.reverse();
    }

    /// What to execute for the last line of `path`.
    ///
    /// A chain is spelled out: whether the same thread going on is default behaviour depends on
    /// what it is about to do (a yield asks for others).
    pub(super) fn plan(&self, path: &[LineId], plan: &mut Plan) {
        plan.deltas.clear();
        plan.prefix = 0;
        for (depth, &id) in path.iter().enumerate() {
            let line = &self.lines[id as usize];
            let end = path.get(depth + 1).map_or(StepIndex::MAX, |&next| self.start(next));
            for (offset, edge) in line.chain.iter().enumerate() {
                let step = line.start + offset as StepIndex;
                if step >= end {
                    break;
                }
                if !edge.barrier {
                    let choice = Choice { thread: edge.thread, alt: edge.alt };
                    plan.deltas.push(Delta { step, choice });
                }
                plan.prefix = step + 1;
            }
        }
    }

    /// `line` was executed: its chain is now known for certain.
    pub(super) fn executed(&mut self, line: LineId, events: &[Event]) {
        let line = &mut self.lines[line as usize];
        line.executed = true;
        let done = events.get(line.start as usize..).unwrap_or_default();
        for (edge, event) in line.chain.iter_mut().zip(done) {
            *edge = Edge::of(event);
        }
    }

    pub(super) fn set_padded(&mut self, line: LineId, padded: bool) {
        self.lines[line as usize].padded = padded;
    }

    /// `line` could not be executed beyond `step`, which lies in its chain. True if it is to be
    /// executed again without the rest of its chain, false if it counts as never made.
    pub(super) fn refuse(&mut self, line: LineId, step: StepIndex) -> bool {
        let line = &mut self.lines[line as usize];
        let again = line.padded && step > line.start;
        if again {
            self.bytes -= cost(line);
            line.free = step;
            line.chain.truncate((step - line.start) as usize);
            let sleepers = line.extras.iter_mut().flat_map(|extras| &mut extras.sleepers);
            sleepers.for_each(|sleeper| sleeper.until = sleeper.until.min(step));
            self.bytes += cost(line);
        } else {
            line.executed = true;
        }
        again
    }

    /// Forgets what nobody can reach any more, from `line` upwards.
    pub(super) fn settle(&mut self, line: LineId) {
        let mut id = line;
        loop {
            self.forget_drained_children(id);
            let line = &mut self.lines[id as usize];
            let live = line.extras.as_ref().map_or(0, |extras| extras.live);
            if !line.executed || live > 0 || line.drained {
                return;
            }
            line.drained = true;
            if id == ROOT {
                return;
            }
            id = line.parent;
            if let Some(extras) = &mut self.lines[id as usize].extras {
                extras.live -= 1;
            }
        }
    }

    fn forget_drained_children(&mut self, id: LineId) {
        while let Some(&last) = self.children(id).last() {
            let start = self.start(last);
            let group = self.children_at(id, start);
            let drained = group.iter().all(|&child| self.lines[child as usize].drained);
            if start < self.free(id) || !drained {
                return;
            }
            let gone = group.len();
            self.bytes -= cost(&self.lines[id as usize]);
            let extras = self.lines[id as usize].extras.as_mut().expect("it has children");
            let kept = extras.children.len() - gone;
            let forgotten: SmallVec<[LineId; 4]> = extras.children.drain(kept..).collect();
            if kept == 0 && extras.sleepers.is_empty() {
                self.lines[id as usize].extras = None;
            }
            self.bytes += cost(&self.lines[id as usize]);
            forgotten.into_iter().for_each(|child| self.forget(child));
        }
    }

    fn forget(&mut self, id: LineId) {
        self.bytes -= cost(&self.lines[id as usize]);
        let extras = self.lines[id as usize].extras.take();
        self.lines[id as usize].chain = SmallVec::new();
        self.vacant.push(id);
        for child in extras.into_iter().flat_map(|extras| extras.children) {
            self.forget(child);
        }
    }

    /// Bytes that the lines occupy.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lines in memory, done ones included.
    pub(super) fn len(&self) -> usize {
        self.lines.len() - self.vacant.len()
    }
}

/// Bytes that a line occupies.
pub(super) fn cost(line: &Line) -> usize {
    let spilled = if line.chain.spilled() { line.chain.capacity() * size_of::<Edge>() } else { 0 };
    let extras = line.extras.as_ref().map_or(0, |extras| {
        size_of::<Extras>()
            + extras.sleepers.capacity() * size_of::<Sleeper>()
            + extras.children.capacity() * size_of::<LineId>()
    });
    size_of::<Line>() + spilled + extras
}
