//! The search over schedules: plans in, traces out. Pure: no threads, clocks, I/O, globals.
mod backtrack;
pub mod dependence;
pub mod engine;
mod enumerate;
mod fringe;
pub mod history;
mod optimal;
pub mod options;
pub mod priority;
pub mod races;
mod recorder;
pub mod rng;
mod seeds;
pub mod shrink;
pub mod step;
mod tree;
mod wakeup;

#[cfg(test)]
mod models;
#[cfg(test)]
mod tests;
