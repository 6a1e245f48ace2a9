//! Reports: every form of output is a sink of the same events and knows nothing about searching.
pub mod diagnostic;
pub mod event;
pub mod human;
pub mod interleaving;
pub mod jsonl;
pub mod progress;

use std::io;

pub use event::Event;

/// A form of output.
pub trait Sink {
    /// Takes the next event. An error means that nobody reads any more.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
}
