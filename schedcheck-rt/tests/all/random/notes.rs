//! What the threads of a random program found out.

use schedcheck_rt::exec::outside;
use std::sync::{Mutex, PoisonError};

static NOTES: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new());

/// Another execution begins.
pub(crate) fn begin() {
    *NOTES.lock().unwrap_or_else(PoisonError::into_inner) = vec![Vec::new(); 3];
}

/// An operation of `thread` found this.
pub(crate) fn note(thread: usize, found: u32) {
    outside(|| NOTES.lock().unwrap_or_else(PoisonError::into_inner)[thread].push(found));
}

/// What the threads of the last execution have noted.
pub(crate) fn notes() -> String {
    format!("{:?}", NOTES.lock().unwrap_or_else(PoisonError::into_inner))
}
