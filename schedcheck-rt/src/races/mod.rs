//! Data races: two accesses to the same memory, of which one writes and not both are atomic, that nothing orders. Or both are
//! atomic and overlap in part: to the search, atomics at different addresses have nothing to do with each other.
//!
//! The compiler tells us of every plain access of user code, the facades of every synchronisation. From the latter follows
//! *happens-before* as the memory model of C++20, which is Rust's, defines it: program order, `edges.rs`, and the orderings
//! of atomics and fences (`detector.rs`). An access that is not ordered after every conflicting one before it is a race,
//! whether or not the two came close to each other in this execution.
//!
//! # Why it suffices to switch threads at synchronisation operations
//!
//! Threads are not preempted between two plain accesses. No behaviour of a program without undefined behaviour is lost by
//! that (CHESS, Musuvathi et al., OSDI 2008, section 3.1):
//!
//! * Take any sequentially consistent execution, up to its first race. In it every two conflicting plain accesses are
//!   ordered by happens-before, that is, by synchronisation operations between them. So each plain access can be moved
//!   next to the last synchronisation operation of its thread without passing an access that it conflicts with: all values
//!   read, all later operations and all orders stay the same. What results is an execution that switches threads at
//!   synchronisation operations only.
//! * The search executes one such execution of every class of equivalent ones, and these have the same happens-before
//!   relation: `edges.rs` gives the same clocks for independent operations in either order. So if the first execution
//!   runs into a race, the one that the search makes runs into it, or into another one, too.
//! * A program that has a race has undefined behaviour, and is reported. What it would have done afterwards is not asked.
//!
//! Orderings count for the detector alone. Values are those of sequentially consistent executions: a `Relaxed` where
//! `Release` is needed shows as a race on the data that it should have published, not as an old value.
//!
//! # What costs
//!
//! Most accesses go to stacks that no other thread comes near. Of those nothing is noted, and nothing is lost: `areas.rs`
//! has the argument. Of the others, one that a thread repeats before its next step is noted once. Cells are stamped with
//! the number of their execution, so nothing is cleared between executions, and nothing is allocated once the memory is
//! there.

mod areas;
mod cell;
mod clock;
mod detector;
mod edges;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
mod threads;

pub(crate) use areas::HeapLayout;
pub(crate) use cell::Touch;
pub(crate) use clock::VectorClock;
pub(crate) use detector::{Atomic, Detector, Race, Side};

use std::sync::atomic::Ordering;

/// What an ordering means for happens-before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

impl Order {
    pub(crate) const RELAXED: Order = Order { acquires: false, releases: false };

    /// That of the compiler's number for it.
    pub(crate) const fn of_number(number: i32) -> Order {
        Order { acquires: matches!(number, 1 | 2 | 4 | 5), releases: matches!(number, 3..=5) }
    }
}

impl From<Ordering> for Order {
    fn from(order: Ordering) -> Order {
        match order {
            Ordering::Relaxed => Order::RELAXED,
            Ordering::Acquire => Order { acquires: true, releases: false },
            Ordering::Release => Order { acquires: false, releases: true },
            _ => Order { acquires: true, releases: true },
        }
    }
}
