//! The vocabulary shared by the search and by whatever it searches.
//!
//! A *step* is one operation of one thread on a synchronisation object. The search never sees the
//! operation itself, only what it needs to reason about order: who did it, which alternative of its
//! nondeterminism was taken, which objects it accessed and how ([`Mode`]), and which earlier step
//! made it possible ([`Event::enabler`]).

/// A thread, numbered densely. The same thread (same parent, same n-th child of it) has the same
/// number in every execution of one search. The body of the test is thread 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u16);

/// A synchronisation object, numbered densely.
///
/// Numbers below [`ObjectId::FIRST_LOCAL`] are *stable*: they mean the same object in every execution
/// of one search. Others are good for one execution only, numbered by first use; with them the search
/// stays sound but may execute some classes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// "No object": operations that only their own thread can observe.
    pub const NONE: ObjectId = ObjectId(u32::MAX);
    /// The first number that is good for one execution only.
    pub const FIRST_LOCAL: ObjectId = ObjectId(1 << 31);

    /// Whether it means the same object in every execution.
    pub const fn is_stable(self) -> bool {
        self.0 < Self::FIRST_LOCAL.0 || self.0 == Self::NONE.0
    }
}

/// Which way an operation with several possible outcomes went.
///
/// Small numbers are free alternatives (which waiter `notify_one` wakes, `choose(n)`): all of them
/// are explored. The named constants cost a unit of their [`Budget`] kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alt(pub u16);

impl Alt {
    /// What happens unless something else is asked for.
    pub const DEFAULT: Alt = Alt(0);
    /// A timed wait gives up, and its thread goes on as much later again as it was to wait.
    pub const LATE: Alt = Alt(0xFFFB);
    /// A thread that goes round and waits for others leaves them no more time.
    pub const IMPATIENT: Alt = Alt(0xFFFC);
    /// A condvar or park wait returns without having been woken.
    pub const SPURIOUS: Alt = Alt(0xFFFD);
    /// A timed wait gives up.
    pub const TIMEOUT: Alt = Alt(0xFFFE);
    /// `compare_exchange_weak` fails although the value matched.
    pub const WEAK_FAILURE: Alt = Alt(0xFFFF);

    /// Whether a timed wait ends so because its time is over.
    pub const fn gives_up(self) -> bool {
        matches!(self, Alt::TIMEOUT | Alt::LATE)
    }

    /// The budget this alternative draws on; `None` for free alternatives.
    pub const fn budget(self) -> Option<BudgetKind> {
        match self {
            Alt::SPURIOUS => Some(BudgetKind::Spurious),
            Alt::TIMEOUT => Some(BudgetKind::Timeout),
            Alt::WEAK_FAILURE => Some(BudgetKind::WeakFailure),
            Alt::IMPATIENT => Some(BudgetKind::Impatience),
            Alt::LATE => Some(BudgetKind::Lateness),
            _ => None,
        }
    }
}

/// The kinds of alternatives that an execution may take only so many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetKind {
    /// Wake-ups without a cause.
    Spurious,
    /// Timed waits that give up although something else could still run.
    Timeout,
    /// Failures of `compare_exchange_weak` without a cause.
    WeakFailure,
    /// Loops that count their rounds and go on although those they wait for could still run.
    Impatience,
    /// Timed waits that give up although something else could still run, and late.
    Lateness,
}

impl BudgetKind {
    /// All of them, each at its own number.
    pub(crate) const ALL: [BudgetKind; BudgetKinds::COUNT] = [
        BudgetKind::Spurious,
        BudgetKind::Timeout,
        BudgetKind::WeakFailure,
        BudgetKind::Impatience,
        BudgetKind::Lateness,
    ];

    /// Whether no execution has both: who does not wait, or is late, needs no other bad luck. Together they would cost ten
    /// times as much (parking_lot's locks), for schedules that need two unlikely things.
    pub(crate) fn excludes(self, other: BudgetKind) -> bool {
        use BudgetKind::{Impatience, Lateness, Spurious, Timeout, WeakFailure};
        let apart = |one, other| match one {
            Impatience => matches!(other, Spurious | WeakFailure),
            Lateness => matches!(other, Spurious | WeakFailure | Timeout | Impatience),
            _ => false,
        };
        apart(self, other) || apart(other, self)
    }
}

/// A set of [`BudgetKind`]s: the costly alternatives an operation has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetKinds(pub u8);

impl BudgetKinds {
    /// No costly alternative.
    pub const NONE: BudgetKinds = BudgetKinds(0);
    /// How many kinds there are.
    pub(crate) const COUNT: usize = BudgetKind::Lateness as usize + 1;

    /// The set with `kind` added.
    #[must_use]
    pub const fn with(self, kind: BudgetKind) -> Self {
        BudgetKinds(self.0 | 1 << kind as u8)
    }

    /// Whether `kind` is in the set.
    pub const fn contains(self, kind: BudgetKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// The alternatives of this set.
    pub fn alternatives(self) -> impl Iterator<Item = Alt> {
        [Alt::SPURIOUS, Alt::TIMEOUT, Alt::WEAK_FAILURE, Alt::IMPATIENT, Alt::LATE]
            .into_iter()
            .filter(move |alt| alt.budget().is_some_and(|kind| self.contains(kind)))
    }
}

/// How many alternatives of each costly kind one execution may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Spurious wake-ups.
    pub spurious: u16,
    /// Time-outs that fire although another thread could run; and as many that fire late, and as many loops that count their
    /// rounds and do not wait.
    pub timeouts: u16,
    /// Spurious failures of `compare_exchange_weak`.
    pub weak_failures: u16,
}

impl Budget {
    /// No costly alternative at all, except forced time-outs.
    pub const NONE: Budget = Budget { spurious: 0, timeouts: 0, weak_failures: 0 };

    /// How many of that kind.
    pub const fn limit(&self, kind: BudgetKind) -> u16 {
        match kind {
            BudgetKind::Spurious => self.spurious,
            BudgetKind::Timeout | BudgetKind::Impatience | BudgetKind::Lateness => self.timeouts,
            BudgetKind::WeakFailure => self.weak_failures,
        }
    }

    /// Whether one more of that kind is possible where so many of each have been taken. What is possible with some
    /// alternatives is possible with fewer of them.
    pub(crate) fn allows(&self, kind: BudgetKind, taken: [u16; BudgetKinds::COUNT]) -> bool {
        let excluded =
            BudgetKind::ALL.into_iter().any(|other| kind.excludes(other) && taken[other as usize] > 0);
        taken[kind as usize] < self.limit(kind) && !excluded
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { spurious: 1, timeouts: 1, weak_failures: 1 }
    }
}

/// How an operation uses an object. `dependence.rs` says which modes commute and which blocked
/// operations compete; the meaning here is what the model promises about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Does not use it. A sleep on a condition variable names it this way: being woken is ordered
    /// by the enabler alone, but giving up (an alternative) changes the queue.
    None,
    /// Observes the state, never blocks (load, failed CAS, failed `try_lock`, notify without waiter).
    Read,
    /// Changes the state, never blocks (store, RMW, notify, enqueue).
    Write,
    /// Changes the state in a way that commutes with other marks, never blocks (unpark, Arc
    /// clone, Arc drop that is not the last).
    Mark,
    /// Takes it exclusively; blocks until nobody holds it (mutex lock, write lock).
    Acquire,
    /// Takes it together with other sharers; blocks while somebody holds it exclusively.
    AcquireShared,
    /// Took it, or something out of it, without ever blocking (`try_lock`, `try_recv`,
    /// `try_acquire` of a semaphore that succeeded).
    TryAcquire,
    /// Took it shared without ever blocking (`try_read` that succeeded).
    TryAcquireShared,
    /// Gives up exclusive ownership; never blocks.
    Release,
    /// Gives up shared ownership; never blocks.
    ReleaseShared,
    /// Observes the state once it has changed as awaited; blocks until [`Event::enabler`] (join,
    /// await-reduced spin loads). Reordering it before its enabler is impossible.
    Await,
    /// Takes something, once it is there; blocks until [`Event::enabler`] (recv on a channel, park
    /// consuming its token, a permit of a semaphore). What blocks on two sides is two objects: a
    /// bounded send takes room and adds an item, a recv takes an item and adds room. Reordering it
    /// before its enabler is impossible. One that is blocked at the end would have been possible
    /// before the last change it does not follow.
    AwaitWrite,
    /// Goes on as one of the sharers of what it owned exclusively; never blocks.
    Downgrade,
    /// Gives up shared ownership where others are held back until all sharers have done so: it makes a difference who
    /// shares it before that and who after. Never blocks.
    ReleaseInTurn,
}

impl Mode {
    /// All of them, each at its own number.
    pub(crate) const ALL: [Mode; 14] = [
        Mode::None,
        Mode::Read,
        Mode::Write,
        Mode::Mark,
        Mode::Acquire,
        Mode::AcquireShared,
        Mode::TryAcquire,
        Mode::TryAcquireShared,
        Mode::Release,
        Mode::ReleaseShared,
        Mode::Await,
        Mode::AwaitWrite,
        Mode::Downgrade,
        Mode::ReleaseInTurn,
    ];
}

const _: () = {
    let mut at = 0;
    while at < Mode::ALL.len() {
        assert!(Mode::ALL[at] as usize == at, "each at its own number");
        at += 1;
    }
};

/// One object and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The object.
    pub object: ObjectId,
    /// How it is used.
    pub mode: Mode,
}

impl Access {
    /// No access.
    pub const NONE: Access = Access { object: ObjectId::NONE, mode: Mode::None };

    /// An access to `object`.
    pub const fn new(object: ObjectId, mode: Mode) -> Self {
        Access { object, mode }
    }
}

/// When an operation only observes its first object instead of changing it.
///
/// The search reverses a race without running it, so it has to know how the reversed operation
/// will turn out. This and [`Event::before`] tell it. An operation whose mode depends on the state
/// must say so: taken for the mere read that it was when executed, a reversed CAS that now succeeds
/// could be overlooked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadsWhen {
    /// Its mode does not depend on the state.
    #[default]
    Never,
    /// It reads when the state is this (notify: no waiter; `try_read`: held exclusively).
    StateIs(u64),
    /// It reads when the state is anything but this (CAS: the expected value; `try_lock` and
    /// `try_write`: free).
    StateIsNot(u64),
}

/// Position of a step in its execution.
pub type StepIndex = u32;

/// "No step".
pub const NO_STEP: StepIndex = u32::MAX;

/// One executed step.
///
/// The first step of a spawned thread has the spawn as its `enabler` and no alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// Which alternative was taken.
    pub alt: Alt,
    /// How many free alternatives there were (0 and 1 both mean: no choice). They are `Alt(0..n)`.
    pub free_alts: u16,
    /// There was `Alt(1)` as well, to let somebody go first. The model leaves it out of `free_alts` where what follows
    /// shows that it leads to nothing new, apart from the number of preemptions: only a search that counts those needs it.
    pub could_wait: bool,
    /// Costly alternatives that could have been taken instead: at this very step if `enabler` is
    /// [`NO_STEP`], otherwise at any time after the thread's previous step and before `enabler`.
    pub costly_alts: BudgetKinds,
    /// The previously running thread could have gone on: choosing another one was a preemption.
    pub previous_enabled: bool,
    /// The time-out fired because nothing else could run: it costs no budget, and it is ordered
    /// after everything before it and before everything after it.
    pub forced: bool,
    /// The operation gives other threads their turn: to leave its thread before it is no preemption.
    pub yields: bool,
    /// The thread comes round to the operation again, and all that it used since is as it was then: where nobody has
    /// changed it since, the model may refuse the operation as an idle round. Depends on nothing but what the thread
    /// itself has done and found.
    pub comes_round: bool,
    /// The accesses, at most two, unused ones [`Access::NONE`].
    pub accesses: [Access; 2],
    /// The step that made this one possible, if it was blocked before. It is an order edge.
    pub enabler: StepIndex,
    /// State of the first access's object before the step, as a number that is equal for equal
    /// states: the value of an atomic, the number of holders or waiters. Only objects on which
    /// some operation has a [`ReadsWhen`] need one.
    pub before: u64,
    /// When the operation would have been a mere [`Mode::Read`] of its first object, and the mode
    /// it has otherwise.
    pub reads_when: ReadsWhen,
    /// Mode of the first access when `reads_when` does not apply.
    pub full_mode: Mode,
    /// Where in the source, as a number the model can turn into a place.
    pub site: u32,
}

/// What a thread is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Who.
    pub thread: ThreadId,
    /// Whether it can be executed now with its default alternative.
    pub enabled: bool,
    /// Costly alternatives that can be taken now even where `enabled` is false.
    pub costly_alts: BudgetKinds,
    /// The accesses it would make if it ran now: a CAS that would fail is a [`Mode::Read`].
    /// Where the model cannot tell, a CAS counts as [`Mode::Write`], a `try_lock` as
    /// [`Mode::TryAcquire`].
    pub accesses: [Access; 2],
    /// Where in the source.
    pub site: u32,
    /// The operation gives other threads their turn (yield, sleep, spin hint).
    pub yields: bool,
    /// The thread is not to be preempted here: it is in the middle of code that the user trusts.
    /// Depends on nothing but what the thread itself has done.
    pub held: bool,
    /// As [`Event::comes_round`].
    pub comes_round: bool,
}

/// One scheduling decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice {
    /// The thread that runs its pending operation.
    pub thread: ThreadId,
    /// The alternative it takes.
    pub alt: Alt,
}

/// A decision that differs from default behaviour.
///
/// Default behaviour is the model's, and the same for the same steps so far: the running thread goes
/// on; when it cannot, or yields, another enabled one does; every operation takes [`Alt::DEFAULT`];
/// when nothing is enabled, the timed wait with the earliest deadline is forced to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The step it applies to.
    pub step: StepIndex,
    /// What to do there.
    pub choice: Choice,
}

/// What to execute: default behaviour but for these deltas, in order of their steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The decisions that differ from default behaviour.
    pub deltas: Vec<Delta>,
    /// From this step on a [`Guide`] is asked, if there is one; what it takes goes before a delta
    /// of the same step. Without a guide: the number of steps that are fixed.
    pub prefix: StepIndex,
}

impl Plan {
    /// The plan that repeats `trace`, every step spelled out.
    pub fn repeating(trace: &Trace) -> Plan {
        let deltas = trace
            .events
            .iter()
            .zip(0..)
            .filter(|(event, _)| !event.forced)
            .map(|(event, step)| Delta { step, choice: event.choice() })
            .collect();
        Plan { deltas, prefix: trace.events.len() as StepIndex }
    }
}

/// Decides the steps after a plan's prefix where default behaviour is not wanted (random walks,
/// sleep sets, hunts).
pub trait Guide {
    /// Chooses among the pending operations of all live threads, in order of creation.
    /// `running` is the thread that executed the previous step.
    fn choose(&mut self, step: StepIndex, running: Option<ThreadId>, pending: &[Pending]) -> Decision;

    /// A step was executed (also those of the plan's prefix).
    fn executed(&mut self, step: StepIndex, event: &Event);

    /// Whether every thread that can run gets its turn in the end. An endless execution says
    /// something about the program only then.
    fn is_fair(&self) -> bool {
        true
    }
}

/// What a [`Guide`] wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Default behaviour.
    Default,
    /// This choice.
    Take(Choice),
    /// Abandon this execution here.
    Stop,
}

/// How an execution ended, as far as the search cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ran to its end and nothing was wrong.
    Passed,
    /// It failed; the model knows how.
    Failed,
    /// The guide stopped it, or an assumption of the test did not hold: says nothing.
    Stopped,
    /// The plan could not be followed: at this step its choice was not possible.
    Diverged(StepIndex),
}

/// What one execution did. Reused between executions, so that none of them allocates.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The steps, in order.
    pub events: Vec<Event>,
    /// What the threads that had not finished were about to do at the end.
    pub pending: Vec<Pending>,
    /// What the others waited for where a step was forced, in the order of those steps. What they do later need not show it:
    /// a send that waited for room ends without an access to it when the receiver has gone.
    pub waiting: Vec<(StepIndex, Pending)>,
    /// How it ended.
    pub end: End,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { events: Vec::new(), pending: Vec::new(), waiting: Vec::new(), end: End::Passed }
    }
}

impl Event {
    /// A step of `thread` without accesses, choices or causes, to be filled in.
    pub const fn of(thread: ThreadId) -> Self {
        Event {
            thread,
            alt: Alt::DEFAULT,
            free_alts: 0,
            costly_alts: BudgetKinds::NONE,
            could_wait: false,
            previous_enabled: false,
            forced: false,
            yields: false,
            comes_round: false,
            accesses: [Access::NONE; 2],
            enabler: NO_STEP,
            before: 0,
            reads_when: ReadsWhen::Never,
            full_mode: Mode::None,
            site: 0,
        }
    }

    /// The accesses of its other free alternatives. One that may take a lock looks at it otherwise, and which of these it
    /// does commutes with different others: with none, then.
    pub(super) fn accesses_of_others(&self) -> [Access; 2] {
        let [mut first, second] = self.accesses;
        first.mode = if self.full_mode == Mode::TryAcquireShared { Mode::Write } else { first.mode };
        [first, second]
    }

    /// The budget that it drew on: what is forced costs nothing.
    pub(super) const fn cost(&self) -> Option<BudgetKind> {
        if self.forced { None } else { self.alt.budget() }
    }

    /// The choice that led to it.
    pub const fn choice(&self) -> Choice {
        Choice { thread: self.thread, alt: self.alt }
    }
}

impl Trace {
    /// Empties it for the next execution.
    pub fn clear(&mut self) {
        self.events.clear();
        self.pending.clear();
        self.waiting.clear();
        self.end = End::Passed;
    }
}

/// What `method`, `var`, `changed` and sequences of places need to know about the program.
pub trait Places {
    /// Whether the operation at `site` was called, directly or not, from a function of interest.
    fn in_method(&self, site: u32) -> bool;
    /// Whether the operation at `site` stands at a line that was changed.
    fn is_changed(&self, site: u32) -> bool;
    /// Whether the object is one of interest.
    fn is_named(&self, object: ObjectId) -> bool;
    /// Whether a place is the n-th one of a sequence that was asked for.
    fn is_element(&self, site: u32, number: u32) -> bool {
        let _ = (site, number);
        false
    }
    /// Whether two places are on the same line.
    fn same_line(&self, site: u32, other: u32) -> bool {
        site == other
    }
    /// How many lines a place is before the n-th one of a sequence, in the same file.
    fn lines_before(&self, site: u32, number: u32) -> Option<u32> {
        let _ = (site, number);
        None
    }
}

/// Something whose schedules can be searched: the only door between the search and the world.
pub trait Model {
    /// Executes `plan` from the start and writes down what happened. The same plan (and guide)
    /// gives the same trace, always.
    fn run(&mut self, plan: &Plan, guide: Option<&mut dyn Guide>, trace: &mut Trace);
}
