//! The state machine of each primitive: what an operation needs before it can run ([`Objects::ready`])
//! and what it does ([`Objects::apply`]). No user data, no threads, no scheduling: every file can be
//! tested alone.
//!
//! An object's state lives here, not in the user's memory, so a new execution starts with fresh
//! locks wherever the object itself lives (also in a static). The user's data and the values of
//! atomics stay where the program put them.

mod condvar;
mod mutex;
mod op;
mod park;

pub(crate) use condvar::TIMED_OUT;
pub(crate) use mutex::WOULD_BLOCK;
pub use op::{Kind, Op, Site};
pub(crate) use park::FINISHED;

use crate::search::step::{
    Access, Alt, BudgetKind, BudgetKinds, Mode, NO_STEP, ObjectId, ReadsWhen, StepIndex, ThreadId,
};

/// Whether a pending operation could run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// With its default alternative.
    pub enabled: bool,
    /// Costly alternatives that are possible now, enabled or not.
    pub costly: BudgetKinds,
}

impl Ready {
    /// Runs whenever it is asked to.
    pub const ALWAYS: Ready = Ready { enabled: true, costly: BudgetKinds::NONE };

    /// Runs when `condition` holds.
    pub const fn when(condition: bool) -> Ready {
        Ready { enabled: condition, costly: BudgetKinds::NONE }
    }
}

/// What an operation did, in the search's terms, and what its caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer to the facade; its meaning belongs to the operation.
    pub result: u32,
    /// The accesses made.
    pub accesses: [Access; 2],
    /// The step without which this one could not have run.
    pub enabler: StepIndex,
    /// How many free alternatives there were.
    pub free_alts: u16,
    /// Costly alternatives that were possible instead (see `Event::costly_alts`).
    pub costly_alts: BudgetKinds,
    /// The state of the object before, as a number (see `Event::before`).
    pub before: u64,
    /// When the operation would only have looked (see `Event::reads_when`).
    pub reads_when: ReadsWhen,
    /// Its mode when it does not only look.
    pub full_mode: Mode,
}

impl Applied {
    /// One access, nothing else.
    pub const fn access(object: ObjectId, mode: Mode) -> Applied {
        Applied {
            result: 0,
            accesses: [Access::new(object, mode), Access::NONE],
            enabler: NO_STEP,
            free_alts: 0,
            costly_alts: BudgetKinds::NONE,
            before: 0,
            reads_when: ReadsWhen::Never,
            full_mode: mode,
        }
    }

    /// Nothing another thread could notice.
    pub const LOCAL: Applied = Applied::access(ObjectId::NONE, Mode::None);

    /// The same with an answer.
    #[must_use]
    pub const fn result(mut self, result: u32) -> Applied {
        self.result = result;
        self
    }

    /// The same, done when the state was `before`.
    #[must_use]
    pub const fn when(mut self, before: u64) -> Applied {
        self.before = before;
        self
    }

    /// The same of an operation whose mode depends on the state.
    #[must_use]
    pub const fn unless(mut self, reads_when: ReadsWhen, full_mode: Mode) -> Applied {
        self.reads_when = reads_when;
        self.full_mode = full_mode;
        self
    }

    /// The same of an operation that could not run before `step` changed what its loop waits for.
    #[must_use]
    pub fn after_gate(mut self, step: StepIndex) -> Applied {
        self.enabler = step;
        for access in &mut self.accesses {
            access.mode = match access.mode {
                Mode::Read => Mode::Await,
                Mode::Write => Mode::AwaitWrite,
                other => other,
            };
        }
        self.full_mode = match self.full_mode {
            Mode::Write => Mode::AwaitWrite,
            other => other,
        };
        self
    }

    /// The same with an enabling step.
    #[must_use]
    pub const fn enabled_by(mut self, step: StepIndex) -> Applied {
        self.enabler = step;
        self
    }
}

/// Who applies an operation, and when.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The thread.
    pub thread: ThreadId,
    /// The number of the step.
    pub step: StepIndex,
    /// The alternative that was chosen.
    pub alt: Alt,
}

/// The state of one object.
#[derive(Clone, Debug)]
pub enum State {
    /// Memory: the value it was last seen to have, as a number.
    Memory(u64),
    /// A mutex.
    Mutex(mutex::Mutex),
    /// A condition variable.
    Condvar(condvar::Condvar),
    /// A thread: has it ended.
    Thread(park::Thread),
    /// A thread's park token.
    Token(park::Token),
}

impl State {
    fn renew(&mut self) {
        match self {
            State::Memory(value) => *value = 0,
            State::Mutex(mutex) => *mutex = mutex::Mutex::default(),
            State::Condvar(condvar) => condvar.renew(),
            State::Thread(thread) => *thread = park::Thread::default(),
            State::Token(token) => *token = park::Token::default(),
        }
    }

    /// How reports call such an object.
    fn noun(&self) -> &'static str {
        match self {
            State::Memory(_) => "atomic",
            State::Mutex(_) => "mutex",
            State::Condvar(_) => "condvar",
            State::Thread(_) => "thread",
            State::Token(_) => "park token",
        }
    }
}

/// What kind of object a first use creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ObjectKind {
    /// An atomic or other memory cell.
    Memory,
    /// A mutex.
    Mutex,
    /// A condition variable.
    Condvar,
    /// A thread.
    Thread,
    /// A thread's park token.
    Token,
}

impl ObjectKind {
    fn fresh(self) -> State {
        match self {
            ObjectKind::Memory => State::Memory(0),
            ObjectKind::Mutex => State::Mutex(mutex::Mutex::default()),
            ObjectKind::Condvar => State::Condvar(condvar::Condvar::default()),
            ObjectKind::Thread => State::Thread(park::Thread::default()),
            ObjectKind::Token => State::Token(park::Token::default()),
        }
    }
}

/// All objects. Numbers persist between executions, states do not.
#[derive(Debug, Default)]
pub struct Objects {
    states: Vec<State>,
}

impl Objects {
    /// A number for a new object, in its first state.
    pub fn create(&mut self, kind: ObjectKind) -> ObjectId {
        let id = ObjectId(u32::try_from(self.states.len()).expect("fewer than 2^32 objects"));
        self.states.push(kind.fresh());
        id
    }

    /// Puts an object in its first state: its first use in an execution.
    pub fn renew(&mut self, object: ObjectId) {
        self.states[object.0 as usize].renew();
    }

    /// The state of an object as a number, where operations on it depend on it.
    pub fn summary(&self, object: ObjectId) -> u64 {
        match self.state(object) {
            State::Mutex(mutex) => mutex.summary(),
            State::Condvar(condvar) => condvar.summary(),
            State::Memory(value) => *value,
            State::Thread(_) | State::Token(_) => 0,
        }
    }

    /// The state of `object`.
    pub fn state(&self, object: ObjectId) -> &State {
        &self.states[object.0 as usize]
    }

    fn mutex(&mut self, object: ObjectId) -> &mut mutex::Mutex {
        match &mut self.states[object.0 as usize] {
            State::Mutex(mutex) => mutex,
            other => unreachable!("{object:?} is {other:?}, not a mutex"),
        }
    }

    fn condvar(&mut self, object: ObjectId) -> &mut condvar::Condvar {
        match &mut self.states[object.0 as usize] {
            State::Condvar(condvar) => condvar,
            other => unreachable!("{object:?} is {other:?}, not a condvar"),
        }
    }

    fn thread(&mut self, object: ObjectId) -> &mut park::Thread {
        match &mut self.states[object.0 as usize] {
            State::Thread(thread) => thread,
            other => unreachable!("{object:?} is {other:?}, not a thread"),
        }
    }

    fn token(&mut self, object: ObjectId) -> &mut park::Token {
        match &mut self.states[object.0 as usize] {
            State::Token(token) => token,
            other => unreachable!("{object:?} is {other:?}, not a park token"),
        }
    }

    /// Whether `op`, pending in `thread`, could run now.
    pub fn ready(&self, thread: ThreadId, op: &Op) -> Ready {
        match (op.kind, self.states.get(op.object.0 as usize)) {
            (Kind::Lock, Some(State::Mutex(mutex))) => mutex.ready(),
            (Kind::CondvarWake | Kind::FutexSleep, Some(State::Condvar(condvar))) => {
                condvar.ready(thread, op)
            }
            (Kind::Park, Some(State::Token(token))) => token.ready(op),
            (Kind::Join, Some(State::Thread(target))) => target.ready_to_join(),
            (Kind::CompareExchangeWeak, _) => {
                Ready { enabled: true, costly: BudgetKinds::NONE.with(BudgetKind::WeakFailure) }
            }
            _ => Ready::ALWAYS,
        }
    }

    /// Executes `op`, which must be ready (or have the costly alternative of `moment`).
    pub fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::Begin => Applied::LOCAL.enabled_by(op.arg),
            Kind::Yield | Kind::Sleep | Kind::Fence | Kind::Spawn => Applied::LOCAL,
            Kind::Inspect => Applied::access(op.object, Mode::Read).when(self.summary(op.object)),
            Kind::Adjust => Applied::access(op.object, Mode::Write).when(self.summary(op.object)),
            Kind::Load => Applied::access(op.object, Mode::Read),
            Kind::Store | Kind::ReadModifyWrite | Kind::CompareExchange => {
                Applied::access(op.object, Mode::Write)
            }
            Kind::CompareExchangeWeak => {
                let mut applied = Applied::access(op.object, Mode::Write);
                applied.costly_alts = BudgetKinds::NONE.with(BudgetKind::WeakFailure);
                applied
            }
            Kind::Lock | Kind::TryLock | Kind::Unlock => self.mutex(op.object).apply(moment, op),
            Kind::CondvarEnqueue | Kind::CondvarWake | Kind::NotifyOne | Kind::NotifyAll => {
                self.condvar(op.object).apply(moment, op)
            }
            Kind::Park | Kind::Unpark => self.token(op.object).apply(moment, op),
            Kind::End | Kind::Join | Kind::IsFinished => self.thread(op.object).apply(moment, op),
            Kind::CountUp | Kind::CountDown => Applied::access(op.object, Mode::Mark),
            Kind::FutexWait => {
                let mut applied = self.condvar(op.object).apply(moment, op);
                applied.accesses[1] = Access::new(op.second, Mode::Read);
                applied
            }
            Kind::FutexSleep | Kind::FutexWake => self.condvar(op.object).apply(moment, op),
            Kind::Choose => {
                Applied { free_alts: op.arg as u16, ..Applied::LOCAL.result(u32::from(moment.alt.0)) }
            }
        }
    }

    /// Memory has this value now.
    #[inline]
    pub fn set_value(&mut self, object: ObjectId, value: u64) {
        if let State::Memory(known) = &mut self.states[object.0 as usize] {
            *known = value;
        }
    }

    /// What `object` is, in a word.
    pub fn noun(&self, object: ObjectId) -> &'static str {
        self.state(object).noun()
    }

    /// The thread that holds `object`, if it is held by one.
    pub fn holder(&self, object: ObjectId) -> Option<ThreadId> {
        match self.states.get(object.0 as usize)? {
            State::Mutex(mutex) => mutex.owner(),
            _ => None,
        }
    }
}
