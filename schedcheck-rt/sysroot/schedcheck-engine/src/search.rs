//! The search, which is a crate of its own in this sysroot.
pub use schedcheck_search::search::*;
