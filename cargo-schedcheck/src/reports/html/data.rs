//! What the page knows about a test.
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};

use super::super::diagnostic::{self, Look};
use super::super::event::TestResult;
use super::super::forms::{Form, accessing};
use super::super::interleaving::{Folding, blocked_in, thread_name};
use super::super::lasso::{Lasso, worth_showing};
use super::super::{sources, story};
use crate::run::wire::{Finished, Location, Outcome, Progress};

/// Steps that a page can still show with ease.
const STEPS: usize = 2_000;
/// Larger files are not quoted.
const LARGEST: usize = 400_000;

/// How far a search was at some moment.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sample {
    ms: u64,
    executions: u64,
    traces: u64,
    pending: u64,
    bytes: u64,
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Sample {
    /// A moment of the search.
    pub fn of(progress: &Progress) -> Self {
        Self {
            ms: progress.elapsed_ms,
            executions: progress.executions,
            traces: progress.traces,
            pending: progress.pending,
            bytes: progress.bytes,
            estimate: progress.estimate,
            low: progress.estimate_low,
            high: progress.estimate_high,
        }
    }

    /// Its end.
    pub fn last(result: &TestResult, before: Option<&Self>) -> Self {
        let finished = &result.finished;
        let estimate = match finished.complete {
            true => Some(finished.executions as f64),
            false => before.and_then(|sample| sample.estimate),
        };
        Self {
            ms: finished.elapsed_ms,
            executions: finished.executions,
            traces: finished.traces,
            pending: result.pending,
            bytes: before.map_or(finished.peak_bytes, |sample| sample.bytes),
            estimate,
            low: None,
            high: None,
        }
    }
}

/// Everything about one test.
pub fn test(result: &TestResult, samples: &[Sample]) -> Value {
    let finished = &result.finished;
    let form = Form::of(finished);
    let failed = result.failed();
    let marks: Vec<Value> = form
        .marks()
        .map(|mark| {
            json!({
                "file": mark.site.file, "line": mark.site.line, "column": mark.site.column,
                "label": mark.label, "primary": mark.primary,
            })
        })
        .collect();
    let mut notes: Vec<&str> = form.notes.iter().map(|(_, note)| note.as_str()).collect();
    notes.extend(finished.uncontrolled.iter().map(String::as_str));
    let mut value = json!({
        "id": result.id.binary(),
        "name": result.id.name,
        "outcome": finished.outcome.name(),
        "title": form.title,
        "notes": notes,
        "complete": finished.complete,
        "executions": finished.executions,
        "traces": finished.traces,
        "peak_pending": finished.peak_pending,
        "peak_bytes": finished.peak_bytes,
        "elapsed_ms": finished.elapsed_ms,
        "coverage": finished.coverage,
        "output": finished.output,
        "replay_command": result.replay_command,
        "text": if failed { diagnostic::render(result, Look::PLAIN) } else { String::new() },
        "samples": samples,
        "marks": marks,
        "files": files(result, &form),
    });
    let schedule = schedule(finished);
    if let (Some(value), Value::Object(schedule)) = (value.as_object_mut(), schedule) {
        value.extend(schedule);
    }
    value
}

/// The failing schedule: its steps, who held what, what came before what. Positions count from the first step shown.
fn schedule(finished: &Finished) -> Value {
    let lasso = Lasso::of(finished).filter(|_| finished.outcome == Outcome::Livelock);
    let Range { start: first, end } = worth_showing(finished, STEPS);
    let shown = |at: usize| at >= first && at < end;
    let folding = Folding::of(finished);
    let steps: Vec<Value> = finished.trace[first..end]
        .iter()
        .map(|step| {
            json!({
                "step": step.step, "thread": step.thread, "op": step.op, "object": step.object, "site": site(step.site.as_ref()),
                "preemption": step.preemption, "quiet": folding.folds(step),
            })
        })
        .collect();
    let blocked: Vec<Value> = finished
        .blocked
        .iter()
        .map(|entry| {
            json!({ "thread": entry.thread, "op": blocked_in(&entry.op), "object": entry.object, "site": site(entry.site.as_ref()) })
        })
        .collect();
    let accesses: Vec<Value> = finished
        .accesses
        .iter()
        .enumerate()
        .map(|(number, access)| {
            let after = finished.trace.iter().position(|step| Some(step.step) == access.step);
            let after = after.unwrap_or(finished.trace.len().saturating_sub(1)).saturating_sub(first);
            json!({
                "thread": access.thread, "text": format!("({}) {}", number + 1, accessing(access)), "after": after,
                "site": site(access.site.as_ref()),
            })
        })
        .collect();
    let threads: Vec<Value> = (0..finished.threads.len())
        .map(|thread| json!({ "name": thread_name(finished, thread), "path": finished.threads[thread].path }))
        .collect();
    let holds: Vec<Value> = story::holds(finished)
        .into_iter()
        .filter(|hold| hold.from < end && hold.to.is_none_or(|to| to >= first))
        .map(|hold| {
            let to = hold.to.filter(|to| *to < end).map(|to| to - first);
            json!({
                "thread": hold.thread, "object": hold.object, "from": hold.from.saturating_sub(first), "to": to,
                "shared": hold.shared,
            })
        })
        .collect();
    let edges: Vec<Value> = story::edges(finished)
        .into_iter()
        .filter(|edge| shown(edge.from) && shown(edge.to))
        .map(|edge| json!({ "from": edge.from - first, "to": edge.to - first, "why": edge.why }))
        .collect();
    let lasso = lasso
        .filter(|lasso| lasso.start >= first)
        .map(|lasso| json!({ "start": lasso.start - first, "length": lasso.length }));
    json!({
        "threads": threads, "trace": steps, "skipped": first, "blocked": blocked, "accesses": accesses, "holds": holds, "edges": edges,
        "lasso": lasso,
    })
}

fn site(site: Option<&Location>) -> Value {
    site.map_or(Value::Null, |site| json!({ "file": site.file, "line": site.line, "column": site.column }))
}

/// The text of every file that a step or a mark points into.
fn files(result: &TestResult, form: &Form<'_>) -> BTreeMap<String, String> {
    let finished = &result.finished;
    let steps = finished.trace.iter().filter_map(|step| step.site.as_ref());
    let blocked = finished.blocked.iter().filter_map(|entry| entry.site.as_ref());
    let racy = finished.accesses.iter().filter_map(|access| access.site.as_ref());
    let mut places: Vec<&Location> =
        steps.chain(blocked).chain(racy).chain(form.marks().map(|mark| mark.site)).collect();
    places.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    places.dedup_by(|a, b| (&a.file, a.line) == (&b.file, b.line));
    let files = sources::load(&result.source_dirs, &places).into_iter();
    files.filter_map(|file| Some((file.path, file.text.filter(|text| text.len() <= LARGEST)?))).collect()
}
