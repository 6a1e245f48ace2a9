//! The command and its test processes, observed while they run (Linux only: `/proc`).
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fs_err as fs;
use serde_json::Value;

use crate::cli::Schedcheck;

/// A test process at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Since its test started.
    pub at: Duration,
    /// Executions, as last told.
    pub executions: u64,
    /// Resident memory of its own in bytes; pages of files do not count.
    pub resident: u64,
    /// Time on a core.
    pub cpu: Duration,
}

/// An exploration that was observed.
#[derive(Debug)]
pub struct Watched {
    /// Its `test-finished` line.
    pub finished: Value,
    /// At regular intervals.
    pub samples: Vec<Sample>,
}

impl Watched {
    /// A number of its `test-finished` line; 0 if there is none of this name.
    pub fn number(&self, name: &str) -> u64 {
        self.finished[name].as_u64().unwrap_or(0)
    }

    /// Time on a core; short of the truth by at most a period.
    pub fn cpu(&self) -> Duration {
        self.samples.iter().map(|sample| sample.cpu).max().unwrap_or_default()
    }
}

/// A test that is being explored.
struct Current {
    start: Instant,
    executions: u64,
    samples: Vec<Sample>,
}

/// Runs the command, which must be told to explore one test at a time and to write JSON lines.
pub fn watch(call: Schedcheck, period: Duration) -> Vec<Watched> {
    let mut command = call.command();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
    let lines = lines_of(&mut child);
    let mut done = Vec::new();
    let mut current: Option<Current> = None;
    let mut due = Instant::now() + period;
    loop {
        match lines.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(line) => follow(&line, &mut current, &mut done),
            Err(RecvTimeoutError::Timeout) => {
                due = Instant::now() + period;
                if let Some(current) = &mut current {
                    current.samples.extend(sample(child.id(), current));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    child.wait().expect("the command ends");
    done
}

fn lines_of(child: &mut Child) -> Receiver<Value> {
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let line = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn follow(line: &Value, current: &mut Option<Current>, done: &mut Vec<Watched>) {
    match line["type"].as_str() {
        Some("test-started") => {
            *current = Some(Current { start: Instant::now(), executions: 0, samples: Vec::new() });
        }
        Some("test-progress") => {
            if let Some(current) = current {
                current.executions = line["executions"].as_u64().unwrap_or(0);
            }
        }
        Some("test-finished") => {
            let Current { samples, .. } = current.take().expect("a test finishes after it started");
            done.push(Watched { finished: line.clone(), samples });
        }
        _ => {}
    }
}

/// The test process is the only child that the command has while it explores.
fn sample(command: u32, current: &Current) -> Option<Sample> {
    let process = children(command).into_iter().next()?;
    Some(Sample {
        at: current.start.elapsed(),
        executions: current.executions,
        resident: resident(process)?,
        cpu: cpu(process)?,
    })
}

fn children(process: u32) -> Vec<u32> {
    let lists =
        threads(process).into_iter().filter_map(|thread| fs::read_to_string(thread + "/children").ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn cpu(process: u32) -> Option<Duration> {
    let times = threads(process).into_iter().map(|thread| {
        let statistics = fs::read_to_string(thread + "/schedstat").ok()?;
        statistics.split_whitespace().next()?.parse::<u64>().ok()
    });
    times.sum::<Option<u64>>().map(Duration::from_nanos)
}

/// The folders of a process's threads.
fn threads(process: u32) -> Vec<String> {
    let Ok(folder) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    folder.filter_map(|entry| Some(entry.ok()?.path().to_str()?.to_owned())).collect()
}
