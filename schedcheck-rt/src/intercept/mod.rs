//! Taking over the rest of the world at link level.
//!
//! A symbol defined in the test binary wins over the one of the C library. Inside an execution these
//! functions are the model's; outside, and for the engine itself, each is the real one.
//!
//! | symbols | why |
//! |---|---|
//! | `malloc` and its family | a heap that starts afresh in every execution, at the same addresses |
//! | `clock_gettime` and older ones | `Instant` and `SystemTime` read virtual time |
//! | no symbol: the instruction `rdtsc` (`counter`) | so do clocks that count ticks of the processor |
//! | `getrandom` | hash maps iterate in the same order in every process, and whatever else is random is the same |
//! | `syscall` | threads that block in a futex block in the model; `getrandom` again |
//! | `__tsan_atomic*` | atomic operations inside generic std code (`Arc`) that is compiled into user crates |
//! | files, sockets, locks, … (`outside`) | the real ones, but noted; waiting for events of the program itself is the model's (`events`) |
//! | other `__tsan_*`, `memcmp` | plain memory accesses, for data races |

mod alloc;
mod clock;
pub(crate) mod counter;
mod events;
mod futex;
mod memory;
mod outside;
mod random;
mod refcount;
mod timers;

pub(crate) use alloc::took_from_system;
pub(crate) use events::close_left_open;
pub(crate) use futex::real_syscall;
pub(crate) use random::mixed;

/// Makes sure the linker keeps every symbol of this folder, and resolves the real ones before
/// the first execution.
pub(crate) fn prepare() {
    alloc::resolve();
    outside::resolve();
    std::hint::black_box([
        alloc::malloc as *const (),
        alloc::malloc_usable_size as *const (),
        clock::clock_gettime as *const (),
        clock::gettimeofday as *const (),
        clock::time as *const (),
        random::getrandom as *const (),
        futex::syscall as *const (),
        refcount::__tsan_init as *const (),
        memory::__tsan_read1 as *const (),
    ]);
}

/// Why the last call of the C library failed, in the calling thread of the system.
pub(crate) fn error_number() -> i32 {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() }
}

/// Says why a call failed.
pub(crate) fn set_error_number(number: i32) {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = number };
}
