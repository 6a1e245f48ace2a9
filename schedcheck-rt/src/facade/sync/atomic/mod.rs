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
