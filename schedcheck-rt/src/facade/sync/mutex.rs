//! `Mutex`.

use super::raw_mutex::{RawGuard, RawMutex};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The same as [`std::sync::Mutex`]; under control, locking and unlocking are steps.
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    data: UnsafeCell<T>,
}

// SAFETY: as std's: the lock makes access to the data exclusive.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as std's.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

/// The same as [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    pub(super) raw: RawGuard<'a>,
    data: &'a UnsafeCell<T>,
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: as std's: sharing a guard shares the data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// The same as std's `new`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Mutex { raw: RawMutex::new(), data: UnsafeCell::new(value) }
    }

    /// The same as std's `into_inner`.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.raw.poison_flag();
        let value = self.data.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// The same as std's `lock`.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.guarded(self.raw.lock(Location::caller()))
    }

    /// The same as std's `try_lock`; under control, seen held whenever another thread holds it.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.raw.try_lock(Location::caller()) {
            Some(raw) => Ok(self.guarded(raw)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// The same as std's `is_poisoned`.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.raw.is_poisoned(Location::caller())
    }

    /// The same as std's `clear_poison`.
    #[track_caller]
    pub fn clear_poison(&self) {
        self.raw.clear_poison(Location::caller());
    }

    /// The same as std's `get_mut`.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.raw.poison_flag();
        let data = self.data.get_mut();
        if poisoned { Err(PoisonError::new(data)) } else { Ok(data) }
    }

    fn guarded<'a>(&'a self, raw: RawGuard<'a>) -> LockResult<MutexGuard<'a, T>> {
        let guard = MutexGuard { raw, data: &self.data, not_send: std::marker::PhantomData };
        guard.checked()
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// As a result: an error if the mutex is poisoned.
    pub(super) fn checked(self) -> LockResult<Self> {
        if self.raw.poison_flag() { Err(PoisonError::new(self)) } else { Ok(self) }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard stands for exclusive access.
        unsafe { &*self.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => shown.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &format_args!("<locked>")),
        };
        shown.field("poisoned", &self.raw.poison_flag()).finish_non_exhaustive()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}
