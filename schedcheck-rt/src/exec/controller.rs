//! Whose turn it is: the one place where an execution's choices are made.
//!
//! Every thread announces its next operation before it runs ([`World::announce`]); then the plan,
//! the guide or default behaviour names the thread and the alternative that goes on, and that
//! thread executes its announced operation ([`World::execute`]) and whatever invisible code follows,
//! up to its next announcement.

use super::addresses::AddressTable;
use super::deadlock;
use super::outcome::{Divergence, Outcome, PanicReport};
use super::switch::StackPool;
use super::threads::{Body, Thread, ThreadNames};
use crate::model::{Applied, Kind, Moment, ObjectKind, Objects, Op, Ready, Site};
use crate::search::step::{
    Access, Alt, BudgetKind, Choice, Decision, Delta, Event, Guide, Mode, NO_STEP, ObjectId, Pending,
    StepIndex, ThreadId, Trace,
};

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

/// Where a step stands and what it was, for reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepNote {
    pub(crate) kind: Kind,
    pub(crate) object: ObjectId,
    pub(crate) site: Site,
    /// The virtual time of its thread after it.
    pub(crate) time: u64,
}

/// One execution and what persists between executions.
pub(crate) struct World {
    pub(crate) threads: Vec<Thread>,
    /// The thread whose turn it is.
    pub(crate) current: Slot,
    /// The thread whose code is executing: `current`, but for the moment of a hand-over.
    pub(crate) running: Slot,
    /// Nothing more will be executed.
    pub(crate) over: bool,
    /// The alternative its operation takes.
    alt: Alt,
    /// The time-out it takes was forced by quiescence.
    forced: bool,
    /// The thread that ran before could have gone on.
    previous_enabled: bool,
    pub(crate) objects: Objects,
    pub(crate) addresses: AddressTable,
    /// Raised with every execution; objects that carry their number compare it with theirs.
    pub(crate) generation: u32,
    pub(crate) names: ThreadNames,
    pub(crate) stacks: StackPool,
    pub(crate) trace: Trace,
    pub(crate) notes: Vec<StepNote>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) panics: Vec<PanicReport>,
    pub(crate) max_steps: u32,
    deltas: Vec<Delta>,
    next_delta: usize,
    prefix: StepIndex,
    guide: Option<*mut dyn Guide>,
    views: Vec<Pending>,
    /// The thread of the system that executes.
    pub(crate) system_thread: std::thread::ThreadId,
    /// User code is running, as opposed to the engine: decides whose heap an allocation comes from.
    pub(crate) in_user: bool,
}

impl World {
    pub(crate) fn new(max_steps: u32) -> World {
        World {
            threads: Vec::new(),
            current: 0,
            running: 0,
            over: false,
            alt: Alt::DEFAULT,
            forced: false,
            previous_enabled: false,
            objects: Objects::default(),
            addresses: AddressTable::new(),
            generation: 1,
            names: ThreadNames::default(),
            stacks: StackPool::default(),
            trace: Trace::default(),
            notes: Vec::new(),
            outcome: None,
            panics: Vec::new(),
            max_steps,
            deltas: Vec::new(),
            next_delta: 0,
            prefix: 0,
            guide: None,
            views: Vec::new(),
            system_thread: std::thread::current().id(),
            in_user: false,
        }
    }

    /// Makes everything fresh for an execution of `deltas`.
    pub(crate) fn begin(&mut self, deltas: &[Delta], prefix: StepIndex, guide: Option<*mut dyn Guide>) {
        debug_assert!(self.threads.is_empty(), "the previous execution was torn down");
        self.system_thread = std::thread::current().id();
        self.objects.clear();
        self.addresses.clear();
        self.generation = super::support::next_generation();
        self.trace.clear();
        self.notes.clear();
        self.panics.clear();
        self.outcome = None;
        self.deltas.clear();
        self.deltas.extend_from_slice(deltas);
        self.next_delta = 0;
        self.prefix = prefix;
        self.guide = guide;
        self.current = 0;
        self.over = false;
        self.alt = Alt::DEFAULT;
        self.forced = false;
        self.previous_enabled = false;
    }

    /// Adds a thread that will run `body`. The first one is the body of the test.
    pub(crate) fn add_thread(&mut self, name: Option<String>, body: Body, site: Site) -> Slot {
        let id = if self.threads.is_empty() {
            self.names.number(ThreadId(0), 0)
        } else {
            let parent = &mut self.threads[self.current];
            parent.children += 1;
            self.names.number(parent.id, parent.children)
        };
        let life = self.objects.create(ObjectKind::Thread);
        let token = self.objects.create(ObjectKind::Token);
        self.threads.push(Thread {
            id,
            life,
            token,
            op: Op { arg: NO_STEP, ..Op::new(Kind::Begin, ObjectId::NONE, site) },
            ended: false,
            children: 0,
            name,
            coroutine: None,
            yielder: std::ptr::null(),
            body: Some(body),
            leavings: std::ptr::null_mut(),
            time: 0,
            unheard_panic: false,
        });
        self.threads.len() - 1
    }

    fn ready(&self, slot: Slot) -> Ready {
        let thread = &self.threads[slot];
        if thread.ended {
            return Ready::when(false);
        }
        self.objects.ready(thread.id, &thread.op)
    }

    /// The running thread is about to do `op`.
    #[inline]
    pub(crate) fn announce(&mut self, op: Op) -> Turn {
        self.threads[self.current].op = op;
        let me = self.current;
        if !self.decide() {
            self.over = true;
            return Turn::Stop;
        }
        if self.current == me { Turn::Mine } else { Turn::Other }
    }

    /// Chooses who goes on; false if the execution is over.
    pub(crate) fn decide(&mut self) -> bool {
        let step = self.trace.events.len() as StepIndex;
        if step >= self.max_steps {
            self.outcome.get_or_insert(Outcome::Livelock { steps: self.max_steps });
            return false;
        }
        let running = self.current;
        let running_ready = self.ready(running).enabled;
        // A thread that yields asks for others to go first: switching away is no preemption.
        let yields = matches!(self.threads[running].op.kind, Kind::Yield | Kind::Sleep);
        self.previous_enabled = running_ready && !yields;
        self.forced = false;
        if let Some(delta) = self.deltas.get(self.next_delta)
            && delta.step == step
        {
            self.next_delta += 1;
            return self.follow(step, delta.choice);
        }
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
        self.alt = Alt::DEFAULT;
        if running_ready && !yields {
            return true;
        }
        self.default_switch(running, running_ready)
    }

    /// The running thread blocks, ended or yields: the first enabled thread goes on. After a yield
    /// the search for it starts behind the yielding thread, so that all get their turn.
    fn default_switch(&mut self, running: Slot, running_ready: bool) -> bool {
        let count = self.threads.len();
        let first = if running_ready { running + 1 } else { 0 };
        let next = (0..count).map(|offset| (first + offset) % count).find(|slot| self.ready(*slot).enabled);
        if let Some(next) = next {
            self.current = next;
            return true;
        }
        if let Some(next) = self.earliest_deadline() {
            self.current = next;
            self.alt = Alt::TIMEOUT;
            self.forced = true;
            return true;
        }
        self.finish_quiescent();
        false
    }

    /// The timed wait that gives up first when nothing else can happen.
    fn earliest_deadline(&self) -> Option<Slot> {
        if self.threads[0].ended {
            // Workers that only wait for time to pass do not keep a finished test alive.
            return None;
        }
        (0..self.threads.len())
            .filter(|slot| self.ready(*slot).costly.contains(BudgetKind::Timeout))
            .min_by_key(|slot| self.threads[*slot].op.deadline)
    }

    /// Nothing can run any more.
    fn finish_quiescent(&mut self) {
        if self.outcome.is_some() {
            return;
        }
        self.outcome = Some(if self.threads[0].ended {
            // CHESS 2.1: workers waiting for more work when the test is done are no deadlock.
            Outcome::Passed
        } else {
            Outcome::Deadlock(deadlock::analyse(self))
        });
    }

    /// Takes `choice`, or notes that it is not possible.
    fn follow(&mut self, step: StepIndex, choice: Choice) -> bool {
        let slot = self.threads.iter().position(|thread| thread.id == choice.thread && !thread.ended);
        let possible = slot.is_some_and(|slot| {
            let ready = self.ready(slot);
            match choice.alt.budget() {
                Some(kind) => ready.costly.contains(kind),
                None => ready.enabled,
            }
        });
        let Some(slot) = slot.filter(|_| possible) else {
            let found = match slot {
                None => "that thread is not there".to_owned(),
                Some(slot) => {
                    let op = &self.threads[slot].op;
                    format!("it is at {} ({}), which cannot run now", op.kind.name(), op.site)
                }
            };
            let expected =
                format!("thread {} runs alternative {}", self.names.path(choice.thread), choice.alt.0);
            self.outcome = Some(Outcome::Diverged(Divergence { step, expected, found }));
            return false;
        };
        self.current = slot;
        self.alt = choice.alt;
        true
    }

    fn ask(&mut self, guide: *mut dyn Guide, step: StepIndex) -> Decision {
        self.collect_pending();
        let running = self.trace.events.last().map(|event| event.thread);
        // SAFETY: the guide outlives the execution it was given for, and nobody else uses it then.
        unsafe { (*guide).choose(step, running, &self.views) }
    }

    /// Writes down what every live thread is about to do.
    pub(crate) fn collect_pending(&mut self) {
        self.views.clear();
        for slot in 0..self.threads.len() {
            if self.threads[slot].ended {
                continue;
            }
            let ready = self.ready(slot);
            let thread = &self.threads[slot];
            self.views.push(Pending {
                thread: thread.id,
                enabled: ready.enabled,
                costly_alts: ready.costly,
                accesses: pending_accesses(&thread.op, ready.enabled),
                site: 0,
                yields: matches!(thread.op.kind, Kind::Yield | Kind::Sleep),
            });
        }
    }

    /// Writes the pending operations at the end into the trace.
    pub(crate) fn keep_pending(&mut self) {
        self.collect_pending();
        std::mem::swap(&mut self.views, &mut self.trace.pending);
    }

    /// Where the thread that executes right now suspends from.
    pub(crate) fn running_yielder(&self) -> *const corosensei::Yielder<(), ()> {
        self.threads[self.running].yielder
    }

    /// Executes the announced operation of the thread whose turn it is.
    #[inline]
    pub(crate) fn execute(&mut self) -> Applied {
        let step = self.trace.events.len() as StepIndex;
        let thread = &self.threads[self.current];
        let (id, op) = (thread.id, thread.op);
        let moment = Moment { thread: id, step, alt: self.alt };
        let applied = self.objects.apply(moment, &op);
        let event = Event {
            thread: id,
            alt: self.alt,
            free_alts: applied.free_alts,
            costly_alts: applied.costly_alts,
            previous_enabled: self.previous_enabled,
            forced: self.forced,
            accesses: applied.accesses,
            enabler: applied.enabler,
            site: 0,
        };
        self.trace.events.push(event);
        self.advance_time(&op, applied.enabler);
        let time = self.threads[self.current].time;
        self.notes.push(StepNote { kind: op.kind, object: op.object, site: op.site, time });
        if let Some(guide) = self.guide {
            // SAFETY: as in `ask`.
            unsafe { (*guide).executed(step, &event) };
        }
        applied
    }

    /// Virtual time follows causality, not the schedule: a thread's clock moves by its own waits
    /// and up to that of the step that enabled it, so equivalent schedules read the same times.
    fn advance_time(&mut self, op: &Op, enabler: StepIndex) {
        let enabled_at = self.notes.get(enabler as usize).map_or(0, |note| note.time);
        let thread = &mut self.threads[self.current];
        thread.time = thread.time.max(enabled_at);
        if self.alt == Alt::TIMEOUT {
            thread.time = thread.time.max(op.deadline);
        }
    }

    /// The virtual time of the running thread.
    pub(crate) fn now(&self) -> u64 {
        self.threads[self.current].time
    }

    /// The alternative of the operation just executed.
    pub(crate) fn alternative(&self) -> Alt {
        self.alt
    }

    /// The operation just executed changed nothing after all.
    pub(crate) fn executed_as_read(&mut self) {
        let event = self.trace.events.last_mut().expect("an operation was executed");
        event.accesses[0].mode = Mode::Read;
        self.objects.not_written(event.accesses[0].object);
    }

    /// The object at `address`, a memory cell on first sight.
    #[inline]
    pub(crate) fn memory_at(&mut self, address: usize) -> ObjectId {
        let objects = &mut self.objects;
        self.addresses.find_or(address, || objects.create(ObjectKind::Memory))
    }
}

/// The accesses an operation will make, as far as they are known beforehand.
fn pending_accesses(op: &Op, enabled: bool) -> [Access; 2] {
    let mode = match op.kind {
        Kind::Begin | Kind::Yield | Kind::Sleep | Kind::Fence | Kind::Spawn | Kind::Choose => Mode::None,
        Kind::Load | Kind::IsFinished => Mode::Read,
        Kind::Inspect | Kind::Adjust => return crate::model::poison_accesses(op),
        Kind::Store
        | Kind::ReadModifyWrite
        | Kind::CompareExchange
        | Kind::CompareExchangeWeak
        | Kind::End
        | Kind::CondvarEnqueue
        | Kind::CondvarWake
        | Kind::NotifyOne
        | Kind::NotifyAll => Mode::Write,
        Kind::Join => Mode::Await,
        Kind::Park => Mode::AwaitWrite,
        Kind::Unpark => Mode::Mark,
        Kind::Lock => Mode::Acquire,
        Kind::TryLock => Mode::TryAcquire,
        Kind::Unlock => Mode::Release,
        Kind::ReadLock
        | Kind::ReadLockInLine
        | Kind::TryReadLock
        | Kind::ReadUnlock
        | Kind::WriteRequest
        | Kind::WriteLock
        | Kind::TryWriteLock
        | Kind::WriteUnlock
        | Kind::Downgrade => return crate::model::rwlock_accesses(op, enabled),
        Kind::OnceEnter | Kind::OnceFinish | Kind::OnceLook | Kind::OnceWait => {
            return crate::model::once_accesses(op);
        }
        Kind::BarrierArrive => Mode::Write,
        Kind::BarrierLeave => return [Access::NONE; 2],
        Kind::Send
        | Kind::TrySend
        | Kind::OfferTaken
        | Kind::ReceiverArrives
        | Kind::Receive
        | Kind::TryReceive
        | Kind::DropSender
        | Kind::DropReceiver => return crate::model::channel_accesses(op),
    };
    [Access::new(op.object, mode), Access::NONE]
}
