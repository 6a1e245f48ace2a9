//! Why nothing can run: the wait-for graph, its cycle, or a wake-up that came too early or to the wrong thread.

use super::controller::{Slot, World};
use super::outcome::{Deadlock, LostWakeup};
use super::threads::Thread;
use crate::model::{Kind, Notified, State};
use crate::search::step::ObjectId;

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
    let lost = world.threads.iter().find_map(|thread| lost_wakeup(world, thread));
    Deadlock { lost_wakeup: lost.filter(|_| cycle.is_empty()), cycle }
}

/// What became of the last notification that a thread could have waited for.
pub(crate) fn lost_wakeup(world: &World, thread: &Thread) -> Option<LostWakeup> {
    let condvar = waits_to_be_notified(thread)?;
    let State::Condvar(state) = world.objects.state(condvar) else { return None };
    let waits_again =
        |id| world.threads.iter().any(|other| other.id == id && waits_to_be_notified(other) == Some(condvar));
    match state.last() {
        Notified::Nobody => Some(LostWakeup::Early),
        Notified::OneOfSeveral(woken) if waits_again(woken) => Some(LostWakeup::Wasted { woken }),
        Notified::OneOfSeveral(_) | Notified::All => None,
    }
}

/// The condvar that a thread waits for.
fn waits_to_be_notified(thread: &Thread) -> Option<ObjectId> {
    (!thread.ended && thread.op.kind == Kind::CondvarWake).then_some(thread.op.object)
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
