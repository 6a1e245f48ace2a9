//! SARIF 2.1.0, for code scanning and editors: one result for each failing test, its schedule as a code flow with one
//! thread flow for each thread, in which `executionOrder` is the global step.
//!
//! Only the part of the standard that is needed, written with care, instead of a library of all of it.
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::{Value, json};

use super::event::TestResult;
use super::forms::Form;
use super::interleaving::{blocked_in, describe, thread_name};
use super::lasso::worth_showing;
use super::story::word;
use super::{Event, Sink, sources};
use crate::run::wire::{Finished, Location, Outcome, Step};

/// Every outcome that is a finding, and what it means.
const RULES: [(Outcome, &str); 8] = [
    (Outcome::Deadlock, "Threads wait for each other, or for something that will never happen"),
    (Outcome::Panic, "A panic that nobody handles, in some schedule"),
    (Outcome::Livelock, "The execution comes to no end although every thread gets its turn"),
    (Outcome::DataRace, "Two threads access the same memory, at least one writes, and nothing orders them"),
    (Outcome::Misuse, "A synchronisation primitive is used in a way it forbids"),
    (Outcome::Crash, "The process ends while the test runs"),
    (Outcome::Nondeterminism, "The test does not do the same again under the same schedule"),
    (Outcome::Leak, "Threads are left behind"),
];
/// Steps of a schedule; readers of this format take files of a few megabytes.
const STEPS: usize = 2_000;
/// The folder that relative paths start from.
const ROOT: &str = "SRCROOT";

/// Collects results and writes them when the run is over.
#[derive(Debug)]
pub struct Sarif {
    path: Utf8PathBuf,
    root: Utf8PathBuf,
    results: Vec<Value>,
}

impl Sarif {
    /// A report on the workspace at `root` that will be written to `path`.
    pub fn new(path: Utf8PathBuf, root: Utf8PathBuf) -> Self {
        Self { path, root, results: Vec::new() }
    }

    fn document(&self, exit_code: u8) -> Value {
        let rules: Vec<Value> = RULES
            .iter()
            .map(|(outcome, text)| {
                json!({
                    "id": rule_id(*outcome),
                    "name": outcome.name(),
                    "shortDescription": { "text": text },
                    "defaultConfiguration": { "level": "error" },
                })
            })
            .collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "cargo-schedcheck",
                    "version": env!("CARGO_PKG_VERSION"),
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules,
                }},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": { ROOT: { "uri": format!("file://{}/", encoded(self.root.as_str())) } },
                "invocations": [{ "executionSuccessful": true, "exitCode": exit_code }],
                "results": self.results,
            }],
        })
    }
}

impl Sink for Sarif {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) if result.failed() => self.results.push(self.result(result)),
            Event::RunFinished(summary) => {
                let document = self.document(summary.exit_code.number());
                let mut text = serde_json::to_string_pretty(&document)?;
                text.push('\n');
                fs::write(&self.path, text)?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Sarif {
    fn result(&self, result: &TestResult) -> Value {
        let finished = &result.finished;
        let form = Form::of(finished);
        let place = |site: &Location, text: &str| location(&self.root, &result.source_dirs, Some(site), text);
        let mut main: Vec<Value> = form
            .marks()
            .filter(|mark| mark.primary)
            .take(1)
            .map(|mark| place(mark.site, &mark.label))
            .collect();
        if main.is_empty() {
            main.push(location(&self.root, &result.source_dirs, None, &form.title));
        }
        for location in &mut main {
            location["logicalLocations"] =
                json!([{ "fullyQualifiedName": result.id.to_string(), "kind": "function" }]);
        }
        let related: Vec<Value> = form
            .marks()
            .enumerate()
            .map(|(number, mark)| {
                let mut value = place(mark.site, &mark.label);
                value["id"] = json!(number + 1);
                value
            })
            .collect();
        let mut text = form.title.clone();
        if let Some(command) = &result.replay_command {
            text.push_str(&format!("\nReplay with: {command}"));
        }
        let index = RULES.iter().position(|(outcome, _)| *outcome == finished.outcome);
        let mut value = json!({
            "ruleId": rule_id(finished.outcome),
            "level": "error",
            "message": { "text": text },
            "locations": main,
            "relatedLocations": related,
            "partialFingerprints": { "schedcheckTest/v1": format!("{} {}", finished.outcome.name(), result.id) },
        });
        if let Some(index) = index {
            value["ruleIndex"] = json!(index);
        }
        let flows = self.thread_flows(result);
        if !flows.is_empty() {
            let message = format!("the failing schedule of {}", result.id);
            value["codeFlows"] = json!([{ "message": { "text": message }, "threadFlows": flows }]);
        }
        value
    }

    /// One flow for each thread that does something.
    fn thread_flows(&self, result: &TestResult) -> Vec<Value> {
        let finished = &result.finished;
        let after = finished.trace.last().map_or(0, |step| step.step) + 1;
        (0..finished.threads.len())
            .filter_map(|thread| {
                let shown = &finished.trace[worth_showing(finished, STEPS)];
                let steps = shown.iter().filter(|step| step.thread == thread);
                let mut locations: Vec<Value> = steps.map(|step| self.step(result, step)).collect();
                for blocked in finished.blocked.iter().filter(|blocked| blocked.thread == thread) {
                    let text = format!(
                        "blocked in {}",
                        describe(blocked_in(&blocked.op), blocked.object.as_deref(), None)
                    );
                    locations.push(json!({
                        "location": location(&self.root, &result.source_dirs, blocked.site.as_ref(), &text),
                        "executionOrder": after,
                        "importance": "essential",
                    }));
                }
                (!locations.is_empty()).then(|| {
                    json!({
                        "id": finished.threads[thread].path,
                        "message": { "text": thread_name(finished, thread) },
                        "locations": locations,
                    })
                })
            })
            .collect()
    }

    fn step(&self, result: &TestResult, step: &Step) -> Value {
        let text = describe(&step.op, step.object.as_deref(), None);
        let text = if step.preemption { format!("{text} (preempts the thread before)") } else { text };
        let kinds: &[&str] = match word(&step.op) {
            "lock" | "read" | "write" | "read_in_line" => &["acquire", "lock"],
            "unlock" | "read_unlock" | "write_unlock" => &["release", "lock"],
            "begin" => &["enter", "function"],
            "end" => &["exit", "function"],
            _ => &[],
        };
        let mut value = json!({
            "location": location(&self.root, &result.source_dirs, step.site.as_ref(), &text),
            "executionOrder": step.step,
            "importance": if is_essential(&result.finished, step) { "essential" } else { "unimportant" },
        });
        if !kinds.is_empty() {
            value["kinds"] = json!(kinds);
        }
        value
    }
}

fn is_essential(finished: &Finished, step: &Step) -> bool {
    step.preemption || finished.blocked.iter().any(|blocked| blocked.object == step.object)
}

fn rule_id(outcome: Outcome) -> String {
    format!("schedcheck/{}", outcome.name())
}

/// A place with a text; paths inside the workspace are relative to it.
fn location(root: &Utf8Path, dirs: &[Utf8PathBuf], site: Option<&Location>, text: &str) -> Value {
    let mut value = json!({ "message": { "text": text } });
    if let Some(site) = site {
        let path = sources::relative_to(root, dirs, &site.file);
        let artifact = match Utf8Path::new(&path).is_absolute() {
            true => json!({ "uri": format!("file://{}", encoded(&path)) }),
            false => json!({ "uri": encoded(&path), "uriBaseId": ROOT }),
        };
        value["physicalLocation"] = json!({
            "artifactLocation": artifact,
            "region": { "startLine": site.line.max(1), "startColumn": site.column.max(1) },
        });
    }
    value
}

/// A path as part of a URI.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(encoded("a dir/ü.rs"), "a%20dir/%C3%BC.rs");
    }

    #[test]
    fn every_failure_has_a_rule() {
        for outcome in
            ["deadlock", "panic", "livelock", "data-race", "misuse", "crash", "nondeterminism", "leak"]
        {
            assert!(RULES.iter().any(|(rule, _)| rule.name() == outcome), "{outcome}");
        }
    }
}
