//! std's names with std's signatures. Inside an exploration every operation is a step of the
//! execution; outside, each facade behaves as the std type it wraps.
//!
//! Rule for this folder: generic code never executes a real atomic operation itself. It is compiled
//! into the user's crates, whose own instrumentation would see it; everything that touches shared
//! state goes through functions that are compiled here, once.

pub mod alloc;
pub mod hint;
pub mod io;
pub mod sync;
pub mod thread;
