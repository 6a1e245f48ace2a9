//! What must hold between executions; looked at in debug builds.

use super::tree::{ROOT, Tree, cost};

/// Trees larger than this are not looked at: it would take longer than the search.
const LARGEST: usize = 300;

/// Says what is wrong with a tree whose fringe has `queued` members.
pub(super) fn check(tree: &Tree, queued: usize) -> Result<(), String> {
    if tree.len() > LARGEST {
        return Ok(());
    }
    let (mut pending, mut bytes, mut seen) = (0, 0, 0);
    let mut open = vec![ROOT];
    while let Some(id) = open.pop() {
        let line = &tree.lines[id as usize];
        seen += 1;
        pending += usize::from(!line.executed);
        bytes += cost(line);
        let children = tree.children(id);
        if !children.is_sorted_by_key(|&child| tree.start(child)) {
            return Err(format!("children of line {id} are out of order"));
        }
        let live = children.iter().filter(|&&child| !tree.lines[child as usize].drained).count();
        if live != line.extras.as_ref().map_or(0, |extras| extras.live) as usize {
            return Err(format!("line {id} miscounts its live children"));
        }
        if line.drained && (live > 0 || !line.executed) {
            return Err(format!("line {id} is drained but something below it is to run"));
        }
        let sleepers = line.extras.iter().flat_map(|extras| &extras.sleepers);
        if sleepers
            .clone()
            .any(|sleeper| sleeper.until > line.free || tree.edges.get(sleeper.edge).optional())
        {
            return Err(format!("somebody still sleeps at the free root of line {id}"));
        }
        for &child in children {
            let below = &tree.lines[child as usize];
            if below.parent != id || id != ROOT && below.start <= line.start {
                return Err(format!("line {child} does not hang where its parent {id} says"));
            }
            open.push(child);
        }
    }
    if (pending, bytes, seen) != (queued, tree.line_bytes(), tree.len()) {
        let kept = (queued, tree.line_bytes(), tree.len());
        return Err(format!("pending, bytes, lines: counted {:?}, kept {kept:?}", (pending, bytes, seen)));
    }
    Ok(())
}
