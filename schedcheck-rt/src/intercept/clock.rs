//! `clock_gettime`: virtual time inside an execution.

use crate::exec::{EPOCH_NANOSECONDS, active};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// The C library's function, once it was looked up.
static REAL: AtomicUsize = AtomicUsize::new(0);

/// Looks up the C library's function.
pub(super) fn resolve() -> Option<ClockGettime> {
    let mut real = REAL.load(Ordering::Relaxed);
    if real == 0 {
        // SAFETY: looks up a symbol of the C library.
        real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"clock_gettime".as_ptr()) }.addr();
        REAL.store(real, Ordering::Relaxed);
    }
    // SAFETY: the symbol has this type.
    (real != 0).then(|| unsafe { std::mem::transmute::<usize, ClockGettime>(real) })
}

/// `clock_gettime`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, out: *mut libc::timespec) -> c_int {
    if let Some(active) = active()
        && active.in_user()
    {
        let now = EPOCH_NANOSECONDS.saturating_add(active.read_clock());
        // SAFETY: the caller's promise.
        unsafe {
            (*out).tv_sec = (now / 1_000_000_000) as i64;
            (*out).tv_nsec = (now % 1_000_000_000) as i64;
        }
        return 0;
    }
    match resolve() {
        // SAFETY: the caller's promise.
        Some(real) => unsafe { real(clock, out) },
        None => -1,
    }
}
