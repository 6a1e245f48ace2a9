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

pub(super) use super::edges::Edge;
use super::edges::{EdgeId, Edges, NO_EDGE};
use super::step::{Choice, Delta, Event, Plan, StepIndex};
use smallvec::SmallVec;

/// Number of a line.
pub(super) type LineId = u32;

/// The line that follows default behaviour from the start.
pub(super) const ROOT: LineId = 0;

/// An edge that is asleep at the points of a chain before `until`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub(super) edge: Edge,
    pub(super) until: StepIndex,
}

/// The same as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nap {
    pub(super) edge: EdgeId,
    pub(super) until: StepIndex,
}

/// What only few lines have.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// The chain but for its first step.
    pub(super) chain: Box<[EdgeId]>,
    /// Sleepers inside the chain.
    pub(super) sleepers: Box<[Nap]>,
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
    /// What the parent itself does at `start`; nothing at its end.
    pub(super) own: EdgeId,
    /// First step of the chain.
    pub(super) first: EdgeId,
    pub(super) extras: Option<Box<Extras>>,
}

/// The lines.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) lines: Vec<Line>,
    pub(super) edges: Edges,
    vacant: Vec<LineId>,
    bytes: usize,
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut tree = Tree { lines: Vec::new(), edges: Edges::default(), vacant: Vec::new(), bytes: 0 };
        tree.add(Line {
            parent: ROOT,
            start: 0,
            free: 0,
            executed: false,
            drained: false,
            padded: false,
            own: NO_EDGE,
            first: NO_EDGE,
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
            own: own.map_or(NO_EDGE, |own| self.edges.number(own)),
            first: self.edges.number(chain[0]),
            extras: None,
        };
        if chain.len() > 1 {
            let chain = chain[1..].iter().map(|&edge| self.edges.number(edge)).collect();
            let asleep = sleepers.iter().filter(|_| free > start + 1);
            let nap = |s: &Sleeper| Nap { edge: self.edges.number(s.edge), until: s.until };
            let sleepers = asleep.map(nap).collect();
            line.extras = Some(Box::new(Extras { chain, sleepers, ..Extras::default() }));
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
        let own = self.lines[line as usize].own;
        (own != NO_EDGE).then(|| self.edges.get(own))
    }

    /// The edge a line itself takes at a step of its chain.
    pub(super) fn chained(&self, line: LineId, step: StepIndex) -> Edge {
        let start = self.start(line);
        self.edges.get(self.chain_of(line).nth((step - start) as usize).expect("a step of the chain"))
    }

    fn chain_of(&self, line: LineId) -> impl Iterator<Item = EdgeId> {
        let line = &self.lines[line as usize];
        let first = Some(line.first).filter(|&first| first != NO_EDGE);
        let rest = line.extras.as_ref().map_or(&[][..], |extras| &extras.chain);
        first.into_iter().chain(rest.iter().copied())
    }

    /// How many nodes this tree would have with one node for each step, shared by all that pass it.
    pub(super) fn step_nodes(&self) -> usize {
        let mut nodes = 0;
        let mut open = vec![ROOT];
        while let Some(line) = open.pop() {
            let children = self.children(line);
            let end = children.last().map_or(self.free(line), |&last| self.start(last).max(self.free(line)));
            nodes += (end - self.start(line)) as usize;
            open.extend_from_slice(children);
        }
        nodes
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
        sleepers.iter().filter(move |nap| step < nap.until).map(|nap| self.edges.get(nap.edge))
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
            let start = self.start(id);
            let end = path.get(depth + 1).map_or(StepIndex::MAX, |&next| self.start(next));
            for (edge, step) in self.chain_of(id).zip(start..end) {
                let edge = self.edges.get(edge);
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
        let first = Some(&mut line.first).filter(|first| **first != NO_EDGE);
        let rest = line.extras.iter_mut().flat_map(|extras| &mut extras.chain);
        for (edge, event) in first.into_iter().chain(rest).zip(done) {
            *edge = self.edges.number(Edge::of(event));
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
            if let Some(extras) = &mut line.extras {
                let kept = (step - line.start - 1) as usize;
                extras.chain = extras.chain[..kept].into();
                extras.sleepers.iter_mut().for_each(|nap| nap.until = nap.until.min(step));
            }
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
            if kept == 0 && extras.chain.is_empty() {
                self.lines[id as usize].extras = None;
            }
            self.bytes += cost(&self.lines[id as usize]);
            forgotten.into_iter().for_each(|child| self.forget(child));
        }
    }

    fn forget(&mut self, id: LineId) {
        self.bytes -= cost(&self.lines[id as usize]);
        let extras = self.lines[id as usize].extras.take();
        self.vacant.push(id);
        for child in extras.into_iter().flat_map(|extras| extras.children) {
            self.forget(child);
        }
    }

    /// Bytes that the tree occupies.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.edges.bytes() + self.vacant.capacity() * size_of::<LineId>()
    }

    /// Bytes that the lines occupy.
    pub(super) fn line_bytes(&self) -> usize {
        self.bytes
    }

    /// Lines in memory, done ones included.
    pub(super) fn len(&self) -> usize {
        self.lines.len() - self.vacant.len()
    }
}

/// Bytes that a line occupies.
pub(super) fn cost(line: &Line) -> usize {
    let extras = line.extras.as_ref().map_or(0, |extras| {
        size_of::<Extras>()
            + size_of_val(&*extras.chain)
            + size_of_val(&*extras.sleepers)
            + extras.children.capacity() * size_of::<LineId>()
    });
    size_of::<Line>() + extras
}
