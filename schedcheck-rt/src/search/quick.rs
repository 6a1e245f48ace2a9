//! Races whose sequences need not be built: those that were seen before, and the simplest of the new.

use super::races::Reversal;
use super::step::*;
use super::tree::{Edge, Tree};
use super::wakeup::{Branch, Place, Source};

/// Whether a branch of one step at `place`, taken by a thread of w, covers w.
///
/// This is what becomes of most races: an earlier execution of the same prefix had them too. It is
/// decided without looking at w. (Having seen the race there is not enough. w reaches to the end of
/// the execution, and what commuted with the end of that one need not commute with the end of this
/// one: leaving out races of the common prefix loses classes.) The first step of a thread of w is
/// initial whatever the end of w is.
///
/// Once true, it stays true for every execution that repeats all steps up to `instead_of` and comes
/// next, so it need not be asked again. It looks at those steps only, at what `place.line` itself
/// does, and at the lines that branch off there in order of creation: later ones come behind the one
/// that covers. They are not forgotten either: the next execution's own line, still to run, leaves
/// `place.line` later, and the tree forgets from behind.
pub(super) fn covered_at_once(tree: &Tree, source: Source<'_>, reversal: &Reversal, place: &Place) -> bool {
    let Some(reversed) = place.reversed.filter(|_| reversal.instead_of != NO_STEP) else {
        return false;
    };
    if place.step < tree.free(place.line) || reversal.excludes_sharers {
        return false;
    }
    let begins = |edge: &Edge| {
        let steps = source.history.of_thread(edge.thread);
        let Some(&first) = steps.get(steps.partition_point(|&step| step < place.step)) else {
            return false;
        };
        let event = &source.trace.events[first as usize];
        edge.choice() != reversed
            && first < reversal.instead_of
            && event.alt == edge.alt
            && !source.history.before(place.step, reversed.thread, first)
            && source.history.clock(first).iter().enumerate().all(|(other, &count)| {
                other == edge.thread.0 as usize || {
                    let steps = source.history.of_thread(ThreadId(other as u16));
                    count == 0 || steps[count as usize - 1] < place.step
                }
            })
    };
    if place.own.as_ref().is_some_and(begins) {
        return true;
    }
    let children = tree.children_at(place.line, place.step);
    let mut short = children.take_while(|&child| tree.free(child) == place.step + 1);
    short.any(|child| {
        let edge = tree.chained(child, place.step);
        begins(&edge) || edge.choice() == reversal.choice && directly(source, reversal, place)
    })
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
    let alone = place.reversed.is_some()
        && reversal.instead_of != NO_STEP
        && place.step >= tree.free(place.line)
        && !reversal.excludes_sharers
        && reversal.choice.alt.budget().is_none()
        && tree.children_at(place.line, place.step).next().is_none();
    if !alone || !directly(source, reversal, place) {
        return None;
    }
    let edge = Edge::new(reversal.choice, &reversal.accesses);
    let preempts = place.running.is_some_and(|running| running != edge.thread);
    let preemptions = place.preemptions + u32::from(preempts);
    let line = tree.twig((place.line, place.step), place.own, edge, preemptions);
    Some(Branch { line, step: place.step, first: reversal.choice, preemptions })
}

/// Whether the reversed operation can come first: nothing orders a step of w before it. Asked only
/// of operations that turn out as they did when they were executed.
fn directly(source: Source<'_>, reversal: &Reversal, place: &Place) -> bool {
    let event = &source.trace.events[reversal.instead_of as usize];
    if event.reads_when != ReadsWhen::Never || event.accesses != reversal.accesses {
        return false;
    }
    let steps = source.history.of_thread(reversal.choice.thread);
    let next = steps.partition_point(|&step| step < place.step);
    let clock = source.history.clock(reversal.instead_of);
    steps.get(next) == Some(&reversal.instead_of)
        && clock.iter().enumerate().all(|(other, &count)| {
            let thread = ThreadId(other as u16);
            thread == reversal.choice.thread || {
                let steps = source.history.of_thread(thread);
                // Of the steps behind the place, only those that also follow the reversed one.
                let behind = &steps[..count as usize];
                let from = behind.partition_point(|&step| step < place.step);
                let owner = source.trace.events[place.step as usize].thread;
                behind.get(from).is_none_or(|&step| source.history.before(place.step, owner, step))
            }
        })
}
