//! What single facades need from an execution beyond performing operations.

use super::controller::World;
use super::outcome::Outcome;
use super::{Active, ObjectTag, waited};
use crate::intercept::mixed;
use crate::model::{Kind, ObjectKind};
use crate::search::step::ObjectId;
use std::sync::atomic::{AtomicU32, Ordering};

/// Free alternatives of a read acquisition that may stand in line: passing, or not.
const PASS_OR_STAND: u16 = 2;

/// A number for the execution that begins, after `last`: unique in the process, because statics
/// keep the stamps of whichever test ran before. In a process that explores, statics are put back
/// after each execution, this one too: then `last` alone counts.
pub(super) fn next_generation(last: u32) -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    // Zero stamps what was never used, the maximum what happened outside.
    let next = match last.max(LAST.load(Ordering::Relaxed)) {
        last if last >= u32::MAX - 1 => 1,
        last => last + 1,
    };
    LAST.store(next, Ordering::Relaxed);
    next
}

impl Active {
    /// Which execution of this process this is.
    pub(crate) fn generation(&self) -> u32 {
        self.world().generation
    }

    /// How many steps there were so far.
    pub(crate) fn steps(&self) -> usize {
        self.world().trace.events.len()
    }

    /// Whether some of the steps from `since` on are of the running thread.
    pub(crate) fn has_stepped(&self, since: usize) -> bool {
        let world = self.world();
        let thread = world.threads[world.current].id;
        world
            .trace
            .events
            .get(since..)
            .is_some_and(|events| events.iter().any(|event| event.thread == thread))
    }

    /// Calls `section` with the values of thread-local keys, whose form is the facade's. They are
    /// kept here because the engine's own statics are put back after each execution. `end` is what
    /// a thread has to do with them at its end.
    pub(crate) fn with_thread_values<T: Default + 'static, R>(
        &self,
        end: fn(Active),
        section: impl FnOnce(&mut T) -> R,
    ) -> R {
        self.in_engine(|world| {
            world.end_of_thread = Some(end);
            let values = world.thread_values.get_or_insert_with(|| Box::new(T::default()));
            section(values.downcast_mut().expect("there is one form of thread-local values"))
        })
    }

    /// Something happened that ends the process of a real program.
    pub(crate) fn crashed(&self, what: &str) {
        self.in_engine(|world| {
            world.outcome.get_or_insert_with(|| Outcome::Crash(what.to_owned()));
        });
    }

    /// What lies between two addresses is called `label`.
    pub(crate) fn label(&self, start: usize, end: usize, label: &str) {
        self.in_engine(|world| world.label(start, end, label));
    }

    /// The number of an object if it was used in this execution.
    pub(crate) fn known_object(&self, tag: &ObjectTag) -> Option<ObjectId> {
        let tagged = tag.0.load(Ordering::Relaxed);
        ((tagged >> 32) as u32 == self.world().generation).then_some(ObjectId(tagged as u32))
    }

    /// How far a one-time initialisation is, for somebody who has it to himself.
    pub(crate) fn progress(&self, once: ObjectId) -> u32 {
        self.world().objects.progress(once)
    }

    /// The objects of a new channel; the first one stands for all.
    pub(crate) fn new_channel(&self, capacity: u32) -> ObjectId {
        self.in_engine(|world| {
            // A channel has no address of its own: it is the n-th one its thread made.
            let thread = &mut world.threads[world.current];
            thread.channels += 1;
            let name = usize::from(thread.id.0) << 32 | thread.channels;
            let (kind, objects) = (ObjectKind::Channel { capacity }, &mut world.objects);
            let head = world.addresses.be_born(name, kind, world.generation, || objects.create(kind));
            world.objects.renew(head, kind);
            head
        })
    }

    /// The running thread draws random numbers, after this seed: another one each time, the same in every process.
    pub(crate) fn draw(&self) -> u64 {
        let world = self.world();
        let thread = &mut world.threads[world.current];
        thread.draws += 1;
        world.spins[world.current].written.moves_on();
        let path = world.names.positions(thread.id);
        path.fold(mixed(0, thread.draws), |seed, position| mixed(seed, position.into()))
    }

    /// The channel has one more sender.
    pub(crate) fn add_sender(&self, channel: ObjectId) {
        self.world().objects.add_sender(channel);
    }

    /// Whether the running thread, which has `lock` for writing, may have waited for it.
    pub(crate) fn may_have_waited(&self, lock: ObjectId) -> bool {
        let world = self.world();
        waited::may_have_waited(&world.trace.events, world.threads[world.current].id, lock)
    }

    /// Adds the alternative of standing in line to the readers to whom `lock` offers it.
    pub(crate) fn offer_line(&self, lock: ObjectId) {
        let world = self.world();
        for step in world.objects.offers(lock) {
            world.trace.events[*step as usize].free_alts = PASS_OR_STAND;
        }
    }
}

impl World {
    /// The same at the end of an execution, for locks that writers still wait for.
    pub(super) fn offer_lines_at_end(&mut self) {
        for thread in self.threads.iter().filter(|thread| !thread.ended && thread.op.kind == Kind::WriteLock)
        {
            for step in self.objects.offers_at_end(thread.op.object, thread.id) {
                self.trace.events[*step as usize].free_alts = PASS_OR_STAND;
            }
        }
        for at in 0..self.objects.marked() {
            for step in self.objects.held_back_by_mark(at) {
                self.trace.events[*step as usize].free_alts = PASS_OR_STAND;
            }
        }
    }
}
