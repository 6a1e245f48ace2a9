//! `Barrier` and `BarrierWaitResult`.

use crate::exec::{ObjectTag, active};
use crate::model::{Kind, LEADER, ObjectKind, Op};
use std::fmt;
use std::panic::Location;

/// The same as [`std::sync::Barrier`]; under control, everyone may come last and lead.
pub struct Barrier {
    tag: ObjectTag,
    size: usize,
    real: std::sync::Barrier,
}

/// The same as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// The same as std's `new`.
    #[inline]
    pub const fn new(n: usize) -> Barrier {
        Barrier { tag: ObjectTag::new(), size: n, real: std::sync::Barrier::new(n) }
    }

    /// The same as std's `wait`.
    #[track_caller]
    #[inline(never)]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(active) = active() else {
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        let object = active.object(&self.tag, || ObjectKind::Barrier);
        let size = u32::try_from(self.size).unwrap_or(u32::MAX);
        let arrive = Op { arg: size, ..Op::new(Kind::BarrierArrive, object, Location::caller()) };
        let leads = active.perform(arrive) == LEADER;
        if !leads {
            active.perform(Op::new(Kind::BarrierLeave, object, Location::caller()));
        }
        BarrierWaitResult(leads)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl BarrierWaitResult {
    /// The same as std's `is_leader`.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
