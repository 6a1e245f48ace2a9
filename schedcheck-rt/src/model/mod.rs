//! The state machine of each primitive: what an operation needs before it can run ([`Objects::ready`])
//! and what it does ([`Objects::apply`]). No user data, no threads, no scheduling: every file can be
//! tested alone.
//!
//! An object's state lives here, not in the user's memory, so a new execution starts with fresh
//! locks wherever the object itself lives (also in a static). The user's data and the values of
//! atomics stay where the program put them.

mod apply;
mod barrier;
mod baton;
mod channel;
mod condvar;
mod life;
mod misuse;
mod mutex;
mod once;
mod op;
mod park;
mod rwlock;

pub(crate) use barrier::LEADER;
pub(crate) use baton::{BLOCKED, NEVER};
pub(crate) use channel::{DISCONNECTED, GAVE_UP, NOT_NOW, PASSED_ON, UNBOUNDED};
pub(crate) use condvar::{Notified, TIMED_OUT};
pub(crate) use life::{FINISHED, LAST};
pub use misuse::Misuse;
pub(crate) use mutex::WOULD_BLOCK;
pub(crate) use once::{COMPLETE, IGNORE_POISON, POISONED};
pub use op::{Kind, Op, Site};
pub(crate) use rwlock::{HAS_OFFERS, HAS_WAITED, IN_LINE, NESTED_IN_LINE};

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
    /// One could also have waited (see `Event::could_wait`).
    pub could_wait: bool,
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
            could_wait: false,
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

    /// The same of an operation that found its object in this state.
    #[must_use]
    const fn from(mut self, before: u64) -> Applied {
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
        if self.costly_alts != BudgetKinds::NONE {
            // An enabler would say that the alternatives were possible before it. They are possible
            // here; what the search tries before the gate is opened is abandoned there.
            return self;
        }
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
    Thread(life::Life),
    /// A thread's park token.
    Token(park::Token),
    /// A reader-writer lock.
    RwLock(rwlock::RwLock),
    /// A one-time initialisation.
    Once(once::Once),
    /// A barrier.
    Barrier(barrier::Barrier),
    /// A channel.
    Channel(channel::Channel),
    /// The right to run in a scenario.
    Baton(baton::Baton),
    /// Something that the program names: what it is like is its own affair.
    Variable,
    /// A part of another object, which keeps the state.
    Name,
}

impl State {
    /// How reports call such an object.
    fn noun(&self) -> &'static str {
        match self {
            State::Memory(_) => "atomic",
            State::Mutex(_) => "mutex",
            State::Condvar(_) => "condvar",
            State::Thread(_) => "thread",
            State::Token(_) => "park token",
            State::RwLock(_) => "rwlock",
            State::Once(_) => "once",
            State::Barrier(_) => "barrier",
            State::Channel(_) => "channel",
            State::Baton(_) => "scenario",
            State::Variable => "variable",
            State::Name => "part",
        }
    }
}

/// What kind of object a first use creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A reader-writer lock.
    RwLock,
    /// A one-time initialisation.
    Once {
        /// It was done before the execution began.
        complete: bool,
    },
    /// A barrier.
    Barrier,
    /// A channel with so many places.
    Channel {
        /// The places; `u32::MAX` for any number.
        capacity: u32,
    },
    /// The right to run in a scenario.
    Baton,
    /// Something that the program names.
    Variable,
    /// A part of another object that is accessed on its own.
    Name,
}

impl ObjectKind {
    /// A small number that tells kinds apart.
    pub const fn code(self) -> u8 {
        match self {
            ObjectKind::Memory => 1,
            ObjectKind::Mutex => 2,
            ObjectKind::Condvar => 3,
            ObjectKind::Thread => 4,
            ObjectKind::Token => 5,
            ObjectKind::RwLock => 6,
            ObjectKind::Once { .. } => 7,
            ObjectKind::Barrier => 8,
            ObjectKind::Channel { .. } => 9,
            ObjectKind::Name => 10,
            ObjectKind::Baton => 11,
            ObjectKind::Variable => 12,
        }
    }

    /// The kind of a number, with details that its first use in an execution sets.
    pub const fn from_code(code: u8) -> Option<ObjectKind> {
        Some(match code {
            1 => ObjectKind::Memory,
            2 => ObjectKind::Mutex,
            3 => ObjectKind::Condvar,
            4 => ObjectKind::Thread,
            5 => ObjectKind::Token,
            6 => ObjectKind::RwLock,
            7 => ObjectKind::Once { complete: false },
            8 => ObjectKind::Barrier,
            9 => ObjectKind::Channel { capacity: UNBOUNDED },
            11 => ObjectKind::Baton,
            12 => ObjectKind::Variable,
            _ => return None,
        })
    }

    /// How many parts that are accessed on their own follow the object.
    pub const fn parts(self) -> u32 {
        match self {
            // The poison flag, or "done".
            ObjectKind::Mutex | ObjectKind::Once { .. } => 1,
            // The poison flag and the queue of writers.
            ObjectKind::RwLock => 2,
            ObjectKind::Thread => life::PARTS,
            ObjectKind::Channel { .. } => channel::CHANNEL_OBJECTS - 1,
            _ => 0,
        }
    }

    /// Puts `state`, left by an earlier execution, back to the first one.
    #[inline]
    fn renew(self, state: &mut State) {
        match (self, state) {
            (ObjectKind::Memory, State::Memory(value)) => *value = 0,
            (ObjectKind::Thread, State::Thread(thread)) => *thread = life::Life::default(),
            (ObjectKind::Token, State::Token(token)) => *token = park::Token::default(),
            (ObjectKind::Mutex, State::Mutex(mutex)) => *mutex = mutex::Mutex::default(),
            // These keep their memory.
            (ObjectKind::Condvar, State::Condvar(condvar)) => condvar.renew(),
            (ObjectKind::Channel { capacity }, State::Channel(channel)) => channel.renew(capacity),
            (kind, state) => *state = kind.fresh(),
        }
    }

    fn fresh(self) -> State {
        match self {
            ObjectKind::Memory => State::Memory(0),
            ObjectKind::Mutex => State::Mutex(mutex::Mutex::default()),
            ObjectKind::Condvar => State::Condvar(condvar::Condvar::default()),
            ObjectKind::Thread => State::Thread(life::Life::default()),
            ObjectKind::Token => State::Token(park::Token::default()),
            ObjectKind::RwLock => State::RwLock(rwlock::RwLock::default()),
            ObjectKind::Once { complete } => State::Once(once::Once::new(complete)),
            ObjectKind::Barrier => State::Barrier(barrier::Barrier::default()),
            ObjectKind::Channel { capacity } => State::Channel(channel::Channel::new(capacity)),
            ObjectKind::Baton => State::Baton(baton::Baton::default()),
            ObjectKind::Variable => State::Variable,
            ObjectKind::Name => State::Name,
        }
    }
}

/// The object that stands for the poison flag of a lock: numbered after the lock.
const fn poison_of(lock: ObjectId) -> ObjectId {
    ObjectId(lock.0 + 1)
}

/// How the poison flag of a lock is looked at and cleared. Whoever locks sees the flag, so clearing
/// it competes with locking. It does not take the lock, which somebody may hold meanwhile.
pub(crate) fn poison_accesses(op: &Op) -> [Access; 2] {
    let flag = |mode| Access::new(poison_of(op.object), mode);
    match op.kind {
        Kind::Adjust => [Access::new(op.object, Mode::Read), flag(Mode::Write)],
        _ => [flag(Mode::Read), Access::NONE],
    }
}

/// What an unlock does, also one that is pending: it poisons if its parameter is not zero.
pub(crate) fn unlocked(op: &Op) -> Applied {
    let mut applied = Applied::access(op.object, Mode::Release);
    if op.arg != 0 {
        applied.accesses[1] = Access::new(poison_of(op.object), Mode::Write);
    }
    applied
}

/// The state of an object whose kind the operation tells.
macro_rules! states_by_kind {
    ($( $name:ident: $state:ident($type:ty), $noun:literal; )*) => { $(
        fn $name(&mut self, object: ObjectId) -> &mut $type {
            match &mut self.states[object.0 as usize] {
                State::$state(state) => state,
                other => unreachable!(concat!("{:?} is {:?}, not ", $noun), object, other),
            }
        }
    )* };
}

/// All objects. Numbers persist between executions, states do not.
#[derive(Debug, Default)]
pub struct Objects {
    states: Vec<State>,
    /// Who holds which reader-writer lock for reading, one entry per guard.
    read_guards: Vec<(ThreadId, ObjectId)>,
    /// Reader-writer locks whose mark of waiting writers outlived a writer.
    marked: Vec<ObjectId>,
    /// The last operation broke a rule of its primitive.
    misuse: Option<Misuse>,
}

impl Objects {
    /// The next execution starts.
    pub fn begin(&mut self) {
        self.read_guards.clear();
        self.marked.clear();
        self.misuse = None;
    }

    /// The rule that an operation of this execution has broken.
    #[inline]
    pub fn misuse(&self) -> Option<Misuse> {
        self.misuse
    }

    /// A number for a new object, in its first state.
    pub fn create(&mut self, kind: ObjectKind) -> ObjectId {
        let id = ObjectId(u32::try_from(self.states.len()).expect("fewer than 2^32 objects"));
        self.states.push(kind.fresh());
        for _ in 0..kind.parts() {
            self.states.push(State::Name);
        }
        id
    }

    /// How many numbers were given, parts included.
    pub fn count(&self) -> u32 {
        self.states.len() as u32
    }

    /// Puts an object in its first state: its first use in an execution.
    #[inline]
    pub fn renew(&mut self, object: ObjectId, kind: ObjectKind) {
        kind.renew(&mut self.states[object.0 as usize]);
    }

    /// The state of an object as a number, where operations on it depend on it.
    #[inline]
    pub fn summary(&self, object: ObjectId) -> u64 {
        match self.state(object) {
            State::Mutex(mutex) => mutex.summary(),
            State::Condvar(condvar) => condvar.summary(),
            State::Memory(value) => *value,
            State::RwLock(rwlock) => rwlock.summary(),
            State::Once(once) => once.summary(),
            State::Barrier(barrier) => barrier.summary(),
            State::Channel(channel) => channel.summary(),
            State::Thread(thread) => thread.summary(),
            State::Token(token) => token.summary(),
            State::Baton(_) | State::Variable | State::Name => 0,
        }
    }

    /// The state of `object`.
    pub fn state(&self, object: ObjectId) -> &State {
        &self.states[object.0 as usize]
    }

    states_by_kind! {
        mutex: Mutex(mutex::Mutex), "a mutex";
        condvar: Condvar(condvar::Condvar), "a condvar";
        thread: Thread(life::Life), "a thread";
        token: Token(park::Token), "a park token";
        rwlock: RwLock(rwlock::RwLock), "a reader-writer lock";
        once: Once(once::Once), "a one-time initialisation";
        barrier: Barrier(barrier::Barrier), "a barrier";
        channel: Channel(channel::Channel), "a channel";
        baton: Baton(baton::Baton), "the right to run";
    }

    /// Another sender of the channel `head` exists.
    pub fn add_sender(&mut self, head: ObjectId) {
        self.channel(head).add_sender();
    }

    /// The accesses of a pending operation on the channel `op.object`.
    pub(crate) fn channel_accesses(&self, op: &Op) -> [Access; 2] {
        match self.state(op.object) {
            State::Channel(channel) => channel.pending_accesses(op),
            other => unreachable!("{:?} is {other:?}, not a channel", op.object),
        }
    }

    /// The accesses of a pending operation on a one-time initialisation.
    pub(crate) fn once_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        match self.state(op.object) {
            State::Once(once) => once.pending_accesses(op, enabled),
            other => unreachable!("{:?} is {other:?}, not a one-time initialisation", op.object),
        }
    }

    /// The accesses of a pending operation on a reader-writer lock.
    pub(crate) fn rwlock_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        match self.state(op.object) {
            State::RwLock(rwlock) => rwlock.pending_accesses(op, enabled),
            other => unreachable!("{:?} is {other:?}, not a reader-writer lock", op.object),
        }
    }

    /// The accesses of a pending operation on a thread.
    pub(crate) fn life_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        match self.state(op.object) {
            State::Thread(life) => life.pending_accesses(op, enabled),
            other => unreachable!("{:?} is {other:?}, not a thread", op.object),
        }
    }

    /// Whether the body of the thread with that `life` is done.
    pub(crate) fn body_is_done(&self, life: ObjectId) -> bool {
        matches!(self.state(life), State::Thread(life) if life.body_is_done())
    }

    /// Read acquisitions of `lock` that may stand in line instead.
    pub fn offers(&self, lock: ObjectId) -> &[StepIndex] {
        match self.state(lock) {
            State::RwLock(rwlock) => rwlock.offers(),
            _ => &[],
        }
    }

    /// The same at the end of an execution in which `writer` still waits for `lock`.
    pub fn offers_at_end(&mut self, lock: ObjectId, writer: ThreadId) -> &[StepIndex] {
        self.rwlock(lock).offers_at_end(writer)
    }

    /// The reader-writer locks at which a mark of waiting writers may have held readers back.
    pub fn marked(&self) -> usize {
        self.marked.len()
    }

    /// At the end of an execution: the steps of those readers at one of them.
    pub fn held_back_by_mark(&mut self, at: usize) -> &[StepIndex] {
        let lock = self.marked[at];
        self.rwlock(lock).held_back_by_mark()
    }

    /// The progress of the one-time initialisation `object`.
    pub fn progress(&self, object: ObjectId) -> u32 {
        match self.state(object) {
            State::Once(once) => once.progress(),
            other => unreachable!("{object:?} is {other:?}, not a one-time initialisation"),
        }
    }

    /// Memory has this value now.
    #[inline]
    pub fn set_value(&mut self, object: ObjectId, value: u64) {
        if let State::Memory(known) = &mut self.states[object.0 as usize] {
            *known = value;
        }
    }

    /// The object of which `object` is a part, or itself.
    pub fn whole(&self, object: ObjectId) -> ObjectId {
        let parts = self.states[..=object.0 as usize].iter().rev();
        let behind = parts.take_while(|state| matches!(state, State::Name)).count();
        ObjectId(object.0 - behind as u32)
    }

    /// What `object` is, in a word.
    pub fn noun(&self, object: ObjectId) -> &'static str {
        self.state(object).noun()
    }

    /// The thread that holds `object`, if it is held by one.
    pub fn holder(&self, object: ObjectId) -> Option<ThreadId> {
        match self.states.get(object.0 as usize)? {
            State::Mutex(mutex) => mutex.owner(),
            State::RwLock(rwlock) => rwlock.holder(),
            State::Once(once) => once.runner(),
            State::Baton(baton) => baton.holder(),
            _ => None,
        }
    }
}
