//! core as the explored crates see it: the real one with the atomics replaced.
#![allow(ambiguous_glob_reexports, reason = "what the compiler adds to the real one wins where nothing is named here")]

extern crate core as real;

pub use real::*;

/// `core::sync`.
pub mod sync {
    pub use real::sync::*;

    /// `core::sync::atomic`.
    pub mod atomic {
        pub use real::sync::atomic::*;
        pub use schedcheck_rt::facade::sync::atomic::{
            AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
            AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
        };
        #[allow(deprecated, reason = "still public in the real one")]
        pub use schedcheck_rt::facade::sync::atomic::{
            ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, spin_loop_hint,
        };
    }
}

/// `core::hint`.
pub mod hint {
    pub use real::hint::*;
    pub use schedcheck_rt::facade::hint::spin_loop;
}
