//! Every stable item of std that has a facade, named with its exact signature.
//!
//! The lists in `parity/` are compiled twice, against std and against the facades: an item that is
//! missing or typed differently in either does not compile.

/// What the facade std will offer: the facades by name over std's own items.
pub(crate) mod facade {
    pub(crate) use schedcheck_rt::facade::hint;

    pub(crate) mod sync {
        #[allow(deprecated, reason = "one of them is, and still public")]
        pub(crate) use schedcheck_rt::facade::sync::{
            Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, ONCE_INIT, Once, OnceLock,
            OnceState, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, mpsc,
        };
        pub(crate) use std::sync::{LockResult, TryLockResult};

        pub(crate) mod atomic {
            pub(crate) use schedcheck_rt::facade::sync::atomic::*;
            pub(crate) use std::sync::atomic::Ordering;
        }
    }

    pub(crate) mod thread {
        pub(crate) use schedcheck_rt::facade::thread::*;
        pub(crate) use std::thread::Result;
    }
}

/// Which of the traits that are not part of a signature a type has.
#[macro_export]
macro_rules! traits_of {
    ($type:ty) => {{
        #[allow(dead_code, reason = "hidden by the inherent constant where the trait is implemented")]
        trait Not {
            const YES: bool = false;
        }
        impl<T> Not for T {}
        macro_rules! has {
            ($bound:path) => {{
                #[allow(dead_code, reason = "only its constant is used")]
                struct Probe<T>(std::marker::PhantomData<T>);
                #[allow(dead_code, reason = "hides that of the trait, if there is one")]
                impl<T: $bound> Probe<T> {
                    const YES: bool = true;
                }
                if <Probe<$type>>::YES { stringify!($bound) } else { "-" }
            }};
        }
        vec![
            has!(Send),
            has!(Sync),
            has!(Unpin),
            has!(std::panic::UnwindSafe),
            has!(std::panic::RefUnwindSafe),
            has!(std::fmt::Debug),
            has!(Clone),
            has!(Copy),
            has!(Default),
            has!(PartialEq),
            has!(Eq),
            has!(std::hash::Hash),
        ]
    }};
}

macro_rules! compiled_against {
    ($name:ident: $($root:tt)*) => {
        #[allow(dead_code, unused_imports, clippy::all, reason = "the lists are compiled, hardly run")]
        mod $name {
            pub(super) mod sync_items {
                use $($root)*::sync;
                include!("parity/sync.rs");
            }
            pub(super) mod atomic_items {
                use $($root)*::{hint, sync};
                include!("parity/atomic.rs");
            }
            pub(super) mod thread_items {
                use super::super::$name::thread_local;
                use $($root)*::thread;
                include!("parity/thread.rs");
            }
            pub(crate) use super::macros::$name as thread_local;
        }
    };
}

mod macros {
    pub(crate) use schedcheck_rt::__schedcheck_thread_local as of_the_facades;
    pub(crate) use std::thread_local as of_std;
}

compiled_against!(of_std: std);
compiled_against!(of_the_facades: crate::std_parity::facade);

/// A type and the traits it has.
pub(crate) type Traits = (&'static str, Vec<&'static str>);

fn same(ours: Vec<Traits>, std: Vec<Traits>) {
    let mut differ = String::new();
    for ((name, ours), (_, std)) in ours.iter().zip(&std).filter(|(ours, std)| ours != std) {
        differ += &format!("{name}\n  ours  {}\n  std's {}\n", ours.join(" "), std.join(" "));
    }
    assert!(differ.is_empty() && ours.len() == std.len(), "{differ}");
}

#[test]
fn types_have_the_traits_of_std() {
    same(of_the_facades::sync_items::traits(), of_std::sync_items::traits());
    same(of_the_facades::thread_items::traits(), of_std::thread_items::traits());
}

#[test]
fn statics_and_macros_take_what_std_takes() {
    let _alone = crate::support::alone();
    assert_eq!(of_the_facades::sync_items::statics(), of_std::sync_items::statics());
    assert_eq!(of_the_facades::thread_items::macro_forms(), of_std::thread_items::macro_forms());
    let list = &mut Vec::new();
    assert_eq!(of_the_facades::thread_items::scopes(list), of_std::thread_items::scopes(list));
}

#[test]
fn every_item_has_the_signature_of_std() {
    let _alone = crate::support::alone();
    of_the_facades::atomic_items::integers();
    of_the_facades::atomic_items::booleans();
    of_the_facades::atomic_items::pointers();
    of_the_facades::atomic_items::fences();
}
