//! The visitors of the bank, counted by the crate `counter`.
//!
//! The code here is right; that of its dependency may not be.

use std::thread;

/// Lets two visitors in through two doors.
fn two_visitors(count: impl Fn() + Sync) {
    thread::scope(|scope| {
        scope.spawn(&count);
        scope.spawn(&count);
    });
}

/// How many of two visitors the counter that loses updates has seen.
pub fn seen_by_buggy_counter() -> u32 {
    let counter = counter::buggy::Counter::default();
    two_visitors(|| counter.add());
    counter.get()
}

/// How many of two visitors the right counter has seen.
pub fn seen_by_fixed_counter() -> u32 {
    let counter = counter::fixed::Counter::default();
    two_visitors(|| counter.add());
    counter.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buggy_counter_misses_a_visitor() {
        assert_eq!(seen_by_buggy_counter(), 2);
    }

    #[test]
    fn fixed_counter_sees_both_visitors() {
        assert_eq!(seen_by_fixed_counter(), 2);
    }
}
