//! A one-time initialisation: not begun, going on, done, or failed (poisoned).
//!
//! Entering is an exclusive acquisition for whoever has to run the initialiser and a shared one for
//! everybody who finds the work done: it blocks while the initialiser runs and competes with the
//! entry that ran it, never with its end. One that is told of poison holds nothing afterwards, unlike
//! a sharer, whom a later exclusive entry would have to wait for: it takes something once it is there.
//!
//! Whether the work is done changes only when an initialiser ends, so that is an object of its own,
//! numbered after the first: written by the end, read by looking, awaited by those who wait without
//! offering to run the initialiser. A look commutes with entries.
//!
//! An entry that overrides poison takes it away from those who wait: they would have been told of it, and
//! now wait for another end. So a wait that is told looks at the first object as well, and one that could
//! have been told *takes* from it ([`Mode::AwaitWrite`]): the search then asks what would have happened,
//! had it come before the entry. The same holds for one that waits in the end, and for no other one.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Access, Mode, NO_STEP, ObjectId, StepIndex, ThreadId};

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
    /// The last entry that had to run the initialiser found poison.
    overrode: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Incomplete,
    Running(ThreadId),
    Poisoned,
    Complete,
}

/// The object that stands for "the work is done".
const fn done(once: ObjectId) -> ObjectId {
    ObjectId(once.0 + 1)
}

impl Once {
    /// Not begun, or done before the execution began.
    pub(super) const fn new(complete: bool) -> Once {
        let phase = if complete { Phase::Complete } else { Phase::Incomplete };
        Once { phase, ended: NO_STEP, overrode: false }
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

    /// The accesses of a wait that can go on now.
    fn waited(&self, op: &Op) -> [Access; 2] {
        let mode = match self.phase {
            _ if op.arg == IGNORE_POISON => Mode::None,
            Phase::Poisoned => Mode::Read,
            _ if self.overrode => Mode::AwaitWrite,
            _ => Mode::None,
        };
        let told = if mode == Mode::None { Access::NONE } else { Access::new(op.object, mode) };
        [Access::new(done(op.object), Mode::Await), told]
    }

    /// The accesses of a pending operation.
    pub(super) fn pending_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        let once = |mode| Access::new(op.object, mode);
        let done = |mode| Access::new(done(op.object), mode);
        match op.kind {
            Kind::OnceEnter => [once(Mode::Acquire), Access::NONE],
            Kind::OnceFinish => [once(Mode::Release), done(Mode::Write)],
            Kind::OnceWait if enabled => self.waited(op),
            // It could have been told of the poison that somebody has taken away.
            Kind::OnceWait if op.arg != IGNORE_POISON && self.overrode => {
                [once(Mode::AwaitWrite), Access::NONE]
            }
            // What is done stays done: it was never possible.
            Kind::OnceWait => [Access::NONE; 2],
            _ => [done(Mode::Read), Access::NONE],
        }
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let progress = self.progress();
        match op.kind {
            Kind::OnceEnter if progress == INCOMPLETE || progress == POISONED && op.arg == IGNORE_POISON => {
                self.phase = Phase::Running(moment.thread);
                self.overrode = progress == POISONED;
                Applied::access(op.object, Mode::Acquire).result(progress)
            }
            Kind::OnceEnter if progress == POISONED => {
                Applied::access(op.object, Mode::AwaitWrite).enabled_by(self.ended).result(progress)
            }
            Kind::OnceEnter => Applied::access(op.object, Mode::AcquireShared).result(progress),
            Kind::OnceFinish => {
                self.phase = if op.arg == COMPLETE { Phase::Complete } else { Phase::Poisoned };
                self.ended = moment.step;
                let mut applied = Applied::access(op.object, Mode::Release);
                applied.accesses[1] = Access::new(done(op.object), Mode::Write);
                applied
            }
            Kind::OnceLook => Applied::access(done(op.object), Mode::Read).result(progress),
            Kind::OnceWait => {
                let mut applied = Applied::access(done(op.object), Mode::Await).enabled_by(self.ended);
                applied.accesses = self.waited(op);
                applied.result(progress)
            }
            other => unreachable!("{other:?} is not an operation of a one-time initialisation"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::step::Alt;
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
        assert_eq!((stopped.result, stopped.accesses[0].mode), (POISONED, Mode::AwaitWrite));
        assert!(once.ready(&op(Kind::OnceWait, 0)).enabled, "to be told of the poison");
        assert!(!once.ready(&op(Kind::OnceWait, IGNORE_POISON)).enabled);
        let forced = once.apply(at(3), &op(Kind::OnceEnter, IGNORE_POISON));
        assert_eq!((forced.result, forced.accesses[0].mode), (POISONED, Mode::Acquire));
    }

    #[test]
    fn a_pending_wait_says_what_it_would_do() {
        let mut once = Once::new(false);
        let wait = |once: &Once, arg| {
            let op = op(Kind::OnceWait, arg);
            once.pending_accesses(&op, once.ready(&op).enabled).map(|access| access.mode)
        };
        assert_eq!(wait(&once, 0), [Mode::None; 2], "it was never possible");
        once.apply(at(0), &op(Kind::OnceEnter, 0));
        once.apply(at(1), &op(Kind::OnceFinish, POISONED));
        assert_eq!(wait(&once, 0), [Mode::Await, Mode::Read], "whoever overrides the poison competes");
        assert_eq!(wait(&once, IGNORE_POISON), [Mode::None; 2]);
        once.apply(at(2), &op(Kind::OnceEnter, IGNORE_POISON));
        assert_eq!(wait(&once, 0), [Mode::AwaitWrite, Mode::None], "it could have been told");
        once.apply(at(3), &op(Kind::OnceFinish, COMPLETE));
        assert_eq!(wait(&once, 0), [Mode::Await, Mode::AwaitWrite]);
        assert_eq!(wait(&once, IGNORE_POISON), [Mode::Await, Mode::None]);
    }

    #[test]
    fn what_was_done_before_the_execution_stays_done() {
        let mut once = Once::new(true);
        assert_eq!(once.apply(at(0), &op(Kind::OnceLook, 0)).result, COMPLETE);
        assert_eq!(once.apply(at(1), &op(Kind::OnceWait, 0)).enabler, NO_STEP);
    }
}
