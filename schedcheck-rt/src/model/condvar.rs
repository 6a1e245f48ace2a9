//! A condition variable, or the queue of a futex: its waiters in order of arrival, and those
//! already woken.
//!
//! A wait is four steps: enqueue (the mutex still held), unlock, wake, lock. Splitting it changes
//! nothing another thread can see: a notification between enqueue and unlock finds the waiter, as
//! it does after the unlock. A waiter woken by a notification has nothing left to take from the
//! condvar, so its wake is ordered after the notification and independent of everything else.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{
    Alt, BudgetKind, BudgetKinds, Mode, NO_STEP, ObjectId, ReadsWhen, StepIndex, ThreadId,
};

/// Answer of a wake: somebody notified, or it came for no reason.
pub(crate) const WOKEN: u32 = 0;
/// Answer of a wake: the time-out fired.
pub(crate) const TIMED_OUT: u32 = 1;

/// Whom the last notification reached, for telling lost wake-ups from other deadlocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notified {
    /// There was none, or everybody who waited.
    #[default]
    All,
    /// It found nobody.
    Nobody {
        /// Who gave it.
        by: ThreadId,
        /// Who gave the last one of another thread since somebody was found.
        before: Option<ThreadId>,
    },
    /// This one, and others went on waiting.
    OneOfSeveral(ThreadId),
}

/// State of a condition variable.
#[derive(Clone, Debug, Default)]
pub struct Condvar {
    waiters: Vec<ThreadId>,
    woken: Vec<(ThreadId, StepIndex)>,
    last: Notified,
    /// The mutex it goes with, once somebody has waited.
    mutex: Option<ObjectId>,
}

impl Condvar {
    /// Whom the last notification reached.
    pub fn last(&self) -> Notified {
        self.last
    }

    /// The mutex that those who wait give up.
    pub(crate) fn mutex(&self) -> Option<ObjectId> {
        self.mutex
    }

    fn costly(op: &Op) -> BudgetKinds {
        op.ways_to_give_up().with(BudgetKind::Spurious)
    }

    fn woken_by(&self, thread: ThreadId) -> Option<StepIndex> {
        self.woken.iter().find(|(woken, _)| *woken == thread).map(|(_, step)| *step)
    }

    pub(super) fn ready(&self, thread: ThreadId, op: &Op) -> Ready {
        let enabled = self.woken_by(thread).is_some();
        Ready { enabled, costly: if enabled { BudgetKinds::NONE } else { Self::costly(op) } }
    }

    /// How many wait: what a notification depends on.
    pub(super) fn summary(&self) -> u64 {
        self.waiters.len() as u64
    }

    pub(super) fn renew(&mut self) {
        self.waiters.clear();
        self.woken.clear();
        self.last = Notified::All;
        self.mutex = None;
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let applied = self.change(moment, op);
        if matches!(op.kind, Kind::NotifyOne | Kind::NotifyAll | Kind::FutexWake) {
            return applied.unless(ReadsWhen::StateIs(0), Mode::Write);
        }
        applied
    }

    #[inline]
    fn change(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::CondvarEnqueue | Kind::FutexWait => {
                if op.kind == Kind::CondvarEnqueue {
                    self.mutex = Some(ObjectId(op.arg));
                }
                self.waiters.push(moment.thread);
                Applied::access(op.object, Mode::Write)
            }
            Kind::CondvarWake | Kind::FutexSleep => self.wake(moment, op),
            Kind::NotifyOne | Kind::NotifyAll | Kind::FutexWake if self.waiters.is_empty() => {
                let before = match self.last {
                    Notified::Nobody { by, before } if by == moment.thread => before,
                    Notified::Nobody { by, .. } => Some(by),
                    Notified::All | Notified::OneOfSeveral(_) => None,
                };
                self.last = Notified::Nobody { by: moment.thread, before };
                Applied::access(op.object, Mode::Read)
            }
            Kind::NotifyOne => self.wake_one(moment, op.object),
            Kind::NotifyAll => {
                self.last = Notified::All;
                self.woken.extend(self.waiters.drain(..).map(|waiter| (waiter, moment.step)));
                Applied::access(op.object, Mode::Write)
            }
            Kind::FutexWake if op.arg == 1 => self.wake_one(moment, op.object).result(1),
            Kind::FutexWake => {
                // The kernel wakes in order of arrival; only who is the single one woken is left open.
                let count = (op.arg as usize).min(self.waiters.len());
                self.woken.extend(self.waiters.drain(..count).map(|waiter| (waiter, moment.step)));
                Applied::access(op.object, Mode::Write).result(count as u32)
            }
            other => unreachable!("{other:?} is not an operation of a condvar"),
        }
    }

    /// Wakes the waiter that was chosen.
    fn wake_one(&mut self, moment: Moment, condvar: ObjectId) -> Applied {
        let free_alts = self.waiters.len() as u16;
        let waiter = self.waiters.remove(usize::from(moment.alt.0));
        self.woken.push((waiter, moment.step));
        self.last = if self.waiters.is_empty() { Notified::All } else { Notified::OneOfSeveral(waiter) };
        Applied { free_alts, ..Applied::access(condvar, Mode::Write) }
    }

    fn wake(&mut self, moment: Moment, op: &Op) -> Applied {
        if moment.alt == Alt::DEFAULT {
            let at = self.woken.iter().position(|(thread, _)| *thread == moment.thread);
            let (_, notification) = self.woken.swap_remove(at.expect("a wake is ready once notified"));
            return Applied {
                result: WOKEN,
                enabler: notification,
                costly_alts: Self::costly(op),
                ..Applied::access(op.object, Mode::None)
            };
        }
        self.waiters.retain(|waiter| *waiter != moment.thread);
        let result = if moment.alt.gives_up() { TIMED_OUT } else { WOKEN };
        // Also where it ends because nothing else can happen: then nobody else offers the other ending.
        let costly_alts = Self::costly(op);
        Applied { enabler: NO_STEP, result, costly_alts, ..Applied::access(op.object, Mode::Write) }
    }
}
