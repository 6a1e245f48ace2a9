//! What the expansion of `#[schedcheck]` calls. No part of the public interface.

/// Tells the harness that the test which calls this is marked, and with which options.
#[cfg(schedcheck)]
pub fn register(options: &'static str) {
    std::__schedcheck::register_options(options);
}

/// Keeps its items where the schedules are explored, drops them under plain `cargo test`.
///
/// The choice falls when this crate is compiled, so the user's crate needs no `cfg` and no `check-cfg` entry.
#[cfg(schedcheck)]
#[doc(hidden)]
#[macro_export]
macro_rules! __private_if_schedcheck {
    ($($items:tt)*) => { $($items)* };
}

/// Keeps its items where the schedules are explored, drops them under plain `cargo test`.
#[cfg(not(schedcheck))]
#[doc(hidden)]
#[macro_export]
macro_rules! __private_if_schedcheck {
    ($($items:tt)*) => {};
}
