//! std as the explored crates see it: the real one, with every name that synchronises threads
//! replaced by its facade. An explicit name shadows one that comes through a glob.
#![allow(ambiguous_glob_reexports, reason = "what the compiler adds to the real one wins where nothing is named here")]

// For `#[global_allocator]`.
#![feature(macro_attr)]

extern crate std as real;

pub use real::*;

// The very modules of the facade core, as in std itself: who imports everything of both means the same by their names.
pub use swapped_core::hint;

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

    pub use swapped_core::sync::atomic;

    /// `std::sync::mpsc`.
    pub mod mpsc {
        pub use schedcheck_rt::facade::sync::mpsc::{
            IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
            TryIter, TryRecvError, TrySendError, channel, sync_channel,
        };
    }
}

/// `std::io`: the streams of the process have locks.
pub mod io {
    pub use real::io::*;
    pub use schedcheck_rt::facade::io::{
        _eprint, _eprint_line, _print, _print_line, IsTerminal, Stderr, StderrLock, Stdin, StdinLock, Stdout, StdoutLock,
        stderr, stdin, stdout,
    };
}

/// `std::print!`.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {{ $crate::io::_print($crate::format_args!($($text)*)); }};
}

/// `std::println!`.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($text:tt)*) => {{ $crate::io::_print_line($crate::format_args!($($text)*)); }};
}

/// `std::eprint!`.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => {{ $crate::io::_eprint($crate::format_args!($($text)*)); }};
}

/// `std::eprintln!`.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint!("\n") };
    ($($text:tt)*) => {{ $crate::io::_eprint_line($crate::format_args!($($text)*)); }};
}

/// `std::dbg!`.
#[macro_export]
macro_rules! dbg {
    () => { $crate::eprintln!("[{}:{}:{}]", $crate::file!(), $crate::line!(), $crate::column!()) };
    ($value:expr $(,)?) => { $crate::__shown!($value) };
    ($($value:expr),+ $(,)?) => { ($($crate::__shown!($value)),+,) };
}

/// One value of `std::dbg!`. A `match` keeps what is borrowed in its expression.
#[doc(hidden)]
#[macro_export]
macro_rules! __shown {
    ($value:expr) => {
        match $value {
            value => {
                $crate::eprintln!(
                    "[{}:{}:{}] {} = {:#?}",
                    $crate::file!(), $crate::line!(), $crate::column!(), $crate::stringify!($value), &value
                );
                value
            }
        }
    };
}

/// `std::thread_local!`.
#[macro_export]
macro_rules! thread_local {
    ($($declarations:tt)*) => { $crate::__schedcheck::__schedcheck_thread_local! { $($declarations)* } };
}

#[doc(hidden)]
pub use real::prelude::v1::global_allocator as __global_allocator;

/// `#[global_allocator]`: the engine in the same binary does not use it.
#[macro_export]
macro_rules! global_allocator {
    attr() ($(#[$about:meta])* $visible:vis static $name:ident: $type:ty = $value:expr;) => {
        $(#[$about])*
        $visible static $name: $type = $value;
        const _: () = {
            #[$crate::__global_allocator]
            static ROUTED: $crate::__schedcheck::facade::alloc::Routed<$type> =
                $crate::__schedcheck::facade::alloc::Routed::new(&$name);
        };
    };
}

/// `std::prelude`: it brings macros into scope, where no path leads to those above.
pub mod prelude {
    pub use real::prelude::*;

    macro_rules! with_our_macros {
        ($($version:ident)*) => { $(
            /// The prelude of this name.
            pub mod $version {
                pub use crate::{dbg, eprint, eprintln, global_allocator, print, println, thread_local};
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
