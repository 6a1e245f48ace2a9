//! Data races in an execution: what the program does is told to the detector, and what it finds to people.
//!
//! The place of the earlier access is not known when a race is found: keeping a call stack for every access would cost too
//! much. But executions can be repeated. The one that is reported is made twice, and the second time the detector knows
//! which access to look out for.

use super::Active;
use super::call_stack::{Call, calls_of_user, is_own};
use super::controller::World;
use super::outcome::{DataRace, RacyAccess, place};
use super::remedy::remedy;
use super::view::thread_name;
use crate::model::{Applied, Moment, Op};
use crate::races::{Atomic, Order, Race, Side, Touch};
use crate::search::step::{ObjectId, StepIndex};
use std::backtrace::Backtrace;

/// A race, and the calls that led to its accesses.
#[derive(Debug)]
pub(crate) struct FoundRace {
    race: Race,
    /// The earlier access, if this execution knew what to look out for.
    earlier: Option<Met>,
    later: Backtrace,
}

/// An access that was looked out for.
#[derive(Debug)]
pub(crate) struct Met {
    stack: Backtrace,
    size: usize,
}

/// Why an execution ends at an access.
enum Found {
    Race(Race),
    /// What the detector should have noted before is missing: the execution is made once more.
    Blindness,
}

impl Found {
    #[inline]
    fn of(race: Option<Race>, blind: bool) -> Option<Found> {
        race.map(Found::Race).or_else(|| blind.then_some(Found::Blindness))
    }
}

/// What is kept from one execution to the next in order to find the earlier access of a race.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    last: Option<Race>,
    met: Option<Met>,
}

impl Memory {
    /// The access that was looked out for is made.
    #[cold]
    fn meet(&mut self, size: usize) {
        self.met.get_or_insert_with(|| Met { stack: Backtrace::force_capture(), size });
    }
}

impl World {
    /// The next execution begins. Perhaps it is the last one again.
    pub(crate) fn begin_races(&mut self) {
        let (generation, guided) = (self.generation, self.guide.is_some());
        self.race = None;
        self.race_memory.met = None;
        if let Some(races) = &mut self.races {
            // A guide cannot be asked twice.
            races.begin(generation, guided);
            races.seek(self.race_memory.last.take());
        }
    }

    /// Tells the detector of a step that was executed.
    #[inline(never)]
    pub(super) fn order_step(&mut self, moment: Moment, op: &Op, applied: &Applied) {
        if let Some(races) = &mut self.races {
            races.step(self.current, moment, op, applied);
            self.watch_running();
        }
    }

    /// The same of one on memory, before it is made.
    #[inline(never)]
    pub(super) fn begin_racing_step(&mut self, step: StepIndex) {
        if let Some(races) = &mut self.races {
            races.begin_step(self.current, step);
            self.watch_running();
        }
    }
}

/// Notes an access of user code that is not private. Called by [`super::watch::note_access`], on the engine's stack.
pub(super) extern "C" fn note(address: usize, size: usize, touch: Touch, place: usize) {
    if let Some(active) = super::active() {
        active.world().in_user = false;
        active.touch(address, size, touch, place as u32);
        active.world().in_user = true;
    }
}

impl Active {
    /// Runs code of a facade that uses memory of the execution as if it were the engine's: what threads share there is not
    /// the program's.
    pub(crate) fn unwatched<R>(&self, section: impl FnOnce() -> R) -> R {
        let before = std::mem::replace(&mut self.world().unwatched, true);
        let result = section();
        self.world().unwatched = before;
        result
    }

    /// User code accesses memory, at a place of the program that is not its thread's own stack.
    fn touch(self, address: usize, size: usize, touch: Touch, place: u32) {
        let world = self.world();
        let Some(races) = &mut world.races else { return };
        if races.seeks(address, size, touch, place) {
            world.race_memory.meet(size);
        }
        if touch == Touch::Write {
            world.will_write(address, size);
            world.note_foreign_write(address, size);
        }
        let Some(races) = &mut world.races else { return };
        let race = races.touch(address, size, touch, place);
        let found = Found::of(race, races.is_blind());
        self.conclude(found);
    }

    /// User code reads memory without relying on what it reads.
    #[inline]
    pub(crate) fn glance(&self, address: usize, size: usize, caller: usize) {
        let world = self.world();
        if world.races.is_some() && world.in_user & !world.unwatched {
            self.aside(|| {
                let races = self.world().races.as_mut();
                if let Some(race) = races.and_then(|races| races.glance(address, size, caller as u32)) {
                    self.end_with(race);
                }
            });
        }
    }

    /// The step just executed was an atomic operation on so many bytes at an address.
    pub(super) fn note_atomic(&self, memory: (usize, usize), atomic: Atomic, order: Order) {
        let world = self.world();
        let Some(races) = &mut world.races else { return };
        let object = world.trace.events.last().map_or(ObjectId::NONE, |event| event.accesses[0].object);
        let touch = if atomic == Atomic::Load { Touch::AtomicRead } else { Touch::AtomicWrite };
        if races.seeks(memory.0, memory.1, touch, 0) {
            world.race_memory.meet(memory.1);
        }
        let race = races.atomic(object, memory, atomic, order);
        let found = Found::of(race, races.is_blind());
        self.conclude(found);
    }

    /// Ends the execution if something was found. Does not return then.
    #[inline]
    fn conclude(&self, found: Option<Found>) {
        match found {
            None => {}
            Some(Found::Race(race)) => self.end_with(race),
            // To its end all the same: what it has done outside, it is to undo.
            Some(Found::Blindness) => self.world().once_more = true,
        }
    }

    /// The running thread executes a fence.
    pub(crate) fn fence(&self, order: Order) {
        self.in_engine(|world| {
            if let Some(races) = &mut world.races {
                races.fence(order);
            }
        });
    }

    /// Ends the execution with a race. Does not return.
    #[cold]
    #[inline(never)]
    fn end_with(&self, race: Race) {
        let world = self.world();
        let earlier = world.race_memory.met.take();
        world.race = Some(FoundRace { race, earlier, later: Backtrace::force_capture() });
        world.race_memory.last = Some(race);
        world.over = true;
        self.suspend();
    }
}

/// What people want to know of a race; the places only if they are `wanted`, since they take a while.
pub(super) fn describe(world: &World, found: FoundRace, wanted: bool) -> DataRace {
    let FoundRace { mut race, earlier, later } = found;
    let calls = |stack: &Backtrace| if wanted { calls_of_user(stack) } else { Vec::new() };
    let mut calls_before = Vec::new();
    if let Some(Met { stack, size }) = earlier {
        race.earlier.size = size;
        calls_before = calls(&stack);
    }
    DataRace {
        message: message(world, &race),
        remedy: remedy(world, &race),
        accesses: [access(world, &race.earlier, &calls_before), access(world, &race.later, &calls(&later))],
    }
}

fn access(world: &World, side: &Side, calls: &[Call]) -> RacyAccess {
    let step = side.step.and_then(|step| world.notes.get(step as usize));
    // An atomic operation of a facade is a step, and steps know where they stand.
    let of_facade = step.filter(|_| side.touch.is_atomic()).map(|note| place(note.site));
    let of_facade = of_facade.filter(|(file, ..)| !is_own(file));
    RacyAccess {
        thread: side.thread,
        action: action(side.touch),
        size: side.size,
        step: side.step,
        place: of_facade.or_else(|| calls.first().map(|call| call.place.clone())),
        stack: calls
            .iter()
            .map(|Call { function, place: (file, line, column) }| {
                format!("{function} at {file}:{line}:{column}")
            })
            .collect(),
    }
}

const fn action(touch: Touch) -> &'static str {
    match touch {
        Touch::Read => "read",
        Touch::Write => "write",
        Touch::AtomicRead => "atomic read",
        Touch::AtomicWrite => "atomic write",
        Touch::Free => "free",
    }
}

fn bytes(size: usize) -> String {
    format!("{size} byte{}", if size == 1 { "" } else { "s" })
}

fn message(world: &World, race: &Race) -> String {
    let name = |side: &Side| thread_name(world, side.thread);
    let (first, second) = (name(&race.earlier), name(&race.later));
    let does = |side: &Side| match side.touch {
        Touch::Read => format!("reads {}", bytes(side.size)),
        Touch::Write => format!("writes {}", bytes(side.size)),
        Touch::AtomicRead => format!("atomically reads {}", bytes(side.size)),
        Touch::AtomicWrite => format!("atomically writes {}", bytes(side.size)),
        Touch::Free => format!("frees {}", bytes(side.size)),
    };
    match (race.earlier.touch, race.later.touch) {
        (Touch::Free, Touch::Free) => {
            format!("double free: thread '{second}' frees memory that thread '{first}' has freed already")
        }
        (Touch::Free, _) => format!(
            "use after free: thread '{second}' {} of memory that thread '{first}' has freed",
            does(&race.later)
        ),
        (_, Touch::Free) => format!(
            "data race: thread '{second}' frees memory that thread '{first}' uses ({}), and nothing orders the two",
            does(&race.earlier)
        ),
        _ => format!(
            "data race: thread '{first}' {} and thread '{second}' {} of the same memory, and nothing orders the two",
            does(&race.earlier),
            does(&race.later)
        ),
    }
}
