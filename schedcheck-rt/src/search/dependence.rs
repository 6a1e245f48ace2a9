//! Which operations commute.
//!
//! Mazurkiewicz' independence: two operations of different threads are independent if neither
//! enables or disables the other and both orders lead to the same state. The modes of one object
//! fall into classes; inside a commuting class the order cannot be observed, everything else on
//! one object is dependent. A finer relation means fewer executions, a wrong one loses behaviours,
//! so this file is the one to read when the search seems to miss something.
//!
//! * `Read` and `Await` only observe.
//! * `Mark`s are commuting updates whose result nobody sees.
//! * Shared acquisitions and releases count holders up and down: a sum.
//! * A downgrade lets sharers in, and is none of them: it commutes with nothing.

use super::step::{Access, Mode, ObjectId};

/// Sets of modes that commute with each other; [`Class::Total`] commutes with nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Observes.
    Read,
    /// Commuting updates.
    Mark,
    /// Shared ownership.
    Shared,
    /// Depends on everything.
    Total,
}

/// The class of a mode.
pub const fn class(mode: Mode) -> Class {
    match mode {
        Mode::Read | Mode::Await => Class::Read,
        Mode::Mark => Class::Mark,
        Mode::AcquireShared | Mode::TryAcquireShared | Mode::ReleaseShared => Class::Shared,
        Mode::None
        | Mode::Write
        | Mode::Acquire
        | Mode::TryAcquire
        | Mode::Release
        | Mode::AwaitWrite
        | Mode::Downgrade
        | Mode::ReleaseInTurn => Class::Total,
    }
}

/// Whether two modes of one object commute.
pub fn commute(a: Mode, b: Mode) -> bool {
    let class_of_a = class(a);
    a == Mode::None || b == Mode::None || class_of_a != Class::Total && class_of_a == class(b)
}

/// Whether an operation of this mode can be blocked by the state of its object.
pub const fn blocks(mode: Mode) -> bool {
    matches!(mode, Mode::Acquire | Mode::AcquireShared | Mode::Await | Mode::AwaitWrite)
}

/// Whether two operations of different threads depend on each other through their objects.
pub fn dependent(a: &[Access; 2], b: &[Access; 2]) -> bool {
    let conflict =
        |x: Access, y: Access| x.object == y.object && x.object != ObjectId::NONE && !commute(x.mode, y.mode);
    conflict(a[0], b[0]) || conflict(a[0], b[1]) || conflict(a[1], b[0]) || conflict(a[1], b[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commuting_is_symmetric_and_only_within_a_class() {
        // `None` is no use of an object.
        let modes = &Mode::ALL[1..];
        for &a in modes {
            for &b in modes {
                assert_eq!(commute(a, b), commute(b, a), "{a:?} {b:?}");
            }
            assert!(!commute(a, Mode::Write), "{a:?} cannot commute with a write");
        }
        assert!(commute(Mode::Read, Mode::Await));
        assert!(commute(Mode::AcquireShared, Mode::ReleaseShared));
        assert!(!commute(Mode::Read, Mode::Mark));
        assert!(!commute(Mode::Read, Mode::ReleaseShared));
    }

    #[test]
    fn operations_depend_only_through_a_common_object() {
        let on = |object, mode| [Access::new(ObjectId(object), mode), Access::NONE];
        assert!(dependent(&on(1, Mode::Write), &on(1, Mode::Read)));
        assert!(!dependent(&on(1, Mode::Write), &on(2, Mode::Write)));
        assert!(!dependent(&[Access::NONE; 2], &[Access::NONE; 2]));
        let two = [Access::new(ObjectId(1), Mode::Read), Access::new(ObjectId(2), Mode::Write)];
        assert!(dependent(&two, &on(2, Mode::Read)));
    }
}
