//! Helpers of the end-to-end tests: copy a fixture, run the command in a scrubbed environment, look at what it said.
pub mod browser;
pub mod cli;
pub mod project;
pub mod watch;
