//! The search over schedules: plans out, traces in. Pure: no threads, clocks, I/O, globals.
//!
//! [`engine::Search`] is what a caller uses; [`step`] is the language it speaks. An unbounded
//! search executes each happens-before class once (`wakeup.rs` says why in any order), a bounded one
//! every class within the bound (`enumerate.rs`).
mod adopt;
mod backtrack;
pub mod bytes;
pub mod dependence;
pub mod dive;
mod edges;
pub mod engine;
mod enumerate;
mod exchange;
mod fringe;
pub mod history;
pub mod hunt;
mod invariants;
mod levels;
mod lines;
mod narrow;
mod objects;
mod optimal;
pub mod options;
mod outside;
mod places;
mod points;
pub mod predict;
pub mod priority;
pub mod progress;
mod quick;
pub mod races;
mod recorder;
pub mod records;
mod region;
pub mod rng;
pub mod route;
pub mod seeds;
mod sequence;
mod share;
pub mod shrink;
mod spill;
pub mod step;
pub mod together;
mod tree;
mod visited;
mod wakeup;
mod ways;

#[cfg(test)]
mod covered;
#[cfg(any(test, feature = "soak"))]
mod crowd;
#[cfg(any(test, feature = "soak"))]
mod models;
#[cfg(test)]
mod parted;
#[cfg(any(test, feature = "soak"))]
pub mod soak;
#[cfg(test)]
mod tests;

pub use engine::{Learned, Order, Search, Stats};
pub use options::{Options, Reduction};
