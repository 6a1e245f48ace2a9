//! Which allocator has what, in a program with a `#[global_allocator]`.
//!
//! The engine is part of the test binary and allocates as everybody there does, but not from the program's own allocator:
//! what that counts or traces is the program's memory alone. So it has what user code allocates inside an
//! execution; all else is the system's.
//!
//! That goes for an allocator that takes its memory from the system's and adds something of its own. One that maps its
//! memory itself (mimalloc, jemalloc) would take the memory of one execution for that of the next, when its statics are
//! put back. The system's stands in for it, and the verdict says so. Which of the two it is, one block tells.
//!
//! In a process that does not explore, the program's allocator has everything.

use super::outside::Kind;
use super::{active, heap};
use crate::intercept::took_from_system;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, Ordering};

/// The environment variable that names the request file: a process that has it explores.
pub(crate) const REQUEST_VARIABLE: &CStr = c"SCHEDCHECK_REQUEST";

/// Not known yet: this is the first allocation of the process.
const UNKNOWN: u8 = 0;
/// The program's own has everything.
const OWN: u8 = 1;
/// It has what user code allocates.
const BOTH: u8 = 2;
/// It has nothing.
const SYSTEM: u8 = 3;

static ROUTE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether the program's own is to allocate. It is tried with `allocate` and `free`, once.
#[inline(never)]
pub(crate) fn is_to_allocate(allocate: &dyn Fn() -> *mut u8, free: &dyn Fn(*mut u8)) -> bool {
    let route = match ROUTE.load(Ordering::Relaxed) {
        UNKNOWN => find_route(allocate, free),
        route => route,
    };
    match (route, active().filter(|active| active.in_user())) {
        (OWN, _) | (BOTH, Some(_)) => true,
        (SYSTEM, Some(active)) => {
            active.relies_on(Kind::Allocator);
            false
        }
        _ => false,
    }
}

/// Whether a block is one of the program's own allocator.
#[inline(never)]
pub(crate) fn has_allocated(block: *mut u8) -> bool {
    match ROUTE.load(Ordering::Relaxed) {
        OWN => true,
        BOTH => heap::contains(block.addr()),
        _ => false,
    }
}

#[cold]
fn find_route(allocate: &dyn Fn() -> *mut u8, free: &dyn Fn(*mut u8)) -> u8 {
    // Whatever it allocates to allocate is its own.
    ROUTE.store(OWN, Ordering::Relaxed);
    // SAFETY: one thread runs, and a name that ends with zero.
    if !unsafe { libc::getenv(REQUEST_VARIABLE.as_ptr()) }.is_null() {
        let (block, of_system) = took_from_system(allocate);
        if !block.is_null() {
            free(block);
        }
        ROUTE.store(if of_system { BOTH } else { SYSTEM }, Ordering::Relaxed);
    }
    ROUTE.load(Ordering::Relaxed)
}
