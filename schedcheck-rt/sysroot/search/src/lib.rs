//! The engine's search. A crate of its own in this sysroot, so that the compiler optimises it while it still reads the rest.
#[forbid(unsafe_code)]
pub mod search;
