//! The lock inside a [`Mutex`](super::Mutex), without its data: everything that is not generic.

use super::held::Held;
use super::poison::{Poison, if_free};
use crate::exec::{Active, ObjectTag, active};
use crate::model::{Kind, ObjectKind, Op, Site};
use crate::search::step::ObjectId;

/// A lock and its poison flag. Inside an exploration the lock is the model's; outside it is std's.
pub(super) struct RawMutex {
    tag: ObjectTag,
    real: std::sync::Mutex<()>,
    poison: Poison,
}

/// The lock, held.
pub(super) struct RawGuard<'a> {
    raw: &'a RawMutex,
    held: Held<std::sync::MutexGuard<'a, ()>>,
}

impl RawMutex {
    pub(super) const fn new() -> Self {
        RawMutex { tag: ObjectTag::new(), real: std::sync::Mutex::new(()), poison: Poison::new() }
    }

    fn object(&self, active: Active) -> ObjectId {
        active.object(&self.tag, || ObjectKind::Mutex)
    }

    #[inline]
    fn perform(&self, active: Active, kind: Kind, site: Site) -> u32 {
        active.perform(Op::new(kind, self.object(active), site))
    }

    #[inline(never)]
    pub(super) fn lock(&self, site: Site) -> RawGuard<'_> {
        let real = match active() {
            Some(active) => {
                self.perform(active, Kind::Lock, site);
                None
            }
            None => Some(self.real.lock().unwrap_or_else(std::sync::PoisonError::into_inner)),
        };
        RawGuard { raw: self, held: Held::new(real, site) }
    }

    #[inline(never)]
    pub(super) fn try_lock(&self, site: Site) -> Option<RawGuard<'_>> {
        let real = match active() {
            Some(active) => {
                if self.perform(active, Kind::TryLock, site) == crate::model::WOULD_BLOCK {
                    return None;
                }
                None
            }
            None => Some(if_free(self.real.try_lock())?),
        };
        Some(RawGuard { raw: self, held: Held::new(real, site) })
    }

    /// Reads the poison flag as its own step.
    #[inline(never)]
    pub(super) fn is_poisoned(&self, site: Site) -> bool {
        if let Some(active) = active() {
            self.perform(active, Kind::Inspect, site);
        }
        self.poison_flag()
    }

    /// The poison flag, for whoever holds the lock.
    pub(super) fn poison_flag(&self) -> bool {
        self.poison.is_set()
    }

    #[inline(never)]
    pub(super) fn clear_poison(&self, site: Site) {
        if let Some(active) = active() {
            self.perform(active, Kind::Adjust, site);
        }
        self.poison.clear();
    }
}

impl<'a> RawGuard<'a> {
    /// Gives the lock up and takes it again when `wait` returns: the frame of a condvar wait.
    /// `wait` gets the real guard outside an exploration.
    pub(super) fn wait_outside<R>(
        &mut self,
        wait: impl FnOnce(std::sync::MutexGuard<'a, ()>) -> (std::sync::MutexGuard<'a, ()>, R),
    ) -> R {
        let real = self.held.take().expect("outside an exploration a guard holds the real lock");
        let (real, result) = wait(real);
        self.held.put(real);
        result
    }

    /// The mutex that is held.
    pub(super) fn mutex(&self, active: Active) -> ObjectId {
        self.raw.object(active)
    }

    /// Unlocks under control; the guard stays and must be locked again by [`RawGuard::relock`].
    pub(super) fn unlock_for_wait(&self, active: Active, site: Site) {
        self.raw.perform(active, Kind::Unlock, site);
    }

    /// Locks again after [`RawGuard::unlock_for_wait`].
    pub(super) fn relock(&self, active: Active, site: Site) {
        self.raw.perform(active, Kind::Lock, site);
    }

    pub(super) fn poison_flag(&self) -> bool {
        self.raw.poison_flag()
    }
}

impl Drop for RawGuard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        let poisons = self.held.poisons();
        if self.held.is_modelled()
            && let Some(active) = active()
        {
            // Guards are dropped by code of the compiler, which has no place: that of the lock.
            let op = Op::new(Kind::Unlock, self.raw.object(active), self.held.site());
            active.perform(Op { arg: poisons.into(), ..op });
        }
        // After the step that others see it in; the real lock is released later still.
        if poisons {
            self.raw.poison.set();
        }
    }
}
