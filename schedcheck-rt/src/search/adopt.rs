//! Executions that nobody asked for, and their place in the tree.
//!
//! A steered execution is one like any other: it must not be executed again, and the races in it must be
//! reversed. So it is inserted at the root as a wakeup sequence that is all of it (`wakeup.rs`). There an
//! insertion stops at a free root, because what lies behind may have been forgotten. While executions are
//! steered nothing is forgotten and the steps of what was executed are kept, so this one goes on:
//!
//! * through the free part of an executed line, where nobody sleeps and the line itself and its branches
//!   are what may cover the sequence, as in a chain;
//! * into a line that is still to be executed. Behind its chain any execution will do for the first one,
//!   so this one is it.
//!
//! Why nothing is lost: a branch added at some point only adds executions, and it covers for later
//! siblings just what it explores, by rule R1. Why nothing is done twice: as everywhere, the new branch
//! differs from each earlier sibling by a step that wakes it.

use super::races::Reversal;
use super::step::{Event, StepIndex};
use super::tree::{Edge, LineId, ROOT, Tree};
use super::wakeup::{Inserter, Place, Source};
use rustc_hash::FxHashMap;

/// The steps of lines that were executed while executions are steered.
#[derive(Debug, Default)]
pub(super) struct Executed {
    lines: FxHashMap<LineId, Vec<Edge>>,
}

impl Executed {
    /// `line` did this, from its start on.
    pub(super) fn keep(&mut self, line: LineId, start: StepIndex, events: &[Event]) {
        let own = events.get(start as usize..).unwrap_or_default();
        self.lines.insert(line, own.iter().map(Edge::of).collect());
    }

    /// What `line`, which starts at `start`, does at `step`; nothing behind its end.
    pub(super) fn edge(&self, line: LineId, start: StepIndex, step: StepIndex) -> Option<Edge> {
        let own = self.lines.get(&line)?;
        own.get((step - start) as usize).copied()
    }

    /// Whether the steps of `line` are known.
    pub(super) fn has(&self, line: LineId) -> bool {
        self.lines.contains_key(&line)
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }
}

/// Where an adopted execution hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adopted {
    /// It is a new line.
    New(LineId),
    /// It is the first execution of this line, which was pending.
    First(LineId),
}

impl Inserter {
    /// Finds a place for an execution that was steered, unless its class has been executed.
    ///
    /// `order` receives its steps in the order in which the tree has them.
    pub(super) fn adopt_steered(
        &mut self,
        tree: &mut Tree,
        source: Source<'_>,
        executed: &Executed,
        order: &mut Vec<StepIndex>,
    ) -> Option<Adopted> {
        let reversal = self.prepare_whole(source, order);
        let place = Place::root(executed.edge(ROOT, 0, 0));
        let adopted = self.walk(tree, source, &reversal, executed, place);
        *order = self.order.take().unwrap_or_default();
        adopted
    }

    fn walk(
        &mut self,
        tree: &mut Tree,
        source: Source<'_>,
        reversal: &Reversal,
        executed: &Executed,
        mut place: Place,
    ) -> Option<Adopted> {
        loop {
            let pending = !executed.has(place.line);
            if pending && tree.is_executed(place.line) {
                return None;
            }
            if place.step < tree.free(place.line) {
                let mut sleepers = tree.sleepers_at(place.line, place.step);
                if sleepers.any(|edge| self.covers(source, reversal, &place, &edge)) {
                    return None;
                }
            } else if pending {
                let rest = std::mem::take(&mut self.rest);
                self.order.get_or_insert_default().extend(rest);
                return Some(Adopted::First(place.line));
            }
            let start = tree.start(place.line);
            place.own = match pending {
                true => Some(tree.chained(place.line, place.step)),
                false => executed.edge(place.line, start, place.step),
            };
            let taken = match place.own.filter(|own| self.covers(source, reversal, &place, own)) {
                Some(own) => Some((place.line, own)),
                None => {
                    let mut children = tree.children_at(place.line, place.step);
                    let covers = |child: &LineId| {
                        self.covers(source, reversal, &place, &tree.chained(*child, place.step))
                    };
                    children.find(covers).map(|child| (child, tree.chained(child, place.step)))
                }
            };
            let Some((line, edge)) = taken else {
                return Some(Adopted::New(self.branch(tree, source, reversal, &place).line));
            };
            let before = place.step;
            let more = self.descend(source, reversal, &edge, &mut place, StepIndex::MAX);
            place.line = line;
            if !more {
                // A step that is not in it, or its end: the class is known unless this was to be its first.
                let ended = place.step > before && place.step >= tree.free(line);
                return (ended && !tree.is_executed(line)).then_some(Adopted::First(line));
            }
        }
    }
}
