//! A bank with four bugs that `cargo test` hardly ever shows, each beside its fix.
//!
//! | module | bug |
//! |---|---|
//! | [`transfer`] | deadlock: two accounts locked in opposite order |
//! | [`visits`] | lost update, inside the dependency `counter` |
//! | [`orders`] | lost wake-up: the queue is looked at and waited for in two separate steps |
//! | [`quote`] | torn publish in unsafe code: the flag is up before the data is complete |
//!
//! All of it is plain `std` and plain `#[test]`: nothing here knows that it will be explored.

pub mod orders;
pub mod quote;
pub mod transfer;
pub mod visits;
