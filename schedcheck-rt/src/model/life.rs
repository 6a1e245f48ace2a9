//! The life of a thread, as others see it: its body is done, and later it is gone.
//!
//! Between the two run the destructors of its thread-local values. `join` waits for them. The end of a scope
//! does not, and `is_finished` does not either. So that is two objects, the second numbered after the first:
//! the end of the body, and the end of the thread. Only a thread that has such values tells them apart; for
//! all others one step is both, on the first object.
//!
//! A result belongs to the thread and to its handle. Whoever gives it up last drops it: the thread when its
//! body is done ([`Kind::Leave`]), or whoever drops the handle without joining ([`Kind::Detach`]). Results that
//! need no drop are given up without a step. Which of the two is the last is for nobody else to see, so they have an object
//! of their own. On that of the end they would look like what a wait for it may be waiting for: to the search, a wait that is
//! blocked at the end of an execution would have been possible before the last write.
//!
//! # The end of a scope
//!
//! std counts a scoped thread until its result has been dropped and its packet with it: by the thread when its body is
//! done, or by who joins or drops the handle, whichever comes last. So a scope waits for two things of each thread: that
//! its body is done ([`Kind::JoinScoped`]), and that its handle is gone. One that was forgotten keeps the scope waiting for
//! ever. Only when all are gone is it decided whether somebody has heard of a panic.
//!
//! Both stay so once they are, and nothing happens at the end of a scope before all of it has come. So the scope waits for
//! one after the other: first for the bodies of all its threads, then for the handles.
//!
//! Giving up a handle is no step where the thread that has it runs the scope, is one of its threads, or one of a scope
//! that such a thread runs within it, and so on. The first does it before it comes to the end of the scope, as the code
//! there is its own. The others do it before their body is done (a result that holds the handle goes before its thread is
//! counted down). A scope within has waited for its threads when the thread that runs it goes on, and the scope has waited
//! for all of its own threads when it comes to the handles. So giving up is over, or will never come, whenever the scope
//! looks: no order of steps makes a difference to it, and what the scope finds comes after it by the edges of
//! [`Kind::JoinScoped`]. The same is true of the panic that a join takes over. Nobody else looks at whether a handle is
//! gone. (`is_finished` needs the handle.)
//!
//! Other threads (to which unsafe code sends a handle), and destructors of thread-local values, may do it at any time, also
//! when the scope looks. They do it with a step, [`Kind::LetGo`], after what else there is to it: joining, or dropping the
//! result. The scope waits for that with a step as well, [`Kind::AwaitLetGo`], done or not when it comes there: whether the
//! thread that gives it up is one of the scope is the same in all orders of steps that commute. Both are accesses to an
//! object of their own, writing and awaiting: nothing but giving up the handle ends that wait.

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
    /// The step with which its handle was given up.
    let_go: StepIndex,
}

impl Default for Life {
    fn default() -> Self {
        Life { finished: NO_STEP, ended: NO_STEP, given_up: false, let_go: NO_STEP }
    }
}

/// How many objects follow the first one.
pub(super) const PARTS: u32 = 3;

/// The object that stands for the end of a thread whose body ended before.
const fn gone(life: ObjectId) -> ObjectId {
    ObjectId(life.0 + 1)
}

/// The object that stands for who drops its result.
const fn result(life: ObjectId) -> ObjectId {
    ObjectId(life.0 + 2)
}

/// The object that stands for its handle, where a scope waits for it.
const fn handle(life: ObjectId) -> ObjectId {
    ObjectId(life.0 + 3)
}

impl Life {
    /// How far it is.
    pub(super) fn summary(&self) -> u64 {
        u64::from(self.finished != NO_STEP) | u64::from(self.ended != NO_STEP) << 1
    }

    pub(super) fn body_is_done(&self) -> bool {
        self.finished != NO_STEP
    }

    /// What whoever looks is told.
    pub(super) fn is_finished(&self) -> u32 {
        if self.body_is_done() { FINISHED } else { 0 }
    }

    /// The state of what `op` is about.
    pub(super) fn summary_for(&self, op: &Op) -> u64 {
        match op.kind {
            Kind::Leave | Kind::Detach => self.given_up.into(),
            Kind::LetGo | Kind::AwaitLetGo => (self.let_go != NO_STEP).into(),
            _ => self.summary(),
        }
    }

    pub(super) fn ready(&self, op: &Op) -> Ready {
        Ready::when(match op.kind {
            Kind::Join => self.ended != NO_STEP,
            Kind::JoinScoped => self.finished != NO_STEP,
            Kind::AwaitLetGo => self.let_go != NO_STEP,
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
            Kind::LetGo => {
                self.let_go = moment.step;
                Applied::access(handle(op.object), Mode::Write)
            }
            Kind::AwaitLetGo => Applied::access(handle(op.object), Mode::Await).enabled_by(self.let_go),
            Kind::IsFinished => Applied::access(op.object, Mode::Read).result(self.is_finished()),
            Kind::Leave | Kind::Detach => {
                let last = std::mem::replace(&mut self.given_up, true);
                Applied::access(result(op.object), Mode::Write).result(if last { LAST } else { 0 })
            }
            other => unreachable!("{other:?} is not an operation on a thread"),
        }
    }

    /// The accesses of a pending operation.
    pub(super) fn pending_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        let access = match op.kind {
            // The end it waited for is over, and no other will come.
            Kind::Join | Kind::JoinScoped | Kind::AwaitLetGo if enabled => Access::new(op.object, Mode::None),
            Kind::Join => Access::new(self.end_of(op.object), Mode::Await),
            Kind::JoinScoped => Access::new(op.object, Mode::Await),
            Kind::AwaitLetGo => Access::new(handle(op.object), Mode::Await),
            Kind::LetGo => Access::new(handle(op.object), Mode::Write),
            Kind::Leave | Kind::Detach => Access::new(result(op.object), Mode::Write),
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
    fn a_scope_waits_for_the_handle_apart_from_the_body() {
        let mut life = Life::default();
        life.apply(at(3), &op(Kind::End));
        let [awaits, gives_up] = [Kind::AwaitLetGo, Kind::LetGo].map(op);
        let [awaited, given_up] = [Mode::Await, Mode::Write].map(|mode| Access::new(handle(LIFE), mode));
        assert!(!life.ready(&awaits).enabled);
        assert_eq!(life.pending_accesses(&awaits, false)[0], awaited);
        assert_eq!(life.pending_accesses(&gives_up, true)[0], given_up);
        assert_eq!((life.apply(at(4), &gives_up).accesses[0], life.summary_for(&gives_up)), (given_up, 1));
        assert!(life.ready(&awaits).enabled);
        let waited = life.apply(at(5), &awaits);
        assert_eq!((waited.enabler, waited.accesses[0]), (4, awaited));
        assert_eq!(life.apply(at(6), &op(Kind::JoinScoped)).enabler, 3);
    }

    #[test]
    fn the_second_to_give_up_a_result_is_the_last() {
        for kinds in [[Kind::Leave, Kind::Detach], [Kind::Detach, Kind::Leave]] {
            let mut life = Life::default();
            assert_eq!(kinds.map(|kind| life.apply(at(1), &op(kind)).result), [0, LAST]);
        }
    }
}
