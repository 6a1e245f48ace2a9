//! Programs with known behaviour, and the slow way to find all of it.
pub(crate) mod brute;
#[cfg(test)]
pub(crate) mod programs;
pub(crate) mod random;
pub(crate) mod toy;
