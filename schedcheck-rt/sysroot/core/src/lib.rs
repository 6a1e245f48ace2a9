//! Facade of `core`, for crates that name `core::sync::atomic` directly.
#![no_std]
extern crate core as real;
pub use real::*;
