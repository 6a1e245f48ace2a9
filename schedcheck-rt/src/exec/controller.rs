//! Whose turn it is: the one place where an execution's choices are made.
//!
//! Every thread announces its next operation before it runs ([`World::announce`]); then the plan,
//! the guide or default behaviour names the thread and the alternative that goes on, and that
//! thread executes its announced operation ([`World::execute`]) and whatever invisible code follows,
//! up to its next announcement.

use super::addresses::AddressTable;
use super::callers::Callers;
use super::data_race::{FoundRace, Memory as RaceMemory};
use super::deadlock;
use super::fairness::PATIENCE;
use super::foreign::ForeignWrites;
use super::gate::WAITS_IN_A_ROW;
use super::heap::Heap;
use super::image::Image;
use super::outcome::{Divergence, Outcome, PanicReport, expected_turn};
use super::outside::Met;
use super::patience::AtOnce;
use super::places::PlaceTable;
use super::places::sites::SiteTable;
use super::run::TestResult;
use super::script::Script;
use super::spin::{Place, Spin};
use super::stacks::StackPool;
use super::survey::Used;
use super::switch::{Backend, Exit};
use super::thread_locals::{Kept, StdWords};
use super::threads::{Body, Thread, ThreadNames};
use super::time::Times;
use super::view::Needed;
use super::written::Watched;
use crate::model::{Kind, ObjectKind, Objects, Op, Ready, Site};
use crate::races::Detector;
use crate::search::step::{
    Alt, BudgetKind, Choice, Decision, Delta, Guide, NO_STEP, ObjectId, Pending, StepIndex, ThreadId, Trace,
};
use std::borrow::Cow;
use std::rc::Rc;

/// Position of a thread in the current execution, by order of creation.
pub(crate) type Slot = usize;

/// What the running thread does after an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It goes on itself.
    Mine,
    /// It suspends; [`World::next`] says who goes on.
    Other,
    /// The execution is over.
    Stop,
}

/// What happens where nothing else is asked for.
pub(super) struct DefaultTurn {
    pub(super) slot: Slot,
    pub(super) alt: Alt,
    pub(super) forced: bool,
}

/// Where a step stands and what it was, for reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepNote {
    pub(crate) kind: Kind,
    pub(crate) object: ObjectId,
    pub(crate) site: Site,
    /// The virtual time of its thread after it.
    pub(crate) time: u64,
    /// The state of its object after it, as a number, if it can be a step of a loop that waits.
    pub(crate) after: u64,
}

impl StepNote {
    /// What the step did, and where.
    pub(super) fn place(&self) -> Place {
        Place { kind: self.kind, object: self.object, site: self.site }
    }
}

/// One execution and what persists between executions.
pub(crate) struct World {
    pub(crate) threads: Vec<Thread>,
    /// The thread whose turn it is.
    pub(crate) current: Slot,
    /// The thread whose code is executing: `current`, but for the moment of a hand-over.
    pub(crate) running: Slot,
    /// Where the engine's stack for it begins.
    pub(crate) engine_top: usize,
    /// Nothing more will be executed.
    pub(crate) over: bool,
    /// The alternative its operation takes.
    pub(super) alt: Alt,
    /// The time-out it takes was forced by quiescence.
    pub(super) forced: bool,
    /// The thread that ran before could have gone on.
    pub(super) previous_enabled: bool,
    pub(crate) objects: Objects,
    pub(crate) addresses: AddressTable,
    /// The memory cell that this execution used last: where, and its number. Most operations use the same one again.
    last_memory: (usize, ObjectId),
    /// Raised with every execution; objects that carry their number compare it with theirs.
    pub(crate) generation: u32,
    pub(crate) names: ThreadNames,
    /// The life and the token of each thread that has a number, once it was met.
    thread_objects: Vec<(ObjectId, ObjectId)>,
    /// What the test body has returned: `None` within if it panicked.
    pub(super) returned: Option<Option<TestResult>>,
    pub(crate) stacks: StackPool,
    /// How large stacks are at least where nobody wishes for another size, as std reads it from the environment.
    pub(crate) least_stack: usize,
    /// What each thread remembers of its own steps, by its slot. Those of slots that are not used are as new.
    pub(crate) spins: Vec<Spin>,
    /// Objects of a round that is being considered; kept for its memory.
    pub(super) used: Vec<Used>,
    pub(crate) trace: Trace,
    pub(crate) notes: Vec<StepNote>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) panics: Vec<PanicReport>,
    pub(crate) max_steps: u32,
    /// As many this execution may have.
    pub(super) limit: StepIndex,
    /// At this step it is time for others.
    pub(super) fair_at: StepIndex,
    /// When somebody was last seen to be kept from running; 0 for never.
    pub(super) starved_at: StepIndex,
    /// The thread that is to have its turn then.
    pub(super) overdue: Option<Slot>,
    /// How often it was looked in vain for one, one step after the other.
    pub(super) looks: u32,
    pub(super) deltas: Vec<Delta>,
    pub(super) next_delta: usize,
    /// Before this step nothing but default behaviour is asked for.
    pub(super) next_special: StepIndex,
    /// Before this one nothing but that and what is planned.
    pub(super) unplanned_until: StepIndex,
    /// Every step is looked at closely: there may always be something to decide.
    pub(super) closely: bool,
    /// Whether to find out which of them default behaviour would not have made by itself, and those.
    pub(crate) keep_needed: bool,
    pub(crate) needed: Vec<Needed>,
    /// In such an execution: who did what is done in no source of the user's.
    pub(super) callers: Callers,
    pub(super) prefix: StepIndex,
    pub(super) guide: Option<*mut dyn Guide>,
    pub(super) views: Vec<Pending>,
    /// What carries its threads.
    pub(crate) backend: Backend,
    /// What std keeps for the root's thread of the system.
    pub(crate) root_words: StdWords,
    /// Those of them that are exchanged with every turn: none where threads have their own.
    pub(crate) std_words: StdWords,
    /// User code's memory.
    pub(crate) heap: Heap,
    /// What the statics held before the first execution.
    pub(crate) image: Option<Image>,
    /// The values of thread-local keys, in the facade's form.
    pub(crate) thread_values: Option<Box<dyn std::any::Any>>,
    /// What a thread does with its values before it ends.
    pub(crate) end_of_thread: Option<fn(super::Active)>,
    /// Threads behind a gate.
    pub(crate) gated: usize,
    /// What threads have written on each other's stacks.
    pub(super) foreign: ForeignWrites,
    /// Threads whose rounds are told apart by what they write.
    pub(super) watched: Watched,
    /// Rounds of a loop that the running thread does in one go.
    pub(super) at_once: AtOnce,
    /// The thread that last got through its gate because nothing else could happen.
    pub(super) last_through_gate: Option<ThreadId>,
    /// How many timed waits have given up since then because nothing else could happen.
    pub(super) gave_up: u32,
    /// It is to be made again: a stack was compared deeper than it was clean, or accesses were not noted.
    pub(crate) once_more: bool,
    /// A loop was gated although its state does not repeat.
    pub(crate) spin_bound_reached: bool,
    /// Some execution had threads that are declared interchangeable and were kept in order.
    pub(crate) had_twins: bool,
    /// Whether threads that are declared interchangeable are kept in order, and whether there are any.
    pub(crate) symmetry: bool,
    pub(crate) twins: bool,
    /// The scenario that is going on, if there is one.
    pub(super) script: Script,
    /// Threads are switched only at labels and where they block.
    pub(crate) cooperative: bool,
    /// Where operations stand, if somebody asked.
    pub(crate) places: Option<Rc<PlaceTable>>,
    /// Where they stand, for predictions.
    pub(crate) sites: SiteTable,
    /// Looks for data races, if it is asked to.
    pub(crate) races: Option<Box<Detector>>,
    /// The one that ended this execution.
    pub(crate) race: Option<FoundRace>,
    pub(crate) race_memory: RaceMemory,
    /// Where the memory operation is whose turn has come, and how large; only if races are looked for.
    pub(super) touched: (usize, usize),
    /// A facade uses memory for itself.
    pub(crate) unwatched: bool,
    /// When objects were used, in virtual time.
    pub(crate) times: Times,
    /// What executions met that is not under control.
    pub(crate) met: Met,
    /// User code is running, as opposed to the engine: decides whose heap an allocation comes from.
    pub(crate) in_user: bool,
}

impl World {
    pub(crate) fn new(max_steps: u32) -> World {
        World {
            threads: Vec::new(),
            current: 0,
            running: 0,
            engine_top: 0,
            over: false,
            alt: Alt::DEFAULT,
            forced: false,
            previous_enabled: false,
            objects: Objects::default(),
            addresses: AddressTable::new(),
            last_memory: (0, ObjectId::NONE),
            generation: 1,
            names: ThreadNames::new(),
            thread_objects: Vec::new(),
            returned: None,
            stacks: StackPool::default(),
            least_stack: std::env::var("RUST_MIN_STACK").ok().and_then(|size| size.parse().ok()).unwrap_or(0),
            spins: Vec::new(),
            used: Vec::new(),
            trace: Trace::default(),
            notes: Vec::new(),
            outcome: None,
            panics: Vec::new(),
            max_steps,
            limit: max_steps,
            fair_at: PATIENCE,
            starved_at: 0,
            overdue: None,
            looks: 0,
            deltas: Vec::new(),
            next_delta: 0,
            next_special: 0,
            unplanned_until: 0,
            closely: false,
            keep_needed: false,
            needed: Vec::new(),
            callers: Callers::default(),
            prefix: 0,
            guide: None,
            views: Vec::new(),
            backend: Backend::default(),
            root_words: StdWords::default(),
            std_words: StdWords::default(),
            heap: Heap::new(),
            image: None,
            thread_values: None,
            end_of_thread: None,
            gated: 0,
            foreign: ForeignWrites::default(),
            watched: Watched::default(),
            at_once: AtOnce::default(),
            last_through_gate: None,
            gave_up: 0,
            once_more: false,
            spin_bound_reached: false,
            had_twins: false,
            symmetry: true,
            twins: false,
            script: Script::default(),
            cooperative: false,
            places: None,
            sites: SiteTable::default(),
            races: None,
            race: None,
            race_memory: RaceMemory::default(),
            touched: (0, 0),
            unwatched: false,
            times: Times::default(),
            met: Met::default(),
            in_user: false,
        }
    }

    /// Makes everything fresh for an execution of `deltas`.
    pub(crate) fn begin(&mut self, deltas: &[Delta], prefix: StepIndex, guide: Option<*mut dyn Guide>) {
        debug_assert!(self.threads.is_empty(), "the previous execution was torn down");
        let generation = super::support::next_generation(self.generation);
        if generation < self.generation {
            self.addresses.forget_generations();
        }
        self.generation = generation;
        self.last_memory = (0, ObjectId::NONE);
        self.objects.begin();
        self.times.begin();
        self.forget_labels();
        self.trace.clear();
        self.notes.clear();
        self.panics.clear();
        self.outcome = None;
        self.returned = None;
        self.needed.clear();
        self.callers.clear();
        self.deltas.clear();
        self.deltas.extend_from_slice(deltas);
        self.next_delta = 0;
        self.gated = 0;
        self.foreign.forget();
        self.watched = Watched::default();
        self.at_once = AtOnce::default();
        self.last_through_gate = None;
        self.gave_up = 0;
        self.twins = false;
        self.script.begin();
        self.once_more = false;
        self.prefix = prefix;
        self.guide = guide;
        self.current = 0;
        self.over = false;
        self.alt = Alt::DEFAULT;
        self.forced = false;
        self.previous_enabled = false;
        (self.fair_at, self.starved_at, self.overdue, self.looks) = (PATIENCE, 0, None, 0);
        self.limit = self.max_steps;
        self.find_next_special();
        self.begin_races();
    }

    /// The decisions this execution was to follow.
    pub(crate) fn plan(&self) -> &[Delta] {
        &self.deltas
    }

    /// Adds a thread that will run `body`. The first one is the body of the test.
    pub(crate) fn add_thread(&mut self, name: Option<Cow<'static, str>>, body: Body, site: Site) -> Slot {
        debug_assert!(self.is_apart(), "its traces would be part of a loop's state");
        let slot = self.threads.len();
        let id = match self.threads.get_mut(self.current) {
            None => self.names.number_in(slot, ThreadId(0), 0),
            Some(parent) => {
                parent.children += 1;
                self.names.number_in(slot, parent.id, parent.children)
            }
        };
        let (life, token) = self.objects_of(id);
        let op = Op { arg: NO_STEP, ..Op::new(Kind::Begin, ObjectId::NONE, site) };
        let place = self.place_of_start(&op);
        if self.spins.len() == slot {
            self.spins.push(Spin::new());
        }
        self.threads.reserve(1);
        // Written where it will be: it is large.
        self.threads.spare_capacity_mut()[0].write(Thread {
            id,
            life,
            token,
            op,
            place,
            calls: None,
            held: false,
            joined: false,
            directed: false,
            aside: None,
            twin: None,
            ended: false,
            children: 0,
            scopes: 0,
            channels: 0,
            draws: 0,
            ran_until: self.trace.events.len() as StepIndex,
            sleeps_after_end: 0,
            name,
            carrier: None,
            exit: Exit::None,
            body: Some(body),
            leavings: std::ptr::null_mut(),
            time: 0,
            asks_for_time: false,
            std_words: Kept::default(),
            stack_size: None,
            stack_base: 0,
            engine_top: 0,
            unheard_panic: false,
            scoped: None,
        });
        // SAFETY: there is room for it, and it was just written.
        unsafe { self.threads.set_len(slot + 1) };
        slot
    }

    /// The life and the token of a new thread. Threads have no address; their number stands for one.
    fn objects_of(&mut self, id: ThreadId) -> (ObjectId, ObjectId) {
        let number = usize::from(id.0);
        if let Some(&(life, token)) = self.thread_objects.get(number)
            && life != ObjectId::NONE
            && self.places.is_none()
        {
            self.objects.renew(life, ObjectKind::Thread);
            self.objects.renew(token, ObjectKind::Token);
            return (life, token);
        }
        let life = self.object_at(number, ObjectKind::Thread);
        let token = self.object_at(number, ObjectKind::Token);
        if self.thread_objects.len() <= number {
            self.thread_objects.resize(number + 1, (ObjectId::NONE, ObjectId::NONE));
        }
        self.thread_objects[number] = (life, token);
        (life, token)
    }

    #[inline]
    pub(super) fn ready(&self, slot: Slot) -> Ready {
        let thread = &self.threads[slot];
        if thread.ended || self.sleeps_on(thread) || self.closely && self.is_kept_back(slot) {
            return Ready::when(false);
        }
        self.objects.ready(thread.id, &thread.op)
    }

    /// Whether the thread in `slot` waits behind a gate or for a twin.
    #[inline(never)]
    fn is_kept_back(&self, slot: Slot) -> bool {
        self.gated > 0 && self.is_gated(slot) || self.twins && self.waits_for_twin(slot)
    }

    /// A thread that sleeps again and again after the test is done is left asleep: it would go on
    /// for ever (CHESS 2.1).
    #[inline]
    fn sleeps_on(&self, thread: &Thread) -> bool {
        const SLEEPS: u32 = 2;
        thread.op.kind == Kind::Sleep && self.threads[0].ended && thread.sleeps_after_end >= SLEEPS
    }

    /// Whether the thread in `slot` could go on.
    pub(crate) fn is_enabled(&self, slot: Slot) -> bool {
        self.ready(slot).enabled
    }

    /// The running thread is about to do `op`.
    pub(crate) fn announce(&mut self, op: &Op) -> Turn {
        if self.places.is_some() {
            self.note_place(op);
        }
        debug_assert!(!self.is_at_once(), "nobody comes between");
        if self.keep_needed {
            self.note_calls(op);
        }
        let me = self.current;
        self.threads[me].op = *op;
        if !self.decide() {
            self.over = true;
            return Turn::Stop;
        }
        if self.current == me { Turn::Mine } else { Turn::Other }
    }

    /// The thread whose turn it is does `op` instead of what it announced.
    pub(crate) fn replace_announced(&mut self, op: Op) {
        self.threads[self.current].op = op;
    }

    /// Chooses who goes on; false if the execution is over.
    pub(crate) fn decide(&mut self) -> bool {
        debug_assert!(self.is_apart(), "its traces would be part of a loop's state");
        let step = self.trace.events.len() as StepIndex;
        if self.is_time_for_others(step) {
            self.look_for_others(step);
        }
        let before = self.current;
        let goes_on = self.choose(step);
        self.note_end_of_turn(before, step);
        goes_on
    }

    fn choose(&mut self, step: StepIndex) -> bool {
        if step >= self.limit && self.ends_at_limit(step) {
            return false;
        }
        // A thread that yields asks for others to go first: switching away is no preemption.
        let yields =
            self.overdue.is_some() || matches!(self.threads[self.current].op.kind, Kind::Yield | Kind::Sleep);
        self.previous_enabled = !yields && self.ready(self.current).enabled;
        self.forced = false;
        let planned = self.deltas.get(self.next_delta).filter(|delta| delta.step == step).copied();
        if planned.is_some() {
            self.next_delta += 1;
            self.find_next_planned();
        }
        // The guide first: it is to see every step, and what it takes goes before the plan.
        if step >= self.prefix
            && let Some(guide) = self.guide
        {
            match self.ask(guide, step) {
                Decision::Default => {}
                Decision::Take(choice) => return self.follow(step, choice),
                Decision::Stop => {
                    self.outcome.get_or_insert(Outcome::Abandoned);
                    return false;
                }
            }
        }
        if let Some(Delta { choice, .. }) = planned {
            if self.keep_needed {
                self.note_if_needed(step, choice);
            }
            return self.follow(step, choice);
        }
        if self.previous_enabled {
            self.alt = Alt::DEFAULT;
            return true;
        }
        let Some(turn) = self.default_turn() else {
            self.finish_quiescent();
            return false;
        };
        self.current = turn.slot;
        self.alt = turn.alt;
        self.forced = turn.forced;
        if turn.forced {
            self.keep_waiting(step);
            if self.is_gated(turn.slot) {
                (self.last_through_gate, self.gave_up) = (Some(self.threads[turn.slot].id), 0);
            } else {
                self.gave_up += 1;
            }
        }
        true
    }

    /// Default behaviour: the running thread goes on, unless another one is overdue. If it blocks, ended or yields, the first
    /// enabled thread does; after a yield the search for it starts behind the yielding thread, so
    /// that all get their turn. If none is enabled, a timed wait gives up, or a gated thread gets
    /// through.
    pub(super) fn default_turn(&self) -> Option<DefaultTurn> {
        let by_choice = |slot| DefaultTurn { slot, alt: Alt::DEFAULT, forced: false };
        if self.previous_enabled {
            return Some(by_choice(self.current));
        }
        if let Some(slot) = self.overdue {
            return Some(by_choice(slot));
        }
        let count = self.threads.len();
        // One that neither goes on nor yields is blocked, or it has ended.
        let yields = matches!(self.threads[self.current].op.kind, Kind::Yield | Kind::Sleep);
        let first = if yields && self.ready(self.current).enabled { self.current + 1 } else { 0 };
        let mut in_turn = (first..count).chain(0..first);
        match in_turn.find(|slot| self.ready(*slot).enabled) {
            Some(slot) => Some(by_choice(slot)),
            None => self.turn_of_waiting(),
        }
    }

    /// The same where none is enabled.
    #[inline(never)]
    fn turn_of_waiting(&self) -> Option<DefaultTurn> {
        if self.threads[0].ended {
            // Workers that only wait for time to pass, or go round in a loop, do not keep a finished
            // test alive.
            return None;
        }
        let in_time = self.earliest_deadline();
        if self.script.active && in_time.is_none() {
            return self.turn_in_script();
        }
        let through_gate = || self.next_through_gate(|_| !self.script.active);
        match in_time {
            // Whoever waits again and again until a gated thread has counted its rounds would wait for ever.
            Some(slot) if self.gave_up < WAITS_IN_A_ROW || through_gate().is_none() => {
                Some(DefaultTurn { slot, alt: Alt::TIMEOUT, forced: true })
            }
            _ => Some(DefaultTurn { slot: through_gate()?, alt: Alt::DEFAULT, forced: true }),
        }
    }

    /// The timed wait that gives up first when nothing else can happen. Of those at the same time it is the one of the thread
    /// with the lowest number: which slot a thread has may differ between schedules of a class.
    fn earliest_deadline(&self) -> Option<Slot> {
        (0..self.threads.len())
            .filter(|slot| self.ready(*slot).costly.contains(BudgetKind::Timeout))
            .min_by_key(|slot| (self.threads[*slot].op.deadline, self.threads[*slot].id))
    }

    /// Nothing can run any more.
    fn finish_quiescent(&mut self) {
        if self.outcome.is_some() {
            return;
        }
        if self.threads[0].ended {
            // CHESS 2.1: workers waiting for more work when the test is done are no deadlock.
            self.outcome = Some(Outcome::Passed);
            // What those would have done next who are left asleep remains open.
            self.spin_bound_reached |= self.threads.iter().any(|thread| self.sleeps_on(thread));
            return;
        }
        self.outcome = Some(if self.script.active {
            self.end_in_script()
        } else {
            Outcome::Deadlock(deadlock::analyse(self))
        });
    }

    /// Where the thread of that number is, if this execution has it.
    #[inline]
    fn slot_of(&self, thread: ThreadId) -> Option<Slot> {
        // Most programs start their threads in the same order every time.
        let slot = usize::from(thread.0);
        if self.threads.get(slot).is_some_and(|there| there.id == thread) {
            return Some(slot);
        }
        self.threads.iter().position(|there| there.id == thread)
    }

    /// Takes `choice`, or notes that it is not possible.
    fn follow(&mut self, step: StepIndex, choice: Choice) -> bool {
        let slot = self.slot_of(choice.thread).filter(|slot| !self.threads[*slot].ended);
        let possible = slot.is_some_and(|slot| {
            let ready = self.ready(slot);
            match choice.alt.budget() {
                Some(kind) => ready.costly.contains(kind),
                None => ready.enabled,
            }
        });
        if self.gated > 0 && slot.is_some_and(|slot| self.is_gated(slot)) {
            // One more round of a loop that waits shows nothing new.
            self.outcome.get_or_insert(Outcome::Abandoned);
            return false;
        }
        let Some(slot) = slot.filter(|_| possible) else {
            self.finish_diverged(step, choice, slot);
            return false;
        };
        self.current = slot;
        self.alt = choice.alt;
        true
    }

    /// The thread of `choice`, which is in `slot` if it is there, cannot take it.
    #[cold]
    fn finish_diverged(&mut self, step: StepIndex, choice: Choice, slot: Option<Slot>) {
        let found = match slot {
            None => "that thread is not there".to_owned(),
            Some(slot) => {
                let op = &self.threads[slot].op;
                format!("it is at {} ({}), which cannot run now", op.kind.name(), op.site)
            }
        };
        let expected = expected_turn(&self.names.path(choice.thread), choice.alt);
        self.outcome = Some(Outcome::Diverged(Divergence { step, expected, found }));
    }

    fn ask(&mut self, guide: *mut dyn Guide, step: StepIndex) -> Decision {
        self.collect_pending();
        let running = self.trace.events.last().map(|event| event.thread);
        // SAFETY: the guide outlives the execution it was given for, and nobody else uses it then.
        unsafe { (*guide).choose(step, running, &self.views) }
    }

    /// The object of `kind` at `address`.
    #[inline]
    pub(crate) fn object_at(&mut self, address: usize, kind: ObjectKind) -> ObjectId {
        let objects = &mut self.objects;
        let found = self.addresses.find(address, kind, self.generation, || objects.create(kind));
        if found.fresh {
            self.objects.renew(found.object, kind);
            if let Some(places) = &self.places {
                places.met_at(address, found.object);
            }
        }
        found.object
    }

    /// The memory cell at `address`, if this execution has used it already.
    #[inline]
    pub(crate) fn known_memory(&mut self, address: usize) -> Option<ObjectId> {
        if self.last_memory.0 == address {
            return Some(self.last_memory.1);
        }
        let object = self.addresses.known(address, ObjectKind::Memory, self.generation)?;
        self.last_memory = (address, object);
        Some(object)
    }

    /// The memory cell of `size` bytes at `address`.
    #[inline(never)]
    pub(crate) fn memory_at(&mut self, (address, size): (usize, usize)) -> ObjectId {
        let object = self.object_at(address, ObjectKind::Memory);
        self.addresses.set_size(address, size, self.generation);
        object
    }

    /// A new object of `kind`, first used while it lies at `address`.
    pub(crate) fn born_at(&mut self, address: usize, kind: ObjectKind) -> ObjectId {
        let objects = &mut self.objects;
        let object = self.addresses.be_born(address, kind, self.generation, || objects.create(kind));
        self.objects.renew(object, kind);
        if let Some(places) = &self.places {
            places.met_at(address, object);
        }
        object
    }
}
