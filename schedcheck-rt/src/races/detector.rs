//! The detector: it sees every access and every step of an execution, and names the first race.
//!
//! Nothing here touches the program's memory. Addresses are numbers; only the cells that stand for them are read.

use super::areas::{Areas, GRAIN, HeapLayout};
use super::cell::{Entry, Overflow, Touch};
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
    /// The order that each step's atomic operation asked for.
    orders: Vec<Option<Order>>,
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
            orders: Vec::new(),
            sought: None,
        }
    }

    /// Another execution begins, with a number of its own.
    pub(crate) fn begin(&mut self, generation: u32) {
        if generation <= self.generation {
            // Numbers begin anew: cells may carry this one from long ago.
            self.areas.forget();
        }
        self.generation = generation;
        self.overflow.clear();
        self.clocks.begin(generation);
        self.orders.clear();
        self.enter(0);
    }

    /// Memory from `start` on is shared by the threads of executions.
    pub(crate) fn watch(&mut self, start: usize, length: usize) {
        self.areas.watch(start, length);
    }

    /// `thread` runs on this stack.
    pub(crate) fn run_on(&mut self, thread: usize, start: usize, length: usize) {
        let stack = self.areas.watch(start, length);
        self.clocks.thread(thread).stack = Some(stack);
        self.enter(thread);
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

    fn tick(&mut self) {
        self.time = self.clocks.tick(self.thread);
    }

    /// `thread` executes step number `step`; if that is an atomic operation, [`Detector::atomic`] follows.
    #[inline]
    pub(crate) fn begin_step(&mut self, thread: usize, step: u32) {
        if thread != self.thread {
            self.enter(thread);
        }
        self.time = self.clocks.step(thread, step);
        self.orders.push(None);
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
        if let Some(noted) = self.orders.last_mut() {
            *noted = Some(order);
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
        if let Some(race) = self.note(address, size, touch, 0) {
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

    /// The running thread accesses memory, as it does most of the time: memory that no other thread accesses. If others do,
    /// the answer is false, and [`Detector::touch`] has to be told.
    #[inline]
    pub(crate) fn touch_own(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> bool {
        let within = address % GRAIN;
        if within + size > GRAIN || self.sought.is_some() {
            return self.touch_own_range(address, size, touch, place);
        }
        let Some(cell) = self.areas.cell(address) else { return true };
        let new = self.entry(bytes(within, size), touch, place);
        // SAFETY: the cell of a watched address; nobody else uses cells meanwhile.
        unsafe { (*cell).note_among_own(self.generation, &new) }
    }

    fn touch_own_range(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> bool {
        let end = address.saturating_add(size);
        // An access may be noted twice, here and in `touch`, if it meets another thread's on its way; an end may not.
        if self.sought.is_some() || size == 0 || touch == Touch::Free {
            return size == 0;
        }
        let (Some(mut cell), Some(last)) = (self.areas.cell(address), self.areas.cell(end - 1)) else {
            return false;
        };
        let between = (end - 1) / GRAIN - address / GRAIN;
        if last != cell.wrapping_add(between) {
            return false;
        }
        let mut new = self.entry(0, touch, place);
        let mut at = address;
        while at < end {
            let next = ((at & !(GRAIN - 1)) + GRAIN).min(end);
            new.bytes = bytes(at % GRAIN, next - at);
            // SAFETY: as above; first and last cell are in the same area.
            if unsafe { !(*cell).note_among_own(self.generation, &new) } {
                return false;
            }
            // SAFETY: within the area, or one behind its last cell.
            cell = unsafe { cell.add(1) };
            at = next;
        }
        true
    }

    /// The running thread accesses memory.
    pub(crate) fn touch(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> Option<Race> {
        self.note(address, size, touch, place)
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
            // SAFETY: as in `touch_own`.
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
        // SAFETY: as in `touch_own`.
        unsafe { (*cell).is_new_atomic(self.generation, bytes, &self.overflow) }
    }

    /// Notes an access in all of its cells.
    fn note(&mut self, address: usize, size: usize, touch: Touch, place: u32) -> Option<Race> {
        let end = address.saturating_add(size);
        let mut at = address;
        while at < end {
            let Some((mut cell, mut count)) = self.areas.cells(at) else {
                // What is watched lies far apart: nothing begins or ends in the middle.
                self.areas.cell(end - 1)?;
                at = at.saturating_add(GRAIN) & !(GRAIN - 1);
                continue;
            };
            let clock = self.clocks.clock(self.thread);
            while at < end && count > 0 {
                let next = (at & !(GRAIN - 1)).saturating_add(GRAIN).min(end);
                let new = self.entry(bytes(at % GRAIN, next - at), touch, place);
                // SAFETY: as in `touch_own`; the area has `count` more cells from here on.
                let race = unsafe { (*cell).note(self.generation, &new, clock, &mut self.overflow) };
                if let Some(earlier) = race {
                    return Some(self.race(at, size, &earlier, &new));
                }
                // SAFETY: as above, or one behind the last.
                cell = unsafe { cell.add(1) };
                count -= 1;
                at = next;
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
            step: self.clocks.step_at(thread, entry.time),
            touch: entry.touch,
            size: entry.bytes.count_ones() as usize,
            place: entry.place,
            time: entry.time,
        }
    }

    /// Memory was allocated: whoever used it before has nothing to do with its new life.
    pub(crate) fn allocated(&mut self, address: usize, size: usize) {
        let Some((first, count)) = self.areas.cells(address) else { return };
        for at in 0..size.div_ceil(GRAIN).min(count) {
            // SAFETY: as in `note`.
            unsafe { (*first.add(at)).forget() };
        }
    }

    /// What the operation of a step asked for, if it was atomic.
    pub(crate) fn order_of(&self, step: u32) -> Option<Order> {
        self.orders.get(step as usize).copied().flatten()
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
