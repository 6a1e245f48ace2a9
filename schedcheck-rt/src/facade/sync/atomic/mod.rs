//! `std::sync::atomic` and `core::sync::atomic`.
//!
//! The types are transparent wrappers: crates cast plain memory to atomics and back.

#[macro_use]
mod cell;
mod boolean;
mod fence;
mod integer;
mod pointer;

pub use boolean::AtomicBool;
pub use fence::{compiler_fence, fence};
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};
pub use pointer::AtomicPtr;

macro_rules! initial_values {
    ($($name:ident: $type:ident = $value:expr;)*) => { $(
        #[doc = concat!("The same as [`std::sync::atomic::", stringify!($name), "`].")]
        #[deprecated(note = "the `new` function is now preferred")]
        #[expect(clippy::declare_interior_mutable_const, reason = "as std's")]
        pub const $name: $type = $type::new($value);
    )* };
}

initial_values! {
    ATOMIC_BOOL_INIT: AtomicBool = false;
    ATOMIC_I8_INIT: AtomicI8 = 0;
    ATOMIC_I16_INIT: AtomicI16 = 0;
    ATOMIC_I32_INIT: AtomicI32 = 0;
    ATOMIC_I64_INIT: AtomicI64 = 0;
    ATOMIC_ISIZE_INIT: AtomicIsize = 0;
    ATOMIC_U8_INIT: AtomicU8 = 0;
    ATOMIC_U16_INIT: AtomicU16 = 0;
    ATOMIC_U32_INIT: AtomicU32 = 0;
    ATOMIC_U64_INIT: AtomicU64 = 0;
    ATOMIC_USIZE_INIT: AtomicUsize = 0;
}

/// The same as [`std::sync::atomic::spin_loop_hint`].
#[deprecated(note = "use hint::spin_loop instead")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::facade::hint::spin_loop();
}
