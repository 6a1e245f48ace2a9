//! Races whose sequences need not be built: those that were seen before, and the simplest of the new.

use super::dependence::{Class, class};
use super::lines::NO_LINE;
use super::races::Reversal;
use super::step::*;
use super::tree::{Edge, LineId, Tree};
use super::wakeup::{Branch, Place, Source};
use smallvec::SmallVec;

/// Whether it takes no look at w to see that w is covered at `place`.
///
/// It is covered by what the line itself does there if that begins w, and by a branch whose whole chain can
/// be taken out of w, one step after the other: at its end is a free root. (A sleeper in the chain that begins
/// what is left of w says the same.) Other branches that were made earlier must not matter; that is clear if
/// each of them has a chain of one step, since all that they can do is to cover w too.
///
/// This is what becomes of most races: an earlier execution of the same prefix had them too. It is
/// decided without looking at w. (Having seen the race there is not enough. w reaches to the end of
/// the execution, and what commuted with the end of that one need not commute with the end of this
/// one: leaving out races of the common prefix loses classes.) The first step of a thread of w is
/// initial whatever the end of w is, as soon as what is ordered before it is taken.
///
/// Once true, it stays true for every execution that repeats all steps up to `instead_of` and comes
/// next, so it need not be asked again. It looks at those steps only, at what `place.line` itself
/// does, and at the lines that branch off there in order of creation: later ones come behind the one
/// that covers. They are not forgotten either: the next execution's own line, still to run, leaves
/// `place.line` later, and the tree forgets from behind. Their chains may only become shorter.
#[inline]
pub(super) fn covered_at_once(tree: &Tree, source: Source<'_>, reversal: &Reversal, place: &Place) -> bool {
    let Some(reversed) = place.reversed.filter(|_| reversal.instead_of != NO_STEP) else {
        return false;
    };
    if place.in_chain || reversal.excludes_sharers {
        return false;
    }
    let front = Front { source, reversal, at: place.step, owner: reversed.thread, taken: &[] };
    if place.own.is_some_and(|own| own.choice() != reversed && front.begins(&own)) {
        return true;
    }
    for (branch, edge) in tree.alternatives(place.branch, place.step) {
        if tree.free(branch) != place.step + 1 {
            return reversal.choice.alt.budget().is_none() && takes_chain(tree, branch, reversed, front);
        }
        if edge.choice() != reversed && front.begins(&edge) {
            return true;
        }
    }
    false
}

/// Whether all steps of a chain can be taken out of w, one after the other.
fn takes_chain(tree: &Tree, branch: LineId, reversed: Choice, front: Front<'_>) -> bool {
    let mut taken: SmallVec<[u32; 8]> = SmallVec::from_elem(0, front.source.history.threads());
    let mut is_reversed = false;
    let steps = tree.free(branch) - tree.start(branch);
    for edge in tree.lines.chain(branch).take(steps as usize) {
        // Where the reversed step would go first, and behind what takes its place, w says nothing.
        let unknown =
            if is_reversed { edge.thread == front.reversal.choice.thread } else { edge.choice() == reversed };
        let front = Front { taken: &taken, ..front };
        if unknown || !front.begins(&edge) {
            return false;
        }
        is_reversed |=
            edge.choice() == front.reversal.choice && front.is_next(edge.thread, front.reversal.instead_of);
        taken[edge.thread.0 as usize] += 1;
    }
    true
}

/// What of w can come first when some of it was taken: so many steps of each thread, or none.
#[derive(Clone, Copy)]
struct Front<'a> {
    source: Source<'a>,
    reversal: &'a Reversal,
    /// The step that is reversed, and whose it is.
    at: StepIndex,
    owner: ThreadId,
    taken: &'a [u32],
}

impl Front<'_> {
    /// How many steps of a thread are ahead of the place or taken.
    fn gone(&self, thread: ThreadId) -> usize {
        let steps = self.source.history.of_thread(thread);
        let taken = self.taken.get(thread.0 as usize).copied().unwrap_or(0);
        steps.partition_point(|&step| step < self.at) + taken as usize
    }

    fn is_next(&self, thread: ThreadId, step: StepIndex) -> bool {
        self.source.history.of_thread(thread).get(self.gone(thread)) == Some(&step)
    }

    /// Whether a step that E has too is one that begins w, whatever comes behind `instead_of`.
    fn begins(&self, edge: &Edge) -> bool {
        let history = self.source.history;
        let Some(&first) = history.of_thread(edge.thread).get(self.gone(edge.thread)) else {
            return false;
        };
        if first >= self.reversal.instead_of {
            let is_reversal = first == self.reversal.instead_of && edge.choice() == self.reversal.choice;
            return is_reversal && self.reversal_begins();
        }
        self.source.trace.events[first as usize].alt == edge.alt
            && !history.before(self.at, self.owner, first)
            && history.clock(first).iter().enumerate().all(|(other, &count)| {
                let other = ThreadId(other as u16);
                count == 0
                    || other == edge.thread
                    || history.of_thread(other)[count as usize - 1] < self.at
                    || !self.taken.is_empty() && count as usize <= self.gone(other)
            })
    }

    /// Whether the reversed operation, which is its thread's next, can come first: nothing orders a step of
    /// w before it.
    fn reversal_begins(&self) -> bool {
        let history = self.source.history;
        let Reversal { instead_of, enabler, accesses, choice, .. } = self.reversal;
        let events = &self.source.trace.events;
        // What uses an object behind a step that commutes with nothing there follows that step, so it is not
        // in w. If that is so for all objects, only the enabler can be.
        let at = &events[self.at as usize];
        let is_theirs = |access: &Access| {
            let same = |other: &Access| other.object == access.object && class(other.mode) == Class::Total;
            access.object == ObjectId::NONE
                || at.accesses.iter().any(|other| same(other) && other.mode != Mode::None)
        };
        if accesses.iter().all(is_theirs) && history.before(self.at, self.owner, *instead_of) {
            return *enabler == NO_STEP || *enabler < self.at || {
                let thread = events[*enabler as usize].thread;
                history.before(self.at, self.owner, *enabler)
                    || history.index(*enabler) as usize <= self.gone(thread)
            };
        }
        // Otherwise only of operations that turn out as they did when they were executed.
        let event = &events[*instead_of as usize];
        if event.reads_when != ReadsWhen::Never || event.accesses != *accesses {
            return false;
        }
        history.clock(*instead_of).iter().enumerate().all(|(other, &count)| {
            let other = ThreadId(other as u16);
            let steps = history.of_thread(other);
            count == 0
                || other == choice.thread
                || steps[count as usize - 1] < self.at
                // Of the steps behind the place, only those that also follow the reversed one.
                || steps[..count as usize]
                    .get(self.gone(other))
                    .is_none_or(|&step| history.before(self.at, self.owner, step))
        })
    }
}

/// The branch of a race that nobody has reversed at its place and whose operation can come first.
///
/// This is what becomes of most of the others, and what [`super::wakeup`] would make of them: at a
/// free point without branches nobody sleeps and nobody but the reversed step could cover w; the new
/// branch is the operation alone, which depends on that step, so that everybody is awake behind it.
pub(super) fn branch_at_once(
    tree: &mut Tree,
    source: Source<'_>,
    reversal: &Reversal,
    place: &Place,
) -> Option<Branch> {
    let reversed = place.reversed?;
    let alone = reversal.instead_of != NO_STEP
        && !place.in_chain
        && !reversal.excludes_sharers
        && reversal.choice.alt.budget().is_none()
        && place.branch == NO_LINE;
    let front = Front { source, reversal, at: place.step, owner: reversed.thread, taken: &[] };
    if !alone || !front.is_next(reversal.choice.thread, reversal.instead_of) || !front.reversal_begins() {
        return None;
    }
    let edge = reversal.edge();
    let preempts = place.running.is_some_and(|running| running != edge.thread);
    let preemptions = place.preemptions + u32::from(preempts);
    let line = tree.twig((place.line, place.step), place.own, edge, preemptions);
    Some(Branch { line, step: place.step, first: reversal.choice, preemptions })
}
