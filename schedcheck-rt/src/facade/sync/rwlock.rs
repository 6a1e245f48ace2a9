//! `RwLock`.

use super::raw_rwlock::{RawReadGuard, RawRwLock, RawWriteGuard};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The same as [`std::sync::RwLock`]; under control, readers pass waiting writers or are held back
/// by them, whichever shows something new.
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    data: UnsafeCell<T>,
}

// SAFETY: as std's: the lock makes access to the data shared or exclusive.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as std's: readers in several threads see the data at once, hence `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// The same as [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    raw: RawReadGuard<'a>,
    /// A pointer, not a reference: the data may change as soon as the lock is released, which
    /// happens while the guard itself is still borrowed by its drop.
    data: NonNull<T>,
    lock: PhantomData<&'a T>,
}

// SAFETY: as std's: sharing a guard shares the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// The same as [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    raw: RawWriteGuard<'a>,
    data: &'a UnsafeCell<T>,
}

// SAFETY: as std's.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// The same as std's `new`.
    #[inline]
    pub const fn new(value: T) -> Self {
        RwLock { raw: RawRwLock::new(), data: UnsafeCell::new(value) }
    }

    /// The same as std's `into_inner`.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.raw.poison.is_set();
        let value = self.data.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// The same as std's `read`.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.reader(self.raw.read(Location::caller()))
    }

    /// The same as std's `try_read`.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.raw.try_read(Location::caller()) {
            Some(raw) => Ok(self.reader(raw)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// The same as std's `write`.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.writer(self.raw.write(Location::caller()))
    }

    /// The same as std's `try_write`.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.raw.try_write(Location::caller()) {
            Some(raw) => Ok(self.writer(raw)?),
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
        let poisoned = self.raw.poison.is_set();
        let data = self.data.get_mut();
        if poisoned { Err(PoisonError::new(data)) } else { Ok(data) }
    }

    fn reader<'a>(&'a self, raw: RawReadGuard<'a>) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = RwLockReadGuard::over(raw, &self.data);
        if guard.raw.poisoned() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    fn writer<'a>(&'a self, raw: RawWriteGuard<'a>) -> LockResult<RwLockWriteGuard<'a, T>> {
        let guard = RwLockWriteGuard { raw, data: &self.data };
        if guard.raw.poisoned() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    fn over(raw: RawReadGuard<'a>, data: &'a UnsafeCell<T>) -> Self {
        let data = NonNull::new(data.get()).expect("a reference is not null");
        RwLockReadGuard { raw, data, lock: PhantomData }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The same as std's `downgrade`.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let RwLockWriteGuard { raw, data } = s;
        RwLockReadGuard::over(raw.downgrade(Location::caller()), data)
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard keeps writers out.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard stands for exclusive access.
        unsafe { &*self.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => shown.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &format_args!("<locked>")),
        };
        shown.field("poisoned", &self.raw.poison.is_set()).finish_non_exhaustive()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}
