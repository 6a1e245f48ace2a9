//! `LocalKey` and `AccessError`.

use super::storage::{self, Found, Slot};
use std::fmt;

/// The same as [`std::thread::LocalKey`]: a value per thread of the execution, fresh in every one.
pub struct LocalKey<T: 'static> {
    /// Behind a function, as the key is a constant and the slot is not.
    slot: fn() -> &'static Slot,
    init: fn() -> T,
    pub(super) real: &'static std::thread::LocalKey<T>,
}

/// The same as [`std::thread::AccessError`].
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt("already destroyed", f)
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(
        slot: fn() -> &'static Slot,
        init: fn() -> T,
        real: &'static std::thread::LocalKey<T>,
    ) -> LocalKey<T> {
        LocalKey { slot, init, real }
    }

    /// The same as std's `with`.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => unavailable(error),
        }
    }

    /// The same as std's `try_with`.
    #[inline]
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        if !storage::in_execution() {
            return self.real.try_with(f).map_err(|_| AccessError);
        }
        let (value, _) = self.place(None)?;
        Ok(f(value))
    }

    /// As [`LocalKey::place`], with std's panic.
    #[track_caller]
    pub(super) fn place_or_panic(&'static self, init: Option<T>) -> (&'static T, Option<T>) {
        match self.place(init) {
            Ok(place) => place,
            Err(error) => unavailable(error),
        }
    }

    /// The value of the running thread of the execution, initialised with `init` or as declared.
    /// Gives `init` back if there was a value already. The reference holds until the thread ends.
    fn place(&'static self, init: Option<T>) -> Result<(&'static T, Option<T>), AccessError> {
        let slot = (self.slot)();
        let (value, unused) = match storage::find(slot) {
            Found::Value(value) => (value, init),
            Found::Destroyed => return Err(AccessError),
            Found::Nothing => {
                let value = Box::into_raw(Box::new(init.unwrap_or_else(self.init))).cast();
                let needs_drop = std::mem::needs_drop::<T>();
                if let Some(replaced) = storage::put(slot, value, free::<T>, needs_drop) {
                    // SAFETY: it was put with this type, and is no longer found.
                    unsafe { free::<T>(replaced) };
                }
                (value, None)
            }
        };
        // SAFETY: a boxed value of this type, which stays until the thread ends.
        Ok((unsafe { &*value.cast::<T>() }, unused))
    }
}

/// Drops a boxed value.
///
/// # Safety
/// `value` must come from a box of a `T` and not be used any more.
unsafe fn free<T>(value: *mut ()) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

#[track_caller]
#[cold]
fn unavailable(error: AccessError) -> ! {
    panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
