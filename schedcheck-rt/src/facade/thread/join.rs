//! `JoinHandle`, and what it shares with scoped handles: everything but std's handle inside.

use super::handle::Thread;
use crate::exec::active;
use crate::model::{Kind, LAST, Op, Site};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// What a thread leaves behind.
pub(super) type Outcome<T> = Result<T, Box<dyn Any + Send + 'static>>;

/// A thread under control whose outcome has not been taken.
pub(crate) struct Controlled<T> {
    pub(crate) slot: usize,
    pub(super) thread: Thread,
    /// It belongs to a scope, which waits until this handle is gone.
    pub(super) scoped: bool,
    pub(super) outcome: PhantomData<T>,
}

impl<T> Controlled<T> {
    /// Waits for its end and takes its outcome.
    pub(super) fn join(self, site: Site) -> Outcome<T> {
        let outcome = await_end(self.slot, site);
        if self.scoped {
            let_go(self.slot, site);
        }
        std::mem::forget(self);
        // SAFETY: the thread left a boxed `Outcome<T>` when it ended, and joining takes it once.
        *unsafe { Box::from_raw(outcome.cast::<Outcome<T>>()) }
    }

    pub(super) fn is_finished(&self, site: Site) -> bool {
        has_ended(self.slot, site)
    }
}

impl<T> Drop for Controlled<T> {
    /// A result belongs to its thread and to its handle: the last of the two drops it.
    #[track_caller]
    fn drop(&mut self) {
        let site = Location::caller();
        if std::mem::needs_drop::<T>()
            && let Some(outcome) = detach(self.slot, site)
        {
            // SAFETY: the thread left a boxed `Outcome<T>`, and nobody else has a handle.
            unsafe { drop_outcome::<T>(outcome) };
        }
        if self.scoped {
            let_go(self.slot, site);
        }
    }
}

/// Drops an outcome that nobody has asked for. A panic in it aborts the process, as in std.
///
/// # Safety
/// It must come from a box of an `Outcome<T>` and not be used any more.
pub(super) unsafe fn drop_outcome<T>(outcome: *mut ()) {
    // SAFETY: the caller's promise.
    let outcome = unsafe { Box::from_raw(outcome.cast::<Outcome<T>>()) };
    if catch_unwind(AssertUnwindSafe(|| drop(outcome))).is_err()
        && let Some(active) = active()
    {
        active.crashed("thread result panicked on drop");
    }
}

/// What the thread left, if it did; if not, it will know that nobody wants it.
#[inline(never)]
fn detach(slot: usize, site: Site) -> Option<*mut ()> {
    let active = active()?;
    let last = active.perform(Op::new(Kind::Detach, active.life_of(slot), site)) == LAST;
    last.then(|| active.take_leavings(slot))
}

/// The handle of a scoped thread is gone, and so is what the thread left if that went with it.
#[inline(never)]
fn let_go(slot: usize, site: Site) {
    if let Some(active) = active()
        && !active.lets_go_in_scope(slot)
    {
        active.perform(Op::new(Kind::LetGo, active.life_of(slot), site));
    }
}

#[inline(never)]
fn await_end(slot: usize, site: Site) -> *mut () {
    let active = active().expect("a controlled thread is joined in its execution");
    active.perform(Op::new(Kind::Join, active.life_of(slot), site));
    active.panic_heard(slot);
    active.take_leavings(slot)
}

#[inline(never)]
fn has_ended(slot: usize, site: Site) -> bool {
    let active = active().expect("a controlled thread is asked in its execution");
    active.perform(Op::new(Kind::IsFinished, active.life_of(slot), site)) == crate::model::FINISHED
}

/// A thread that can be waited for: of the execution, or of the system, where `H` is std's handle.
pub(super) enum Joinable<T, H> {
    Controlled(Controlled<T>),
    System(H, Thread),
}

/// What both of std's handles can do.
pub(super) trait SystemHandle<T> {
    fn join(self) -> std::thread::Result<T>;
    fn is_finished(&self) -> bool;
}

impl<T> SystemHandle<T> for std::thread::JoinHandle<T> {
    fn join(self) -> std::thread::Result<T> {
        self.join()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

impl<T, H: SystemHandle<T>> Joinable<T, H> {
    pub(super) fn thread(&self) -> &Thread {
        match self {
            Joinable::Controlled(controlled) => &controlled.thread,
            Joinable::System(_, thread) => thread,
        }
    }

    pub(super) fn join(self, site: Site) -> std::thread::Result<T> {
        match self {
            Joinable::Controlled(controlled) => controlled.join(site),
            Joinable::System(handle, _) => handle.join(),
        }
    }

    pub(super) fn is_finished(&self, site: Site) -> bool {
        match self {
            Joinable::Controlled(controlled) => controlled.is_finished(site),
            Joinable::System(handle, _) => handle.is_finished(),
        }
    }
}

/// The same as [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(pub(super) Joinable<T, std::thread::JoinHandle<T>>);

// SAFETY: as std's: the outcome was required to be `Send` when the thread was started.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as std's: a shared handle gives no access to the outcome.
unsafe impl<T> Sync for JoinHandle<T> {}
// The outcome is not in the handle.
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The same as std's `thread`.
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// The same as std's `join`.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join(Location::caller())
    }

    /// The same as std's `is_finished`.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(Location::caller())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

#[cfg(unix)]
impl<T> std::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> std::os::unix::thread::RawPthread {
        match &self.0 {
            // A coroutine has no thread of the system of its own, and others are the engine's: that of the caller.
            // SAFETY: asks for the calling thread's own handle.
            Joinable::Controlled(_) => unsafe { libc::pthread_self() as std::os::unix::thread::RawPthread },
            Joinable::System(handle, _) => handle.as_pthread_t(),
        }
    }

    fn into_pthread_t(self) -> std::os::unix::thread::RawPthread {
        match self.0 {
            // SAFETY: as above.
            Joinable::Controlled(_) => unsafe { libc::pthread_self() as std::os::unix::thread::RawPthread },
            Joinable::System(handle, _) => handle.into_pthread_t(),
        }
    }
}
