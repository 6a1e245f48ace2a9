//! Executions that nobody asked for, and their place in the tree.
//!
//! A steered execution, or a random one, is one like any other: it must not be executed again, and the
//! races in it must be reversed. So it is inserted at the root as a wakeup sequence that is all of it
//! (`wakeup.rs`). A reversal stops at a free root, because nobody but the executions behind it has
//! anything to insert there. This one does, so it goes on:
//!
//! * through the free part of an executed line, where nobody sleeps and the line itself and its branches
//!   are what may cover the sequence, as in a chain. What the line did there is kept for that purpose
//!   ([`super::lines`]), in so far as it is known and not too much;
//! * into a line that is still to be executed. Behind its chain any execution will do for the first one,
//!   so this one is it.
//!
//! It goes no further where no branch of an executed line is left at the point or behind it: all that
//! begins in this way has been executed, be it that the branches were done and forgotten or that there
//! never were any. Branches are forgotten from the last one on and all those of a point together, so at
//! the other points all of them are there.
//!
//! Why nothing is lost: a branch added at some point only adds executions, and it covers for later
//! siblings just what it explores, by rule R1. Why nothing is done twice: as everywhere, the new branch
//! differs from each earlier sibling by a step that wakes it. Where it is not known what a line did, or
//! somebody else sees to it, the execution is left alone, and may be done again.

use super::lines::AWAY;
use super::races::Reversal;
use super::step::StepIndex;
use super::tree::{LineId, Tree};
use super::wakeup::{Inserter, Place, Source};

/// Where an adopted execution hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adopted {
    /// It is a new line.
    New(LineId),
    /// It is the first execution of this line, which was pending.
    First(LineId),
}

impl Inserter {
    /// Finds a place for an execution that was not asked for, unless its class has been executed.
    ///
    /// `order` receives its steps in the order in which the tree has them.
    pub(super) fn adopt(
        &mut self,
        tree: &mut Tree,
        source: Source<'_>,
        order: &mut Vec<StepIndex>,
    ) -> Option<Adopted> {
        let reversal = self.prepare_whole(source, order);
        let adopted = self.walk(tree, source, &reversal, Place::root());
        *order = self.order.take().unwrap_or_default();
        adopted
    }

    fn walk(
        &mut self,
        tree: &mut Tree,
        source: Source<'_>,
        reversal: &Reversal,
        mut place: Place,
    ) -> Option<Adopted> {
        loop {
            if tree.lines.get(place.line).is(AWAY) {
                return None;
            }
            let pending = !tree.is_executed(place.line);
            if place.step < tree.free(place.line) {
                let mut sleepers = tree.sleepers_at(place.line, place.step);
                if sleepers.any(|edge| self.covers(source, reversal, &place, &edge)) {
                    return None;
                }
            } else if pending {
                self.drop_taken(source);
                let rest = std::mem::take(&mut self.rest);
                self.order.get_or_insert_default().extend(rest);
                return Some(Adopted::First(place.line));
            } else if !tree.branches_from(place.line, place.step) {
                return None;
            }
            place.own = tree.own_edge(place.line, place.step)?;
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
                place.look(tree);
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
