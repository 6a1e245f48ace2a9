//! `AtomicPtr`: generic, so every operation is done by its untyped twin, which is compiled here.
#![expect(
    dead_code,
    unreachable_pub,
    reason = "`Untyped` is private and has the whole method set of the macros"
)]

use super::cell;
use crate::model::Kind;
use std::panic::Location;
use std::sync::atomic::{self as real, Ordering};

/// The same as [`std::sync::atomic::AtomicPtr`], a step per operation.
#[repr(transparent)]
pub struct AtomicPtr<T>(real::AtomicPtr<T>);

/// An `AtomicPtr` whose type does not matter.
#[repr(transparent)]
pub struct Untyped(real::AtomicPtr<()>);

atomic_cell!(Untyped, real::AtomicPtr<()>, *mut ());

macro_rules! untyped_rmw {
    ($($method:ident)*) => { $(
        #[track_caller]
        #[inline(never)]
        fn $method(&self, value: usize, order: Ordering) -> *mut () {
            cell::step(Kind::ReadModifyWrite, self, Location::caller(), move |cell, _| {
                let before = cell.0.$method(value, order);
                (before, cell::found(before, Some(cell.0.load(Ordering::Relaxed)), order))
            })
        }
    )* };
}

impl Untyped {
    untyped_rmw!(fetch_byte_add fetch_byte_sub fetch_or fetch_and fetch_xor);
}

macro_rules! typed_rmw {
    ($($method:ident)*) => { $(
        #[doc = concat!("The same as std's `", stringify!($method), "`.")]
        #[track_caller]
        #[inline]
        pub fn $method(&self, value: usize, order: Ordering) -> *mut T {
            self.untyped().$method(value, order).cast()
        }
    )* };
}

impl<T> AtomicPtr<T> {
    /// The same as std's `new`.
    #[inline]
    pub const fn new(pointer: *mut T) -> Self {
        Self(real::AtomicPtr::new(pointer))
    }

    /// The same as std's `null`.
    #[inline]
    pub const fn null() -> Self {
        Self::new(std::ptr::null_mut())
    }

    /// The same as std's `from_ptr`.
    ///
    /// # Safety
    /// As std's.
    #[inline]
    pub const unsafe fn from_ptr<'a>(pointer: *mut *mut T) -> &'a Self {
        // SAFETY: the caller's promise; the facade is transparent over the std type.
        unsafe { &*pointer.cast::<Self>() }
    }

    /// The same as std's `get_mut`.
    #[inline]
    pub fn get_mut(&mut self) -> &mut *mut T {
        self.0.get_mut()
    }

    /// The same as std's `into_inner`.
    #[inline]
    pub const fn into_inner(self) -> *mut T {
        self.0.into_inner()
    }

    /// The same as std's `as_ptr`.
    #[inline]
    pub const fn as_ptr(&self) -> *mut *mut T {
        self.0.as_ptr()
    }

    #[inline]
    fn untyped(&self) -> &Untyped {
        // SAFETY: both are transparent over a thin pointer cell of the same layout.
        unsafe { &*std::ptr::from_ref(self).cast::<Untyped>() }
    }

    /// The same as std's `load`.
    #[track_caller]
    #[inline]
    pub fn load(&self, order: Ordering) -> *mut T {
        self.untyped().load(order).cast()
    }

    /// The same as std's `store`.
    #[track_caller]
    #[inline]
    pub fn store(&self, pointer: *mut T, order: Ordering) {
        self.untyped().store(pointer.cast(), order);
    }

    /// The same as std's `swap`.
    #[track_caller]
    #[inline]
    pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        self.untyped().swap(pointer.cast(), order).cast()
    }

    /// The same as std's `compare_and_swap`.
    #[deprecated(note = "use `compare_exchange` or `compare_exchange_weak` instead")]
    #[track_caller]
    #[inline]
    pub fn compare_and_swap(&self, current: *mut T, new: *mut T, order: Ordering) -> *mut T {
        #[expect(deprecated, reason = "the facade of a deprecated method")]
        self.untyped().compare_and_swap(current.cast(), new.cast(), order).cast()
    }

    /// The same as std's `compare_exchange`.
    #[track_caller]
    #[inline]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        retype(self.untyped().compare_exchange(current.cast(), new.cast(), success, failure))
    }

    /// The same as std's `compare_exchange_weak`; under control, explored both ways.
    #[track_caller]
    #[inline]
    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        retype(self.untyped().compare_exchange_weak(current.cast(), new.cast(), success, failure))
    }

    /// The same as std's `fetch_update`.
    #[track_caller]
    #[inline]
    pub fn fetch_update<F>(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut f: F,
    ) -> Result<*mut T, *mut T>
    where
        F: FnMut(*mut T) -> Option<*mut T>,
    {
        retype(
            self.untyped()
                .fetch_update(set_order, fetch_order, |pointer| f(pointer.cast()).map(<*mut T>::cast)),
        )
    }

    /// The same as std's `try_update`.
    #[track_caller]
    #[inline]
    pub fn try_update(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        f: impl FnMut(*mut T) -> Option<*mut T>,
    ) -> Result<*mut T, *mut T> {
        self.fetch_update(set_order, fetch_order, f)
    }

    /// The same as std's `update`.
    #[track_caller]
    #[inline]
    pub fn update(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut f: impl FnMut(*mut T) -> *mut T,
    ) -> *mut T {
        self.untyped().update(set_order, fetch_order, |pointer| f(pointer.cast()).cast()).cast()
    }

    /// The same as std's `fetch_ptr_add`.
    #[track_caller]
    #[inline]
    pub fn fetch_ptr_add(&self, value: usize, order: Ordering) -> *mut T {
        self.fetch_byte_add(value.wrapping_mul(size_of::<T>()), order)
    }

    /// The same as std's `fetch_ptr_sub`.
    #[track_caller]
    #[inline]
    pub fn fetch_ptr_sub(&self, value: usize, order: Ordering) -> *mut T {
        self.fetch_byte_sub(value.wrapping_mul(size_of::<T>()), order)
    }

    typed_rmw!(fetch_byte_add fetch_byte_sub fetch_or fetch_and fetch_xor);
}

fn retype<T>(result: Result<*mut (), *mut ()>) -> Result<*mut T, *mut T> {
    match result {
        Ok(pointer) => Ok(pointer.cast()),
        Err(pointer) => Err(pointer.cast()),
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::null()
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    fn from(pointer: *mut T) -> Self {
        Self::new(pointer)
    }
}

impl<T> std::fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
    }
}

impl<T> std::fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}
