//! `AtomicBool`.

use super::cell;
use crate::model::Kind;
use std::panic::Location;
use std::sync::atomic::{self as real, Ordering};

/// The same as [`std::sync::atomic::AtomicBool`], a step per operation.
#[repr(transparent)]
#[derive(Default)]
pub struct AtomicBool(real::AtomicBool);

atomic_cell!(AtomicBool, real::AtomicBool, bool);
atomic_rmw!(AtomicBool, bool: fetch_and fetch_nand fetch_or fetch_xor);

impl AtomicBool {
    /// The same as std's `fetch_not`.
    #[track_caller]
    #[inline(never)]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        cell::step(Kind::ReadModifyWrite, self, Location::caller(), move |cell, _| {
            let before = cell.0.fetch_not(order);
            (before, cell::found(before, Some(!before), order))
        })
    }
}

impl std::fmt::Debug for AtomicBool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
    }
}

impl From<bool> for AtomicBool {
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}
