//! The lock inside a [`RwLock`](super::RwLock), without its data: everything that is not generic.

use super::held::Held;
use super::poison::{Poison, if_free};
use crate::exec::{Active, ObjectTag, active};
use crate::model::{
    HAS_OFFERS, HAS_WAITED, IN_LINE, Kind, NESTED_IN_LINE, ObjectKind, Op, Site, WOULD_BLOCK,
};
use crate::search::step::ObjectId;
use std::sync::PoisonError;

/// A lock and its poison flag. Inside an exploration the lock is the model's; outside it is std's.
pub(super) struct RawRwLock {
    tag: ObjectTag,
    real: std::sync::RwLock<()>,
    pub(super) poison: Poison,
}

/// The lock, held for reading.
pub(super) struct RawReadGuard<'a> {
    raw: &'a RawRwLock,
    held: Held<std::sync::RwLockReadGuard<'a, ()>>,
}

/// The lock, held for writing.
pub(super) struct RawWriteGuard<'a> {
    raw: &'a RawRwLock,
    held: Held<std::sync::RwLockWriteGuard<'a, ()>>,
}

impl RawRwLock {
    pub(super) const fn new() -> Self {
        RawRwLock { tag: ObjectTag::new(), real: std::sync::RwLock::new(()), poison: Poison::new() }
    }

    fn object(&self, active: Active) -> ObjectId {
        active.object(&self.tag, || ObjectKind::RwLock)
    }

    fn perform(&self, active: Active, kind: Kind, site: Site) -> u32 {
        active.perform(Op::new(kind, self.object(active), site))
    }

    #[inline(never)]
    pub(super) fn read(&self, site: Site) -> RawReadGuard<'_> {
        let real = match active() {
            Some(active) => {
                let answer = self.perform(active, Kind::ReadLock, site);
                if matches!(answer, IN_LINE | NESTED_IN_LINE) {
                    let op = Op::new(Kind::ReadLockInLine, self.object(active), site);
                    active.perform(Op { arg: answer, ..op });
                }
                None
            }
            None => Some(self.real.read().unwrap_or_else(PoisonError::into_inner)),
        };
        RawReadGuard { raw: self, held: Held::new(real, site) }
    }

    #[inline(never)]
    pub(super) fn try_read(&self, site: Site) -> Option<RawReadGuard<'_>> {
        let real = match active() {
            Some(active) => {
                if self.perform(active, Kind::TryReadLock, site) == WOULD_BLOCK {
                    return None;
                }
                None
            }
            None => Some(if_free(self.real.try_read())?),
        };
        Some(RawReadGuard { raw: self, held: Held::new(real, site) })
    }

    #[inline(never)]
    pub(super) fn write(&self, site: Site) -> RawWriteGuard<'_> {
        let real = match active() {
            Some(active) => {
                self.perform(active, Kind::WriteRequest, site);
                if self.perform(active, Kind::WriteLock, site) == HAS_OFFERS {
                    active.offer_line(self.object(active));
                }
                None
            }
            None => Some(self.real.write().unwrap_or_else(PoisonError::into_inner)),
        };
        RawWriteGuard { raw: self, held: Held::new(real, site) }
    }

    #[inline(never)]
    pub(super) fn try_write(&self, site: Site) -> Option<RawWriteGuard<'_>> {
        let real = match active() {
            Some(active) => {
                if self.perform(active, Kind::TryWriteLock, site) == WOULD_BLOCK {
                    return None;
                }
                None
            }
            None => Some(if_free(self.real.try_write())?),
        };
        Some(RawWriteGuard { raw: self, held: Held::new(real, site) })
    }

    /// Reads the poison flag as its own step.
    #[inline(never)]
    pub(super) fn is_poisoned(&self, site: Site) -> bool {
        if let Some(active) = active() {
            self.perform(active, Kind::Inspect, site);
        }
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

impl RawReadGuard<'_> {
    pub(super) fn poisoned(&self) -> bool {
        self.raw.poison.is_set()
    }
}

impl<'a> RawWriteGuard<'a> {
    pub(super) fn poisoned(&self) -> bool {
        self.raw.poison.is_set()
    }

    /// Goes on as a reader, without letting a writer in between.
    #[inline(never)]
    pub(super) fn downgrade(self, site: Site) -> RawReadGuard<'a> {
        let mut guard = std::mem::ManuallyDrop::new(self);
        let real = match guard.held.take() {
            Some(real) => Some(std::sync::RwLockWriteGuard::downgrade(real)),
            None => {
                if let Some(active) = active() {
                    let lock = guard.raw.object(active);
                    let waited = if active.may_have_waited(lock) { HAS_WAITED } else { 0 };
                    active.perform(Op { arg: waited, ..Op::new(Kind::Downgrade, lock, site) });
                }
                None
            }
        };
        RawReadGuard { raw: guard.raw, held: Held::new(real, site) }
    }
}

impl Drop for RawReadGuard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        if self.held.is_modelled()
            && let Some(active) = active()
        {
            self.raw.perform(active, Kind::ReadUnlock, self.held.site());
        }
    }
}

impl Drop for RawWriteGuard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        let poisons = self.held.poisons();
        if self.held.is_modelled()
            && let Some(active) = active()
        {
            let op = Op::new(Kind::WriteUnlock, self.raw.object(active), self.held.site());
            active.perform(Op { arg: poisons.into(), ..op });
        }
        // After the step that others see it in; the real lock is released later still.
        if poisons {
            self.raw.poison.set();
        }
    }
}
