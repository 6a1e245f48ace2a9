//! Where and of what the figures are.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

/// Facts to print above the figures.
pub(super) fn describe(repository: &Path) -> Result<Vec<(&'static str, String)>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let lock =
        fs::read_to_string(repository.join("tests/bench/Cargo.lock")).context("tests/bench/Cargo.lock")?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(2).collect();
    Ok(vec![
        ("processor", format!("{}, {cores} cores", processor())),
        ("load (1 and 5 minutes)", load.join(", ")),
        ("rustc", output(Command::new("rustc").arg("--version"))),
        (
            "schedcheck",
            output(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(repository)),
        ),
        ("loom", locked(&lock, "loom")),
        ("shuttle", locked(&lock, "shuttle")),
    ])
}

fn processor() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn output(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

/// The version of a package in the text of a lock file.
fn locked(lock: &str, package: &str) -> String {
    let after =
        lock.split_once(&format!("name = \"{package}\"\nversion = \"")).map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"loom\"\nversion = \"0.7.2\"\n";
        assert_eq!((locked(lock, "loom"), locked(lock, "shuttle")), ("0.7.2".to_owned(), String::new()));
    }
}
