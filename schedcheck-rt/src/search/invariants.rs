//! What must hold between executions; looked at in debug builds.

use super::share::Shares;
use super::tree::{LineId, ROOT, Tree};

/// Trees larger than this are not looked at: it would take longer than the search.
pub(super) const LARGEST: usize = 300;

/// Says what is wrong with a tree whose fringe has `queued` members. A share has others' lines too.
pub(super) fn check(tree: &Tree, queued: usize, shares: &Shares) -> Result<(), String> {
    if tree.len() > LARGEST || shares.share.is_some() {
        return Ok(());
    }
    let (mut pending, mut seen) = (0, 0);
    let mut open = vec![ROOT];
    while let Some(id) = open.pop() {
        seen += 1;
        pending += usize::from(!tree.is_executed(id));
        check_line(tree, id)?;
        open.extend(tree.children(id));
    }
    pending -= shares.given.len();
    if (pending, seen) != (queued, tree.len()) {
        let kept = (queued, tree.len());
        return Err(format!("pending, lines: counted {:?}, kept {kept:?}", (pending, seen)));
    }
    Ok(())
}

fn check_line(tree: &Tree, id: LineId) -> Result<(), String> {
    let starts = tree.children(id).map(|child| tree.start(child));
    if !starts.clone().is_sorted_by(|earlier, later| earlier >= later) {
        return Err(format!("branches of line {id} are out of order"));
    }
    let live = tree.children(id).any(|child| !tree.is_drained(child));
    if tree.is_drained(id) && (live || !tree.is_executed(id)) {
        return Err(format!("line {id} is drained but something below it is to run"));
    }
    if tree.sleepers_at(id, tree.free(id)).next().is_some() {
        return Err(format!("somebody still sleeps at the free root of line {id}"));
    }
    if tree.sleepers_at(id, 0).any(|edge| edge.optional()) {
        return Err(format!("a choice that need not be made sleeps in line {id}"));
    }
    for child in tree.children(id) {
        if tree.parent(child) != id || id != ROOT && tree.start(child) <= tree.start(id) {
            return Err(format!("line {child} does not hang where its parent {id} says"));
        }
    }
    Ok(())
}
