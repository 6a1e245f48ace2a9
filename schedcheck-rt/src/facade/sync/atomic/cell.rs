//! What all atomics have in common, as one macro over the wrapped std type.

use crate::exec::{Active, active};
use crate::model::Kind;
use crate::races::Atomic;
use crate::search::step::Alt;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// Announces an operation on `cell` and waits for its turn.
#[inline]
pub(super) fn step<T>(kind: Kind, cell: &T, site: &'static Location<'static>) -> Step {
    // The engine comes here too, if the program has an allocator of its own that counts what it gives.
    let active = active().filter(Active::in_user);
    let memory = (std::ptr::from_ref(cell).addr(), size_of::<T>());
    let (alt, again) = active.map_or((Alt::DEFAULT, false), |active| active.memory(kind, memory, site));
    Step { active, kind, memory, fails: alt == Alt::WEAK_FAILURE, again }
}

/// An operation whose turn has come.
pub(super) struct Step {
    active: Option<Active>,
    kind: Kind,
    /// Where the atomic is, and how large.
    memory: (usize, usize),
    /// It is a weak CAS and is to fail for no reason.
    pub(super) fails: bool,
    /// It may be a round of a loop.
    again: bool,
}

impl Step {
    /// It was done, found `before` and left `after`; `None`: it only looked.
    #[inline]
    pub(super) fn found(&self, before: u64, after: Option<u64>, order: Ordering) {
        if let Some(active) = self.active {
            if self.again {
                self.done_again(active, (before, None, after), order);
                return active.leave_no_residue();
            }
            active.executed_on(before, after);
            self.order(active, after.is_some(), order);
        }
    }

    /// It was a CAS.
    #[inline]
    pub(super) fn compared(&self, before: u64, expected: u64, after: Option<u64>, order: Ordering) {
        if let Some(active) = self.active {
            if self.again {
                self.done_again(active, (before, Some(expected), after), order);
                return active.leave_no_residue();
            }
            active.executed_cas(before, expected, after);
            self.order(active, after.is_some(), order);
        }
    }

    /// It found a value, expected one if it was a CAS, and left one; not inlined, so that what it leaves can be removed.
    #[cold]
    #[inline(never)]
    fn done_again(&self, active: Active, values: (u64, Option<u64>, Option<u64>), order: Ordering) {
        let (before, expected, after) = values;
        match expected {
            Some(expected) => active.executed_cas(before, expected, after),
            None => active.executed_on(before, after),
        }
        self.order(active, after.is_some(), order);
    }

    #[inline]
    fn order(&self, active: Active, wrote: bool, order: Ordering) {
        let atomic = match self.kind {
            _ if !wrote => Atomic::Load,
            Kind::Store => Atomic::Store,
            _ => Atomic::ReadModifyWrite,
        };
        active.atomic(self.memory, atomic, order.into());
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
                let step = cell::step(Kind::Load, self, Location::caller());
                let value = self.0.load(order);
                step.found(value.bits(), None, order);
                value
            }

            /// The same as std's `store`.
            #[track_caller]
            #[inline(never)]
            pub fn store(&self, value: $value, order: Ordering) {
                let step = cell::step(Kind::Store, self, Location::caller());
                step.found(self.0.load(Ordering::Relaxed).bits(), Some(value.bits()), order);
                self.0.store(value, order);
            }

            /// The same as std's `swap`.
            #[track_caller]
            #[inline(never)]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let step = cell::step(Kind::ReadModifyWrite, self, Location::caller());
                let before = self.0.swap(value, order);
                step.found(before.bits(), Some(value.bits()), order);
                before
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
                let step = cell::step(Kind::CompareExchange, self, Location::caller());
                let result = self.0.compare_exchange(current, new, success, failure);
                let (Ok(before) | Err(before)) = result;
                let (after, order) =
                    if result.is_ok() { (Some(new.bits()), success) } else { (None, failure) };
                step.compared(before.bits(), current.bits(), after, order);
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
                let step = cell::step(Kind::CompareExchangeWeak, self, Location::caller());
                if step.fails {
                    let found = self.0.load(Ordering::Relaxed);
                    step.found(found.bits(), None, failure);
                    return Err(found);
                }
                let result = self.0.compare_exchange(current, new, success, failure);
                let (Ok(before) | Err(before)) = result;
                let (after, order) =
                    if result.is_ok() { (Some(new.bits()), success) } else { (None, failure) };
                step.compared(before.bits(), current.bits(), after, order);
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
                    let step = cell::step(Kind::ReadModifyWrite, self, Location::caller());
                    let before = self.0.$method(value, order);
                    step.found(before.bits(), Some(self.0.load(Ordering::Relaxed).bits()), order);
                    before
                }
            )*
        }
    };
}
