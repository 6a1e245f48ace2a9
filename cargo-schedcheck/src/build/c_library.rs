//! Crates that make system calls by assembly, where nobody sees them.
//!
//! There is one that many depend on: rustix, with it polling, async-io, and the runtimes of smol and async-std. It can be told
//! to call the C library instead, by a `cfg` of the target ([`super::wrapper`]). It then needs dependencies that a
//! plain build does without, and those may not be here: offline, or among vendored sources.
use std::process::{Command, Stdio};

use camino::Utf8Path;
use fs_err as fs;

use super::project::Project;
use super::toolchain::Toolchain;
use super::wrapper::Instructions;
use crate::cli::CargoOpts;
use crate::error::{ExpectedError, Result};

/// Whether there is such a crate, and all that it needs if it is told so.
pub fn is_wanted(
    toolchain: &Toolchain,
    project: &Project,
    cargo: &CargoOpts,
    instructions: &Instructions,
) -> Result<bool> {
    let lock = project.root().join("Cargo.lock");
    // Without one, cargo makes it when it is asked, as it would for the build.
    if uses_rustix(&lock) == Some(false) {
        return Ok(false);
    }
    let asked = Instructions { c_library: true, ..instructions.clone() };
    // What cargo remembers of the compiler is not for plain builds.
    let asked_in = project.output_dir.join("build/.asked");
    let mut command: Command = toolchain.cargo();
    command
        .args(["metadata", "--format-version", "1", "--filter-platform", toolchain.host()])
        .args(cargo.manifest_args())
        .args(super::without_build_dir(&asked_in, super::here().as_deref()))
        .env("CARGO_TARGET_DIR", &asked_in)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    asked.apply(&mut command)?;
    let status = command
        .status()
        .map_err(|source| ExpectedError::Start { program: toolchain.cargo_name(), source })?;
    Ok(status.success() && uses_rustix(&lock) == Some(true))
}

/// `None`: nobody has locked the dependencies yet.
fn uses_rustix(lock: &Utf8Path) -> Option<bool> {
    let text = fs::read_to_string(lock).ok()?;
    Some(text.lines().any(|line| line == r#"name = "rustix""#))
}
