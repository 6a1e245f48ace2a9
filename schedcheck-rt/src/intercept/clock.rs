//! `clock_gettime` and its predecessors: virtual time inside an execution.

use super::futex::real_syscall;
use crate::exec::{Active, EPOCH_NANOSECONDS, active};
use std::ffi::{c_int, c_void};

const SECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1_000;

/// The virtual time, if user code asks.
fn virtual_now() -> Option<u64> {
    let active = active().filter(Active::in_user)?;
    Some(EPOCH_NANOSECONDS.saturating_add(active.read_clock()))
}

/// `clock_gettime`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, out: *mut libc::timespec) -> c_int {
    let Some(now) = virtual_now() else {
        // By a system call: the C library's own would read the counter that is refused to this process.
        // SAFETY: the caller's promise.
        return unsafe {
            real_syscall(libc::SYS_clock_gettime, [clock as usize, out.addr(), 0, 0, 0, 0]) as c_int
        };
    };
    // SAFETY: the caller's promise.
    unsafe {
        (*out).tv_sec = (now / SECOND) as i64;
        (*out).tv_nsec = (now % SECOND) as i64;
    }
    0
}

/// `gettimeofday`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn gettimeofday(out: *mut libc::timeval, zone: *mut c_void) -> c_int {
    let Some(now) = virtual_now() else {
        // SAFETY: the caller's promise.
        return unsafe {
            real_syscall(libc::SYS_gettimeofday, [out.addr(), zone.addr(), 0, 0, 0, 0]) as c_int
        };
    };
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            (*out).tv_sec = (now / SECOND) as i64;
            (*out).tv_usec = (now % SECOND / MICROSECOND) as i64;
        }
    }
    0
}

/// `time`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn time(out: *mut libc::time_t) -> libc::time_t {
    let now = virtual_now().unwrap_or_else(|| {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes there.
        unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
        now.tv_sec as u64 * SECOND
    });
    let seconds = (now / SECOND) as libc::time_t;
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *out = seconds };
    }
    seconds
}
