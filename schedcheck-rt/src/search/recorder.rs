//! A guide that follows a line of the tree and writes down what could have been done instead.
//!
//! The optimal search needs no guide, since nothing sleeps below a free root. The other searches
//! do: they want to know who was enabled at every step, and source and classic reduction keep
//! threads asleep while an execution runs (Godefroid's sleep sets). What sleeps is decided by rule
//! R1: the siblings created earlier than the branch taken, as long as nothing depends on them.

use super::dependence::dependent;
use super::step::*;
use super::tree::{LineId, Tree};

/// A sibling that is explored elsewhere.
#[derive(Clone, Copy, Debug)]
struct Asleep {
    thread: ThreadId,
    accesses: [Access; 2],
}

/// Where a line leaves its parent.
#[derive(Clone, Copy, Debug)]
struct Turn {
    step: StepIndex,
    choice: Choice,
    /// Its earlier siblings, in [`Recorder::siblings`].
    siblings: (u32, u32),
}

/// The guide, and what it recorded of the last execution.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// Sleeping threads are not run; where only such are enabled, the execution stops.
    obey: bool,
    turns: Vec<Turn>,
    siblings: Vec<ThreadId>,
    asleep: Vec<Asleep>,
    /// Pending operations at each step, end to end.
    pending: Vec<Pending>,
    pending_from: Vec<u32>,
    /// Sleeping threads at each step, end to end.
    slept: Vec<ThreadId>,
    slept_from: Vec<u32>,
    /// Nobody was left awake.
    pub(super) blocked: bool,
}

impl Recorder {
    /// Prepares to follow `path`.
    pub(super) fn follow(&mut self, tree: &Tree, path: &[LineId], obey: bool) {
        self.obey = obey;
        self.turns.clear();
        self.siblings.clear();
        self.asleep.clear();
        self.pending.clear();
        self.pending_from.clear();
        self.slept.clear();
        self.slept_from.clear();
        self.blocked = false;
        for pair in path.windows(2) {
            let (parent, line) = (pair[0], pair[1]);
            let step = tree.start(line);
            let edge = tree.chained(line, step);
            let from = self.siblings.len() as u32;
            let earlier = tree.children_at(parent, step).take_while(|&child| child != line);
            let edges = earlier.map(|child| tree.chained(child, step));
            let mine = |thread: ThreadId| thread == edge.thread;
            // Alternatives of one thread are created as one: who came before the first of them
            // sleeps for all of them, and so does nobody who came between.
            let before = tree.own(line).into_iter().chain(edges).take_while(|e| !mine(e.thread));
            let required = before.filter(|edge| !edge.optional()).map(|edge| edge.thread);
            self.siblings.extend(required);
            let siblings = (from, self.siblings.len() as u32);
            self.turns.push(Turn { step, choice: edge.choice(), siblings });
        }
    }

    /// What every live thread was about to do at `step`.
    pub(super) fn pending(&self, step: StepIndex) -> &[Pending] {
        slice(&self.pending, &self.pending_from, step)
    }

    /// Whether `thread` was asleep at `step`.
    pub(super) fn asleep(&self, step: StepIndex, thread: ThreadId) -> bool {
        slice(&self.slept, &self.slept_from, step).contains(&thread)
    }

    fn sleeps(&self, thread: ThreadId) -> bool {
        self.asleep.iter().any(|asleep| asleep.thread == thread)
    }
}

fn slice<'a, T>(all: &'a [T], from: &[u32], step: StepIndex) -> &'a [T] {
    let Some(&start) = from.get(step as usize) else {
        return &[];
    };
    let end = from.get(step as usize + 1).map_or(all.len(), |&end| end as usize);
    &all[start as usize..end]
}

impl Guide for Recorder {
    fn choose(&mut self, step: StepIndex, running: Option<ThreadId>, pending: &[Pending]) -> Decision {
        self.pending_from.push(self.pending.len() as u32);
        self.pending.extend_from_slice(pending);
        self.slept_from.push(self.slept.len() as u32);
        self.slept.extend(self.asleep.iter().map(|asleep| asleep.thread));
        let turn = self.turns.binary_search_by_key(&step, |turn| turn.step).ok();
        if let Some(turn) = turn.map(|at| self.turns[at]) {
            let (from, to) = turn.siblings;
            for &thread in &self.siblings[from as usize..to as usize] {
                let next = pending.iter().find(|pending| pending.thread == thread);
                if let Some(next) = next.filter(|_| !self.sleeps(thread)) {
                    self.asleep.push(Asleep { thread, accesses: next.accesses });
                }
            }
            return Decision::Take(turn.choice);
        }
        if !self.obey || self.asleep.is_empty() {
            return Decision::Default;
        }
        let awake = |p: &&Pending| p.enabled && !self.sleeps(p.thread);
        let on = pending.iter().filter(awake).find(|p| Some(p.thread) == running);
        match on.or_else(|| pending.iter().find(awake)) {
            Some(next) => Decision::Take(Choice { thread: next.thread, alt: Alt::DEFAULT }),
            None if pending.iter().any(|p| p.enabled) => {
                self.blocked = true;
                Decision::Stop
            }
            None => Decision::Default,
        }
    }

    fn executed(&mut self, _step: StepIndex, event: &Event) {
        // Whether giving up a wait is forced depends on everybody, so it wakes everybody.
        let optional = event.alt.budget().is_some();
        self.asleep.retain(|asleep| {
            !optional && asleep.thread != event.thread && !dependent(&asleep.accesses, &event.accesses)
        });
    }
}
