//! Counters that threads share. One of them loses counts.
#![no_std]

use core::sync::atomic::{AtomicU32, Ordering};

/// Counts too little when two threads add at the same time.
pub mod buggy {
    use super::*;

    /// Adds by reading and writing back.
    #[derive(Debug, Default)]
    pub struct Counter(AtomicU32);

    impl Counter {
        /// Adds one.
        pub fn add(&self) {
            // BUG: what another thread adds between these two lines is overwritten.
            let before = self.0.load(Ordering::SeqCst);
            self.0.store(before + 1, Ordering::SeqCst);
        }

        /// How often `add` was called, or so it should be.
        pub fn get(&self) -> u32 {
            self.0.load(Ordering::SeqCst)
        }
    }
}

/// Counts right.
pub mod fixed {
    use super::*;

    /// Adds in one indivisible step.
    #[derive(Debug, Default)]
    pub struct Counter(AtomicU32);

    impl Counter {
        /// Adds one.
        pub fn add(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        /// How often `add` was called.
        pub fn get(&self) -> u32 {
            self.0.load(Ordering::SeqCst)
        }
    }
}
