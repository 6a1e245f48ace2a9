//! Failing schedules as a Chrome trace, for Perfetto and `chrome://tracing`: a process for each test, a lane for each
//! thread, a slice for each step, locks as asynchronous slices, causes as arrows. A step takes a millisecond.
use std::io;

use camino::Utf8PathBuf;
use fs_err as fs;
use serde_json::{Value, json};

use super::event::TestResult;
use super::interleaving::{blocked_in, describe, thread_name};
use super::{Event, Sink, story};

/// Microseconds from one step to the next.
const STEP: usize = 1000;

/// Collects slices and writes them when the run is over.
#[derive(Debug)]
pub struct ChromeTrace {
    path: Utf8PathBuf,
    events: Vec<Value>,
    tests: usize,
}

impl ChromeTrace {
    /// A trace that will be written to `path`.
    pub fn new(path: Utf8PathBuf) -> Self {
        Self { path, events: Vec::new(), tests: 0 }
    }

    fn add(&mut self, result: &TestResult) {
        self.tests += 1;
        let process = self.tests;
        let finished = &result.finished;
        let name = format!("{} ({})", result.id, finished.outcome.name());
        self.events.push(named("process_name", process, 0, &name));
        for thread in 0..finished.threads.len() {
            self.events.push(named("thread_name", process, thread + 1, &thread_name(finished, thread)));
        }
        for (at, step) in finished.trace.iter().enumerate() {
            let place = step.site.as_ref().map(|site| format!("{}:{}:{}", site.file, site.line, site.column));
            self.events.push(json!({
                "name": describe(&step.op, step.object.as_deref(), None), "cat": "step", "ph": "X",
                "ts": at * STEP, "dur": STEP, "pid": process, "tid": step.thread + 1,
                "args": { "step": step.step, "place": place, "preemption": step.preemption },
            }));
        }
        let end = finished.trace.len();
        for blocked in &finished.blocked {
            self.events.push(json!({
                "name": format!("BLOCKED {}", describe(blocked_in(&blocked.op), blocked.object.as_deref(), None)),
                "cat": "blocked", "ph": "X", "ts": end * STEP, "dur": 2 * STEP, "pid": process,
                "tid": blocked.thread + 1,
            }));
        }
        for (number, hold) in story::holds(finished).into_iter().enumerate() {
            let to = hold.to.unwrap_or(end + 1);
            for (phase, at) in [("b", hold.from), ("e", to + 1)] {
                self.events.push(json!({
                    "name": hold.object, "cat": "lock", "ph": phase, "id": format!("{process}.{number}"),
                    "ts": at * STEP, "pid": process, "tid": hold.thread + 1,
                    "args": { "holder": thread_name(finished, hold.thread) },
                }));
            }
        }
        for (number, edge) in story::edges(finished).into_iter().enumerate() {
            for (phase, at) in [("s", edge.from), ("f", edge.to)] {
                self.events.push(json!({
                    "name": edge.why, "cat": "order", "ph": phase, "bp": "e", "id": process * 1_000_000 + number,
                    "ts": at * STEP + STEP / 2, "pid": process, "tid": finished.trace[at].thread + 1,
                }));
            }
        }
    }
}

impl Sink for ChromeTrace {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) if result.failed() => self.add(result),
            Event::RunFinished(_) => {
                let trace = json!({ "displayTimeUnit": "ms", "traceEvents": self.events });
                fs::write(&self.path, serde_json::to_string(&trace)?)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn named(what: &str, process: usize, thread: usize, name: &str) -> Value {
    json!({ "name": what, "ph": "M", "pid": process, "tid": thread, "args": { "name": name } })
}
