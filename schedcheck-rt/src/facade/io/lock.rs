//! The lock of a stream.

use crate::exec::{Active, ObjectTag, active};
use crate::model::{Kind, ObjectKind, Op, Site};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lock of one stream, in the model. Outside an exploration it does nothing: there is the real one.
pub(super) struct StreamLock {
    tag: ObjectTag,
    name: &'static CStr,
    /// Who takes it again while holding it goes on, as with std's lock of stdout.
    is_reentrant: bool,
    holder: Holder,
}

/// Which thread of which execution holds the lock, and how many times.
struct Holder(AtomicU64);

impl Holder {
    fn mark(active: Active) -> u64 {
        u64::from(active.generation()) << 32 | (active.current() as u64 + 1) << 16
    }

    /// How many times the running thread holds it.
    fn depth(&self, active: Active) -> u64 {
        let state = self.0.load(Ordering::Relaxed);
        if state & !0xffff == Self::mark(active) { state & 0xffff } else { 0 }
    }

    fn set(&self, active: Active, depth: u64) {
        self.0.store(if depth == 0 { 0 } else { Self::mark(active) | depth }, Ordering::Relaxed);
    }

    fn is_another(&self, active: Active) -> bool {
        let state = self.0.load(Ordering::Relaxed);
        state >> 32 == u64::from(active.generation()) && self.depth(active) == 0
    }
}

/// The lock, held.
pub(super) struct StreamGuard {
    lock: &'static StreamLock,
    site: Site,
    /// How many steps there were when it was taken, and one; zero outside an exploration.
    since: usize,
}

impl StreamLock {
    pub(super) const fn new(name: &'static CStr, is_reentrant: bool) -> Self {
        StreamLock { tag: ObjectTag::new(), name, is_reentrant, holder: Holder(AtomicU64::new(0)) }
    }

    fn perform(&self, active: Active, kind: Kind, site: Site) {
        let object = active.object(&self.tag, || ObjectKind::Mutex);
        active.perform(Op::new(kind, object, site));
    }

    /// Takes it.
    pub(super) fn lock(&'static self, site: Site) -> StreamGuard {
        let Some(active) = active() else { return StreamGuard { lock: self, site, since: 0 } };
        let depth = self.holder.depth(active);
        if depth == 0 || !self.is_reentrant {
            self.perform(active, Kind::Lock, site);
        }
        self.holder.set(active, depth + 1);
        StreamGuard { lock: self, site, since: active.steps() + 1 }
    }

    /// Runs `call`, which takes the real lock for a moment at a time.
    pub(super) fn pass<R>(&'static self, site: Site, call: impl FnOnce() -> R) -> R {
        let Some(active) = active() else { return call() };
        if self.holder.is_another(active) {
            drop(self.lock(site));
        }
        let since = active.steps();
        let result = call();
        if self.holder.depth(active) == 0 {
            active.passes_stream(self.name);
            // The real lock is held while values are formatted.
            if active.has_stepped(since) {
                active.keeps_stream(self.name);
            }
        }
        result
    }
}

impl StreamGuard {
    /// Whether it is the model's.
    pub(super) fn is_modelled(&self) -> bool {
        self.since != 0
    }
}

impl Drop for StreamGuard {
    #[inline(never)]
    fn drop(&mut self) {
        let Some(active) = active().filter(|_| self.is_modelled()) else { return };
        if active.has_stepped(self.since - 1) {
            active.keeps_stream(self.lock.name);
        }
        let holder = &self.lock.holder;
        let depth = holder.depth(active).saturating_sub(1);
        if depth == 0 {
            self.lock.perform(active, Kind::Unlock, self.site);
        }
        holder.set(active, depth);
    }
}
