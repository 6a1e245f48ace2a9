//! Why nothing can run: the wait-for graph, its cycle, or a wake-up that was lost.

use super::controller::{Slot, World};
use super::outcome::Deadlock;
use super::wakeups;
use crate::model::Kind;

/// The thread that `slot` waits for, if it waits for one in particular.
pub(crate) fn waits_for(world: &World, slot: Slot) -> Option<Slot> {
    let thread = &world.threads[slot];
    if thread.ended {
        return None;
    }
    match thread.op.kind {
        // Its director is in charge.
        Kind::Resume => None,
        Kind::Join | Kind::JoinScoped => {
            world.threads.iter().position(|other| other.life == thread.op.object)
        }
        _ => {
            let holder = world.objects.holder(thread.op.object)?;
            world.threads.iter().position(|other| other.id == holder)
        }
    }
}

/// Explains a state in which no thread can run although some have not ended.
pub(crate) fn analyse(world: &World) -> Deadlock {
    let cycle = find_cycle(world).into_iter().map(|slot| world.threads[slot].id).collect::<Vec<_>>();
    let lost = world.threads.iter().find_map(|thread| wakeups::lost_wakeup(world, thread));
    Deadlock {
        lost_wakeup: lost.filter(|_| cycle.is_empty()),
        may_be_missing: wakeups::may_be_missing(world),
        cycle,
    }
}

fn find_cycle(world: &World) -> Vec<Slot> {
    for start in 0..world.threads.len() {
        let mut path = vec![start];
        let mut at = start;
        while let Some(next) = waits_for(world, at) {
            if next == start {
                return path;
            }
            if path.contains(&next) {
                break;
            }
            path.push(next);
            at = next;
        }
    }
    Vec::new()
}
