//! The detector: it sees every access and every step of an execution, and names the first race.
//!
//! Nothing here touches the program's memory. Addresses are numbers; only the cells that stand for them are read.

use super::areas::{Areas, GRAIN, HeapLayout};
use super::cell::{Entry, Overflow, Touch};
use super::clock::VectorClock;
use super::threads::Clocks;
use super::{Order, edges};
use crate::model::{Applied, Moment, Op};
use crate::search::step::ObjectId;

/// What an atomic operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    /// It only read.
    Load,
    /// It only wrote.
    Store,
    /// It read and wrote.
    ReadModifyWrite,
}

/// One of the two sides of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// Position in the execution.
    pub(crate) thread: usize,
    /// The step of that thread that it follows, or is.
    pub(crate) step: Option<u32>,
    pub(crate) touch: Touch,
    /// How many bytes, as far as they are known.
    pub(crate) size: usize,
    /// Where in the program, as the caller counts places.
    pub(crate) place: u32,
    /// The time of its thread.
    time: u32,
}

/// Two accesses to the same memory that nothing orders, or one to memory that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    /// The first address that both access.
    pub(crate) address: usize,
    pub(crate) earlier: Side,
    pub(crate) later: Side,
}

/// A step, as reports want to know of it.
#[derive(Clone, Copy, Debug)]
struct Step {
    thread: u16,
    /// What its atomic operation asked for, if it was one.
    order: Option<Order>,
    /// The time of its thread at its beginning.
    time: u32,
}

/// Watches executions, one after the other.
#[derive(Debug)]
pub(crate) struct Detector {
    areas: Areas,
    overflow: Overflow,
    clocks: Clocks,
    generation: u32,
    /// The running thread, and its time.
    thread: usize,
    time: u32,
    /// All steps so far.
    steps: Vec<Step>,
    /// The side of a race found before that is to be met again.
    sought: Option<(usize, Side)>,
}

impl Detector {
    pub(crate) fn new(heap: HeapLayout) -> Detector {
        Detector {
            areas: Areas::new(heap),
            overflow: Overflow::default(),
            clocks: Clocks::default(),
            generation: 0,
            thread: 0,
            time: 0,
            steps: Vec::new(),
            sought: None,
        }
    }

    /// Another execution begins, with a number of its own; `notes_all`: it cannot be made again if it turns out to be
    /// [blind](Detector::is_blind).
    pub(crate) fn begin(&mut self, generation: u32, notes_all: bool) {
        if generation <= self.generation {
            // Numbers begin anew: cells may carry this one from long ago.
            self.areas.forget();
        }
        self.generation = generation;
        self.overflow.clear();
        self.clocks.begin(generation);
        self.steps.clear();
        self.areas.begin(notes_all);
        self.enter(0);
    }

    /// Memory from `start` on is shared by the threads of executions.
    pub(crate) fn watch(&mut self, start: usize, length: usize) {
        self.areas.watch(start, length);
    }

    /// `thread` runs on this stack.
    pub(crate) fn run_on(&mut self, thread: usize, start: usize, length: usize) {
        let stack = self.areas.watch_stack(start, length);
        self.clocks.thread(thread).stack = Some(stack);
        self.enter(thread);
    }

    /// Whether the execution lacks accesses that it should have noted. It is to be ended and made once more, which sees
    /// them: `areas.rs`.
    #[inline]
    pub(crate) fn is_blind(&self) -> bool {
        self.areas.is_blind()
    }

    /// Where nobody needs to be told of accesses of the running thread, and how far that goes.
    #[inline]
    pub(crate) fn private(&self) -> (usize, usize) {
        self.areas.private()
    }

    /// Whether `address` lies on the stack of the running thread.
    #[inline]
    pub(crate) fn is_own_stack(&self, address: usize) -> bool {
        self.areas.is_own_stack(address)
    }

    /// The running thread and its time.
    #[inline]
    pub(crate) fn now(&self) -> (usize, u32) {
        (self.thread, self.time)
    }

    /// What the running thread knows.
    #[inline]
    pub(crate) fn knowledge(&self) -> &VectorClock {
        self.clocks.clock(self.thread)
    }

    /// Whether the memory at `address` belongs to the execution.
    pub(crate) fn is_watched(&self, address: usize) -> bool {
        self.areas.is_watched(address)
    }

    fn enter(&mut self, thread: usize) {
        self.thread = thread;
        let clocks = self.clocks.thread(thread);
        self.time = clocks.clock.get(thread);
        self.areas.enter_stack(clocks.stack);
    }

    /// `parent` has started `child`.
    pub(crate) fn spawned(&mut self, parent: usize, child: usize) {
        self.clocks.spawn(parent, child);
        self.tick();
    }

    /// The running thread's time passes: what it does from now on is not what it has published.
    #[inline]
    fn tick(&mut self) {
        self.time += 1;
        self.clocks.set_time(self.thread, self.time);
    }

    /// `thread` executes step number `step`; if that is an atomic operation, [`Detector::atomic`] follows.
    #[inline]
    pub(crate) fn begin_step(&mut self, thread: usize, step: u32) {
        if thread != self.thread {
            self.enter(thread);
        }
        self.tick();
        debug_assert_eq!(step as usize, self.steps.len(), "every step is told");
        self.steps.push(Step { thread: thread as u16, order: None, time: self.time });
    }

    /// The step `moment` of `thread` was executed.
    #[inline]
    pub(crate) fn step(&mut self, thread: usize, moment: Moment, op: &Op, applied: &Applied) {
        self.begin_step(thread, moment.step);
        edges::apply(&mut self.clocks, thread, op, moment, applied);
        // What follows is not what the step has published.
        self.tick();
    }

    /// The step just executed was an atomic operation on `object`, at `address`.
    pub(crate) fn atomic(
        &mut self,
        object: ObjectId,
        (address, size): (usize, usize),
        atomic: Atomic,
        order: Order,
    ) -> Option<Race> {
        if let Some(step) = self.steps.last_mut() {
            step.order = Some(order);
        }
        if self.is_new_atomic(address, size) {
            self.clocks.renew(object);
        }
        // What it acquires comes before the access itself.
        if atomic != Atomic::Store {
            if order.acquires {
                self.clocks.acquire(self.thread, object);
            } else {
                self.clocks.find(self.thread, object);
            }
        }
        let touch = if atomic == Atomic::Load { Touch::AtomicRead } else { Touch::AtomicWrite };
        if let Some(race) = self.touch(address, size, touch, 0) {
            return Some(race);
        }
        let (clocks, thread) = (&mut self.clocks, self.thread);
        match (atomic, order.releases) {
            (Atomic::Load, _) => return None,
            // The release sequence (C++20): a store begins another one, read-modify-writes continue it.
            (Atomic::Store, true) => clocks.publish(thread, object),
            (Atomic::ReadModifyWrite, true) => clocks.publish_more(thread, object),
            (Atomic::Store, false) => clocks.publish_fence(thread, object, false),
            (Atomic::ReadModifyWrite, false) => clocks.publish_fence(thread, object, true),
        }
        self.tick();
        None
    }

    /// The running thread executes a fence.
    pub(crate) fn fence(&mut self, order: Order) {
        if order.acquires {
            self.clocks.acquire_fence(self.thread);
        }
        if order.releases {
            self.clocks.release_fence(self.thread);
            self.tick();
        }
    }

    /// The running thread reads memory that others may be writing, and says so: it will not rely on what it reads. That is
    /// no race, but the memory must be there.
    pub(crate) fn glance(&mut self, address: usize, size: usize, place: u32) -> Option<Race> {
        let end = address.saturating_add(size);
        let cells = (address & !(GRAIN - 1)..end).step_by(GRAIN);
        cells.into_iter().find_map(|at| {
            let (first, last) = (at.max(address), (at + GRAIN).min(end));
            let bytes = bytes(first % GRAIN, last - first);
            let cell = self.areas.cell(at)?;
            // SAFETY: as in `touch`.
            let gone = unsafe { (*cell).end_of(self.generation, bytes) }?;
            Some(self.race(at, size, &gone, &self.entry(bytes, Touch::Read, place)))
        })
    }

    #[inline]
    fn entry(&self, bytes: u8, touch: Touch, place: u32) -> Entry {
        Entry { time: self.time, place, thread: self.thread as u16, bytes, touch }
    }

    /// Whether the atomic at `address` has nothing to do with operations on another one that was there before.
    fn is_new_atomic(&mut self, address: usize, size: usize) -> bool {
        let Some(cell) = self.areas.cell(address) else { return false };
        let bytes = bytes(address % GRAIN, size.min(GRAIN - address % GRAIN));
        // SAFETY: as in `touch`.
        unsafe { (*cell).is_new_atomic(self.generation, bytes, &self.overflow) }
    }

    /// The running thread accesses memory that is not [private](Detector::private).
    #[inline]
    pub(crate) fn touch(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> Option<Race> {
        if address % GRAIN + size > GRAIN {
            let race = self.touch_many(address, size, touch, place)?;
            return Some(Race { later: Side { size, ..race.later }, ..race });
        }
        self.touch_one(address, size, touch, place)
    }

    /// Notes an access in its only cell.
    #[inline(always)]
    fn touch_one(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> Option<Race> {
        let cell = self.areas.cell(address)?;
        let new = self.entry(bytes(address % GRAIN, size), touch, place);
        let clock = self.clocks.clock(self.thread);
        // SAFETY: the cell of a watched address; nobody else uses cells meanwhile.
        let earlier = unsafe { (*cell).note(self.generation, &new, clock, &mut self.overflow) }?;
        Some(self.race(address, size, &earlier, &new))
    }

    /// Notes an access in all of its cells: parts of the first and the last, and all of those between.
    #[inline(never)]
    fn touch_many(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> Option<Race> {
        let end = address.saturating_add(size);
        let (whole, whole_end) = (address.checked_next_multiple_of(GRAIN)?, end & !(GRAIN - 1));
        if address < whole
            && let Some(race) = self.touch_one(address, whole - address, touch, place)
        {
            return Some(race);
        }
        if let Some(race) = self.touch_whole(whole, whole_end, touch, place) {
            return Some(race);
        }
        if whole_end < end { self.touch_one(whole_end, end - whole_end, touch, place) } else { None }
    }

    /// Notes an access to all bytes of the cells from `at` to `end`.
    fn touch_whole(&mut self, mut at: usize, end: usize, touch: Touch, place: u32) -> Option<Race> {
        // Never changed in the loop: what is put together of small stores is slow to read.
        let new = self.entry(0xff, touch, place);
        while at < end {
            let Some((mut cell, count)) = self.areas.cells(at) else {
                // What is watched lies far apart: nothing begins or ends in the middle.
                self.areas.cell(end - 1)?;
                at += GRAIN;
                continue;
            };
            let clock = self.clocks.clock(self.thread);
            for _ in 0..count.min((end - at) / GRAIN) {
                // SAFETY: as in `touch`; the area has `count` cells from the first one on.
                let race = unsafe { (*cell).note(self.generation, &new, clock, &mut self.overflow) };
                if let Some(earlier) = race {
                    return Some(self.race(at, end - at, &earlier, &new));
                }
                // SAFETY: as above, or one behind the last.
                cell = unsafe { cell.add(1) };
                at += GRAIN;
            }
        }
        None
    }

    #[cold]
    fn race(&self, at: usize, size: usize, earlier: &Entry, later: &Entry) -> Race {
        let shared = (earlier.bytes & later.bytes).trailing_zeros() as usize;
        let address = (at & !(GRAIN - 1)) + shared;
        Race { address, earlier: self.side(earlier), later: Side { size, ..self.side(later) } }
    }

    fn side(&self, entry: &Entry) -> Side {
        let thread = usize::from(entry.thread);
        Side {
            thread,
            step: self.step_at(thread, entry.time),
            touch: entry.touch,
            size: entry.bytes.count_ones() as usize,
            place: entry.place,
            time: entry.time,
        }
    }

    /// The step in or after which `thread` was at `time`.
    fn step_at(&self, thread: usize, time: u32) -> Option<u32> {
        let is_it = |step: &Step| usize::from(step.thread) == thread && step.time <= time;
        self.steps.iter().rposition(is_it).map(|at| at as u32)
    }

    /// Memory was allocated: whoever used it before has nothing to do with its new life.
    pub(crate) fn allocated(&mut self, address: usize, size: usize) {
        let Some((first, count)) = self.areas.cells(address) else { return };
        for at in 0..size.div_ceil(GRAIN).min(count) {
            // SAFETY: as in `touch`.
            unsafe { (*first.add(at)).forget() };
        }
    }

    /// What the operation of a step asked for, if it was atomic.
    pub(crate) fn order_of(&self, step: u32) -> Option<Order> {
        self.steps.get(step as usize)?.order
    }

    /// The next execution is the same again and will meet `race`: its earlier side is sought.
    pub(crate) fn seek(&mut self, race: Option<Race>) {
        self.sought = race.map(|race| (race.address, race.earlier));
    }

    /// Whether the running thread is about to make the access that is sought.
    pub(crate) fn seeks(&self, address: usize, size: usize, touch: Touch, place: u32) -> bool {
        self.sought.is_some_and(|(at, side)| {
            (side.thread, side.time, side.touch, side.place) == (self.thread, self.time, touch, place)
                && (address..address + size).contains(&at)
        })
    }
}

/// A set of neighbouring bytes of a cell.
#[inline]
const fn bytes(first: usize, count: usize) -> u8 {
    ((0xff_u32 >> (GRAIN - count)) << first) as u8
}
