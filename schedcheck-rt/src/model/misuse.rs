//! What primitives forbid. std's types rule most of it out, unless unsafe code sends a guard to another thread.
//!
//! The incorrect usages that Inspect reports (Yang, Chen, Gopalakrishnan, section 4.8), as far as Rust lets them happen:
//! giving up a lock that another thread holds, and waiting on one condition variable with two mutexes.

use super::{Kind, Op, State};
use crate::search::step::{ObjectId, ThreadId};

/// A rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// A lock was given up by a thread that does not hold it; perhaps another one does.
    NotTheHolder(Option<ThreadId>),
    /// A condition variable was used with two mutexes. std reserves the right to panic.
    TwoMutexes,
}

/// The rule that `op` of `thread` breaks on an object in this state. The parameter of joining the waiters of a condition
/// variable is the number of the mutex.
pub(super) fn of(thread: ThreadId, op: &Op, state: &State) -> Option<Misuse> {
    let unless = |holds: bool, holder| (!holds).then_some(Misuse::NotTheHolder(holder));
    match (op.kind, state) {
        (Kind::Unlock, State::Mutex(mutex)) => unless(mutex.owner() == Some(thread), mutex.owner()),
        (Kind::ReadUnlock, State::RwLock(lock)) => unless(lock.is_shared_by(thread), lock.holder()),
        (Kind::WriteUnlock | Kind::Downgrade, State::RwLock(lock)) => {
            unless(lock.writer() == Some(thread), lock.holder())
        }
        (Kind::CondvarEnqueue, State::Condvar(condvar)) => {
            let other = condvar.mutex().is_some_and(|mutex| mutex != ObjectId(op.arg));
            other.then_some(Misuse::TwoMutexes)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Moment, ObjectKind, Objects};
    use super::*;
    use crate::search::step::Alt;
    use std::panic::Location;

    fn apply(objects: &mut Objects, thread: u16, kind: Kind, object: ObjectId, arg: u32) -> Option<Misuse> {
        let op = Op { arg, ..Op::new(kind, object, Location::caller()) };
        objects.apply(Moment { thread: ThreadId(thread), step: 0, alt: Alt::DEFAULT }, &op);
        objects.misuse()
    }

    #[test]
    fn only_the_holder_may_unlock() {
        let mut objects = Objects::default();
        let mutex = objects.create(ObjectKind::Mutex);
        assert_eq!(apply(&mut objects, 1, Kind::Lock, mutex, 0), None);
        let broken = Some(Misuse::NotTheHolder(Some(ThreadId(1))));
        assert_eq!(apply(&mut objects, 2, Kind::Unlock, mutex, 0), broken);
        objects.begin();
        assert_eq!(apply(&mut objects, 1, Kind::Unlock, mutex, 0), None);
        let lock = objects.create(ObjectKind::RwLock);
        assert_eq!(apply(&mut objects, 1, Kind::ReadLock, lock, 0), None);
        assert_eq!(apply(&mut objects, 2, Kind::ReadUnlock, lock, 0), broken);
    }

    #[test]
    fn a_condvar_goes_with_one_mutex() {
        let mut objects = Objects::default();
        let condvar = objects.create(ObjectKind::Condvar);
        assert_eq!(apply(&mut objects, 1, Kind::CondvarEnqueue, condvar, 7), None);
        assert_eq!(apply(&mut objects, 2, Kind::CondvarEnqueue, condvar, 7), None);
        assert_eq!(apply(&mut objects, 3, Kind::CondvarEnqueue, condvar, 8), Some(Misuse::TwoMutexes));
    }
}
