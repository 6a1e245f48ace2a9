//! Atomic operations that are not the facades': the compiler's thread sanitizer pass turns those
//! of instrumented crates into these calls.
//!
//! User code has facades for its atomics, so what arrives here is generic std code compiled into
//! user crates, in practice the reference counts of `Arc`. Hence the reading of `fetch_add` and
//! `fetch_sub`: raising a count, and lowering it while others remain, commute with each other
//! (nobody can tell their order), while the drop that reaches zero, `strong_count`, `try_unwrap`,
//! `get_mut` and `upgrade` observe the count. A clone needs a reference that its thread holds, so
//! no other thread's drop can be the last one at that moment: swapping the two changes neither.

use crate::exec::active;
use crate::model::{Kind, Site};
use std::panic::Location;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// The place of operations whose source is std's.
fn unknown_site() -> Site {
    Location::caller()
}

/// Announces an operation if user code inside an execution does it.
#[inline]
fn step(kind: Kind, address: usize) -> bool {
    match active() {
        Some(active) if active.in_user() => {
            active.memory(kind, address, unknown_site());
            true
        }
        _ => false,
    }
}

/// Notes what the operation just done found, and whether it wrote.
fn found(controlled: bool, before: u64, after: Option<u64>) {
    if controlled && let Some(active) = active() {
        active.executed_on(before, after);
    }
}

fn compared(controlled: bool, before: u64, expected: u64, after: Option<u64>) {
    if controlled && let Some(active) = active() {
        active.executed_cas(before, expected, after);
    }
}

fn executed_as_write(controlled: bool) {
    if controlled && let Some(active) = active() {
        active.executed_as_write();
    }
}

/// Called once by each instrumented object file.
#[unsafe(no_mangle)]
pub(super) extern "C" fn __tsan_init() {}

/// Sequentially consistent executions need no fences.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_order: i32) {
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
        extern "C" fn $load(cell: &$atomic, _order: i32) -> $value {
            let controlled = step(Kind::Load, std::ptr::from_ref(cell).addr());
            let value = cell.load(Ordering::SeqCst);
            found(controlled, value.into(), None);
            value
        }

        #[unsafe(no_mangle)]
        extern "C" fn $store(cell: &$atomic, value: $value, _order: i32) {
            let controlled = step(Kind::Store, std::ptr::from_ref(cell).addr());
            let before = cell.swap(value, Ordering::SeqCst);
            found(controlled, before.into(), Some(cell.load(Ordering::SeqCst).into()));
        }

        #[unsafe(no_mangle)]
        extern "C" fn $exchange(cell: &$atomic, value: $value, _order: i32) -> $value {
            let controlled = step(Kind::ReadModifyWrite, std::ptr::from_ref(cell).addr());
            let before = cell.swap(value, Ordering::SeqCst);
            found(controlled, before.into(), Some(cell.load(Ordering::SeqCst).into()));
            before
        }

        #[unsafe(no_mangle)]
        extern "C" fn $add(cell: &$atomic, value: $value, _order: i32) -> $value {
            let kind = if value == 1 { Kind::CountUp } else { Kind::ReadModifyWrite };
            step(kind, std::ptr::from_ref(cell).addr());
            cell.fetch_add(value, Ordering::SeqCst)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $sub(cell: &$atomic, value: $value, _order: i32) -> $value {
            let counts = value == 1;
            let kind = if counts { Kind::CountDown } else { Kind::ReadModifyWrite };
            let controlled = step(kind, std::ptr::from_ref(cell).addr());
            let before = cell.fetch_sub(value, Ordering::SeqCst);
            executed_as_write(controlled && counts && before == 1);
            before
        }

        #[unsafe(no_mangle)]
        extern "C" fn $strong(cell: &$atomic, expected: &mut $value, new: $value, _s: i32, _f: i32) -> i32 {
            let controlled = step(Kind::CompareExchange, std::ptr::from_ref(cell).addr());
            match cell.compare_exchange(*expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(before) => {
                    compared(controlled, before.into(), before.into(), Some(new.into()));
                    1
                }
                Err(before) => {
                    compared(controlled, before.into(), (*expected).into(), None);
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
            extern "C" fn $rmw(cell: &$atomic, value: $value, _order: i32) -> $value {
                let controlled = step(Kind::ReadModifyWrite, std::ptr::from_ref(cell).addr());
                let before = cell.$method(value, Ordering::SeqCst);
                found(controlled, before.into(), Some(cell.load(Ordering::SeqCst).into()));
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
