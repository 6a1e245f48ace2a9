//! The C allocator. Allocations of user code inside an execution come from the execution's heap;
//! all others go to the C library.
//!
//! Only calls from the test binary itself count as user code's: what the C library allocates for
//! its own use lives longer than an execution. Hence the return address, which each entry point
//! passes on.

use super::outside::look_up;
use crate::exec::heap;
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(pointer: *mut c_void);
}

/// An entry point that hands its return address on as one more argument.
macro_rules! with_caller {
    ($name:ident ( $($argument:ident : $kind:ty),* ) => $target:ident, $x86:literal, $arm:literal) => {
        #[doc = concat!("`", stringify!($name), "`, with its caller.")]
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name($($argument: $kind),*) -> *mut c_void {
            #[cfg(target_arch = "x86_64")]
            naked_asm!($x86, "jmp {target}", target = sym $target);
            #[cfg(target_arch = "aarch64")]
            naked_asm!($arm, "b {target}", target = sym $target);
        }
    };
}

with_caller!(malloc(_size: usize) => malloc_from, "mov rsi, [rsp]", "mov x1, x30");
with_caller!(calloc(_count: usize, _size: usize) => calloc_from, "mov rdx, [rsp]", "mov x2, x30");
with_caller!(realloc(_pointer: *mut c_void, _size: usize) => realloc_from, "mov rdx, [rsp]", "mov x2, x30");
with_caller!(aligned_alloc(_align: usize, _size: usize) => aligned_from, "mov rdx, [rsp]", "mov x2, x30");

/// Somebody wants to know what the C library gives.
static WATCHED: AtomicBool = AtomicBool::new(false);
/// Where its last block begins, and how large it is.
static LAST: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// What `allocate` allocated, and whether it is memory that it took from here.
pub(crate) fn took_from_system(allocate: &dyn Fn() -> *mut u8) -> (*mut u8, bool) {
    LAST.iter().for_each(|last| last.store(0, Ordering::Relaxed));
    WATCHED.store(true, Ordering::Relaxed);
    let block = allocate();
    WATCHED.store(false, Ordering::Relaxed);
    let [start, size] = [0, 1].map(|at| LAST[at].load(Ordering::Relaxed));
    (block, (start..start + size).contains(&block.addr()))
}

fn given(block: *mut c_void, size: usize) -> *mut c_void {
    if WATCHED.load(Ordering::Relaxed) {
        LAST[0].store(block.addr(), Ordering::Relaxed);
        LAST[1].store(size, Ordering::Relaxed);
    }
    block
}

extern "C" fn malloc_from(size: usize, caller: usize) -> *mut c_void {
    match heap::allocate(size, 16, caller) {
        Some(block) => block.cast(),
        // SAFETY: the C library's own.
        None => given(unsafe { __libc_malloc(size) }, size),
    }
}

extern "C" fn calloc_from(count: usize, size: usize, caller: usize) -> *mut c_void {
    let bytes = count.saturating_mul(size);
    match heap::allocate(bytes, 16, caller) {
        Some(block) => {
            heap::fills(block, bytes, caller);
            // SAFETY: a fresh block of that size.
            unsafe { block.write_bytes(0, bytes) };
            block.cast()
        }
        // SAFETY: the C library's own.
        None => given(unsafe { __libc_calloc(count, size) }, bytes),
    }
}

extern "C" fn aligned_from(align: usize, size: usize, caller: usize) -> *mut c_void {
    match heap::allocate(size, align.max(16), caller) {
        Some(block) => block.cast(),
        // SAFETY: the C library's own.
        None => given(unsafe { __libc_memalign(align, size) }, size),
    }
}

extern "C" fn realloc_from(pointer: *mut c_void, size: usize, caller: usize) -> *mut c_void {
    if pointer.is_null() {
        return malloc_from(size, caller);
    }
    let Some(old) = heap::size_of_block(pointer.cast()) else {
        // SAFETY: a block of the C library stays one, whoever grows it.
        return unsafe { __libc_realloc(pointer, size) };
    };
    if size <= old {
        // It stays where it is, but for the program this is another one, with the same contents.
        heap::fills(pointer.cast(), old, caller);
        return pointer;
    }
    let grown = malloc_from(size, caller);
    if !grown.is_null() {
        heap::fills(grown.cast(), old, caller);
        // SAFETY: both blocks have at least `old` bytes and do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), grown.cast(), old) };
        heap::free(pointer.cast());
    }
    grown
}

/// `posix_memalign`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    // Rust's allocator is its only caller in the test binary; the C library does not use it.
    let block = aligned_from(align, size, heap::INSIDE);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { *out = block };
    0
}

/// Where the C library's `malloc_usable_size` is; 0: it was not looked up. It has no second name for it.
static USABLE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Looks it up, before the first execution.
pub(super) fn resolve() {
    USABLE_SIZE.store(look_up(c"malloc_usable_size"), Ordering::Relaxed);
}

/// `malloc_usable_size`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn malloc_usable_size(pointer: *mut c_void) -> usize {
    type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
    if let Some(size) = heap::size_of_block(pointer.cast()) {
        return size;
    }
    if USABLE_SIZE.load(Ordering::Relaxed) == 0 {
        resolve();
    }
    match USABLE_SIZE.load(Ordering::Relaxed) {
        // It need not say more than that.
        0 => 0,
        // SAFETY: the C library's function; the caller's promise.
        real => unsafe { std::mem::transmute::<usize, UsableSize>(real)(pointer) },
    }
}

/// `free`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(pointer: *mut c_void) {
    if heap::contains(pointer.addr()) {
        heap::free(pointer.cast());
    } else {
        // SAFETY: the caller's promise: a block of the C library, or null.
        unsafe { __libc_free(pointer) };
    }
}
