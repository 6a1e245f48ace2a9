//! A mutex: free, or held by one thread.
//!
//! `lock` competes with the last acquisition, never with an unlock: reversing unlock and lock is
//! impossible while the lock is held. A failed `try_lock` is a read of the state.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Mode, ReadsWhen, ThreadId};

/// Answer of a `try_lock` that found the mutex held.
pub(crate) const WOULD_BLOCK: u32 = 1;

/// State of a mutex.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mutex {
    owner: Option<ThreadId>,
}

impl Mutex {
    /// Who holds it.
    pub fn owner(&self) -> Option<ThreadId> {
        self.owner
    }

    pub(super) fn ready(&self) -> Ready {
        Ready::when(self.owner.is_none())
    }

    /// Held or not: what a `try_lock` depends on.
    pub(super) fn summary(&self) -> u64 {
        self.owner.is_some().into()
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let applied = self.change(moment, op);
        if op.kind == Kind::TryLock {
            return applied.unless(ReadsWhen::StateIsNot(0), Mode::TryAcquire);
        }
        applied
    }

    fn change(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::Lock => {
                debug_assert!(self.owner.is_none(), "lock is ready only when the mutex is free");
                self.owner = Some(moment.thread);
                Applied::access(op.object, Mode::Acquire)
            }
            Kind::TryLock if self.owner.is_some() => {
                Applied::access(op.object, Mode::Read).result(WOULD_BLOCK)
            }
            Kind::TryLock => {
                self.owner = Some(moment.thread);
                Applied::access(op.object, Mode::TryAcquire)
            }
            Kind::Unlock => {
                self.owner = None;
                super::unlocked(op)
            }
            other => unreachable!("{other:?} is not an operation of a mutex"),
        }
    }
}
