//! What all atomics have in common, as one macro over the wrapped std type.

use crate::exec::active;
use crate::model::Kind;
use std::panic::Location;

/// Announces an operation on the atomic at `address`; true if a weak CAS is to fail spuriously.
#[inline]
pub(super) fn step(kind: Kind, address: usize, site: &'static Location<'static>) -> bool {
    match active() {
        Some(active) => active.memory(kind, address, site) == crate::search::step::Alt::WEAK_FAILURE,
        None => false,
    }
}

/// The operation just executed did not write.
#[inline]
pub(super) fn only_read() {
    if let Some(active) = active() {
        active.executed_as_read();
    }
}

/// Methods that every atomic has: `$name` wraps `$real` and holds a `$value`.
macro_rules! atomic_cell {
    ($name:ident, $real:ty, $value:ty) => {
        impl $name {
            #[doc = concat!("The same as std's `", stringify!($name), "::new`.")]
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(<$real>::new(value))
            }

            /// The same as std's `from_ptr`.
            ///
            /// # Safety
            /// As std's.
            #[inline]
            pub const unsafe fn from_ptr<'a>(pointer: *mut $value) -> &'a Self {
                // SAFETY: the caller's promise; the facade is transparent over the std type.
                unsafe { &*pointer.cast::<Self>() }
            }

            /// The same as std's `get_mut`.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// The same as std's `into_inner`.
            #[inline]
            pub const fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// The same as std's `as_ptr`.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            #[inline]
            fn address(&self) -> usize {
                std::ptr::from_ref(self).addr()
            }

            /// The same as std's `load`.
            #[track_caller]
            #[inline(never)]
            pub fn load(&self, order: Ordering) -> $value {
                cell::step(Kind::Load, self.address(), Location::caller());
                self.0.load(order)
            }

            /// The same as std's `store`.
            #[track_caller]
            #[inline(never)]
            pub fn store(&self, value: $value, order: Ordering) {
                cell::step(Kind::Store, self.address(), Location::caller());
                self.0.store(value, order);
            }

            /// The same as std's `swap`.
            #[track_caller]
            #[inline(never)]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                cell::step(Kind::ReadModifyWrite, self.address(), Location::caller());
                self.0.swap(value, order)
            }

            /// The same as std's `compare_and_swap`.
            #[deprecated(note = "use `compare_exchange` or `compare_exchange_weak` instead")]
            #[track_caller]
            #[inline(never)]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    other => other,
                };
                match self.compare_exchange(current, new, order, failure) {
                    Ok(value) | Err(value) => value,
                }
            }

            /// The same as std's `compare_exchange`.
            #[track_caller]
            #[inline(never)]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                cell::step(Kind::CompareExchange, self.address(), Location::caller());
                let result = self.0.compare_exchange(current, new, success, failure);
                if result.is_err() {
                    cell::only_read();
                }
                result
            }

            /// The same as std's `compare_exchange_weak`; under control, explored both ways.
            #[track_caller]
            #[inline(never)]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let fails = cell::step(Kind::CompareExchangeWeak, self.address(), Location::caller());
                let result = if fails {
                    Err(self.0.load(Ordering::Relaxed))
                } else {
                    self.0.compare_exchange(current, new, success, failure)
                };
                if result.is_err() {
                    cell::only_read();
                }
                result
            }

            /// The same as std's `fetch_update`.
            #[track_caller]
            #[inline]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut previous = self.load(fetch_order);
                while let Some(next) = f(previous) {
                    match self.compare_exchange_weak(previous, next, set_order, fetch_order) {
                        updated @ Ok(_) => return updated,
                        Err(found) => previous = found,
                    }
                }
                Err(previous)
            }

            /// The same as std's `try_update`.
            #[track_caller]
            #[inline]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set_order, fetch_order, f)
            }

            /// The same as std's `update`.
            #[track_caller]
            #[inline]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let mut previous = self.load(fetch_order);
                loop {
                    let next = f(previous);
                    match self.compare_exchange_weak(previous, next, set_order, fetch_order) {
                        Ok(updated) => return updated,
                        Err(found) => previous = found,
                    }
                }
            }
        }
    };
}

/// Read-modify-write methods: each forwards to the std method of its name.
macro_rules! atomic_rmw {
    ($name:ident, $value:ty: $($method:ident)*) => {
        impl $name {
            $(
                #[doc = concat!("The same as std's `", stringify!($method), "`.")]
                #[track_caller]
                #[inline(never)]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    cell::step(Kind::ReadModifyWrite, self.address(), Location::caller());
                    self.0.$method(value, order)
                }
            )*
        }
    };
}
