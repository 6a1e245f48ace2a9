//! Runtime of `cargo schedcheck`.
#[cfg(not(feature = "engine"))]
pub use schedcheck_attr::schedcheck;

#[cfg(feature = "engine")]
#[forbid(unsafe_code)]
pub mod search;
#[cfg(feature = "sources")]
pub mod sources;
