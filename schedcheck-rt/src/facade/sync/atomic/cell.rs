//! What all atomics have in common, as one macro over the wrapped std type.

use crate::exec::{Active, Done, Effect, active};
use crate::model::Kind;
use crate::search::step::Alt;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// Does `real` to `cell` when its turn has come: told whether it is a weak CAS that is to fail for no reason, it says what it
/// returns and what it did.
#[inline(always)]
pub(super) fn step<T, R>(
    kind: Kind,
    cell: &T,
    site: &'static Location<'static>,
    real: impl FnOnce(&T, bool) -> (R, Done),
) -> R {
    // The engine comes here too, if the program has an allocator of its own that counts what it gives.
    let Some(active) = active().filter(Active::in_user) else { return real(cell, false).0 };
    active.memory(kind, cell, site, None, move |cell, alt| real(cell, alt == Alt::WEAK_FAILURE))
}

/// The same of one that changes nothing unless it finds what it expects.
#[inline(always)]
pub(super) fn step_if<T, R>(
    kind: Kind,
    cell: &T,
    site: &'static Location<'static>,
    expected: impl Bits,
    real: impl FnOnce(&T, bool) -> (R, Done),
) -> R {
    let Some(active) = active().filter(Active::in_user) else { return real(cell, false).0 };
    let expected = Some(expected.bits());
    active.memory(kind, cell, site, expected, move |cell, alt| real(cell, alt == Alt::WEAK_FAILURE))
}

/// An operation found `before` and left `after`; `None`: it only looked.
#[inline]
pub(super) fn found(before: impl Bits, after: Option<impl Bits>, order: Ordering) -> Done {
    let effect = Effect::Found { before: before.bits(), after: after.map(Bits::bits) };
    Done { effect, order: order.into() }
}

/// A compare-exchange of `expected` for `new`, with the orders of success and failure, had this result.
#[inline]
pub(super) fn compared<T: Bits>(
    expected: T,
    new: T,
    orders: (Ordering, Ordering),
    result: Result<T, T>,
) -> Done {
    let (before, after, order) = match result {
        Ok(before) => (before, Some(new.bits()), orders.0),
        Err(before) => (before, None, orders.1),
    };
    let effect = Effect::Compared { before: before.bits(), expected: expected.bits(), after };
    Done { effect, order: order.into() }
}

/// Panics, as std does, where no load can have that order. To be asked before the step: a panic in the middle of one would
/// leave the engine's work undone.
#[inline]
#[track_caller]
pub(super) fn check_load(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => {}
    }
}

/// The same of a store.
#[inline]
#[track_caller]
pub(super) fn check_store(order: Ordering) {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => {}
    }
}

/// The same of a compare-exchange that fails.
#[inline]
#[track_caller]
pub(super) fn check_failure(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
        _ => {}
    }
}

/// A value as the number that stands for it in a trace.
pub(super) trait Bits: Copy {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($value:ty)*) => { $(
        impl Bits for $value {
            #[inline]
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )* };
}

bits!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize bool);

impl Bits for *mut () {
    #[inline]
    fn bits(self) -> u64 {
        self.addr() as u64
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

            /// The same as std's `load`.
            #[track_caller]
            #[inline(never)]
            pub fn load(&self, order: Ordering) -> $value {
                cell::check_load(order);
                cell::step(Kind::Load, self, Location::caller(), move |cell, _| {
                    let value = cell.0.load(order);
                    (value, cell::found(value, None::<$value>, order))
                })
            }

            /// The same as std's `store`.
            #[track_caller]
            #[inline(never)]
            pub fn store(&self, value: $value, order: Ordering) {
                cell::check_store(order);
                cell::step(Kind::Store, self, Location::caller(), move |cell, _| {
                    let before = cell.0.load(Ordering::Relaxed);
                    cell.0.store(value, order);
                    ((), cell::found(before, Some(value), order))
                });
            }

            /// The same as std's `swap`.
            #[track_caller]
            #[inline(never)]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                cell::step(Kind::ReadModifyWrite, self, Location::caller(), move |cell, _| {
                    let before = cell.0.swap(value, order);
                    (before, cell::found(before, Some(value), order))
                })
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
                cell::check_failure(failure);
                cell::step_if(Kind::CompareExchange, self, Location::caller(), current, move |cell, _| {
                    let result = cell.0.compare_exchange(current, new, success, failure);
                    (result, cell::compared(current, new, (success, failure), result))
                })
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
                cell::check_failure(failure);
                cell::step_if(
                    Kind::CompareExchangeWeak,
                    self,
                    Location::caller(),
                    current,
                    move |cell, fails| {
                        if fails {
                            let found = cell.0.load(Ordering::Relaxed);
                            return (Err(found), cell::found(found, None::<$value>, failure));
                        }
                        let result = cell.0.compare_exchange(current, new, success, failure);
                        (result, cell::compared(current, new, (success, failure), result))
                    },
                )
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
                    cell::step(Kind::ReadModifyWrite, self, Location::caller(), move |cell, _| {
                        let before = cell.0.$method(value, order);
                        (before, cell::found(before, Some(cell.0.load(Ordering::Relaxed)), order))
                    })
                }
            )*
        }
    };
}
