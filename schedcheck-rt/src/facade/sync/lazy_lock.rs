//! `LazyLock`.

use super::once::Once;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

const POISON_TEXT: &str = "LazyLock instance has previously been poisoned";

/// The same as [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    /// Kept as it is when it runs, so that one in a static can run again in the next execution.
    init: ManuallyDrop<F>,
    /// The initialiser was started: it belongs to whoever did.
    started: UnsafeCell<bool>,
    /// As in `OnceLock`: meaningful only while `once` is completed.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: as std's: the initialiser runs in one thread, the value is shared by all.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// The same as std's `new`.
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            once: Once::new(),
            init: ManuallyDrop::new(f),
            started: UnsafeCell::new(false),
            value: UnsafeCell::new(None),
        }
    }

    /// The same as std's `force`.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.once.call_once_or(|| this.initialise(), POISON_TEXT);
        // SAFETY: it is completed.
        unsafe { this.value() }
    }

    /// The same as std's `force_mut`.
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        this.value.get_mut().as_mut().expect("just initialised")
    }

    fn initialise(&self) {
        // SAFETY: `once` runs this in one thread at a time and once per execution. The bits of the
        // initialiser are used again only for a static, in another execution; they were
        // evaluated at compile time, so they own nothing that the first run could have freed.
        let init = unsafe {
            *self.started.get() = true;
            std::ptr::read(&raw const *self.init)
        };
        let value = init();
        // SAFETY: only the running initialiser touches the value. What was there, if anything,
        // belonged to an earlier execution and must not be dropped.
        unsafe { self.value.get().write(Some(value)) };
    }
}

impl<T, F> LazyLock<T, F> {
    /// The same as std's `get`.
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        // SAFETY: it is completed.
        if this.once.is_completed() { Some(unsafe { this.value() }) } else { None }
    }

    /// The same as std's `get_mut`.
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        if this.once.has_completed() { this.value.get_mut().as_mut() } else { None }
    }

    /// The value.
    ///
    /// # Safety
    /// `once` must be completed.
    unsafe fn value(&self) -> &T {
        // SAFETY: a completed cell is only read, and holds a value.
        unsafe { (*self.value.get()).as_ref().unwrap_unchecked() }
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        if !*self.started.get_mut() {
            // SAFETY: nobody has taken the initialiser, and nobody will.
            unsafe { ManuallyDrop::drop(&mut self.init) };
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}
