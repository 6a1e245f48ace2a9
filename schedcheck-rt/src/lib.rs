//! Runtime of `cargo schedcheck`.
pub use schedcheck_attr::schedcheck;

#[cfg(feature = "engine")]
#[forbid(unsafe_code)]
pub mod search;
