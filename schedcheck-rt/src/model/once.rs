//! A one-time initialisation: not begun, going on, done, or failed (poisoned).
//!
//! Entering is an exclusive acquisition for whoever has to run the initialiser and a shared one for
//! everybody who finds the work done: it blocks while the initialiser runs and competes with the
//! entry that ran it, never with its end. Looking is a read. Waiting without offering to run the
//! initialiser is enabled by the end of it.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Mode, NO_STEP, StepIndex, ThreadId};

/// Answer of an entry or a look: nobody has begun; an entry has to run the initialiser.
pub(crate) const INCOMPLETE: u32 = 0;
/// Answer of an entry or a look: the last initialiser panicked; an entry that overrides this has to
/// run the initialiser.
pub(crate) const POISONED: u32 = 1;
/// Answer of an entry, a look or a wait: done.
pub(crate) const COMPLETE: u32 = 2;

/// Parameter of entries and waits: poisoning is no obstacle.
pub(crate) const IGNORE_POISON: u32 = 1;

/// State of a one-time initialisation.
#[derive(Clone, Copy, Debug)]
pub struct Once {
    phase: Phase,
    /// The step with which the last initialiser ended.
    ended: StepIndex,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Incomplete,
    Running(ThreadId),
    Poisoned,
    Complete,
}

impl Once {
    /// Not begun, or done before the execution began.
    pub(super) const fn new(complete: bool) -> Once {
        Once { phase: if complete { Phase::Complete } else { Phase::Incomplete }, ended: NO_STEP }
    }

    /// Who runs the initialiser.
    pub fn runner(&self) -> Option<ThreadId> {
        match self.phase {
            Phase::Running(thread) => Some(thread),
            _ => None,
        }
    }

    /// [`INCOMPLETE`] (also while running), [`POISONED`] or [`COMPLETE`].
    pub fn progress(&self) -> u32 {
        match self.phase {
            Phase::Incomplete | Phase::Running(_) => INCOMPLETE,
            Phase::Poisoned => POISONED,
            Phase::Complete => COMPLETE,
        }
    }

    /// The phase as a number.
    pub(super) fn summary(&self) -> u64 {
        match self.phase {
            Phase::Running(_) => 3,
            _ => self.progress().into(),
        }
    }

    pub(super) fn ready(&self, op: &Op) -> Ready {
        Ready::when(match (op.kind, self.phase) {
            (Kind::OnceEnter, phase) => !matches!(phase, Phase::Running(_)),
            (Kind::OnceWait, Phase::Poisoned) => op.arg != IGNORE_POISON,
            (Kind::OnceWait, phase) => matches!(phase, Phase::Complete),
            _ => true,
        })
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let progress = self.progress();
        match op.kind {
            Kind::OnceEnter if progress == INCOMPLETE || progress == POISONED && op.arg == IGNORE_POISON => {
                self.phase = Phase::Running(moment.thread);
                Applied::access(op.object, Mode::Acquire).result(progress)
            }
            Kind::OnceEnter => Applied::access(op.object, Mode::AcquireShared).result(progress),
            Kind::OnceFinish => {
                self.phase = if op.arg == COMPLETE { Phase::Complete } else { Phase::Poisoned };
                self.ended = moment.step;
                Applied::access(op.object, Mode::Release)
            }
            Kind::OnceLook => Applied::access(op.object, Mode::Read).result(progress),
            Kind::OnceWait => Applied::access(op.object, Mode::Await).enabled_by(self.ended).result(progress),
            other => unreachable!("{other:?} is not an operation of a one-time initialisation"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::step::{Alt, ObjectId};
    use std::panic::Location;

    fn op(kind: Kind, arg: u32) -> Op {
        Op { arg, ..Op::new(kind, ObjectId(0), Location::caller()) }
    }

    fn at(step: StepIndex) -> Moment {
        Moment { thread: ThreadId(step as u16), step, alt: Alt::DEFAULT }
    }

    #[test]
    fn one_runs_and_the_others_wait_for_it() {
        let mut once = Once::new(false);
        let entered = once.apply(at(0), &op(Kind::OnceEnter, 0));
        assert_eq!((entered.result, entered.accesses[0].mode), (INCOMPLETE, Mode::Acquire));
        assert!(!once.ready(&op(Kind::OnceEnter, 0)).enabled);
        assert!(!once.ready(&op(Kind::OnceWait, 0)).enabled);
        assert_eq!(once.runner(), Some(ThreadId(0)));
        once.apply(at(1), &op(Kind::OnceFinish, COMPLETE));
        let second = once.apply(at(2), &op(Kind::OnceEnter, 0));
        assert_eq!((second.result, second.accesses[0].mode), (COMPLETE, Mode::AcquireShared));
        assert_eq!(once.apply(at(3), &op(Kind::OnceWait, 0)).enabler, 1);
    }

    #[test]
    fn poison_stops_entries_that_do_not_override_it() {
        let mut once = Once::new(false);
        once.apply(at(0), &op(Kind::OnceEnter, 0));
        once.apply(at(1), &op(Kind::OnceFinish, POISONED));
        let stopped = once.apply(at(2), &op(Kind::OnceEnter, 0));
        assert_eq!((stopped.result, stopped.accesses[0].mode), (POISONED, Mode::AcquireShared));
        assert!(once.ready(&op(Kind::OnceWait, 0)).enabled, "to be told of the poison");
        assert!(!once.ready(&op(Kind::OnceWait, IGNORE_POISON)).enabled);
        let forced = once.apply(at(3), &op(Kind::OnceEnter, IGNORE_POISON));
        assert_eq!((forced.result, forced.accesses[0].mode), (POISONED, Mode::Acquire));
    }

    #[test]
    fn what_was_done_before_the_execution_stays_done() {
        let mut once = Once::new(true);
        assert_eq!(once.apply(at(0), &op(Kind::OnceLook, 0)).result, COMPLETE);
        assert_eq!(once.apply(at(1), &op(Kind::OnceWait, 0)).enabler, NO_STEP);
    }
}
