//! What the end-to-end tests share: copy a fixture, run the command in a scrubbed environment, look at what it said.
pub mod browser;
pub mod cli;
pub mod project;
pub mod watch;
