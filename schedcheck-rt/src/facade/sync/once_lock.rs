//! `OnceLock`.

use super::once::Once;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The same as [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    once: Once,
    /// Meaningful only while `once` is completed: in a static it may hold what an earlier
    /// execution left, which is neither read nor dropped.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: as std's: one thread may write the value and another one read or drop it.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: as std's.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// The same as std's `new`.
    #[inline]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
    }

    /// The same as std's `get`.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: it is completed.
        if self.once.is_completed() { Some(unsafe { self.value() }) } else { None }
    }

    /// The same as std's `get_mut`.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if self.once.has_completed() { self.value.get_mut().as_mut() } else { None }
    }

    /// The same as std's `wait`.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: it is completed.
        unsafe { self.value() }
    }

    /// The same as std's `set`.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("runs once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// The same as std's `get_or_init`.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        self.once.call_once_force(|_| {
            let value = f();
            // SAFETY: only the running initialiser touches the value. What was there, if
            // anything, belonged to an earlier execution and must not be dropped.
            unsafe { self.value.get().write(Some(value)) };
        });
        // SAFETY: it is completed.
        unsafe { self.value() }
    }

    /// The same as std's `into_inner`.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// The same as std's `take`.
    pub fn take(&mut self) -> Option<T> {
        if !self.once.has_completed() {
            return None;
        }
        self.once = Once::new();
        self.value.get_mut().take()
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

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get().map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        OnceLock { once: Once::completed(), value: UnsafeCell::new(Some(value)) }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
