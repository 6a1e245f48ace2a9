//! The right to run among the threads of a scenario: one of them has it, or whoever directs them.
//!
//! The director passes it to a thread and waits until it comes back: the thread hands it back, ends,
//! or is blocked while nothing else can run. Nobody competes for it, so its operations conflict with
//! nothing; the steps that it makes possible are ordered after the one that passed it on.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Mode, NO_STEP, StepIndex, ThreadId};

/// Parameter of a director's wait that nothing ends.
pub(crate) const NEVER: u32 = 1;

/// Answer of a director's wait: the thread is blocked.
pub(crate) const BLOCKED: u32 = 1;

/// The right to run.
#[derive(Clone, Copy, Debug)]
pub struct Baton {
    /// Who has it; nobody: the director.
    holder: Option<ThreadId>,
    /// The step that passed it on.
    passed: StepIndex,
    /// The step that brought it back.
    returned: StepIndex,
    /// The step that let everybody run.
    released: StepIndex,
}

impl Default for Baton {
    fn default() -> Self {
        Baton { holder: None, passed: NO_STEP, returned: NO_STEP, released: NO_STEP }
    }
}

impl Baton {
    /// Who has it, if not the director.
    pub(crate) fn holder(&self) -> Option<ThreadId> {
        self.holder
    }

    pub(super) fn ready(&self, thread: ThreadId, op: &Op) -> Ready {
        Ready::when(match op.kind {
            Kind::Begin | Kind::Resume => self.holder == Some(thread) || self.released != NO_STEP,
            Kind::Regain => self.holder.is_none() && op.arg != NEVER,
            _ => true,
        })
    }

    /// The thread that had it has ended.
    pub(super) fn ended(&mut self, moment: Moment) {
        if self.holder == Some(moment.thread) {
            self.holder = None;
            self.returned = moment.step;
        }
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let applied = Applied::access(op.object, Mode::None);
        match op.kind {
            Kind::Transfer => {
                self.holder = Some(ThreadId(op.arg as u16));
                self.passed = moment.step;
                applied
            }
            Kind::HandBack => {
                self.ended(moment);
                applied
            }
            Kind::Release => {
                self.released = moment.step;
                applied
            }
            Kind::Begin | Kind::Resume if self.holder == Some(moment.thread) => {
                applied.enabled_by(self.passed)
            }
            Kind::Begin | Kind::Resume => applied.enabled_by(self.released),
            Kind::Regain if self.holder.is_none() => applied.enabled_by(self.returned),
            Kind::Regain => {
                self.holder = None;
                applied.enabled_by(moment.step - 1).result(BLOCKED)
            }
            other => unreachable!("{other:?} is not an operation on the right to run"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::step::{Alt, ObjectId};
    use core::panic::Location;

    const DIRECTOR: ThreadId = ThreadId(0);
    const ACTOR: ThreadId = ThreadId(1);

    fn op(kind: Kind, arg: u32) -> Op {
        Op { arg, ..Op::new(kind, ObjectId(7), Location::caller()) }
    }

    fn at(thread: ThreadId, step: StepIndex) -> Moment {
        Moment { thread, step, alt: Alt::DEFAULT }
    }

    #[test]
    fn a_thread_begins_when_it_is_told_to_and_its_director_waits_for_it() {
        let mut baton = Baton::default();
        assert!(!baton.ready(ACTOR, &op(Kind::Begin, 0)).enabled);
        baton.apply(at(DIRECTOR, 3), &op(Kind::Transfer, 1));
        assert!(baton.ready(ACTOR, &op(Kind::Begin, 0)).enabled);
        assert!(!baton.ready(DIRECTOR, &op(Kind::Regain, 0)).enabled);
        assert_eq!(baton.apply(at(ACTOR, 4), &op(Kind::Begin, 0)).enabler, 3);
        baton.apply(at(ACTOR, 5), &op(Kind::HandBack, 0));
        assert!(!baton.ready(ACTOR, &op(Kind::Resume, 0)).enabled);
        let regained = baton.apply(at(DIRECTOR, 6), &op(Kind::Regain, 0));
        assert_eq!((regained.enabler, regained.result), (5, 0));
    }

    #[test]
    fn it_is_taken_from_a_thread_that_is_blocked() {
        let mut baton = Baton::default();
        baton.apply(at(DIRECTOR, 0), &op(Kind::Transfer, 1));
        let regained = baton.apply(at(DIRECTOR, 9), &op(Kind::Regain, 0));
        assert_eq!((regained.enabler, regained.result), (8, BLOCKED));
        assert_eq!(baton.holder(), None);
    }

    #[test]
    fn in_the_end_all_may_run() {
        let mut baton = Baton::default();
        baton.apply(at(DIRECTOR, 2), &op(Kind::Release, 0));
        assert!(baton.ready(ACTOR, &op(Kind::Resume, 0)).enabled);
        assert_eq!(baton.apply(at(ACTOR, 3), &op(Kind::Resume, 0)).enabler, 2);
    }
}
