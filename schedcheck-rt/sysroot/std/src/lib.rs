//! Facade of `std`: everything of the real one, with explicit overrides (an explicit name shadows a glob).
extern crate std as real;
pub use real::*;
