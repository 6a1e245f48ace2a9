//! `LocalKey`, `AccessError` and the macro behind `thread_local!`.

mod cells;
mod key;
mod storage;

pub use key::{AccessError, LocalKey};
pub use storage::Slot;

#[doc(hidden)]
pub extern crate std as real_std;

use crate::exec::Active;
use crate::model::{Kind, Op};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// Runs the destructors of the running thread's values: the last thing before its end. Who waits for its body alone may go
/// on meanwhile.
pub(crate) fn end_of_thread(active: Active) {
    let thread = active.current();
    if thread != 0 && storage::has_destructors(active) {
        active.perform(Op::new(Kind::Finish, active.life_of(thread), Location::caller()));
    }
    if catch_unwind(AssertUnwindSafe(|| storage::run_destructors(active))).is_err() {
        // std aborts the process.
        active.crashed("thread local panicked on drop");
    }
}

/// The body of `thread_local!`, in all forms that std's takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __schedcheck_thread_local {
    () => {};
    (@key [$($attribute:tt)*] [$vis:vis] $name:ident $type:ty, $init:expr, $real:expr, $($items:tt)*) => {
        $($attribute)*
        $vis const $name: $crate::facade::thread::local::LocalKey<$type> = {
            static __SLOT: $crate::facade::thread::local::Slot = $crate::facade::thread::local::Slot::new();
            $($items)*
            $crate::facade::thread::local::LocalKey::new(|| &__SLOT, $init, $real)
        };
    };
    (
        $(#[$attribute:meta])* $vis:vis static $name:ident : $type:ty = const $init:block
        $(; $($rest:tt)*)?
    ) => {
        $crate::__schedcheck_thread_local!(@key [$(#[$attribute])*] [$vis] $name $type, || __INIT, &__REAL,
            // A lifetime may be left out in the types of constants and statics, not in those of functions.
            const __INIT: $type = $init;
            $crate::facade::thread::local::real_std::thread_local! {
                static __REAL: $type = const { __INIT }
            }
        );
        $($crate::__schedcheck_thread_local!($($rest)*);)?
    };
    (
        $(#[$attribute:meta])* $vis:vis static $name:ident : $type:ty = $init:expr
        $(; $($rest:tt)*)?
    ) => {
        $crate::__schedcheck_thread_local!(@key [$(#[$attribute])*] [$vis] $name $type, __init, &__REAL,
            #[allow(unused_braces, reason = "the user's, as std takes them")]
            fn __init() -> $type {
                $init
            }
            $crate::facade::thread::local::real_std::thread_local! {
                static __REAL: $type = __init()
            }
        );
        $($crate::__schedcheck_thread_local!($($rest)*);)?
    };
}
