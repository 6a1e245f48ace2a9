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
    /// Its time at the beginning of each of its steps, and the number of the step.
    steps: Vec<(u32, u32)>,
    /// Its stack, as a number of [`super::areas::Areas`].
    pub(super) stack: Option<usize>,
}

impl ThreadClocks {
    fn clear(&mut self) {
        self.clock.clear();
        self.fence.clear();
        self.found.clear();
        self.steps.clear();
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

/// All clocks of an execution. Memory is kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    generation: u32,
    threads: Vec<ThreadClocks>,
    objects: Vec<Published>,
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
    pub(super) fn thread(&mut self, thread: usize) -> &mut ThreadClocks {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, ThreadClocks::default);
        }
        &mut self.threads[thread]
    }

    /// What `thread` knows.
    pub(super) fn clock(&self, thread: usize) -> &VectorClock {
        &self.threads[thread].clock
    }

    /// The time of `thread` passes: what it does from now on is not what it has published.
    pub(super) fn tick(&mut self, thread: usize) -> u32 {
        let clock = &mut self.thread(thread).clock;
        let time = clock.get(thread) + 1;
        clock.set(thread, time);
        time
    }

    /// `thread` begins step number `step`.
    pub(super) fn step(&mut self, thread: usize, step: u32) -> u32 {
        let time = self.tick(thread);
        self.threads[thread].steps.push((time, step));
        time
    }

    /// The step in or after which `thread` was at `time`.
    pub(super) fn step_at(&self, thread: usize, time: u32) -> Option<u32> {
        let steps = &self.threads.get(thread)?.steps;
        let after = steps.partition_point(|(begun, _)| *begun <= time);
        Some(steps.get(after.checked_sub(1)?)?.1)
    }

    /// `child` begins with what `parent` knows.
    pub(super) fn spawn(&mut self, parent: usize, child: usize) {
        self.thread(child.max(parent));
        let known = std::mem::take(&mut self.threads[parent].clock);
        self.threads[child].clock.join(&known);
        self.threads[parent].clock = known;
    }

    fn object(&mut self, object: ObjectId) -> &mut Published {
        let at = object.0 as usize;
        if self.objects.len() <= at {
            self.objects.resize_with(at + 1, Published::default);
        }
        let generation = self.generation;
        let published = &mut self.objects[at];
        if published.generation != generation {
            published.generation = generation;
            published.clock.clear();
        }
        published
    }

    /// What `object` passes on, if it does.
    fn published(&self, object: ObjectId) -> Option<&VectorClock> {
        let published = self.objects.get(object.0 as usize)?;
        (published.generation == self.generation && !published.clock.is_empty()).then_some(&published.clock)
    }

    /// `thread` takes over what `object` passes on.
    pub(super) fn acquire(&mut self, thread: usize, object: ObjectId) {
        let mut clock = std::mem::take(&mut self.threads[thread].clock);
        if let Some(published) = self.published(object) {
            clock.join(published);
        }
        self.threads[thread].clock = clock;
    }

    /// `object` passes on what `thread` knows, and nothing else.
    pub(super) fn publish(&mut self, thread: usize, object: ObjectId) {
        let clock = std::mem::take(&mut self.threads[thread].clock);
        self.object(object).clock.copy(&clock);
        self.threads[thread].clock = clock;
    }

    /// `object` also passes on what `thread` knows.
    pub(super) fn publish_more(&mut self, thread: usize, object: ObjectId) {
        let clock = std::mem::take(&mut self.threads[thread].clock);
        self.object(object).clock.join(&clock);
        self.threads[thread].clock = clock;
    }

    /// `object` passes on nothing any more.
    pub(super) fn renew(&mut self, object: ObjectId) {
        if self.published(object).is_some() {
            self.object(object).clock.clear();
        }
    }

    /// A relaxed load of `object`: an acquire fence will take over what it passes on.
    pub(super) fn find(&mut self, thread: usize, object: ObjectId) {
        let mut found = std::mem::take(&mut self.threads[thread].found);
        if let Some(published) = self.published(object) {
            found.join(published);
        }
        self.threads[thread].found = found;
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
        let fence = std::mem::take(&mut self.threads[thread].fence);
        self.object(object).clock.join(&fence);
        self.threads[thread].fence = fence;
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
        let published = self.object(channel);
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
