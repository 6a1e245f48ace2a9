//! The search over schedules: plans in, traces out. Pure: no threads, clocks, I/O, globals.
pub mod step;
