//! `std::sync::atomic` and `core::sync::atomic`.
//!
//! The types are transparent wrappers: crates cast plain memory to atomics and back.

#[macro_use]
mod cell;
mod boolean;
mod fence;
mod integer;
mod legacy;
mod pointer;

pub use boolean::AtomicBool;
pub use fence::{compiler_fence, fence};
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};
#[expect(deprecated, reason = "std still has them")]
pub use legacy::{ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, spin_loop_hint};
pub use pointer::AtomicPtr;
