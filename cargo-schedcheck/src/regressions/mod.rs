//! Failures that were found once: saved, read again, run again.
pub mod file;
pub mod replay;
