//! Failures that were found once: saved, read again, run again.
pub mod file;
#[cfg(test)]
mod mutations;
pub mod replay;
pub mod saved;
pub mod sites;
