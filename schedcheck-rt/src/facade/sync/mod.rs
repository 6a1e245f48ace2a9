//! `std::sync`.

pub mod atomic;
mod condvar;
mod mutex;
mod raw_mutex;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
