//! What became of the notifications that a thread waits for: one came too early, woke another thread, or is missing.

use super::callers::is_of_registry;
use super::controller::World;
use super::outcome::LostWakeup;
use super::threads::Thread;
use crate::model::{Kind, Notified, State};
use crate::search::step::{ObjectId, StepIndex, ThreadId};

/// What became of the last notification that a thread could have waited for.
pub(super) fn lost_wakeup(world: &World, thread: &Thread) -> Option<LostWakeup> {
    let condvar = waits_to_be_notified(thread)?;
    let State::Condvar(state) = world.objects.state(condvar) else { return None };
    let waits_again =
        |id| world.threads.iter().any(|other| other.id == id && waits_to_be_notified(other) == Some(condvar));
    match state.last() {
        // What it says itself, before it waits, is for others.
        Notified::Nobody { by, before: None } if by == thread.id => None,
        Notified::Nobody { .. } => Some(LostWakeup::Early),
        Notified::OneOfSeveral(woken) if waits_again(woken) => Some(LostWakeup::Wasted { woken }),
        Notified::OneOfSeveral(_) | Notified::All => None,
    }
}

/// Whether it may be that no notification was lost, but that one was never given.
pub(super) fn may_be_missing(world: &World) -> bool {
    world.threads.iter().any(|thread| {
        let early = lost_wakeup(world, thread) == Some(LostWakeup::Early);
        never_notified(world, thread) || early && unheard_change(world, thread).is_some()
    })
}

/// Whether a thread waits for what no other one has ever notified. Idle threads of a library do.
fn never_notified(world: &World, thread: &Thread) -> bool {
    let Some(condvar) = waits_to_be_notified(thread) else { return false };
    !is_of_registry(thread.op.site.file())
        && !steps(world).any(|(_, by, kind, object)| object == condvar && by != thread.id && notifies(kind))
}

/// The last step in which another one took the mutex that a waiting thread has given up, to give it back later, without a
/// notification since: it may have changed what the thread waits for.
///
/// Who takes the mutex to wait as well, or because it has waited for the same, has changed nothing that is worth a notification.
pub(super) fn unheard_change(world: &World, thread: &Thread) -> Option<StepIndex> {
    let condvar = waits_to_be_notified(thread)?;
    let State::Condvar(state) = world.objects.state(condvar) else { return None };
    let mutex = state.mutex()?;
    // Who holds the mutex, since when, and whether that is worth a notification.
    let mut hold: Option<(ThreadId, StepIndex, bool)> = None;
    let (mut waits, mut unheard) = (false, None);
    let mut woken: Vec<ThreadId> = Vec::new();
    for (step, by, kind, object) in steps(world) {
        match kind {
            Kind::CondvarWake if object == condvar => woken.push(by),
            Kind::Lock | Kind::TryLock if object == mutex => {
                let has_waited = woken.contains(&by);
                woken.retain(|woken| *woken != by);
                hold = hold.or(Some((by, step, waits && by != thread.id && !has_waited)));
            }
            Kind::Unlock if object == mutex => {
                let counts = hold.take().filter(|(_, _, counts)| *counts);
                unheard = counts.map(|(_, step, _)| step).or(unheard);
            }
            Kind::CondvarEnqueue => {
                if by == thread.id {
                    (waits, unheard) = (object == condvar, None);
                }
                hold = hold.map(|(holder, since, counts)| (holder, since, counts && holder != by));
            }
            Kind::NotifyOne | Kind::NotifyAll if object == condvar => {
                hold = hold.map(|(holder, since, _)| (holder, since, false));
                unheard = None;
            }
            _ => {}
        }
    }
    unheard
}

/// The steps of an execution: who did what, with what.
fn steps(world: &World) -> impl Iterator<Item = (StepIndex, ThreadId, Kind, ObjectId)> {
    let steps = (0..).zip(world.trace.events.iter().zip(&world.notes));
    steps.map(|(step, (event, note))| (step, event.thread, note.kind, note.object))
}

fn notifies(kind: Kind) -> bool {
    matches!(kind, Kind::NotifyOne | Kind::NotifyAll)
}

/// The condvar that a thread waits for.
fn waits_to_be_notified(thread: &Thread) -> Option<ObjectId> {
    (!thread.ended && thread.op.kind == Kind::CondvarWake).then_some(thread.op.object)
}
