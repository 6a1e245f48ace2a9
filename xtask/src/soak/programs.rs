//! Random programs: the search against brute force.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// Says whether the search was right about all of them.
pub(super) fn run(repository: &Path, seed: u64, programs: u64) -> Result<bool> {
    let status = Command::new("cargo")
        .args(["run", "--release", "--quiet", "--package", "soak", "--"])
        .args([seed.to_string(), programs.to_string()])
        .current_dir(repository.join("tests/bench"))
        .status()
        .context("cargo")?;
    Ok(status.success())
}
