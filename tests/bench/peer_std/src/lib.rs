//! std for programs that a peer is to run, so that all tools have the same sources.
//!
//! An explicit name shadows one that comes through a glob. Where std has something that a peer lacks, it is made of
//! what the peer has, as its users would do; reference counts stay those of std, so that no tool branches on them.

extern crate std as real;

pub use real::*;

pub mod attempt;

#[cfg(feature = "loom")]
#[path = "on_loom.rs"]
mod peer;
#[cfg(feature = "shuttle")]
#[path = "on_shuttle.rs"]
mod peer;
#[cfg(feature = "native")]
#[path = "native.rs"]
mod peer;

#[cfg(not(feature = "native"))]
pub use peer::{sync, thread};

/// `std::prelude`: `#[test]` is another one.
pub mod prelude {
    pub use real::prelude::*;

    pub mod rust_2024 {
        pub use real::prelude::rust_2024::*;
        pub use test_attr::test;
    }
}
