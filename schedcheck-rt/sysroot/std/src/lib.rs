//! std as the explored crates see it: the real one, with every name that synchronises threads
//! replaced by its facade. An explicit name shadows one that comes through a glob.
#![allow(ambiguous_glob_reexports)]

extern crate std as real;

pub use real::*;

#[doc(hidden)]
pub use schedcheck_rt as __schedcheck;

/// `std::sync`.
pub mod sync {
    pub use real::sync::*;
    pub use schedcheck_rt::facade::sync::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};

    /// `std::sync::atomic`.
    pub mod atomic {
        pub use real::sync::atomic::*;
        pub use schedcheck_rt::facade::sync::atomic::{
            AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
            AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
        };
    }
}

/// `std::thread`.
pub mod thread {
    pub use real::thread::*;
    pub use schedcheck_rt::facade::thread::{
        Builder, JoinHandle, Scope, ScopedJoinHandle, Thread, ThreadId, available_parallelism,
        current, panicking, park, park_timeout, scope, sleep, spawn, yield_now,
    };
    #[allow(deprecated)]
    pub use schedcheck_rt::facade::thread::{park_timeout_ms, sleep_ms};
}

/// `std::hint`.
pub mod hint {
    pub use real::hint::*;
    pub use schedcheck_rt::facade::hint::spin_loop;
}
