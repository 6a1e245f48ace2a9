//! `LocalKey` and `AccessError`.

use super::storage::{self, Found, Slot};
use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

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
                let value = room_for(init.unwrap_or_else(self.init)).cast();
                let needs_drop = std::mem::needs_drop::<T>();
                if let Some(replaced) = storage::put(slot, value, free::<T>, needs_drop) {
                    // SAFETY: it was put with this type, and is no longer found.
                    unsafe { free::<T>(replaced) };
                }
                (value, None)
            }
        };
        // SAFETY: a value of this type, which stays until the thread ends.
        Ok((unsafe { &*value.cast::<T>() }, unused))
    }
}

/// Puts a value on the heap. Not in a box: a program's own allocator may have thread-local values itself, and in std those
/// are not allocated by it.
fn room_for<T>(value: T) -> *mut T {
    let layout = Layout::new::<T>();
    let room = match layout.size() {
        0 => NonNull::<T>::dangling().as_ptr(),
        // SAFETY: the size is not zero.
        _ => unsafe { System.alloc(layout) }.cast(),
    };
    if room.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: fresh memory of this layout.
    unsafe { room.write(value) };
    room
}

/// Drops a value and gives its room back.
///
/// # Safety
/// `value` must come from [`room_for`] a `T` and not be used any more.
unsafe fn free<T>(value: *mut ()) {
    struct Room<T>(*mut T);
    impl<T> Drop for Room<T> {
        fn drop(&mut self) {
            let layout = Layout::new::<T>();
            if layout.size() > 0 {
                // SAFETY: its room was allocated so, and it is empty.
                unsafe { System.dealloc(self.0.cast(), layout) };
            }
        }
    }
    let room = Room(value.cast::<T>());
    // SAFETY: the caller's promise.
    unsafe { room.0.drop_in_place() };
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
