//! Deprecated names of `std::sync::atomic` that are still public.

#![expect(clippy::declare_interior_mutable_const, reason = "as in std")]

use super::{AtomicBool, AtomicIsize, AtomicUsize};

macro_rules! initial_values {
    ($($name:ident: $type:ident = $value:expr;)*) => { $(
        #[doc = concat!("The same as std's `", stringify!($name), "`.")]
        #[deprecated(note = "the `new` function is now preferred")]
        pub const $name: $type = $type::new($value);
    )* };
}

initial_values! {
    ATOMIC_BOOL_INIT: AtomicBool = false;
    ATOMIC_ISIZE_INIT: AtomicIsize = 0;
    ATOMIC_USIZE_INIT: AtomicUsize = 0;
}

/// The same as std's `spin_loop_hint`.
#[deprecated(note = "use hint::spin_loop instead")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::facade::hint::spin_loop();
}
