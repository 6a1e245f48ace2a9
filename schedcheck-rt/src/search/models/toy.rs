//! A small machine whose programs are known down to every state: what the engine is tested on.
//!
//! A thread is a function from the results of its steps so far to its next operation. All objects
//! live in one numbered array; an object is used as a variable, a lock, a condition variable or a
//! channel by the operations that name it.

use super::super::history::mix;
use super::super::step::*;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// One operation; every one of them yields one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Load(u32),
    Store(u32, u64),
    Add(u32, u64),
    Cas(u32, u64, u64),
    WeakCas(u32, u64, u64),
    Lock(u32),
    Unlock(u32),
    TryLock(u32),
    ReadLock(u32),
    TryRead(u32),
    UnlockShared(u32),
    /// First part of a wait: enter the queue of the condition variable.
    Enqueue(u32),
    /// Second part: sleep until notified. Result 0 notified, 1 spurious, 2 timed out.
    Sleep {
        condvar: u32,
        timed: bool,
    },
    NotifyOne(u32),
    NotifyAll(u32),
    Send(u32, u64),
    Recv(u32),
    TryRecv(u32),
    Choose(u16),
    Spawn(u16),
    /// First step of a spawned thread.
    Start,
    /// Last step of a thread that is joined.
    Finish,
    Join(u16),
    /// First part of a round of a loop that waits: a load. Without a change since the last round
    /// there is no further round.
    Look(u32),
    /// Second part: another load.
    LookAside(u32),
    /// Asks for others to go first.
    Yield,
    /// Waits for a variable, or does not: it looks once more, and the result is one more than what it sees.
    Spin(u32),
}

pub(crate) type Script = Rc<dyn Fn(&[u64]) -> Option<Op>>;

/// A thread that does the same whatever it sees.
pub(crate) fn straight(ops: Vec<Op>) -> Script {
    Rc::new(move |results| ops.get(results.len()).copied())
}

/// Threads, of which the first `running` need no spawning, and initial values.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Script>,
    pub(crate) running: usize,
    pub(crate) objects: Vec<u64>,
    /// Which operations of each thread are trusted, by position, as a set of bits.
    pub(crate) trusted: Vec<u64>,
}

impl Program {
    pub(crate) fn new(threads: Vec<Script>, objects: usize) -> Self {
        Program { running: threads.len(), threads, objects: vec![0; objects], trusted: Vec::new() }
    }
}

const HELD: u64 = u64::MAX;

/// What is the same operation stands at the same place.
fn site_of(op: Op) -> u32 {
    let mut hasher = FxHasher::default();
    op.hash(&mut hasher);
    hasher.finish() as u32
}

#[derive(Clone, Default)]
struct Object {
    /// Value of a variable, holders of a lock ([`HELD`] for one exclusive holder).
    value: u64,
    queue: Vec<u16>,
    items: Vec<(u64, StepIndex)>,
    changes: u32,
}

/// What keeps a loop that waits from going round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    /// Nothing.
    Open,
    /// This object has not changed since the last round.
    Closed(u32),
    /// It was closed until this step.
    Opened(StepIndex),
}

#[derive(Clone)]
struct Thread {
    results: Vec<u64>,
    spawned: Option<StepIndex>,
    notified: Option<StepIndex>,
    finished: Option<StepIndex>,
    /// The object looked at last, and its changes until then.
    looked: (u32, u32),
    gate: Gate,
}

/// A state of a program.
#[derive(Clone)]
pub(crate) struct State<'p> {
    program: &'p Program,
    objects: Vec<Object>,
    threads: Vec<Thread>,
    last: Option<ThreadId>,
    pub(crate) used: [u16; BudgetKinds::COUNT],
    pub(crate) preemptions: u32,
    pub(crate) steps: StepIndex,
}

impl<'p> State<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let thread = |number| Thread {
            results: Vec::new(),
            spawned: (number < program.running).then_some(NO_STEP),
            notified: None,
            finished: None,
            looked: (0, 0),
            gate: Gate::Open,
        };
        State {
            program,
            objects: program.objects.iter().map(|&value| Object { value, ..Object::default() }).collect(),
            threads: (0..program.threads.len()).map(thread).collect(),
            last: None,
            used: [0; BudgetKinds::COUNT],
            preemptions: 0,
            steps: 0,
        }
    }

    fn op(&self, thread: u16) -> Option<Op> {
        let me = &self.threads[thread as usize];
        me.spawned?;
        (self.program.threads[thread as usize])(&me.results)
    }

    fn enabled(&self, thread: u16, op: Op) -> bool {
        match op {
            Op::Lock(m) => self.objects[m as usize].value == 0,
            Op::ReadLock(m) => self.objects[m as usize].value != HELD,
            Op::Sleep { .. } => self.threads[thread as usize].notified.is_some(),
            Op::Recv(c) => !self.objects[c as usize].items.is_empty(),
            Op::Join(t) => self.threads[t as usize].finished.is_some(),
            Op::Look(_) => !self.is_gated(thread),
            _ => true,
        }
    }

    fn is_gated(&self, thread: u16) -> bool {
        matches!(self.threads[thread as usize].gate, Gate::Closed(_))
    }

    fn costly(&self, thread: u16, op: Op) -> BudgetKinds {
        match op {
            Op::Sleep { timed, .. } if self.threads[thread as usize].notified.is_none() => {
                ways_to_wake(timed)
            }
            Op::WeakCas(x, expected, _) if self.objects[x as usize].value == expected => {
                BudgetKinds::NONE.with(BudgetKind::WeakFailure)
            }
            Op::Spin(_) => BudgetKinds::NONE.with(BudgetKind::Impatience),
            _ => BudgetKinds::NONE,
        }
    }

    /// Whether the last operation of a thread and its next one are both trusted.
    fn is_held(&self, thread: u16) -> bool {
        let next = self.threads[thread as usize].results.len() as u32;
        let trusted = self.program.trusted.get(thread as usize).copied().unwrap_or(0);
        let trusted = |at: u32| trusted >> at & 1 != 0;
        next > 0 && trusted(next - 1) && trusted(next)
    }

    /// The thread that is running, if it can go on and wants to: to leave it is a preemption.
    fn running(&self) -> Option<ThreadId> {
        let goes_on =
            |last: &ThreadId| self.op(last.0).is_some_and(|op| op != Op::Yield && self.enabled(last.0, op));
        self.last.filter(goes_on)
    }

    /// The thread that is running and must not be preempted.
    pub(crate) fn held(&self) -> Option<ThreadId> {
        self.running().filter(|last| self.is_held(last.0))
    }

    /// What every live thread is about to do.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        let mut all = Vec::new();
        for thread in 0..self.threads.len() as u16 {
            if let Some(op) = self.op(thread) {
                let (access, ..) = self.describe(op);
                all.push(Pending {
                    thread: ThreadId(thread),
                    enabled: self.enabled(thread, op),
                    costly_alts: self.costly(thread, op),
                    accesses: [access, Access::NONE],
                    site: site_of(op),
                    yields: op == Op::Yield,
                    held: self.is_held(thread),
                    comes_round: matches!(op, Op::Look(_)),
                });
            }
        }
        all
    }

    /// Number of free alternatives of a thread's next operation.
    pub(crate) fn free_alts(&self, thread: ThreadId) -> u16 {
        match self.op(thread.0) {
            Some(Op::NotifyOne(c)) => self.objects[c as usize].queue.len().max(1) as u16,
            Some(Op::Choose(n)) => n,
            _ => 1,
        }
    }

    /// The access if run now, when it is a mere read, its mode otherwise, and the state before.
    fn describe(&self, op: Op) -> (Access, ReadsWhen, Mode, u64) {
        let value = |x: u32| self.objects[x as usize].value;
        let (object, reads_when, mode, before) = match op {
            Op::Load(x) | Op::Look(x) | Op::LookAside(x) => (x, ReadsWhen::Never, Mode::Read, value(x)),
            Op::Store(x, _) | Op::Add(x, _) => (x, ReadsWhen::Never, Mode::Write, value(x)),
            Op::Cas(x, expected, _) | Op::WeakCas(x, expected, _) => {
                (x, ReadsWhen::StateIsNot(expected), Mode::Write, value(x))
            }
            Op::Lock(m) => (m, ReadsWhen::Never, Mode::Acquire, value(m)),
            Op::Unlock(m) => (m, ReadsWhen::Never, Mode::Release, value(m)),
            Op::TryLock(m) => (m, ReadsWhen::StateIsNot(0), Mode::TryAcquire, value(m)),
            Op::ReadLock(m) => (m, ReadsWhen::Never, Mode::AcquireShared, value(m)),
            Op::TryRead(m) => (m, ReadsWhen::StateIs(HELD), Mode::TryAcquireShared, value(m)),
            Op::UnlockShared(m) => (m, ReadsWhen::Never, Mode::ReleaseShared, value(m)),
            Op::Enqueue(c) | Op::Sleep { condvar: c, .. } => {
                let waiters = self.objects[c as usize].queue.len() as u64;
                let mode = if matches!(op, Op::Enqueue(_)) { Mode::Write } else { Mode::None };
                (c, ReadsWhen::Never, mode, waiters)
            }
            Op::NotifyOne(c) | Op::NotifyAll(c) => {
                let waiters = self.objects[c as usize].queue.len() as u64;
                (c, ReadsWhen::StateIs(0), Mode::Write, waiters)
            }
            Op::Send(c, _) | Op::Recv(c) | Op::TryRecv(c) => {
                let items = self.objects[c as usize].items.len() as u64;
                match op {
                    Op::Send(..) => (c, ReadsWhen::Never, Mode::Write, items),
                    Op::Recv(_) => (c, ReadsWhen::Never, Mode::AwaitWrite, items),
                    _ => (c, ReadsWhen::StateIs(0), Mode::TryAcquire, items),
                }
            }
            Op::Spin(x) => (x, ReadsWhen::Never, Mode::None, value(x)),
            Op::Choose(_) | Op::Spawn(_) | Op::Start | Op::Finish | Op::Join(_) | Op::Yield => {
                return (Access::NONE, ReadsWhen::Never, Mode::None, 0);
            }
        };
        let reads = match reads_when {
            ReadsWhen::Never => false,
            ReadsWhen::StateIs(state) => before == state,
            ReadsWhen::StateIsNot(state) => before != state,
        };
        let now = if reads { Mode::Read } else { mode };
        (Access::new(ObjectId(object), now), reads_when, mode, before)
    }

    /// Runs the next operation of a thread.
    pub(crate) fn step(&mut self, choice: Choice, forced: bool) -> Event {
        let thread = choice.thread.0;
        let op = self.op(thread).expect("the thread has an operation");
        let mut event = Event::of(choice.thread);
        event.alt = choice.alt;
        let previous = self.running();
        event.previous_enabled = previous.is_some();
        if previous.is_some_and(|last| last != choice.thread) {
            self.preemptions += 1;
        }
        event.free_alts = self.free_alts(choice.thread);
        event.costly_alts = match op {
            Op::Sleep { timed, .. } => ways_to_wake(timed),
            _ => self.costly(thread, op),
        };
        event.forced = forced;
        event.yields = op == Op::Yield;
        event.comes_round = matches!(op, Op::Look(_));
        event.site = site_of(op);
        let (access, reads_when, full_mode, before) = self.describe(op);
        event.accesses[0] = access;
        (event.reads_when, event.full_mode, event.before) = (reads_when, full_mode, before);
        if let (Some(kind), false) = (choice.alt.budget(), forced) {
            self.used[kind as usize] += 1;
        }
        let result = self.effect(thread, op, &mut event);
        self.work_gates(thread, op, &mut event);
        self.threads[thread as usize].results.push(result);
        self.last = Some(choice.thread);
        self.steps += 1;
        event
    }

    fn effect(&mut self, thread: u16, op: Op, event: &mut Event) -> u64 {
        let step = self.steps;
        let changed = event.accesses[0].mode != Mode::Read;
        let object = event.accesses[0].object;
        let mut nothing = Object::default();
        let on = if object == ObjectId::NONE { &mut nothing } else { &mut self.objects[object.0 as usize] };
        match op {
            Op::Load(_) | Op::Look(_) | Op::LookAside(_) => on.value,
            Op::Store(_, value) => {
                on.value = value;
                0
            }
            Op::Add(_, k) => {
                on.value += k;
                on.value - k
            }
            Op::Cas(_, _, new) | Op::WeakCas(_, _, new) => {
                let seen = on.value;
                if event.alt == Alt::WEAK_FAILURE {
                    event.accesses[0].mode = Mode::Read;
                    return seen ^ HELD;
                }
                if changed {
                    on.value = new;
                }
                seen
            }
            Op::Lock(_) => {
                on.value = HELD;
                0
            }
            Op::TryLock(_) => {
                if changed {
                    on.value = HELD;
                }
                u64::from(changed)
            }
            Op::Unlock(_) => {
                on.value = 0;
                0
            }
            Op::ReadLock(_) | Op::TryRead(_) => {
                if changed {
                    on.value += 1;
                }
                u64::from(changed)
            }
            Op::UnlockShared(_) => {
                on.value -= 1;
                0
            }
            Op::Enqueue(_) => {
                on.queue.push(thread);
                0
            }
            Op::Sleep { .. } => match event.alt {
                Alt::DEFAULT => {
                    // The notify took it out of the queue: nothing is left to race about.
                    event.accesses[0] = Access::NONE;
                    event.enabler = self.threads[thread as usize].notified.take().expect("notified");
                    0
                }
                alt => {
                    event.accesses[0].mode = Mode::Write;
                    on.queue.retain(|&waiter| waiter != thread);
                    match alt {
                        Alt::SPURIOUS => 1,
                        Alt::LATE => 3,
                        _ => 2,
                    }
                }
            },
            Op::NotifyOne(_) => {
                if changed {
                    let woken = on.queue.remove(event.alt.0 as usize);
                    self.threads[woken as usize].notified = Some(step);
                }
                0
            }
            Op::NotifyAll(_) => {
                for woken in std::mem::take(&mut on.queue) {
                    self.threads[woken as usize].notified = Some(step);
                }
                0
            }
            Op::Send(_, value) => {
                on.items.push((value, step));
                0
            }
            Op::Recv(_) => {
                let (value, sent) = on.items.remove(0);
                event.enabler = sent;
                value
            }
            Op::TryRecv(_) => {
                if changed {
                    on.items.remove(0).0
                } else {
                    0
                }
            }
            Op::Choose(_) => u64::from(event.alt.0),
            Op::Spin(_) if event.alt == Alt::IMPATIENT => {
                event.accesses[0].mode = Mode::Read;
                on.value + 1
            }
            Op::Spin(_) => 0,
            Op::Spawn(child) => {
                self.threads[child as usize].spawned = Some(step);
                0
            }
            Op::Start => {
                event.enabler = self.threads[thread as usize].spawned.expect("spawned");
                0
            }
            Op::Finish => {
                self.threads[thread as usize].finished = Some(step);
                0
            }
            Op::Yield => 0,
            Op::Join(child) => {
                event.enabler = self.threads[child as usize].finished.expect("finished");
                0
            }
        }
    }

    /// Closes the gate of a loop that went round without a change, opens those of others.
    fn work_gates(&mut self, thread: u16, op: Op, event: &mut Event) {
        let me = &mut self.threads[thread as usize];
        match op {
            Op::Look(x) => {
                if let Gate::Opened(step) = me.gate {
                    event.accesses[0].mode = Mode::Await;
                    event.enabler = step;
                }
                me.looked = (x, self.objects[x as usize].changes);
                me.gate = Gate::Open;
            }
            Op::LookAside(_) if self.objects[me.looked.0 as usize].changes == me.looked.1 => {
                me.gate = Gate::Closed(me.looked.0);
            }
            _ => {}
        }
        let Access { object, mode } = event.accesses[0];
        if matches!(mode, Mode::None | Mode::Read | Mode::Await) {
            return;
        }
        self.objects[object.0 as usize].changes += 1;
        for other in self.threads.iter_mut().filter(|other| other.gate == Gate::Closed(object.0)) {
            other.gate = Gate::Opened(self.steps);
        }
    }

    /// A number equal for equal states; budgets used and positions of steps do not count.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = 0;
        let mut add = |value: u64| hash = mix(hash ^ value);
        for object in &self.objects {
            add(object.value);
            add(object.queue.len() as u64);
            object.queue.iter().for_each(|&waiter| add(u64::from(waiter)));
            add(object.items.len() as u64);
            object.items.iter().for_each(|&(value, _)| add(value));
        }
        for thread in &self.threads {
            add(thread.results.len() as u64);
            thread.results.iter().for_each(|&result| add(result));
            add(u64::from(thread.notified.is_some()));
            add(u64::from(matches!(thread.gate, Gate::Closed(_))));
            add(u64::from(self.objects[thread.looked.0 as usize].changes == thread.looked.1));
        }
        hash
    }

    /// The time-out that fires when nothing else can run.
    pub(crate) fn forced_timeout(pending: &[Pending]) -> Option<ThreadId> {
        pending
            .iter()
            .find(|pending| pending.costly_alts.contains(BudgetKind::Timeout))
            .map(|pending| pending.thread)
    }
}

/// Runs plans on a program.
pub(crate) struct Toy {
    pub(crate) program: Program,
    /// Fingerprint of the state at the end of the last run.
    pub(crate) final_state: u64,
    /// Preemptions of the last run.
    pub(crate) preemptions: u32,
}

impl Toy {
    pub(crate) fn new(program: Program) -> Self {
        Toy { program, final_state: 0, preemptions: 0 }
    }
}

/// The alternatives of a wait that nobody has ended.
fn ways_to_wake(timed: bool) -> BudgetKinds {
    let kinds = BudgetKinds::NONE.with(BudgetKind::Spurious);
    if timed { kinds.with(BudgetKind::Timeout).with(BudgetKind::Lateness) } else { kinds }
}

impl Model for Toy {
    fn run(&mut self, plan: &Plan, mut guide: Option<&mut dyn Guide>, trace: &mut Trace) {
        trace.clear();
        let mut state = State::new(&self.program);
        let mut deltas = plan.deltas.iter().peekable();
        loop {
            let pending = state.pending();
            let step = state.steps;
            let by_default = || {
                let enabled = || pending.iter().filter(|p| p.enabled);
                let last = state.last.and_then(|last| enabled().find(|p| p.thread == last));
                let on = match last {
                    Some(last) if last.yields => enabled().find(|p| p.thread.0 > last.thread.0),
                    last => last,
                };
                match on.or_else(|| enabled().next()) {
                    Some(next) => Some((Choice { thread: next.thread, alt: Alt::DEFAULT }, false)),
                    None => State::forced_timeout(&pending)
                        .map(|thread| (Choice { thread, alt: Alt::TIMEOUT }, true)),
                }
            };
            let mut decision = match deltas.next_if(|delta| delta.step == step) {
                Some(delta) => Some((delta.choice, false)),
                None => by_default(),
            };
            if let (true, true, Some(guide)) = (step >= plan.prefix, decision.is_some(), &mut guide) {
                match guide.choose(step, state.last, &pending) {
                    Decision::Default => {}
                    Decision::Take(choice) => decision = Some((choice, false)),
                    Decision::Stop => {
                        trace.end = End::Stopped;
                        trace.pending = pending;
                        return;
                    }
                }
            }
            let Some((choice, mut forced)) = decision else {
                trace.pending = pending;
                break;
            };
            if let Some(defaults) = by_default() {
                forced |= defaults.1 && defaults.0 == choice;
            }
            let possible = pending.iter().any(|p| {
                p.thread == choice.thread
                    && match choice.alt.budget() {
                        Some(kind) => p.costly_alts.contains(kind),
                        None => p.enabled && choice.alt.0 < state.free_alts(choice.thread),
                    }
            });
            if !possible {
                let gated = state.is_gated(choice.thread.0);
                trace.end = if gated { End::Stopped } else { End::Diverged(step) };
                trace.pending = pending;
                return;
            }
            if forced {
                let others = pending.iter().filter(|pending| pending.thread != choice.thread);
                trace.waiting.extend(others.map(|&pending| (step, pending)));
            }
            let event = state.step(choice, forced);
            if let Some(guide) = &mut guide {
                guide.executed(step, &event);
            }
            trace.events.push(event);
        }
        self.final_state = state.fingerprint();
        self.preemptions = state.preemptions;
    }
}
