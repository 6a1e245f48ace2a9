//! What one execution says about locks, accesses and order, in the form that predictions are made from.

use super::super::step::{Event, Mode, NO_STEP, ObjectId, StepIndex, ThreadId, Trace};
use super::Point;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Accesses beyond so many are not looked at: predictions are to cost next to nothing.
const MOST_USES: usize = 4000;

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) object: ObjectId,
    pub(super) shared: bool,
    /// Where it was taken.
    pub(super) site: u32,
    pub(super) since: StepIndex,
}

/// The locks that a thread holds.
pub(super) type Locks = SmallVec<[Held; 4]>;

/// An access that other threads may notice.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) step: StepIndex,
    pub(super) thread: ThreadId,
    pub(super) object: ObjectId,
    pub(super) mode: Mode,
    pub(super) site: u32,
    /// How many times its thread has done the same at the same place, this time included.
    pub(super) nth: u32,
    /// Its position among the steps of its thread, counted from 1.
    index: u32,
    /// What is known to come before it, in [`Facts::epochs`].
    epoch: usize,
    /// Locks held just before it.
    pub(super) held: Locks,
}

impl Use {
    pub(super) fn point(&self) -> Point {
        Point { thread: self.thread, site: self.site, object: self.object, nth: self.nth }
    }

    /// Whether it takes a lock, and waits for it if need be.
    pub(super) fn locks(&self) -> bool {
        matches!(self.mode, Mode::Acquire | Mode::AcquireShared)
    }

    /// The locks held while it is done: those from before and its own.
    pub(super) fn while_done(&self) -> impl Iterator<Item = Held> {
        let own = match self.mode {
            Mode::Acquire | Mode::TryAcquire => Some(false),
            Mode::AcquireShared | Mode::TryAcquireShared => Some(true),
            _ => None,
        };
        let own = own.map(|shared| Held { object: self.object, shared, site: self.site, since: self.step });
        self.held.iter().copied().chain(own)
    }

    /// Whether it only looks.
    pub(super) fn reads(&self) -> bool {
        self.mode == Mode::Read
    }
}

/// What one execution says.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Accesses to objects that several threads use, in order.
    pub(super) uses: Vec<Use>,
    /// For each thread and each step at which it learnt of others: how many of the first steps of every
    /// thread come before what follows, in whatever schedule.
    epochs: Vec<Vec<u32>>,
    /// Objects that somebody slept on until another one woke him.
    pub(super) slept_on: FxHashSet<ObjectId>,
    /// Several threads use more than one object that somebody may change.
    pub(super) is_entangled: bool,
    /// Who started a thread.
    pub(super) parents: Vec<(ThreadId, ThreadId)>,
}

#[derive(Clone, Default)]
struct Walker {
    steps: u32,
    epoch: usize,
    held: Locks,
}

impl Facts {
    pub(super) fn of(trace: &Trace) -> Facts {
        let mut facts = Facts { epochs: vec![Vec::new()], ..Facts::default() };
        let mut threads: FxHashMap<ThreadId, Walker> = FxHashMap::default();
        // Of each step: its position within its thread, and what its thread knew then.
        let mut known = Vec::with_capacity(trace.events.len());
        let mut counts: FxHashMap<(ThreadId, u32, ObjectId), u32> = FxHashMap::default();
        for (event, step) in trace.events.iter().zip(0..) {
            let mut walker = threads.remove(&event.thread).unwrap_or_default();
            walker.steps += 1;
            facts.learn_order(trace, event, &mut walker, &known);
            known.push((walker.steps, walker.epoch));
            if let Some(used) = used(event) {
                let nth = counts.entry((event.thread, event.site, used.0)).or_default();
                *nth += 1;
                if facts.uses.len() < MOST_USES {
                    facts.uses.push(Use {
                        step,
                        thread: event.thread,
                        object: used.0,
                        mode: used.1,
                        site: event.site,
                        nth: *nth,
                        index: walker.steps,
                        epoch: walker.epoch,
                        held: walker.held.clone(),
                    });
                }
            }
            hold(event, step, &mut walker.held);
            threads.insert(event.thread, walker);
        }
        facts.is_entangled = is_entangled(&facts.uses, trace);
        facts.keep_shared();
        facts
    }

    /// Edges that hold in whatever schedule: from a spawn to what is spawned, from what is awaited to
    /// what follows. Locks, channels and notifications order this execution only.
    fn learn_order(&mut self, trace: &Trace, event: &Event, walker: &mut Walker, known: &[(u32, usize)]) {
        if event.enabler == NO_STEP {
            return;
        }
        let cause = &trace.events[event.enabler as usize];
        if walker.steps == 1 {
            self.parents.push((event.thread, cause.thread));
        } else if event.costly_alts.0 != 0 {
            self.slept_on.insert(cause.accesses[0].object);
            return;
        } else if !matches!(event.accesses[0].mode, Mode::None | Mode::Await) {
            return;
        }
        let (position, epoch) = known[event.enabler as usize];
        let mut clock = self.epochs[walker.epoch].clone();
        let (theirs, at) = (&self.epochs[epoch], cause.thread.0 as usize);
        clock.resize(clock.len().max(theirs.len()).max(at + 1), 0);
        clock.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        clock[at] = clock[at].max(position);
        self.epochs.push(clock);
        walker.epoch = self.epochs.len() - 1;
    }

    /// Whether `a` comes before `b` in every schedule that has both.
    pub(super) fn always_before(&self, a: &Use, b: &Use) -> bool {
        if a.thread == b.thread {
            return a.step < b.step;
        }
        self.epochs[b.epoch].get(a.thread.0 as usize).is_some_and(|&known| known >= a.index)
    }

    /// Whether their order depends on the schedule.
    pub(super) fn concurrent(&self, a: &Use, b: &Use) -> bool {
        a.thread != b.thread && !self.always_before(a, b) && !self.always_before(b, a)
    }

    /// Forgets what only one thread uses, and what everybody only reads.
    fn keep_shared(&mut self) {
        let shared = shared_objects(&self.uses, |one| !one.reads());
        self.uses.retain(|one| shared.contains(&one.object));
    }
}

/// Whether several threads use more than one object that one of them may change: a notification changes
/// something once somebody waits.
fn is_entangled(uses: &[Use], trace: &Trace) -> bool {
    shared_objects(uses, |one| trace.events[one.step as usize].full_mode != Mode::Read).len() > 1
}

/// The objects that several threads use and at least one use changes.
fn shared_objects(uses: &[Use], changes: impl Fn(&Use) -> bool) -> FxHashSet<ObjectId> {
    // Of each object: who used it first, whether somebody else did too, and whether it was changed.
    let mut users: FxHashMap<ObjectId, (ThreadId, bool, bool)> = FxHashMap::default();
    for one in uses {
        let (first, is_shared, is_changed) = users.entry(one.object).or_insert((one.thread, false, false));
        *is_shared |= *first != one.thread;
        *is_changed |= changes(one);
    }
    let both =
        |&(_, &(_, is_shared, is_changed)): &(&ObjectId, &(ThreadId, bool, bool))| is_shared && is_changed;
    users.iter().filter(both).map(|(&object, _)| object).collect()
}

/// The access of a step that others may notice. Left out are what waits for one certain step, and counts
/// of references: their order is seldom the point, and there are many.
fn used(event: &Event) -> Option<(ObjectId, Mode)> {
    let access = event.accesses[0];
    let seen = !matches!(
        access.mode,
        Mode::None
            | Mode::Await
            | Mode::Mark
            | Mode::Release
            | Mode::ReleaseShared
            | Mode::Downgrade
            | Mode::ReleaseInTurn
    );
    (seen && access.object != ObjectId::NONE && access.object.is_stable())
        .then_some((access.object, access.mode))
}

/// Keeps the list of held locks.
fn hold(event: &Event, step: StepIndex, held: &mut Locks) {
    for access in event.accesses {
        match access.mode {
            Mode::Acquire | Mode::TryAcquire => {
                held.push(Held { object: access.object, shared: false, site: event.site, since: step });
            }
            Mode::AcquireShared | Mode::TryAcquireShared => {
                held.push(Held { object: access.object, shared: true, site: event.site, since: step });
            }
            Mode::Downgrade => {
                if let Some(lock) = held.iter_mut().rfind(|lock| lock.object == access.object) {
                    lock.shared = true;
                }
            }
            Mode::Release | Mode::ReleaseShared | Mode::ReleaseInTurn => {
                if let Some(at) = held.iter().rposition(|lock| lock.object == access.object) {
                    held.remove(at);
                }
            }
            _ => {}
        }
    }
}

/// Whether two sets of locks keep their holders apart.
pub(super) fn exclude(mine: impl Iterator<Item = Held>, theirs: &[Held]) -> bool {
    let mut mine = mine;
    mine.any(|a| theirs.iter().any(|b| a.object == b.object && !(a.shared && b.shared)))
}
