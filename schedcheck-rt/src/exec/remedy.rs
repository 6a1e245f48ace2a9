//! What would have ordered the two sides of a race, as precisely as the execution says it.
//!
//! # A lock that another thread gives up
//!
//! Locks outside of std are words of memory with atomic operations on them. Nothing in a word says that it is a lock, and
//! even of a lock nothing says who may give it up: `lock_api` has locks whose guards may be sent to other threads (the
//! marker `GuardSend`, the feature `send_guard` of parking_lot), and a raw lock may be passed on by agreement. So that
//! one thread takes such a lock and another one gives it up is no mistake by itself, and is not reported as one.
//!
//! What makes it a mistake is that the holder was not asked: nothing orders what it did with the data before what the next
//! holder does, since the word was released by somebody who does not know of it. That is a data race, found like any
//! other, in whatever way the lock is written, and in no program that passes locks on correctly. What is left to do is to
//! name the cause: a word that the earlier thread had taken, another one gave up, and the later thread took.

use super::controller::World;
use super::outcome::of_package;
use super::view::thread_name;
use crate::model::{Kind, Site};
use crate::races::{Order, Race, Side, Touch};
use crate::search::step::{Mode, ObjectId, ThreadId};

/// An atomic operation of the execution.
struct Atomic {
    step: usize,
    thread: ThreadId,
    object: ObjectId,
    kind: Kind,
    site: Site,
    order: Order,
    wrote: bool,
}

impl Atomic {
    fn reads(&self) -> bool {
        !matches!(self.kind, Kind::Store)
    }

    /// Whether it may be the taking of a lock.
    fn takes(&self) -> bool {
        self.wrote && self.reads() && self.order.acquires
    }

    /// Whether it may be the giving up of a lock.
    fn gives_up(&self) -> bool {
        self.wrote && self.order.releases
    }
}

/// What would have ordered the two: what the threads did use, wrongly, or else what there is in general.
pub(super) fn remedy(world: &World, race: &Race) -> String {
    if race.earlier.touch == Touch::Free && race.earlier.thread == race.later.thread {
        return "a thread must not use memory that it has freed".to_owned();
    }
    let precise = || {
        let thread = |side: &Side| world.threads.get(side.thread).map(|thread| thread.id);
        let (from, to) = (thread(&race.earlier)?, thread(&race.later)?);
        let atomics = atomics(world);
        // A plain access comes after its step, an atomic one is it.
        let since = race.earlier.step? as usize + usize::from(!race.earlier.touch.is_atomic());
        let weak = weak_link(&atomics, since, (from, to));
        let stolen = stolen_lock(world, race, &atomics, (from, to));
        let both = stolen.iter().zip(&weak).map(|(stolen, weak)| format!("{stolen}; {weak}")).next();
        both.or(stolen).or(weak)
    };
    let remedy = precise().unwrap_or_else(|| {
        "a lock that both threads hold, a message, a join, or an atomic that one thread stores with \
         Ordering::Release and the other loads with Ordering::Acquire would order them"
            .to_owned()
    });
    if race.earlier.touch.is_atomic() && race.later.touch.is_atomic() {
        return format!("atomic accesses need no order only if they are to the very same bytes; {remedy}");
    }
    remedy
}

fn atomics(world: &World) -> Vec<Atomic> {
    let Some(races) = world.races.as_deref() else { return Vec::new() };
    let steps = world.notes.iter().zip(&world.trace.events).enumerate();
    let atomics = steps.filter_map(|(step, (note, event))| {
        Some(Atomic {
            step,
            thread: event.thread,
            object: note.object,
            kind: note.kind,
            site: note.site,
            order: races.order_of(step as u32)?,
            wrote: event.accesses[0].mode == Mode::Write,
        })
    });
    atomics.collect()
}

/// The first value that flowed from one thread to the other between the accesses.
fn weak_link(atomics: &[Atomic], since: usize, (from, to): (ThreadId, ThreadId)) -> Option<String> {
    let atomics = &atomics[atomics.partition_point(|atomic| atomic.step < since)..];
    atomics.iter().enumerate().find_map(|(at, load)| {
        if load.thread != to || !load.reads() {
            return None;
        }
        let mut stores = atomics[..at].iter().rev();
        let store = stores.find(|store| {
            let stores = store.wrote || matches!(store.kind, Kind::Store);
            stores && store.thread == from && store.object == load.object
        })?;
        let weak = match (store.order.releases, load.order.acquires) {
            (true, true) => return None,
            (false, true) => "the store would have to be at least Release",
            (true, false) => "the load would have to be at least Acquire",
            (false, false) => "the store would have to be at least Release and the load at least Acquire",
        };
        Some(format!(
            "the value that step {} ({}) stores and step {} ({}) loads would order them, \
             but is too weak for that: {weak}",
            store.step,
            short(store.site),
            load.step,
            short(load.site)
        ))
    })
}

/// A lock that the earlier thread took before its access, that it did not give up, and that the later thread has taken
/// since, because a third one gave it up without having taken it.
fn stolen_lock(
    world: &World,
    race: &Race,
    atomics: &[Atomic],
    (from, to): (ThreadId, ThreadId),
) -> Option<String> {
    let (earlier, later) = (race.earlier.step? as usize, race.later.step? as usize);
    let before = atomics.partition_point(|atomic| atomic.step <= earlier);
    atomics[..before].iter().enumerate().rev().find_map(|(at, taken)| {
        if taken.thread != from || !taken.takes() {
            return None;
        }
        let since = atomics[at + 1..].iter().filter(|one| one.object == taken.object);
        let uses: Vec<&Atomic> = since.collect();
        let again = uses.iter().position(|one| one.thread == to && one.step <= later && one.takes())?;
        let between = &uses[..again];
        if between.iter().any(|one| one.thread == from && one.gives_up()) {
            return None;
        }
        let given_up = between.iter().rev().find(|one| one.gives_up())?;
        // Readers of the same lock give up what they took themselves.
        let mut own = atomics.iter().filter(|one| {
            one.object == taken.object && one.thread == given_up.thread && one.step < given_up.step
        });
        let held = own.try_fold(0_i32, |held, one| match (one.takes(), one.gives_up()) {
            (true, false) => Some(held + 1),
            (false, true) => Some((held - 1).max(0)),
            (true, true) => None,
            (false, false) => Some(held),
        });
        if held != Some(0) {
            return None;
        }
        let name = |thread: ThreadId| {
            let slot = world.threads.iter().position(|one| one.id == thread);
            slot.map_or_else(String::new, |slot| thread_name(world, slot))
        };
        Some(format!(
            "thread '{}' took a lock at step {} ({}) and has not given it up: thread '{}', which did not hold it, did so at \
             step {} ({}), and thread '{}' took it at step {} ({}); who unlocks in the place of the holder has to be told by \
             it, through something that orders the two",
            name(from),
            taken.step,
            short(taken.site),
            name(given_up.thread),
            given_up.step,
            short(given_up.site),
            name(to),
            uses[again].step,
            short(uses[again].site),
        ))
    })
}

/// A place, in a dependency by the name and version of that instead of a path on this machine.
fn short(site: Site) -> String {
    of_package(&site.to_string()).to_owned()
}
