//! The poison flag of a lock: set for one execution, or for the time outside.

use crate::exec::active;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{TryLockError, TryLockResult};

const CLEAN: u32 = 0;
const POISONED_OUTSIDE: u32 = u32::MAX;

/// Whether a panic happened while a lock was held. A lock in a static that was poisoned in one
/// execution is clean in the next, because the flag carries the number of its execution.
pub(super) struct Poison(AtomicU32);

impl Poison {
    pub(super) const fn new() -> Self {
        Poison(AtomicU32::new(CLEAN))
    }

    #[inline(never)]
    pub(super) fn is_set(&self) -> bool {
        match self.0.load(Ordering::Relaxed) {
            CLEAN => false,
            POISONED_OUTSIDE => true,
            generation => active().is_some_and(|active| active.generation() == generation),
        }
    }

    #[inline(never)]
    pub(super) fn set(&self) {
        let value = active().map_or(POISONED_OUTSIDE, |active| active.generation());
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline(never)]
    pub(super) fn clear(&self) {
        self.0.store(CLEAN, Ordering::Relaxed);
    }
}

/// The guard of a real lock that was free. Its own poison flag means nothing: [`Poison`] is the one that counts.
pub(super) fn if_free<G>(locked: TryLockResult<G>) -> Option<G> {
    match locked {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
