//! The package `tests/bench/peers`: loom and shuttle.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::figures::{End, Figures, Measurement};
use super::programs;

/// What the package can run, as it names it.
pub(super) const TOOLS: [&str; 5] = ["loom", "shuttle dfs", "shuttle random", "shuttle pct", "shuttle urw"];

/// Builds the package and says where its executable is.
pub(super) fn build(repository: &Path) -> Result<PathBuf> {
    eprintln!("building loom and shuttle");
    executable(repository, &["build", "--package", "peers"])
}

/// Lets cargo build something of `tests/bench` and says where the executable is.
pub(super) fn executable(repository: &Path, args: &[&str]) -> Result<PathBuf> {
    let output = Command::new("cargo")
        .args(args)
        .args(["--release", "--quiet", "--message-format", "json"])
        .current_dir(repository.join("tests/bench"))
        .stderr(Stdio::inherit())
        .output()
        .context("cargo")?;
    if !output.status.success() {
        bail!("the peers do not build");
    }
    let messages = String::from_utf8(output.stdout).context("what cargo says")?;
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let executable = messages.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.context("cargo does not name the executable")
}

/// Runs one tool on all programs, each for some time.
pub(super) fn measure(executable: &Path, tool: &str, time: Duration, figures: &mut Figures) -> Result<()> {
    // Shuttle says a lot about failures that are expected.
    let output = Command::new(executable)
        .args([&time.as_millis().to_string(), tool])
        .args(programs())
        .stderr(Stdio::null())
        .output()
        .context("the peers")?;
    if !output.status.success() {
        bail!("{tool} ended with {}", output.status);
    }
    for line in String::from_utf8(output.stdout)?.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let program = line["program"].as_str().context("no program")?;
        figures.add(program, tool, measurement(&line)?);
    }
    Ok(())
}

fn measurement(line: &Value) -> Result<Measurement> {
    let number = |name: &str| line[name].as_u64().with_context(|| format!("no {name} in {line}"));
    let all = number("all_executions")? as f64;
    let end = match line["end"].as_str() {
        Some("exhausted") => End::Exhausted,
        Some("failed") => End::Failed,
        _ => End::OutOfTime,
    };
    // A tool that stops at a bug after a few executions was not measured.
    let per_second = |nanoseconds: u64| match end {
        End::Failed => f64::NAN,
        _ => all / (nanoseconds as f64 / 1e9),
    };
    Ok(Measurement {
        end,
        executions: number("executions")?,
        rate: per_second(number("cpu_ns")?),
        own_rate: per_second(number("wall_ns")?),
        bytes_per_pending: None,
    })
}
