//! `getrandom`, the function and the system call: numbers that look random, and are the same for the same schedule in every
//! process that explores.
//!
//! What a thread draws depends on who it is and how often it has drawn before, so that no order of the threads changes it.
//! No two draws are equal: programs rely on that for keys and identifiers.

use super::futex::real_syscall;
use crate::exec::{Active, active, is_exploring};
use std::ffi::c_void;

/// `getrandom`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize {
    // SAFETY: the caller's promise.
    if unsafe { drawn(buffer.cast(), length) } {
        return length as isize;
    }
    // SAFETY: the caller's promise.
    unsafe { real_syscall(libc::SYS_getrandom, [buffer.addr(), length, flags as usize, 0, 0, 0]) as isize }
}

/// Fills a buffer if the process explores.
///
/// # Safety
/// The buffer has that length.
unsafe fn drawn(buffer: *mut u8, length: usize) -> bool {
    if !is_exploring() {
        return false;
    }
    if length > 0 {
        // SAFETY: the caller's promise; a buffer that has bytes is not null.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer, length) };
        let seed = active().filter(Active::in_user).map_or(0, |active| active.draw());
        fill(bytes, seed);
    }
    true
}

fn fill(bytes: &mut [u8], seed: u64) {
    for (word, nth) in bytes.chunks_mut(size_of::<u64>()).zip(1..) {
        word.copy_from_slice(&mixed(seed, nth).to_le_bytes()[..word.len()]);
    }
}

/// One of the numbers that follow a seed (SplitMix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014).
pub(crate) const fn mixed(seed: u64, nth: u64) -> u64 {
    let mut value = seed.wrapping_add(nth.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_seeds_give_other_numbers_and_the_same_one_the_same() {
        let draw = |seed, length| {
            let mut bytes = vec![0; length];
            fill(&mut bytes, seed);
            bytes
        };
        assert_eq!(draw(1, 19), draw(1, 19));
        assert_eq!(draw(1, 19)[..16], draw(1, 16), "length does not matter");
        assert_ne!(draw(1, 16), draw(2, 16));
        assert_ne!(draw(1, 16)[..8], draw(1, 16)[8..]);
    }
}
