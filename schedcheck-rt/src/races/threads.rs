//! What each thread and each synchronisation object knows: vector clocks and how they flow.

use super::clock::VectorClock;
use crate::search::step::{ObjectId, StepIndex};
use std::collections::VecDeque;

/// The clocks of one thread.
#[derive(Debug, Default)]
pub(super) struct ThreadClocks {
    /// What happened before its next action.
    pub(super) clock: VectorClock,
    /// What happened before its last release fence: what its relaxed stores publish.
    fence: VectorClock,
    /// What its relaxed loads found published: what its next acquire fence takes over.
    found: VectorClock,
    /// Its stack, as a number of [`super::areas::Areas`].
    pub(super) stack: Option<usize>,
}

impl ThreadClocks {
    fn clear(&mut self) {
        self.clock.clear();
        self.fence.clear();
        self.found.clear();
        self.stack = None;
    }
}

/// The messages of a channel under way.
#[derive(Debug, Default)]
struct Queue {
    generation: u32,
    /// What each message brings along.
    messages: VecDeque<VectorClock>,
    /// What each receiver knew whose taking of a message made room for another.
    room: VecDeque<VectorClock>,
    sent: u64,
}

/// What one object passes on.
#[derive(Debug, Default)]
struct Published {
    generation: u32,
    /// One more than the position of its queue; 0: it has none.
    queue: u32,
    clock: VectorClock,
}

/// All objects, by their numbers.
#[derive(Debug, Default)]
struct Objects(Vec<Published>);

impl Objects {
    /// One of them; it passes on nothing yet if it is new in this execution.
    #[inline]
    fn of(&mut self, object: ObjectId, generation: u32) -> &mut Published {
        let at = object.0 as usize;
        if self.0.len() <= at {
            self.make(at + 1);
        }
        let published = &mut self.0[at];
        if published.generation != generation {
            published.generation = generation;
            published.clock.clear();
        }
        published
    }

    #[cold]
    fn make(&mut self, count: usize) {
        self.0.resize_with(count, Published::default);
    }

    /// What an object passes on, if it does.
    #[inline]
    fn passing_on(&self, object: ObjectId, generation: u32) -> Option<&VectorClock> {
        let published = self.0.get(object.0 as usize)?;
        (published.generation == generation && !published.clock.is_empty()).then_some(&published.clock)
    }
}

/// All clocks of an execution. Memory is kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    generation: u32,
    threads: Vec<ThreadClocks>,
    objects: Objects,
    queues: Vec<Queue>,
    /// What single steps pass on to those that they let go on.
    left: Vec<(StepIndex, VectorClock)>,
    spare: Vec<VectorClock>,
}

impl Clocks {
    /// Another execution begins.
    pub(super) fn begin(&mut self, generation: u32) {
        self.generation = generation;
        self.threads.iter_mut().for_each(ThreadClocks::clear);
        self.spare.extend(self.left.drain(..).map(|(_, clock)| clock));
    }

    /// The clocks of a thread, made on first use.
    #[inline]
    pub(super) fn thread(&mut self, thread: usize) -> &mut ThreadClocks {
        if self.threads.len() <= thread {
            self.add_threads(thread + 1);
        }
        &mut self.threads[thread]
    }

    #[cold]
    fn add_threads(&mut self, count: usize) {
        self.threads.resize_with(count, ThreadClocks::default);
    }

    /// What `thread` knows.
    #[inline]
    pub(super) fn clock(&self, thread: usize) -> &VectorClock {
        &self.threads[thread].clock
    }

    /// The time of `thread`, whose clocks are there, has come to this.
    #[inline]
    pub(super) fn set_time(&mut self, thread: usize, time: u32) {
        self.threads[thread].clock.set(thread, time);
    }

    /// `child` begins with what `parent` knows.
    pub(super) fn spawn(&mut self, parent: usize, child: usize) {
        self.thread(child.max(parent));
        let known = std::mem::take(&mut self.threads[parent].clock);
        self.threads[child].clock.join(&known);
        self.threads[parent].clock = known;
    }

    /// `thread` takes over what `object` passes on.
    #[inline]
    pub(super) fn acquire(&mut self, thread: usize, object: ObjectId) {
        if let Some(published) = self.objects.passing_on(object, self.generation) {
            self.threads[thread].clock.join(published);
        }
    }

    /// `object` passes on what `thread` knows, and nothing else.
    #[inline]
    pub(super) fn publish(&mut self, thread: usize, object: ObjectId) {
        self.objects.of(object, self.generation).clock.copy(&self.threads[thread].clock);
    }

    /// `object` also passes on what `thread` knows.
    #[inline]
    pub(super) fn publish_more(&mut self, thread: usize, object: ObjectId) {
        self.objects.of(object, self.generation).clock.join(&self.threads[thread].clock);
    }

    /// `object` passes on nothing any more.
    #[inline]
    pub(super) fn renew(&mut self, object: ObjectId) {
        if let Some(published) = self.objects.0.get_mut(object.0 as usize) {
            published.clock.clear();
        }
    }

    /// A relaxed load of `object`: an acquire fence will take over what it passes on.
    #[inline]
    pub(super) fn find(&mut self, thread: usize, object: ObjectId) {
        if let Some(published) = self.objects.passing_on(object, self.generation) {
            self.threads[thread].found.join(published);
        }
    }

    /// A relaxed store to `object`, or a relaxed read-modify-write if it `continues` what was there: it
    /// publishes what a release fence did before it.
    pub(super) fn publish_fence(&mut self, thread: usize, object: ObjectId, continues: bool) {
        if !continues {
            self.renew(object);
        }
        if self.threads[thread].fence.is_empty() {
            return;
        }
        self.objects.of(object, self.generation).clock.join(&self.threads[thread].fence);
    }

    /// A release fence.
    pub(super) fn release_fence(&mut self, thread: usize) {
        let ThreadClocks { clock, fence, .. } = &mut self.threads[thread];
        fence.copy(clock);
    }

    /// An acquire fence.
    pub(super) fn acquire_fence(&mut self, thread: usize) {
        let ThreadClocks { clock, found, .. } = &mut self.threads[thread];
        clock.join(found);
    }

    fn queue(&mut self, channel: ObjectId) -> &mut Queue {
        let generation = self.generation;
        let next = self.queues.len() as u32 + 1;
        let published = self.objects.of(channel, generation);
        if published.queue == 0 {
            published.queue = next;
        }
        let at = published.queue as usize - 1;
        if at == self.queues.len() {
            self.queues.push(Queue::default());
        }
        let queue = &mut self.queues[at];
        if queue.generation != generation {
            queue.generation = generation;
            queue.sent = 0;
            self.spare.extend(queue.messages.drain(..).chain(queue.room.drain(..)));
        }
        queue
    }

    /// A copy of what `thread` knows.
    fn snapshot(&mut self, thread: usize) -> VectorClock {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.copy(&self.threads[thread].clock);
        copy
    }

    fn take_over(&mut self, thread: usize, clock: Option<VectorClock>) {
        if let Some(clock) = clock {
            self.threads[thread].clock.join(&clock);
            self.spare.push(clock);
        }
    }

    /// `thread` puts a message into `channel`, which has so many places; it comes after the taking of
    /// the message that had its place before.
    pub(super) fn send(&mut self, thread: usize, channel: ObjectId, places: u64) {
        let queue = self.queue(channel);
        queue.sent += 1;
        let room = if queue.sent > places { queue.room.pop_front() } else { None };
        self.take_over(thread, room);
        let message = self.snapshot(thread);
        self.queue(channel).messages.push_back(message);
    }

    /// `thread` takes a message out of `channel`; `makes_room`: some sender may wait for that.
    pub(super) fn receive(&mut self, thread: usize, channel: ObjectId, makes_room: bool) {
        let message = self.queue(channel).messages.pop_front();
        self.take_over(thread, message);
        if makes_room {
            let room = self.snapshot(thread);
            self.queue(channel).room.push_back(room);
        }
    }

    /// Whoever is let go on by `step` takes over what `thread` knows now.
    pub(super) fn leave(&mut self, thread: usize, step: StepIndex) {
        let clock = self.snapshot(thread);
        self.left.push((step, clock));
    }

    /// `thread` goes on because of `step`.
    pub(super) fn follow(&mut self, thread: usize, step: StepIndex) {
        if let Some((_, clock)) = self.left.iter().rfind(|(left, _)| *left == step) {
            self.threads[thread].clock.join(clock);
        }
    }

    /// `thread` takes all messages that are left in `channel`.
    pub(super) fn receive_all(&mut self, thread: usize, channel: ObjectId) {
        while let Some(message) = self.queue(channel).messages.pop_front() {
            self.take_over(thread, Some(message));
        }
    }
}
