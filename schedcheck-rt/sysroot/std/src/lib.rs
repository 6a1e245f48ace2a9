//! std as the explored crates see it: the real one, with every name that synchronises threads
//! replaced by its facade. An explicit name shadows one that comes through a glob.
#![allow(ambiguous_glob_reexports, reason = "what the compiler adds to the real one wins where nothing is named here")]

extern crate std as real;

pub use real::*;

#[doc(hidden)]
pub use schedcheck_rt as __schedcheck;

/// `std::sync`.
pub mod sync {
    pub use real::sync::*;
    pub use schedcheck_rt::facade::sync::{
        Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, OnceState,
        RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };
    #[allow(deprecated, reason = "still public in the real one")]
    pub use schedcheck_rt::facade::sync::ONCE_INIT;

    /// `std::sync::atomic`.
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

    /// `std::sync::mpsc`.
    pub mod mpsc {
        pub use schedcheck_rt::facade::sync::mpsc::{
            IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
            TryIter, TryRecvError, TrySendError, channel, sync_channel,
        };
    }
}

/// `std::thread_local!`.
#[macro_export]
macro_rules! thread_local {
    ($($declarations:tt)*) => { $crate::__schedcheck::__schedcheck_thread_local! { $($declarations)* } };
}

/// `std::prelude`: it brings `thread_local!` into scope, where no path leads to the one above.
pub mod prelude {
    pub use real::prelude::*;

    macro_rules! with_our_macros {
        ($($version:ident)*) => { $(
            /// The prelude of this name.
            pub mod $version {
                pub use crate::thread_local;
                pub use real::prelude::$version::*;
            }
        )* };
    }

    with_our_macros!(v1 rust_2015 rust_2018 rust_2021 rust_2024);
}

/// `std::thread`.
pub mod thread {
    pub use real::thread::*;
    pub use schedcheck_rt::facade::thread::{
        AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, available_parallelism,
        current, panicking, park, park_timeout, scope, sleep, spawn, yield_now,
    };
    #[allow(deprecated, reason = "still public in the real one")]
    pub use schedcheck_rt::facade::thread::{park_timeout_ms, sleep_ms};
}

/// `std::hint`.
pub mod hint {
    pub use real::hint::*;
    pub use schedcheck_rt::facade::hint::spin_loop;
}
