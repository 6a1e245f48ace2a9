//! Events as JSON lines: one object a line, flushed at once, versioned.
use std::io::{self, Write};

use serde::Serialize;

use super::event::{Certified, TestId};
use super::{Event, Sink};
use crate::regressions::replay::State;
use crate::run::wire::{Location, Prediction, RacyAccess};

/// The version of the format; within it, fields are only added.
const VERSION: u32 = 1;

/// Writes JSON lines.
#[derive(Debug)]
pub struct JsonLines<W>(pub W);

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(flatten)]
    body: Body<'a>,
}

/// The wire types, apart from the types inside: these must not change by accident.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Body<'a> {
    RunStarted {
        tests: usize,
        version: &'a str,
        priority: Option<&'a str>,
        bound: Option<u32>,
        seed: Option<u64>,
    },
    Regression {
        package: &'a str,
        target: &'a str,
        test: &'a str,
        file: &'a str,
        state: &'a str,
        message: &'a str,
        removed: bool,
    },
    TestStarted {
        package: &'a str,
        target: &'a str,
        test: &'a str,
    },
    TestProgress {
        package: &'a str,
        target: &'a str,
        test: &'a str,
        executions: u64,
        traces: u64,
        pending: u64,
        estimate: Option<f64>,
        estimate_low: Option<f64>,
        estimate_high: Option<f64>,
        bound_done: Option<u32>,
        levels: &'a [(u64, u64)],
        bytes: u64,
        remembered_bytes: u64,
        step_nodes: Option<u64>,
        elapsed_ms: u64,
    },
    Prediction {
        package: &'a str,
        target: &'a str,
        test: &'a str,
        #[serde(flatten)]
        prediction: &'a Prediction,
    },
    TestFinished {
        package: &'a str,
        target: &'a str,
        test: &'a str,
        outcome: &'a str,
        message: &'a str,
        executions: u64,
        /// Runs of the body that repeated a schedule.
        #[serde(skip_serializing_if = "is_zero")]
        repeats: u64,
        traces: u64,
        complete: bool,
        bound_done: Option<u32>,
        preemptions: u64,
        steps: u64,
        replay: Option<&'a str>,
        location: Option<&'a Location>,
        elapsed_ms: u64,
        peak_pending: u64,
        peak_bytes: u64,
        coverage: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        trace_set: &'a str,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        accesses: &'a [RacyAccess],
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<&'a str>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        uncontrolled: &'a [String],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        notes: &'a [String],
    },
    TestStopped {
        package: &'a str,
        target: &'a str,
        test: &'a str,
        executions: u64,
        elapsed_ms: u64,
    },
    RunFinished {
        passed: usize,
        failed: usize,
        incomplete: usize,
        unfinished: usize,
        /// Where the certificate is, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        certificate: Option<&'a str>,
        /// Why there is none although it was wanted.
        #[serde(skip_serializing_if = "Option::is_none")]
        no_certificate: Option<&'a str>,
        exit_code: u8,
    },
}

impl<W: Write> Sink for JsonLines<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let body = match event {
            Event::Said(text) => {
                // Not an event: what tests say does not belong among JSON lines.
                super::say(text.trim_end_matches('\n'));
                return Ok(());
            }
            Event::RunStarted(run) => Body::RunStarted {
                tests: run.tests,
                version: env!("CARGO_PKG_VERSION"),
                priority: run.limits.priority.as_deref(),
                bound: run.limits.bound,
                seed: run.limits.seed,
            },
            Event::Regression(regression) => Body::Regression {
                package: &regression.id.package,
                target: &regression.id.target,
                test: &regression.id.name,
                file: regression.file.as_str(),
                state: match regression.state {
                    State::Fails => "fails",
                    State::Fixed => "fixed",
                    State::Stale => "stale",
                },
                message: &regression.message,
                removed: regression.removed,
            },
            Event::TestStarted(id) => {
                Body::TestStarted { package: &id.package, target: &id.target, test: &id.name }
            }
            Event::TestProgress(id, progress) => Body::TestProgress {
                package: &id.package,
                target: &id.target,
                test: &id.name,
                executions: progress.executions,
                traces: progress.traces,
                pending: progress.pending,
                estimate: progress.estimate,
                estimate_low: progress.estimate_low,
                estimate_high: progress.estimate_high,
                levels: &progress.levels,
                bytes: progress.bytes,
                remembered_bytes: progress.remembered_bytes,
                step_nodes: progress.step_nodes,
                bound_done: progress.bound_done,
                elapsed_ms: progress.elapsed_ms,
            },
            Event::TestFinished(result) => {
                for prediction in &result.finished.predictions {
                    let TestId { package, target, name: test } = &result.id;
                    self.write(Body::Prediction { package, target, test, prediction })?;
                }
                Body::TestFinished {
                    package: &result.id.package,
                    target: &result.id.target,
                    test: &result.id.name,
                    outcome: result.finished.outcome.name(),
                    message: &result.finished.message,
                    executions: result.finished.executions,
                    repeats: result.finished.repeats,
                    traces: result.finished.traces,
                    complete: result.finished.complete,
                    bound_done: result.finished.bound_done,
                    preemptions: result.finished.preemptions,
                    steps: result.finished.steps,
                    replay: result.replay.as_ref().map(|path| path.as_str()),
                    location: result.finished.location.as_ref(),
                    elapsed_ms: result.finished.elapsed_ms,
                    peak_pending: result.finished.peak_pending,
                    peak_bytes: result.finished.peak_bytes,
                    coverage: &result.finished.coverage,
                    trace_set: &result.finished.trace_set,
                    accesses: &result.finished.accesses,
                    remedy: result.finished.remedy.as_deref(),
                    uncontrolled: &result.finished.uncontrolled,
                    notes: &result.finished.notes,
                }
            }
            Event::TestStopped(id, progress) => Body::TestStopped {
                package: &id.package,
                target: &id.target,
                test: &id.name,
                executions: progress.executions,
                elapsed_ms: progress.elapsed_ms,
            },
            Event::RunFinished(summary) => Body::RunFinished {
                passed: summary.passed,
                failed: summary.failed,
                incomplete: summary.incomplete,
                unfinished: summary.unfinished,
                certificate: match &summary.certificate {
                    Some(Certified::Yes(path)) => Some(path.as_str()),
                    _ => None,
                },
                no_certificate: match &summary.certificate {
                    Some(Certified::No(reason)) => Some(reason),
                    _ => None,
                },
                exit_code: summary.exit_code.number(),
            },
        };
        self.write(body)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<W: Write> JsonLines<W> {
    fn write(&mut self, body: Body<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { v: VERSION, body })?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::reports::event::{RunStarted, Summary};
    use crate::run::Purpose;

    fn line(event: &Event<'_>) -> String {
        let mut sink = JsonLines(Vec::new());
        sink.event(event).unwrap();
        String::from_utf8(sink.0).unwrap()
    }

    #[test]
    fn lines_are_as_promised_to_other_programs() {
        let started = RunStarted {
            tests: 9,
            binaries: 3,
            limits: Limits::built_in(),
            replay: false,
            purpose: Purpose::Explore,
        };
        assert_eq!(
            line(&Event::RunStarted(&started)),
            "{\"v\":1,\"type\":\"run-started\",\"tests\":9,\"version\":\"0.1.0\",\"priority\":\"mdpor,pb\",\
             \"bound\":null,\"seed\":0}\n"
        );
        let id = TestId { package: "bank".into(), target: "lib".into(), name: "tests::transfer".into() };
        assert_eq!(
            line(&Event::TestStarted(&id)),
            "{\"v\":1,\"type\":\"test-started\",\"package\":\"bank\",\"target\":\"lib\",\"test\":\"tests::transfer\"}\n"
        );
        let summary = Summary {
            passed: 8,
            failed: 1,
            incomplete: 0,
            unfinished: 0,
            elapsed: std::time::Duration::ZERO,
            replay_command: None,
            certificate: None,
            exit_code: crate::exit_code::ExitCode::Failed,
        };
        assert_eq!(
            line(&Event::RunFinished(&summary)),
            "{\"v\":1,\"type\":\"run-finished\",\"passed\":8,\"failed\":1,\"incomplete\":0,\"unfinished\":0,\
             \"exit_code\":100}\n"
        );
    }
}
