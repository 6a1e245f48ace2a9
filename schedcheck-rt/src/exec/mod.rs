//! One execution: runs a plan to its end under full control.
//!
//! Facades call [`Active::perform`] and its relatives; they see an execution only while one is going on
//! ([`active`]), and behave as plain std otherwise.

mod addresses;
mod baton;
mod call_stack;
mod callers;
mod controller;
mod coroutine;
mod data_race;
mod deadlock;
mod debug;
mod events;
mod execute;
mod fairness;
mod fixed_stack;
mod foreign;
pub(crate) mod futex;
mod gate;
pub(crate) mod heap;
mod image;
mod intentions;
mod misuse;
pub(crate) mod names;
mod os_thread;
pub mod outcome;
pub(crate) mod outside;
pub(crate) mod own_allocator;
mod own_stack;
mod panics;
mod passing;
mod patience;
pub mod places;
mod recent;
mod remedy;
mod run;
pub(crate) mod script;
pub(crate) mod signal_stack;
mod spin;
mod stacks;
mod support;
mod survey;
mod switch;
mod thread_locals;
mod threads;
mod time;
mod twins;
pub(crate) mod view;
mod waited;
mod wakeups;
mod watch;
mod written;

pub(crate) use crate::intercept::counter;
pub use debug::schedcheck_step;
pub(crate) use futex::EPOCH_NANOSECONDS;
pub(crate) use panics::IN_SCOPE;
pub use run::{Execution, Test, TestResult};
pub use script::{Fate, Unmet};
pub(crate) use threads::ScopeId;
pub(crate) use watch::note_access;

use crate::model::{Kind, ObjectKind, Objects, Op, Site};
use crate::races::{Atomic, Order};
use crate::search::step::{Alt, ObjectId};
use controller::{Slot, Turn, World};
use spin::{Place, Round};
use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threads::{Body, Scoped};

thread_local! {
    /// The execution going on in this thread of the system, null outside.
    static WORLD: Cell<*mut World> = const { Cell::new(std::ptr::null_mut()) };
}

/// The process explores: it will not do anything else any more.
static EXPLORING: AtomicBool = AtomicBool::new(false);

/// Whether the process explores, also between executions.
pub(crate) fn is_exploring() -> bool {
    EXPLORING.load(Ordering::Relaxed)
}

/// Proof that an execution is going on and that its caller is the thread whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active(*mut World);

/// The execution going on, if there is one.
#[inline]
pub(crate) fn active() -> Option<Active> {
    // `get` would be a call.
    let world = WORLD.try_with(Cell::get).unwrap_or(std::ptr::null_mut());
    if world.is_null() { None } else { Some(Active(world)) }
}

impl Active {
    /// The world, for a section that does not suspend.
    #[expect(clippy::mut_from_ref, reason = "the token stands for the one running thread")]
    #[inline]
    fn world(&self) -> &mut World {
        // SAFETY: only the thread whose turn it is has a token, the root does nothing meanwhile,
        // and no such reference lives across a suspension.
        unsafe { &mut *self.0 }
    }

    /// Runs engine code: allocations in it outlive the execution.
    #[inline]
    fn in_engine<R>(self, section: impl FnOnce(&mut World) -> R) -> R {
        if self.in_user() { self.leave_user(|active| section(active.world())) } else { section(self.world()) }
    }

    /// The same of code that may suspend. User code is left for the engine's own stack.
    #[inline]
    fn aside<R>(&self, section: impl FnOnce() -> R) -> R {
        if self.in_user() { self.leave_user(|_| section()) } else { section() }
    }

    /// The same where user code runs.
    #[inline(always)]
    fn leave_user<R>(self, section: impl FnOnce(Active) -> R) -> R {
        debug_assert!(self.in_user(), "the engine is on its own stack already");
        let work = move || {
            self.world().in_user = false;
            let result = section(self);
            self.world().in_user = true;
            result
        };
        // SAFETY: user code runs, so nobody works on the engine's stack of its thread.
        unsafe { own_stack::call(self.world().engine_top, work) }
    }

    /// Whether user code is running, as opposed to the engine on its behalf.
    #[inline]
    pub(crate) fn in_user(&self) -> bool {
        self.world().in_user
    }

    /// Announces `op`, waits for its turn, executes it. The answer is the model's.
    #[inline]
    pub(crate) fn perform(self, op: Op) -> u32 {
        if !self.in_user() {
            return self.perform_now(&op);
        }
        let op = &op;
        self.leave_user(move |active| {
            active.look_out_for_loop(Place::of(op));
            match active.world().perform_in_passing(op) {
                Some(answer) => {
                    active.end_if_over();
                    answer
                }
                None => active.perform_in_turn(op),
            }
        })
    }

    /// The same of an operation that waits for nobody.
    fn perform_unlooped(&self, op: Op) -> u32 {
        self.aside(|| self.perform_now(&op))
    }

    /// Gates the running thread if that, for which user code called the engine, is a round of a loop that waits.
    #[inline(always)]
    fn look_out_for_loop(self, place: Place) {
        let world = self.world();
        if world.spins[world.current].may_repeat(place, world.trail()) {
            // SAFETY: user code called the engine, so we work on that stack.
            let frame = unsafe { own_stack::caller(world.engine_top) };
            if world.consider_loop(place, &frame) == Round::Counted {
                self.wait_or_go_on(place.site);
            }
        }
    }

    /// The same where the engine works already.
    #[inline(never)]
    fn perform_now(self, op: &Op) -> u32 {
        match self.world().perform_in_passing(op) {
            Some(answer) => {
                self.end_if_over();
                answer
            }
            None => self.perform_in_turn(op),
        }
    }

    /// The same of an operation with which the thread does not simply go on.
    #[inline(never)]
    fn perform_in_turn(self, op: &Op) -> u32 {
        if let Some(answer) = self.world().does_at_once(Place::of(op), |objects| objects.looks(op)) {
            return answer;
        }
        self.await_turn(op);
        let answer = self.world().execute();
        self.end_if_over();
        answer
    }

    /// Announces such an operation and waits for its turn. Does not return if the execution is over before.
    #[inline(always)]
    fn await_turn(self, op: &Op) {
        debug_assert!(!self.in_user(), "steps are the engine's work");
        if self.world().script.counts_steps() && self.world().stops_before(op) {
            self.stop_here(op.site);
        }
        if self.world().announce(op) != Turn::Mine {
            // If the execution is over, this does not return.
            self.suspend();
            if self.world().threads[self.world().current].aside.is_some() {
                self.take_up(op);
            }
        }
    }

    /// Does not return if the step just executed was the last one.
    #[inline]
    fn end_if_over(&self) {
        if self.world().over {
            self.suspend();
        }
    }

    /// Performs `op` as announced if `condition` holds when its turn comes; otherwise only its
    /// second access is made, as a read, and the answer is false.
    pub(crate) fn perform_if(&self, op: Op, condition: impl FnOnce() -> bool) -> bool {
        self.aside(|| {
            self.world().does_at_once(Place::of(&op), |_| None);
            if self.world().announce(&op) != Turn::Mine {
                self.suspend();
            }
            let holds = condition();
            if !holds {
                let look = Op { object: op.second, ..Op::new(Kind::Load, op.second, op.site) };
                self.world().replace_announced(look);
            }
            self.world().execute();
            holds
        })
    }

    /// The running thread goes no further, and the execution says nothing. Does not return.
    ///
    /// The others go on to their end: what they do may be what makes the assumption hold when it
    /// comes first, and the search can only know of it if it sees it.
    pub(crate) fn abandon(&self, site: Site) {
        let world = self.world();
        world.outcome.get_or_insert(outcome::Outcome::Abandoned);
        // It waits for its own end.
        let life = world.threads[world.current].life;
        self.perform(Op::new(Kind::Join, life, site));
    }

    fn suspend(&self) {
        let (exit, compares) = {
            let world = self.world();
            (world.threads[world.running].exit, world.compares_blindly())
        };
        if compares {
            self.world().keep_stack();
        }
        // SAFETY: `running` is the thread that executes this very code.
        unsafe { switch::suspend(exit) };
        if compares {
            self.world().take_foreign_for_own();
        }
    }

    /// Performs an operation of user code on a memory cell. `real` does it when its turn has come, and says what came of it.
    /// `expected`: it changes nothing unless it finds that.
    #[inline(always)]
    pub(crate) fn memory<T, R>(
        self,
        kind: Kind,
        cell: &T,
        site: Site,
        expected: Option<u64>,
        real: impl FnOnce(&T, Alt) -> (R, Done),
    ) -> R {
        self.leave_user(move |active| {
            let memory = (std::ptr::from_ref(cell).addr(), size_of::<T>());
            let passes = active.world().memory_in_passing(kind, memory, site);
            let alt = match passes {
                true => Some(Alt::DEFAULT),
                false => active.memory_in_turn(kind, memory, site, expected),
            };
            let (result, done) = real(cell, alt.unwrap_or(Alt::DEFAULT));
            if alt.is_some() {
                active.memory_done(done);
            }
            result
        })
    }

    /// Which alternative it takes; `None` if it is no step, but part of one.
    #[inline(never)]
    fn memory_in_turn(
        self,
        kind: Kind,
        memory: (usize, usize),
        site: Site,
        expected: Option<u64>,
    ) -> Option<Alt> {
        let world = self.world();
        let object = world.known_memory(memory.0).unwrap_or_else(|| world.memory_at(memory));
        let place = Place { kind, object, site };
        self.look_out_for_loop(place);
        let looks = |_: &Objects| match expected {
            None => (kind == Kind::Load).then_some(0),
            // SAFETY: the cell of the operation that is about to be done.
            Some(expected) => unsafe { patience::differs(memory, expected) }.then_some(0),
        };
        if world.does_at_once(place, looks).is_some() {
            return None;
        }
        if world.goes_on() {
            world.execute_in_passing(place);
        } else {
            self.await_turn(&Op::new(kind, object, site));
            if self.world().is_ordinary() {
                self.world().execute_on_memory(place);
            } else {
                self.world().execute();
                self.end_if_over();
            }
        }
        let world = self.world();
        world.touched = memory;
        Some(world.alternative())
    }

    /// Notes what it did, which is known where this is called.
    #[inline(always)]
    fn memory_done(self, done: Done) {
        let world = self.world();
        match done.effect {
            Effect::Counted { last } => {
                if last {
                    world.executed_as_write();
                }
            }
            Effect::Found { before, after } => {
                world.executed_on(before, after.unwrap_or(before), after.is_some());
            }
            Effect::Compared { before, expected, after } => {
                world.executed_cas(before, expected);
                world.executed_on(before, after.unwrap_or(before), after.is_some());
            }
        }
        if world.times.moved {
            world.time_of_memory_step();
        }
        if world.races.is_some() {
            self.order_memory(done.effect.wrote(), done.order);
        }
    }

    /// The same for the detector of races.
    #[inline(never)]
    fn order_memory(self, wrote: bool, order: Order) {
        let world = self.world();
        let atomic = match world.notes.last().map(|note| note.kind) {
            _ if !wrote => Atomic::Load,
            Some(Kind::Store) => Atomic::Store,
            _ => Atomic::ReadModifyWrite,
        };
        self.note_atomic(world.touched, atomic, order);
    }

    /// Reads the virtual clock. Every reading moves it a little, so that loops that wait for time
    /// to pass come to their end.
    pub(crate) fn read_clock(&self) -> u64 {
        const READING: u64 = 1_000;
        let world = self.world();
        world.spins[world.running].written.moves_on();
        world.times.moved = true;
        let reading = world.at_once.reading(READING);
        let thread = &mut world.threads[world.running];
        thread.asks_for_time = true;
        thread.time = thread.time.saturating_add(reading);
        thread.time
    }

    /// The number of an object that carries it, given anew in every execution.
    #[inline]
    pub(crate) fn object(&self, tag: &ObjectTag, kind: impl FnOnce() -> ObjectKind) -> ObjectId {
        let generation = self.world().generation;
        let tagged = tag.0.load(Ordering::Relaxed);
        if (tagged >> 32) as u32 == generation {
            return ObjectId(tagged as u32);
        }
        let kind = kind();
        let object = self.in_engine(|world| world.born_at(std::ptr::from_ref(tag).addr(), kind));
        tag.0.store(u64::from(generation) << 32 | u64::from(object.0), Ordering::Relaxed);
        object
    }

    /// Starts a thread, perhaps with a wish for the size of its stack; it runs when it is chosen.
    pub(crate) fn spawn(
        &self,
        name: Option<String>,
        stack_size: Option<usize>,
        body: Box<dyn FnOnce()>,
        site: Site,
    ) -> Slot {
        self.in_engine(|world| {
            // Out of the execution's heap.
            let name = name.as_deref().map(|name| Cow::Owned(name.to_owned()));
            let spawned_by = world.trace.events.len() as u32 - 1;
            let slot = world.add_thread(name, Body::Spawned(body), site);
            world.threads[slot].op.arg = spawned_by;
            world.threads[slot].stack_size = stack_size;
            if let Some(races) = &mut world.races {
                races.spawned(world.current, slot);
            }
            slot
        })
    }

    /// The running thread.
    pub(crate) fn current(&self) -> Slot {
        self.world().current
    }

    /// The object on which the end of the thread in `slot` is awaited.
    pub(crate) fn life_of(&self, slot: Slot) -> ObjectId {
        self.world().threads[slot].life
    }

    /// The park token of the thread in `slot`.
    pub(crate) fn token_of(&self, slot: Slot) -> ObjectId {
        self.world().threads[slot].token
    }

    /// The thread in `slot` by its number in every execution.
    pub(crate) fn number_of(&self, slot: Slot) -> u64 {
        self.world().threads[slot].id.0.into()
    }

    /// The name of the thread in `slot`, readable as long as the execution lasts.
    pub(crate) fn name_of(&self, slot: Slot) -> Option<&'static str> {
        // SAFETY: names live until the execution is torn down, and so does every handle.
        self.world().threads[slot].name.as_deref().map(|name| unsafe { &*std::ptr::from_ref(name) })
    }

    /// Leaves what the running thread produced for whoever joins it.
    pub(crate) fn leave(&self, leavings: *mut ()) {
        let world = self.world();
        world.threads[world.current].leavings = leavings;
    }

    /// Takes what the thread in `slot` left.
    pub(crate) fn take_leavings(&self, slot: Slot) -> *mut () {
        std::mem::replace(&mut self.world().threads[slot].leavings, std::ptr::null_mut())
    }

    /// Whether the thread in `slot` panicked and nobody was told.
    pub(crate) fn has_unheard_panic(&self, slot: Slot) -> bool {
        self.world().threads[slot].unheard_panic
    }

    /// When a wait of `duration` that starts now gives up, in virtual time. One that is longer than any clock goes never does.
    pub(crate) fn deadline(&self, duration: Duration) -> u64 {
        self.world().now().saturating_add(nanoseconds(duration))
    }

    /// A wait that gives up at `deadline`. The running thread may be late for what follows, if it asks for the time at all.
    pub(crate) fn until(&self, deadline: u64, op: Op) -> Op {
        let world = self.world();
        Op { deadline, may_be_late: world.threads[world.running].asks_for_time, ..op }
    }

    /// The running thread has let `duration` pass.
    pub(crate) fn pass_time(&self, duration: Duration) {
        let world = self.world();
        let now = world.now().saturating_add(nanoseconds(duration));
        world.times.moved = true;
        world.threads[world.current].time = now;
    }

    /// What the running thread has to do before it ends.
    pub(crate) fn before_end_of_thread(&self) {
        if let Some(end) = self.world().end_of_thread {
            end(*self);
        }
    }

    /// The running thread panicked; whoever joins it takes that over with [`Active::panic_heard`].
    pub(crate) fn panicked(&self, payload: &(dyn Any + Send)) {
        panics::note_passed_on(*self, payload);
        let world = self.world();
        world.threads[world.current].unheard_panic = true;
    }

    /// The running thread begins a scope.
    pub(crate) fn begin_scope(&self) -> ScopeId {
        let world = self.world();
        let (owner, thread) = (world.current, &mut world.threads[world.current]);
        thread.scopes += 1;
        ScopeId { owner, nth: thread.scopes - 1 }
    }

    /// The thread in `slot` was started in `scope`.
    pub(crate) fn started_in(&self, scope: ScopeId, slot: Slot) {
        self.world().threads[slot].scoped = Some(Scoped { scope, let_go: false, blamed: false });
    }

    /// The running thread gives up the handle of the scoped thread in `slot`. False if that must be a step: it may do so
    /// when the scope is about to end (see `model/life.rs`).
    pub(crate) fn lets_go_in_scope(&self, slot: Slot) -> bool {
        let world = self.world();
        let Some(scoped) = world.threads[slot].scoped else { return true };
        let let_go = world.is_inside(world.current, scoped.scope);
        world.threads[slot].scoped = Some(Scoped { let_go, ..scoped });
        let_go
    }

    /// Whether the handle of the scoped thread in `slot` was given up without a step.
    pub(crate) fn was_let_go_in_scope(&self, slot: Slot) -> bool {
        self.world().threads[slot].scoped.is_none_or(|scoped| scoped.let_go)
    }

    /// The body of the scoped thread in `slot` is done, and its scope knows it.
    pub(crate) fn awaited_by_scope(&self, slot: Slot) {
        self.world().threads[slot].joined = true;
    }

    /// Whether the scoped thread in `slot` panicked and nobody was told; its scope panics then.
    pub(crate) fn panics_in_scope(&self, slot: Slot) -> bool {
        let thread = &mut self.world().threads[slot];
        let unheard = std::mem::replace(&mut thread.unheard_panic, false);
        if let Some(scoped) = &mut thread.scoped {
            scoped.blamed |= unheard;
        }
        unheard
    }

    /// The thread in `slot` was joined, and its panic, if there was one, handed to its joiner.
    pub(crate) fn panic_heard(&self, slot: Slot) {
        let thread = &mut self.world().threads[slot];
        (thread.unheard_panic, thread.joined) = (false, true);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Runs `section` on behalf of whoever watches the execution, not of the execution itself: what
/// it allocates outlives the execution. For collecting results from within.
pub fn outside<R>(section: impl FnOnce() -> R) -> R {
    match active() {
        Some(active) => active.in_engine(|_| section()),
        None => section(),
    }
}

/// What came of an operation on a memory cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) effect: Effect,
    pub(crate) order: Order,
}

/// What it did to the cell; the values as numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// It found `before` and left `after`; `None`: it only looked.
    Found { before: u64, after: Option<u64> },
    /// It was a CAS that wanted `expected`.
    Compared { before: u64, expected: u64, after: Option<u64> },
    /// It changed a count whose value nobody sees; `last`: nobody is left.
    Counted { last: bool },
}

impl Effect {
    fn wrote(self) -> bool {
        match self {
            Effect::Found { after, .. } | Effect::Compared { after, .. } => after.is_some(),
            Effect::Counted { .. } => true,
        }
    }
}

/// A number that an object carries: which object of which execution it is.
#[derive(Debug)]
pub(crate) struct ObjectTag(std::sync::atomic::AtomicU64);

impl ObjectTag {
    pub(crate) const fn new() -> Self {
        ObjectTag(std::sync::atomic::AtomicU64::new(0))
    }
}
