//! Runtime of `cargo schedcheck`.
#![deny(missing_docs)]
#[cfg(feature = "attribute")]
pub use schedcheck_attr::schedcheck;

#[cfg(any(not(schedcheck), feature = "engine"))]
mod api;
#[cfg(any(not(schedcheck), feature = "engine"))]
pub mod scenario;
#[cfg(any(not(schedcheck), feature = "engine"))]
pub use api::{Variable, assume, choose, choose_from, label, name, symmetric, yield_read, yield_write};
// Under exploration there is one engine, and the swapped std leads to it.
#[cfg(all(schedcheck, not(feature = "engine")))]
pub use std::__schedcheck::{
    Variable, assume, choose, choose_from, label, name, scenario, symmetric, yield_read, yield_write,
};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(feature = "engine")]
pub mod entry;
#[cfg(feature = "engine")]
pub mod exec;
#[cfg(feature = "engine")]
pub mod facade;
#[cfg(feature = "engine")]
mod intercept;
#[cfg(feature = "engine")]
pub mod model;
#[cfg(feature = "engine")]
mod races;
#[cfg(feature = "engine")]
#[forbid(unsafe_code)]
pub mod search;
#[cfg(feature = "engine")]
pub mod wire;
#[cfg(feature = "engine")]
pub use entry::register_options;
#[cfg(feature = "sources")]
pub mod sources;
