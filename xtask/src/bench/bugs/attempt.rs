//! The package `tests/bench/suite`: one peer on one test, in a process of its own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Finding;
use crate::bench::peers;

/// Beyond its limit a process gets so much more, since peers look at the clock only between executions.
const GRACE: Duration = Duration::from_secs(3);

/// What the suite can be built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Loom,
    Shuttle,
    Native,
}

/// Messages with which a peer says that it cannot run a program.
const UNSUPPORTED: [(&str, &str); 1] =
    [("self.threads.len() < self.max()", "loom runs at most 5 threads, the main one among them")];

/// Messages with which a peer gives up an execution that goes on and on.
const STEP_LIMITS: [&str; 2] = ["exceeded maximum number of branches", "exceeded max_steps bound"];

/// The executables.
pub(super) struct Suite {
    executables: [(Peer, PathBuf); 3],
}

impl Suite {
    pub(super) fn build(repository: &Path) -> Result<Suite> {
        let build = |peer, feature: &str| -> Result<(Peer, PathBuf)> {
            eprintln!("building the suite for {feature}");
            let args = ["test", "--no-run", "--package", "suite", "--features", feature];
            Ok((peer, peers::executable(repository, &args)?))
        };
        let loom = build(Peer::Loom, "loom")?;
        let executables = [loom, build(Peer::Shuttle, "shuttle")?, build(Peer::Native, "native")?];
        Ok(Suite { executables })
    }

    fn executable(&self, peer: Peer) -> &Path {
        let executable = self.executables.iter().find(|(of, _)| *of == peer);
        executable.map_or(Path::new(""), |(_, path)| path)
    }

    /// The tests without a bug that a peer can run to the end.
    pub(super) fn twins(&self) -> Vec<String> {
        let list = Command::new(self.executable(Peer::Native)).args(["--list", "--format", "terse"]).output();
        let list = list.map(|output| output.stdout).unwrap_or_default();
        let tests = String::from_utf8_lossy(&list).into_owned();
        let tests = tests.lines().filter_map(|line| line.strip_suffix(": test"));
        let left_out = |test: &str| test.contains("_large_") || test.contains("_symmetric_");
        tests.filter(|test| test.ends_with("_fixed") && !left_out(test)).map(str::to_owned).collect()
    }

    /// Lets a peer look for a bug.
    pub(super) fn attempt(&self, peer: Peer, way: &str, test: &str, seed: u64, limit: Duration) -> Finding {
        let child = Command::new(self.executable(peer))
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env("ATTEMPT_WAY", way)
            .env("ATTEMPT_SEED", seed.to_string())
            .env("ATTEMPT_MILLISECONDS", limit.as_millis().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let outcome = child.context("the suite").and_then(|child| wait(child, limit + GRACE));
        outcome.map_or_else(|error| Finding::Crashed(format!("{error:#}")), |text| finding(&text))
    }
}

/// What a process printed and how it ended; it is killed when it takes too long.
fn wait(mut child: Child, limit: Duration) -> Result<String> {
    let mut stdout = child.stdout.take().context("a pipe")?;
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes)
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status.to_string(),
            None if start.elapsed() >= limit => {
                child.kill()?;
                child.wait()?;
                break "it did not stop when its time was up".to_owned();
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let bytes = reader.join().map_err(|_| anyhow::anyhow!("reading panicked"))??;
    Ok(format!("{}\n{status}", String::from_utf8_lossy(&bytes)))
}

/// Understands the line of an attempt; without one, the last line says how the process ended.
fn finding(text: &str) -> Finding {
    let line = text.lines().find_map(|line| line.strip_prefix("attempt "));
    let Some(line) = line.and_then(|line| serde_json::from_str::<Value>(line).ok()) else {
        return Finding::Crashed(text.lines().last().unwrap_or_default().to_owned());
    };
    let executions = line["executions"].as_u64().unwrap_or_default();
    let seconds = line["wall_ns"].as_f64().unwrap_or_default() / 1e9;
    let message = line["message"].as_str().unwrap_or_default();
    match line["end"].as_str() {
        Some("exhausted") => Finding::Missed { executions },
        Some("failed") => {
            if let Some((_, reason)) = UNSUPPORTED.iter().find(|(part, _)| message.contains(part)) {
                Finding::Unsupported(reason)
            } else if STEP_LIMITS.iter().any(|part| message.contains(part)) {
                Finding::StepLimit { executions, seconds }
            } else {
                Finding::Found { executions, seconds }
            }
        }
        _ => Finding::OutOfTime { executions },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_from_what_a_peer_cannot_do() {
        let line = |message: &str| {
            let line = serde_json::json!({
                "end": "failed", "executions": 7, "wall_ns": 5e8, "message": message,
            });
            format!("running 1 test\n\nattempt {line}\nexit status: 0")
        };
        assert_eq!(finding(&line("money was lost")), Finding::Found { executions: 7, seconds: 0.5 });
        let limit = line("Model exceeded maximum number of branches. This is often");
        assert_eq!(finding(&limit), Finding::StepLimit { executions: 7, seconds: 0.5 });
        let threads = finding(&line("assertion failed: self.threads.len() < self.max()"));
        assert!(matches!(threads, Finding::Unsupported(_)));
        let crash = Finding::Crashed("signal: 11 (SIGSEGV)".to_owned());
        assert_eq!(finding("running 1 test\nsignal: 11 (SIGSEGV)"), crash);
    }
}
