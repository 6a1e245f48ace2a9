//! The points of the tree that one execution passes: on which line each of them lies, and what branches off.
//!
//! Every race asks for that, and to find it out takes a walk along the path and through the branches of a
//! line. Executions share long prefixes, so the points are kept from one to the next, like clocks and races.
//! Up to the step where two executions part they pass the same points. What branches off at those changes
//! only by insertions, which are [`Points::note`]d: the tree forgets branches from behind, and none ahead of
//! one that is still to be executed, as the next execution is.

use super::lines::{LineId, NO_LINE};
use super::step::StepIndex;
use super::tree::Tree;

/// The point before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// The line it lies on: if the path leaves there, the one that is left.
    pub(super) line: LineId,
    /// What branches off there, the first one that was made.
    pub(super) branch: LineId,
    /// Whether it is in the chain of the line.
    pub(super) in_chain: bool,
    /// The line of the path that leaves there.
    pub(super) leaves: LineId,
}

/// The points of an execution, that at its end included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Points {
    all: Vec<Point>,
}

impl Points {
    /// Those of an execution of so many steps.
    pub(super) fn of(tree: &Tree, path: &[LineId], steps: usize) -> Points {
        let mut points = Points::default();
        points.follow(tree, path, steps, 0);
        points
    }

    #[inline]
    pub(super) fn at(&self, step: StepIndex) -> Point {
        self.all[step as usize]
    }

    /// Follows an execution of so many steps, whose first `kept` are those of the one that was followed last.
    pub(super) fn follow(&mut self, tree: &Tree, path: &[LineId], steps: usize, kept: StepIndex) {
        // Where the two part, all is known but what the path does there.
        self.all.truncate(if kept == 0 { 0 } else { kept as usize + 1 });
        if let Some(parting) = self.all.last_mut() {
            parting.leaves = NO_LINE;
        }
        let known = self.all.len();
        let mut depth = path.len() - 1;
        while depth > 0 && tree.start(path[depth]) >= kept {
            depth -= 1;
        }
        for at in depth..path.len() {
            let line = path[at];
            let leaves = path.get(at + 1).copied();
            let end = leaves.map_or(steps, |next| tree.start(next) as usize);
            if end >= known {
                self.add(tree, line, end);
            }
            if let Some(next) = leaves {
                self.all[end].leaves = next;
            }
        }
    }

    /// Adds the points of a line up to `end`.
    fn add(&mut self, tree: &Tree, line: LineId, end: usize) {
        let (from, free) = (self.all.len(), tree.free(line) as usize);
        let point = Point { line, branch: NO_LINE, in_chain: true, leaves: NO_LINE };
        if free > from {
            self.all.resize(free.min(end + 1), point);
        }
        self.all.resize(end + 1, Point { in_chain: false, ..point });
        for branch in tree.children(line) {
            let start = tree.start(branch) as usize;
            if start < from {
                break;
            }
            if start <= end && self.all[start].branch == NO_LINE {
                self.all[start].branch = branch;
            }
        }
    }

    /// A line was made that leaves `parent` at a step.
    pub(super) fn note(&mut self, parent: LineId, step: StepIndex, line: LineId) {
        if let Some(point) = self.all.get_mut(step as usize)
            && point.line == parent
            && point.branch == NO_LINE
        {
            point.branch = line;
        }
    }
}
