//! JUnit XML, which every CI reads: a suite for each binary, a case for each test.
use std::io;
use std::time::Duration;

use camino::Utf8PathBuf;
use fs_err as fs;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::diagnostic::{self, Look};
use super::event::TestResult;
use super::forms::Form;
use super::{Event, Sink, interleaving};

/// Collects cases and writes them when the run is over.
#[derive(Debug)]
pub struct Junit {
    path: Utf8PathBuf,
    suites: Vec<(String, TestSuite)>,
}

impl Junit {
    /// A report that will be written to `path`.
    pub fn new(path: Utf8PathBuf) -> Self {
        Self { path, suites: Vec::new() }
    }

    fn add(&mut self, binary: String, case: TestCase) {
        match self.suites.iter_mut().find(|(name, _)| *name == binary) {
            Some((_, suite)) => drop(suite.add_test_case(case)),
            None => {
                let mut suite = TestSuite::new(binary.clone());
                suite.add_test_case(case);
                self.suites.push((binary, suite));
            }
        }
    }
}

impl Sink for Junit {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) => self.add(result.id.binary(), case(result)),
            Event::TestStopped(id, progress) => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(format!("stopped after {} schedules", progress.executions));
                let mut case = TestCase::new(id.name.as_str(), status);
                case.set_classname(id.binary());
                self.add(id.binary(), case);
            }
            Event::RunFinished(summary) => {
                let mut report = Report::new("cargo-schedcheck");
                report.set_time(summary.elapsed);
                report.add_test_suites(self.suites.drain(..).map(|(_, suite)| suite));
                let text = report.to_string().map_err(io::Error::other)?;
                fs::write(&self.path, text)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn case(result: &TestResult) -> TestCase {
    let finished = &result.finished;
    let status = match result.failed() {
        false => TestCaseStatus::success(),
        true => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(format!("schedcheck::{}", finished.outcome.name()))
                .set_message(Form::of(finished).title)
                .set_description(diagnostic::render(result, Look::PLAIN));
            status
        }
    };
    let mut case = TestCase::new(result.id.name.as_str(), status);
    case.set_classname(result.id.binary()).set_time(Duration::from_millis(finished.elapsed_ms));
    let mut properties = vec![
        ("executions", finished.executions.to_string()),
        ("traces", finished.traces.to_string()),
        ("complete", finished.complete.to_string()),
    ];
    properties.extend(finished.bound_done.map(|bound| ("bound-done", bound.to_string())));
    properties.extend(result.replay.as_ref().map(|path| ("replay", path.to_string())));
    for (name, value) in properties {
        case.add_property(Property::new(format!("schedcheck.{name}"), value));
    }
    if result.failed() {
        case.set_system_out(interleaving::render(finished, Look::PLAIN.width, false));
        if !finished.output.is_empty() {
            case.set_system_err(finished.output.as_str());
        }
    }
    case
}
