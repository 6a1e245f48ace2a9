//! Exchange rates, published by one thread and read by others without a lock.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The two rates of one currency. They belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The bank buys at this rate.
    pub buy: u32,
    /// The bank sells at this rate: the other one plus its margin.
    pub sell: u32,
}

/// What stands on a board before anything is published.
const NO_QUOTE: Quote = Quote { buy: 0, sell: 0 };

/// Raises the flag too early, and in a way that hands nothing over.
pub mod buggy {
    use super::*;

    /// A place for one quote.
    #[derive(Debug)]
    pub struct Board {
        margin: u32,
        is_published: AtomicBool,
        looks: AtomicU32,
        quote: UnsafeCell<Quote>,
    }

    // SAFETY: not so, and that is the bug: `quote` can be read while it is written.
    unsafe impl Sync for Board {}

    impl Board {
        /// An empty board of a bank that takes `margin`.
        pub const fn new(margin: u32) -> Self {
            Board {
                margin,
                is_published: AtomicBool::new(false),
                looks: AtomicU32::new(0),
                quote: UnsafeCell::new(NO_QUOTE),
            }
        }

        /// Puts up the quote; one thread does so, once.
        pub fn publish(&self, buy: u32) {
            let quote = self.quote.get();
            // SAFETY: the pointer is valid; the exclusive access is only hoped for.
            unsafe { (*quote).buy = buy };
            // BUG: half of the quote is missing, and `Relaxed` does not even hand over the rest.
            self.is_published.store(true, Ordering::Relaxed);
            self.looks.store(0, Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { (*quote).sell = buy + self.margin };
        }

        /// How often the quote was looked at since it was published.
        pub fn looks(&self) -> u32 {
            self.looks.load(Ordering::Relaxed)
        }

        /// The quote, once it is published.
        pub fn read(&self) -> Option<Quote> {
            if !self.is_published.load(Ordering::Relaxed) {
                return None;
            }
            self.looks.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the pointer is valid; that the writer is done is only hoped for.
            Some(unsafe { *self.quote.get() })
        }
    }
}

/// Raises the flag when the quote is complete, and hands the quote over with it.
pub mod fixed {
    use super::*;

    /// A place for one quote.
    #[derive(Debug)]
    pub struct Board {
        margin: u32,
        is_published: AtomicBool,
        looks: AtomicU32,
        quote: UnsafeCell<Quote>,
    }

    // SAFETY: `quote` is written before `is_published` is released, and read after it is acquired.
    unsafe impl Sync for Board {}

    impl Board {
        /// An empty board of a bank that takes `margin`.
        pub const fn new(margin: u32) -> Self {
            Board {
                margin,
                is_published: AtomicBool::new(false),
                looks: AtomicU32::new(0),
                quote: UnsafeCell::new(NO_QUOTE),
            }
        }

        /// Puts up the quote; one thread does so, once.
        pub fn publish(&self, buy: u32) {
            self.looks.store(0, Ordering::Relaxed);
            // SAFETY: nobody reads before the store below, and nobody else writes.
            unsafe { *self.quote.get() = Quote { buy, sell: buy + self.margin } };
            self.is_published.store(true, Ordering::Release);
        }

        /// How often the quote was looked at since it was published.
        pub fn looks(&self) -> u32 {
            self.looks.load(Ordering::Relaxed)
        }

        /// The quote, once it is published.
        pub fn read(&self) -> Option<Quote> {
            if !self.is_published.load(Ordering::Acquire) {
                return None;
            }
            self.looks.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the writer was done before it raised the flag that was seen here.
            Some(unsafe { *self.quote.get() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const COMPLETE: Quote = Quote { buy: 100, sell: 103 };

    #[test]
    fn buggy_board_shows_half_a_quote() {
        let board = buggy::Board::new(3);
        thread::scope(|scope| {
            scope.spawn(|| board.publish(100));
            assert_eq!(board.read().unwrap_or(COMPLETE), COMPLETE);
        });
    }

    #[test]
    fn fixed_board_shows_all_or_nothing() {
        let board = fixed::Board::new(3);
        thread::scope(|scope| {
            scope.spawn(|| board.publish(100));
            assert_eq!(board.read().unwrap_or(COMPLETE), COMPLETE);
        });
    }
}
