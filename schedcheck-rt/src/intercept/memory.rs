//! Plain memory accesses: the compiler's thread sanitizer pass announces those of instrumented crates with these calls.
//!
//! What is compiled without it stays unseen: the engine, code of std that is not generic, other languages, assembly.
//! Comparisons of slices are calls of the C library's `memcmp`, of which the pass says nothing: that function is ours.
//!
//! A volatile read is how code says that it reads what others may be writing, and will look afterwards whether they did:
//! the optimistic reads of sequence locks (`AtomicCell` of crossbeam), for which the language has nothing better yet. It
//! is not taken for a race.

use super::outside::look_up;
use crate::exec::outside::Kind;
use crate::exec::{active, note_access};
use crate::races::Touch;
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[inline(always)]
fn access(address: usize, size: usize, touch: Touch, caller: usize) {
    if size != 0 {
        note_access(address, size, touch, caller);
    }
}

#[inline]
fn glance(address: usize, size: usize, caller: usize) {
    if let Some(active) = active() {
        if active.in_user() {
            active.meets(Kind::VolatileReads, c"read_volatile");
        }
        active.glance(address, size, caller);
    }
}

/// Functions that are told of one access of a fixed size: each hands its return address on.
macro_rules! accesses {
    ($( $touch:ident $size:literal: $( $name:ident )*; )*) => { $( $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(super) extern "C" fn $name(_address: usize) {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                "mov esi, {size}", "mov edx, {touch}", "mov rcx, [rsp]", "jmp {note}",
                size = const $size, touch = const Touch::$touch as u8, note = sym note_access,
            );
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                "mov x1, {size}", "mov w2, {touch}", "mov x3, x30", "b {note}",
                size = const $size, touch = const Touch::$touch as u8, note = sym note_access,
            );
        }
    )* )* };
}

/// The same of volatile reads.
macro_rules! glances {
    ($( $target:ident $size:literal: $( $name:ident )*; )*) => { $(
        extern "C" fn $target(address: usize, caller: usize) {
            glance(address, $size, caller);
        }

        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub(super) extern "C" fn $name(_address: usize) {
                #[cfg(target_arch = "x86_64")]
                naked_asm!("mov rsi, [rsp]", "jmp {target}", target = sym $target);
                #[cfg(target_arch = "aarch64")]
                naked_asm!("mov x1, x30", "b {target}", target = sym $target);
            }
        )*
    )* };
}

accesses! {
    Read 1: __tsan_read1;
    Read 2: __tsan_read2 __tsan_unaligned_read2;
    Read 4: __tsan_read4 __tsan_unaligned_read4;
    Read 8: __tsan_read8 __tsan_unaligned_read8 __tsan_vptr_read;
    Read 16: __tsan_read16 __tsan_unaligned_read16;
    Write 1: __tsan_write1 __tsan_volatile_write1 __tsan_read_write1;
    Write 2: __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2
        __tsan_unaligned_volatile_write2 __tsan_read_write2 __tsan_unaligned_read_write2;
    Write 4: __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4
        __tsan_unaligned_volatile_write4 __tsan_read_write4 __tsan_unaligned_read_write4;
    Write 8: __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8
        __tsan_unaligned_volatile_write8 __tsan_read_write8 __tsan_unaligned_read_write8 __tsan_vptr_update;
    Write 16: __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16
        __tsan_unaligned_volatile_write16 __tsan_read_write16 __tsan_unaligned_read_write16;
}

glances! {
    volatile1 1: __tsan_volatile_read1;
    volatile2 2: __tsan_volatile_read2 __tsan_unaligned_volatile_read2;
    volatile4 4: __tsan_volatile_read4 __tsan_unaligned_volatile_read4;
    volatile8 8: __tsan_volatile_read8 __tsan_unaligned_volatile_read8;
    volatile16 16: __tsan_volatile_read16 __tsan_unaligned_volatile_read16;
}

/// Functions that are called instead of the C library's, with one more argument: the caller.
macro_rules! with_caller {
    ($( $name:ident => $target:ident; )*) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> *mut c_void {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rcx, [rsp]", "jmp {target}", target = sym $target);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x3, x30", "b {target}", target = sym $target);
        }
    )* };
}

with_caller! {
    memcmp => compare;
    bcmp => compare;
    __tsan_memcpy => copy;
    __tsan_memmove => copy_overlapping;
    __tsan_memset => set;
}

/// The C library's `memcmp`, once it was looked up.
static COMPARE: AtomicUsize = AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = 0;
/// It is being looked up.
const SOUGHT: usize = 1;

unsafe extern "C" fn compare(
    first: *const c_void,
    second: *const c_void,
    size: usize,
    caller: usize,
) -> c_int {
    type Compare = unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int;
    access(first.addr(), size, Touch::Read, caller);
    access(second.addr(), size, Touch::Read, caller);
    if COMPARE.load(Relaxed) == UNKNOWN {
        COMPARE.store(SOUGHT, Relaxed);
        COMPARE.store(look_up(c"memcmp").max(SOUGHT), Relaxed);
    }
    match COMPARE.load(Relaxed) {
        UNKNOWN | SOUGHT => {
            // SAFETY: the caller's promise. Volatile, or the compiler would see in it what it is.
            let byte = |of: *const c_void, at: usize| unsafe { of.cast::<u8>().add(at).read_volatile() };
            let different = (0..size).find(|&at| byte(first, at) != byte(second, at));
            different.map_or(0, |at| c_int::from(byte(first, at)) - c_int::from(byte(second, at)))
        }
        // SAFETY: the C library's function; the caller's promise.
        real => unsafe { std::mem::transmute::<usize, Compare>(real)(first, second, size) },
    }
}

fn copied(to: *mut c_void, from: *const c_void, size: usize, caller: usize) {
    access(from.addr(), size, Touch::Read, caller);
    access(to.addr(), size, Touch::Write, caller);
}

unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, size: usize, caller: usize) -> *mut c_void {
    copied(to, from, size, caller);
    // SAFETY: the caller's promise.
    unsafe { libc::memcpy(to, from, size) }
}

unsafe extern "C" fn copy_overlapping(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    caller: usize,
) -> *mut c_void {
    copied(to, from, size, caller);
    // SAFETY: the caller's promise.
    unsafe { libc::memmove(to, from, size) }
}

unsafe extern "C" fn set(to: *mut c_void, value: c_int, size: usize, caller: usize) -> *mut c_void {
    access(to.addr(), size, Touch::Write, caller);
    // SAFETY: the caller's promise.
    unsafe { libc::memset(to, value, size) }
}

/// Call stacks are walked by frame pointers instead.
#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_caller: usize) {}

/// As above.
#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}
