//! Atomic operations that are not the facades': the compiler's thread sanitizer pass turns those
//! of instrumented crates into these calls.
//!
//! User code has facades for its atomics, so what arrives here is generic std code compiled into
//! user crates, in practice the reference counts of `Arc`. Hence the reading of `fetch_add` and
//! `fetch_sub`: raising a count, and lowering it while others remain, commute with each other
//! (nobody can tell their order), while the drop that reaches zero, `strong_count`, `try_unwrap`,
//! `get_mut` and `upgrade` observe the count. A clone needs a reference that its thread holds, so
//! no other thread's drop can be the last one at that moment: swapping the two changes neither.

use crate::exec::{Active, active};
use crate::model::{Kind, Site};
use crate::races::{Atomic, Order};
use std::panic::Location;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// The place of operations whose source is std's.
fn unknown_site() -> Site {
    Location::caller()
}

/// An operation of user code inside an execution, whose turn has come; nothing for any other.
struct Step {
    active: Option<Active>,
    kind: Kind,
    memory: (usize, usize),
    /// It may be a round of a loop.
    again: bool,
}

/// Announces an operation if user code inside an execution does it.
#[inline]
fn step<T>(kind: Kind, cell: &T) -> Step {
    let active = active().filter(Active::in_user);
    let memory = (std::ptr::from_ref(cell).addr(), size_of::<T>());
    let again = active.is_some_and(|active| active.memory(kind, memory, unknown_site()).1);
    Step { active, kind, memory, again }
}

impl Step {
    /// It was done and found `before`; it left `after`, or only looked.
    fn found(&self, before: u64, after: Option<u64>, order: i32) {
        if let Some(active) = self.active {
            active.executed_on(before, after);
            self.order(after.is_some(), order);
        }
    }

    /// It was a compare-exchange.
    fn compared(&self, before: u64, expected: u64, after: Option<u64>, order: i32) {
        if let Some(active) = self.active {
            active.executed_cas(before, expected, after);
            self.order(after.is_some(), order);
        }
    }

    /// It changed a count; `last`: nobody is left.
    fn counted(&self, last: bool, order: i32) {
        if let Some(active) = self.active {
            if last {
                active.executed_as_write();
            }
            self.order(true, order);
        }
    }

    fn order(&self, wrote: bool, order: i32) {
        let atomic = match self.kind {
            _ if !wrote => Atomic::Load,
            Kind::Store => Atomic::Store,
            _ => Atomic::ReadModifyWrite,
        };
        if let Some(active) = self.active {
            active.atomic(self.memory, atomic, Order::of_number(order));
            if self.again {
                active.leave_no_residue();
            }
        }
    }
}

/// Called once by each instrumented object file.
#[unsafe(no_mangle)]
pub(super) extern "C" fn __tsan_init() {}

/// Sequentially consistent executions need no fences, but memory accesses are ordered by them. No step: what
/// it does concerns its own thread.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(order: i32) {
    if let Some(active) = active().filter(Active::in_user) {
        active.fence(Order::of_number(order));
    }
    fence(Ordering::SeqCst);
}

/// Orders nothing another thread could see.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: i32) {}

macro_rules! width {
    (
        $atomic:ident $value:ty: $load:ident $store:ident $exchange:ident $add:ident $sub:ident
        $strong:ident $weak:ident $val:ident $( $rmw:ident = $method:ident ),*
    ) => {
        #[unsafe(no_mangle)]
        extern "C" fn $load(cell: &$atomic, order: i32) -> $value {
            let step = step(Kind::Load, cell);
            let value = cell.load(Ordering::SeqCst);
            step.found(value.into(), None, order);
            value
        }

        #[unsafe(no_mangle)]
        extern "C" fn $store(cell: &$atomic, value: $value, order: i32) {
            let step = step(Kind::Store, cell);
            let before = cell.swap(value, Ordering::SeqCst);
            step.found(before.into(), Some(value.into()), order);
        }

        #[unsafe(no_mangle)]
        extern "C" fn $exchange(cell: &$atomic, value: $value, order: i32) -> $value {
            let step = step(Kind::ReadModifyWrite, cell);
            let before = cell.swap(value, Ordering::SeqCst);
            step.found(before.into(), Some(value.into()), order);
            before
        }

        #[unsafe(no_mangle)]
        extern "C" fn $add(cell: &$atomic, value: $value, order: i32) -> $value {
            let kind = if value == 1 { Kind::CountUp } else { Kind::ReadModifyWrite };
            let step = step(kind, cell);
            let before = cell.fetch_add(value, Ordering::SeqCst);
            step.counted(false, order);
            before
        }

        #[unsafe(no_mangle)]
        extern "C" fn $sub(cell: &$atomic, value: $value, order: i32) -> $value {
            let counts = value == 1;
            let step = step(if counts { Kind::CountDown } else { Kind::ReadModifyWrite }, cell);
            let before = cell.fetch_sub(value, Ordering::SeqCst);
            step.counted(counts && before == 1, order);
            before
        }

        #[unsafe(no_mangle)]
        extern "C" fn $strong(
            cell: &$atomic,
            expected: &mut $value,
            new: $value,
            success: i32,
            failure: i32,
        ) -> i32 {
            let step = step(Kind::CompareExchange, cell);
            match cell.compare_exchange(*expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(before) => {
                    step.compared(before.into(), before.into(), Some(new.into()), success);
                    1
                }
                Err(before) => {
                    step.compared(before.into(), (*expected).into(), None, failure);
                    *expected = before;
                    0
                }
            }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $weak(cell: &$atomic, expected: &mut $value, new: $value, s: i32, f: i32) -> i32 {
            $strong(cell, expected, new, s, f)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $val(cell: &$atomic, expected: $value, new: $value, s: i32, f: i32) -> $value {
            let mut found = expected;
            $strong(cell, &mut found, new, s, f);
            found
        }

        $(
            #[unsafe(no_mangle)]
            extern "C" fn $rmw(cell: &$atomic, value: $value, order: i32) -> $value {
                let step = step(Kind::ReadModifyWrite, cell);
                let before = cell.$method(value, Ordering::SeqCst);
                step.found(before.into(), Some(cell.load(Ordering::SeqCst).into()), order);
                before
            }
        )*
    };
}

width!(AtomicU8 u8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
    __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_compare_exchange_strong
    __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val
    __tsan_atomic8_fetch_and = fetch_and, __tsan_atomic8_fetch_or = fetch_or,
    __tsan_atomic8_fetch_xor = fetch_xor, __tsan_atomic8_fetch_nand = fetch_nand);
width!(AtomicU16 u16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
    __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_compare_exchange_strong
    __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val
    __tsan_atomic16_fetch_and = fetch_and, __tsan_atomic16_fetch_or = fetch_or,
    __tsan_atomic16_fetch_xor = fetch_xor, __tsan_atomic16_fetch_nand = fetch_nand);
width!(AtomicU32 u32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
    __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_compare_exchange_strong
    __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val
    __tsan_atomic32_fetch_and = fetch_and, __tsan_atomic32_fetch_or = fetch_or,
    __tsan_atomic32_fetch_xor = fetch_xor, __tsan_atomic32_fetch_nand = fetch_nand);
width!(AtomicU64 u64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
    __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_compare_exchange_strong
    __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val
    __tsan_atomic64_fetch_and = fetch_and, __tsan_atomic64_fetch_or = fetch_or,
    __tsan_atomic64_fetch_xor = fetch_xor, __tsan_atomic64_fetch_nand = fetch_nand);
