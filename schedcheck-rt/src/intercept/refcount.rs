//! Atomic operations that are not the facades': the compiler's thread sanitizer pass turns those
//! of instrumented crates into these calls.
//!
//! User code has facades for its atomics, so what arrives here is generic std code compiled into
//! user crates, in practice the reference counts of `Arc`. Hence the reading of `fetch_add` and
//! `fetch_sub`: raising a count, and lowering it while others remain, commute with each other
//! (nobody can tell their order), while the drop that reaches zero, `strong_count`, `try_unwrap`,
//! `get_mut` and `upgrade` observe the count. A clone needs a reference that its thread holds, so
//! no other thread's drop can be the last one at that moment: swapping the two changes neither.

use crate::exec::{Active, Done, Effect, active};
use crate::model::{Kind, Site};
use crate::races::Order;
use std::panic::Location;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// The place of operations whose source is std's.
fn unknown_site() -> Site {
    Location::caller()
}

/// Does `real`, in its turn if user code inside an execution does it: it says what it returns and what it did.
#[inline(always)]
fn step<T, R>(kind: Kind, cell: &T, real: impl FnOnce(&T) -> (R, Done)) -> R {
    let Some(active) = active().filter(Active::in_user) else { return real(cell).0 };
    active.memory(kind, cell, unknown_site(), None, move |cell, _| real(cell))
}

/// It found `before`; it left `after`, or only looked.
fn found(before: impl Into<u64>, after: Option<u64>, order: i32) -> Done {
    Done { effect: Effect::Found { before: before.into(), after }, order: Order::of_number(order) }
}

/// It changed a count; `last`: nobody is left.
fn counted(last: bool, order: i32) -> Done {
    Done { effect: Effect::Counted { last }, order: Order::of_number(order) }
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
            step(Kind::Load, cell, move |cell| {
                let value = cell.load(Ordering::SeqCst);
                (value, found(value, None, order))
            })
        }

        #[unsafe(no_mangle)]
        extern "C" fn $store(cell: &$atomic, value: $value, order: i32) {
            step(Kind::Store, cell, move |cell| {
                let before = cell.swap(value, Ordering::SeqCst);
                ((), found(before, Some(value.into()), order))
            });
        }

        #[unsafe(no_mangle)]
        extern "C" fn $exchange(cell: &$atomic, value: $value, order: i32) -> $value {
            step(Kind::ReadModifyWrite, cell, move |cell| {
                let before = cell.swap(value, Ordering::SeqCst);
                (before, found(before, Some(value.into()), order))
            })
        }

        #[unsafe(no_mangle)]
        extern "C" fn $add(cell: &$atomic, value: $value, order: i32) -> $value {
            let kind = if value == 1 { Kind::CountUp } else { Kind::ReadModifyWrite };
            step(kind, cell, move |cell| (cell.fetch_add(value, Ordering::SeqCst), counted(false, order)))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $sub(cell: &$atomic, value: $value, order: i32) -> $value {
            let counts = value == 1;
            step(if counts { Kind::CountDown } else { Kind::ReadModifyWrite }, cell, move |cell| {
                let before = cell.fetch_sub(value, Ordering::SeqCst);
                (before, counted(counts && before == 1, order))
            })
        }

        #[unsafe(no_mangle)]
        extern "C" fn $strong(
            cell: &$atomic,
            expected: &mut $value,
            new: $value,
            success: i32,
            failure: i32,
        ) -> i32 {
            let wanted = *expected;
            let result = step(Kind::CompareExchange, cell, move |cell| {
                let result = cell.compare_exchange(wanted, new, Ordering::SeqCst, Ordering::SeqCst);
                let (before, after, order) = match result {
                    Ok(before) => (before, Some(new.into()), success),
                    Err(before) => (before, None, failure),
                };
                let effect = Effect::Compared { before: before.into(), expected: wanted.into(), after };
                (result, Done { effect, order: Order::of_number(order) })
            });
            match result {
                Ok(_) => 1,
                Err(before) => {
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
                step(Kind::ReadModifyWrite, cell, move |cell| {
                    let before = cell.$method(value, Ordering::SeqCst);
                    (before, found(before, Some(cell.load(Ordering::SeqCst).into()), order))
                })
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
