//! `getrandom`: the same bytes in every process that explores.

use super::futex::real_syscall;
use std::ffi::c_void;

/// `getrandom`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize {
    if crate::exec::is_exploring() {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
        for (byte, value) in bytes.iter_mut().zip(0x5cu8..) {
            *byte = value;
        }
        return length as isize;
    }
    // SAFETY: the caller's promise.
    unsafe { real_syscall(libc::SYS_getrandom, [buffer.addr(), length, flags as usize, 0, 0, 0]) as isize }
}
