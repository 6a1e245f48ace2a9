//! One search by several processes and in parts, and what an execution costs in a tree of millions.

use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;
use serde_json::Value;

use super::arguments::Arguments;
use super::report::aligned;
use crate::Outcome;

/// Nothing but the search that is measured.
const PLAIN: [&str; 14] = [
    "-r",
    "--all-tests",
    "--exact",
    "--races",
    "off",
    "--levels",
    "off",
    "--random-runs",
    "0",
    "--hunts",
    "0",
    "--message-format",
    "json",
    "--no-fail-fast",
];

/// 756,756 classes.
const TEST: &str = "tests::adds_a_lot";
/// A test whose tree grows as long as one likes.
const GROWING: &str = "tests::adds_for_ever";

/// Pending executions at which the cost of one is compared.
const SMALL: f64 = 100_000.0;
const LARGE: f64 = 10_000_000.0;

/// Measures and prints.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let arguments = Arguments::read(arguments, &["--seconds", "--markdown"])?;
    let (seconds, markdown) = (arguments.number("--seconds", 120)?, arguments.file("--markdown")?);
    let project = Project::copy_of("long");
    let head = ["search", "executions", "classes", "seconds", "executions/s", "speed-up"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let alone = one(&project, TEST, &["-j1"])?;
    for (title, figures) in [
        ("1 process", &alone),
        ("2 processes", &one(&project, TEST, &["-j2"])?),
        ("4 parts, one after the other", &parts(&project, 4)?),
    ] {
        if (figures.classes, &figures.set) != (alone.classes, &alone.set) {
            bail!("{title}: not the same classes");
        }
        rows.push(vec![
            title.to_owned(),
            figures.executions.to_string(),
            figures.classes.to_string(),
            format!("{:.2}", figures.seconds),
            format!("{:.0}", figures.executions as f64 / figures.seconds),
            format!("{:.2}", alone.seconds / figures.seconds),
        ]);
    }
    let mut text = aligned(&rows);
    text.push_str(&growth(&project, seconds)?);
    eprint!("{text}");
    if let Some(file) = markdown {
        fs::write(&file, format!("```text\n{text}```\n")).context(file)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a search did.
struct Done {
    executions: u64,
    classes: u64,
    set: String,
    seconds: f64,
}

fn explore(project: &Project, test: &str, more: &[&str]) -> Result<Output> {
    let output = project.schedcheck(&[&PLAIN[..], &[test], more].concat()).run();
    if output.code != 0 {
        bail!("exit code {}: {}", output.code, output.stderr);
    }
    Ok(output)
}

fn one(project: &Project, test: &str, more: &[&str]) -> Result<Done> {
    let finished = explore(project, test, more)?.verdict();
    let number = |key: &str| finished[key].as_u64().context(key.to_owned());
    Ok(Done {
        executions: number("executions")?,
        classes: number("traces")?,
        set: finished["trace_set"].as_str().unwrap_or_default().to_owned(),
        seconds: number("elapsed_ms")? as f64 / 1000.0,
    })
}

/// The search in parts, joined and gone on with to the end. Its time is that of the slowest part, and of what is
/// left after joining.
fn parts(project: &Project, count: u32) -> Result<Done> {
    let mut slowest: f64 = 0.0;
    for part in 1..=count {
        slowest = slowest.max(one(project, TEST, &["--shard", &format!("{part}/{count}")])?.seconds);
    }
    let began = Instant::now();
    let merged = project.schedcheck(&["merge", "-r", "--races", "off"]).run();
    eprint!("{}", merged.own_stderr());
    if merged.code != 0 && merged.code != 5 {
        bail!("merge: exit code {}: {}", merged.code, merged.stderr);
    }
    let rest = one(project, TEST, &["--resume", "-j1"])?;
    Ok(Done { seconds: slowest + began.elapsed().as_secs_f64(), ..rest })
}

/// Microseconds of an execution while the tree is small and when it is large.
fn growth(project: &Project, seconds: u64) -> Result<String> {
    let limit = format!("{seconds}s");
    // Wide before deep, so that most of what is found waits.
    let lines = explore(project, GROWING, &["-j1", "--priority", "bfs", "--max-time", &limit])?.json();
    let point = |line: &Value| {
        let number = |key: &str| line[key].as_f64();
        Some((number("pending")?, number("executions")?, number("elapsed_ms")?))
    };
    let points: Vec<_> =
        lines.iter().filter(|line| line["type"] == "test-progress").filter_map(point).collect();
    let most = points.last().context("a search that lasts")?.0;
    let cost = |from: f64, to: f64| -> Option<f64> {
        let first = points.iter().find(|point| point.0 >= from)?;
        let last = points.iter().rev().find(|point| point.0 <= to)?;
        Some((last.2 - first.2) * 1000.0 / (last.1 - first.1))
    };
    let large = LARGE.min(most);
    let (Some(before), Some(after)) = (cost(SMALL, 10.0 * SMALL), cost(0.8 * large, large)) else {
        bail!("the tree did not grow: {most} pending");
    };
    Ok(format!(
        "an execution takes {before:.1} us with up to {:.0} pending, and {after:.1} us with up to {large:.0}: {:.2} x\n",
        10.0 * SMALL,
        after / before,
    ))
}
