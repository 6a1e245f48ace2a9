//! Why nothing can run: the wait-for graph, its cycle, or a wake-up that came too early.

use super::controller::{Slot, World};
use super::outcome::Deadlock;
use crate::model::{Kind, State};

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
    let lost_wakeup =
        cycle.is_empty() && world.threads.iter().any(|thread| missed_notification(world, thread));
    Deadlock { cycle, lost_wakeup }
}

fn missed_notification(world: &World, thread: &super::threads::Thread) -> bool {
    !thread.ended
        && thread.op.kind == Kind::CondvarWake
        && matches!(world.objects.state(thread.op.object), State::Condvar(condvar) if condvar.unheard() > 0)
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
