//! What a test can say to `cargo schedcheck`, which explores the thread schedules of tests.
//!
//! [`schedcheck`] marks the tests worth exploring. Nothing else is needed; the rest is for tests that want to say more:
//! values to explore ([`choose`], [`assume`]), threads that are all alike ([`symmetric`]), how threads are to interleave
//! ([`scenario`], [`label`]), names ([`name`]) and uses of what the tool does not see ([`yield_read`], [`yield_write`]).
//! Under plain `cargo test` a marked test is an ordinary one, and all of this is one plain run.
//!
//! ```
//! use schedcheck_rt::schedcheck;
//! use std::sync::Mutex;
//!
//! #[schedcheck(max_time = "10s")]
//! fn two_threads_count_to_two() {
//!     let count = Mutex::new(0);
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| *count.lock().unwrap() += 1);
//!         *count.lock().unwrap() += 1;
//!     });
//!     assert_eq!(count.into_inner().unwrap(), 2);
//! }
//! ```
//!
//! Features: `attribute`, the default, is the attribute. The others are for the command itself: `engine` is what executes
//! and searches, and is built into a sysroot of its own; `sources` is this crate as data, by which it gets there.
#![deny(missing_docs)]
/// Marks a test whose schedules `cargo schedcheck` explores.
///
/// ```
/// use schedcheck_rt::schedcheck;
/// use std::sync::{Arc, Mutex};
///
/// #[schedcheck]
/// fn two_threads_count_to_two() {
///     let count = Arc::new(Mutex::new(0));
///     let other = Arc::clone(&count);
///     let thread = std::thread::spawn(move || *other.lock().unwrap() += 1);
///     *count.lock().unwrap() += 1;
///     thread.join().unwrap();
///     assert_eq!(*count.lock().unwrap(), 2);
/// }
///
/// #[schedcheck(bound = 2, max_time = "10s")]
/// fn with_at_most_two_preemptions() -> Result<(), std::num::ParseIntError> {
///     "7".parse::<u32>().map(drop)
/// }
/// ```
///
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
