//! The life of a thread, as others see it: its body is done, and later it is gone.
//!
//! Between the two run the destructors of its thread-local values. `join` waits for them. The end of a scope
//! does not, and `is_finished` does not either. So that is two objects, the second numbered after the first:
//! the end of the body, and the end of the thread. Only a thread that has such values tells them apart; for
//! all others one step is both, on the first object.
//!
//! A result belongs to the thread and to its handle. Whoever gives it up last drops it: the thread when its
//! body is done ([`Kind::Leave`]), or whoever drops the handle without joining ([`Kind::Detach`]). Results that
//! need no drop are given up without a step.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Access, Mode, NO_STEP, ObjectId, StepIndex};

/// Answer of `is_finished` for a thread whose body is done.
pub(crate) const FINISHED: u32 = 1;
/// Answer to whoever gives up a result: nobody else will drop it.
pub(crate) const LAST: u32 = 1;

/// State of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// The step with which its body ended.
    finished: StepIndex,
    /// The step with which it ended itself.
    ended: StepIndex,
    /// Its result was given up, by itself or with its handle.
    given_up: bool,
}

impl Default for Life {
    fn default() -> Self {
        Life { finished: NO_STEP, ended: NO_STEP, given_up: false }
    }
}

/// The object that stands for the end of a thread whose body ended before.
const fn gone(life: ObjectId) -> ObjectId {
    ObjectId(life.0 + 1)
}

impl Life {
    /// How far it is.
    pub(super) fn summary(&self) -> u64 {
        let bits = [self.finished != NO_STEP, self.ended != NO_STEP, self.given_up];
        bits.iter().fold(0, |all, bit| all << 1 | u64::from(*bit))
    }

    pub(super) fn ready(&self, op: &Op) -> Ready {
        Ready::when(match op.kind {
            Kind::Join => self.ended != NO_STEP,
            Kind::JoinScoped => self.finished != NO_STEP,
            _ => true,
        })
    }

    /// What stands for the end of the thread.
    fn end_of(&self, life: ObjectId) -> ObjectId {
        let apart = self.finished != NO_STEP && self.finished != self.ended;
        if apart { gone(life) } else { life }
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::Finish => {
                self.finished = moment.step;
                Applied::access(op.object, Mode::Write)
            }
            Kind::End => {
                self.ended = moment.step;
                if self.finished == NO_STEP {
                    self.finished = moment.step;
                }
                Applied::access(self.end_of(op.object), Mode::Write)
            }
            Kind::Join => Applied::access(self.end_of(op.object), Mode::Await).enabled_by(self.ended),
            Kind::JoinScoped => Applied::access(op.object, Mode::Await).enabled_by(self.finished),
            Kind::IsFinished => {
                let finished = self.finished != NO_STEP;
                Applied::access(op.object, Mode::Read).result(if finished { FINISHED } else { 0 })
            }
            Kind::Leave | Kind::Detach => {
                let last = std::mem::replace(&mut self.given_up, true);
                Applied::access(op.object, Mode::Write).result(if last { LAST } else { 0 })
            }
            other => unreachable!("{other:?} is not an operation on a thread"),
        }
    }

    /// The accesses of a pending operation.
    pub(super) fn pending_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        let access = match op.kind {
            // The end it waited for is over, and no other will come.
            Kind::Join | Kind::JoinScoped if enabled => Access::new(op.object, Mode::None),
            Kind::Join => Access::new(self.end_of(op.object), Mode::Await),
            Kind::JoinScoped => Access::new(op.object, Mode::Await),
            Kind::IsFinished => Access::new(op.object, Mode::Read),
            // Where it ends the turn of a thread in a scenario, that is an order, not an access.
            Kind::End => Access::new(self.end_of(op.object), Mode::Write),
            _ => Access::new(op.object, Mode::Write),
        };
        [access, Access::NONE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::step::{Alt, ThreadId};
    use std::panic::Location;

    const LIFE: ObjectId = ObjectId(4);

    fn op(kind: Kind) -> Op {
        Op::new(kind, LIFE, Location::caller())
    }

    fn at(step: StepIndex) -> Moment {
        Moment { thread: ThreadId(1), step, alt: Alt::DEFAULT }
    }

    #[test]
    fn one_end_is_both_ends() {
        let mut life = Life::default();
        assert!(!life.ready(&op(Kind::Join)).enabled && !life.ready(&op(Kind::JoinScoped)).enabled);
        assert_eq!(life.apply(at(3), &op(Kind::End)).accesses[0].object, LIFE);
        for kind in [Kind::Join, Kind::JoinScoped] {
            assert!(life.ready(&op(kind)).enabled);
            let joined = life.apply(at(4), &op(kind));
            assert_eq!((joined.enabler, joined.accesses[0].object), (3, LIFE));
        }
    }

    #[test]
    fn a_scope_does_not_wait_for_what_comes_after_the_body() {
        let mut life = Life::default();
        life.apply(at(3), &op(Kind::Finish));
        assert!(life.ready(&op(Kind::JoinScoped)).enabled && !life.ready(&op(Kind::Join)).enabled);
        assert_eq!(life.apply(at(4), &op(Kind::IsFinished)).result, FINISHED);
        assert_eq!(life.pending_accesses(&op(Kind::Join), false)[0].object, gone(LIFE));
        assert_eq!(life.pending_accesses(&op(Kind::End), true)[0].object, gone(LIFE));
        assert_eq!(life.apply(at(5), &op(Kind::End)).accesses[0].object, gone(LIFE));
        assert_eq!(life.apply(at(6), &op(Kind::JoinScoped)).enabler, 3);
        let joined = life.apply(at(7), &op(Kind::Join));
        assert_eq!((joined.enabler, joined.accesses[0].object), (5, gone(LIFE)));
    }

    #[test]
    fn the_second_to_give_up_a_result_is_the_last() {
        for kinds in [[Kind::Leave, Kind::Detach], [Kind::Detach, Kind::Leave]] {
            let mut life = Life::default();
            assert_eq!(kinds.map(|kind| life.apply(at(1), &op(kind)).result), [0, LAST]);
        }
    }
}
