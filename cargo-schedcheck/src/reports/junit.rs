//! JUnit XML, which every CI reads: a suite for each binary, a case for each test.
use std::io;
use std::time::Duration;

use camino::Utf8PathBuf;
use fs_err as fs;

use super::diagnostic::{self, Look};
use super::event::TestResult;
use super::forms::Form;
use super::xml::Element;
use super::{Event, Sink, interleaving};

/// Collects cases and writes them when the run is over.
#[derive(Debug)]
pub struct Junit {
    path: Utf8PathBuf,
    suites: Vec<Suite>,
}

/// The cases of one binary.
#[derive(Debug)]
struct Suite {
    binary: String,
    cases: Vec<Element>,
    count: Count,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    tests: usize,
    skipped: usize,
    failures: usize,
}

impl Junit {
    /// A report that will be written to `path`.
    pub fn new(path: Utf8PathBuf) -> Self {
        Self { path, suites: Vec::new() }
    }

    fn suite(&mut self, binary: String) -> &mut Suite {
        let known = self.suites.iter().position(|suite| suite.binary == binary);
        let at = known.unwrap_or_else(|| {
            self.suites.push(Suite { binary, cases: Vec::new(), count: Count::default() });
            self.suites.len() - 1
        });
        &mut self.suites[at]
    }

    /// All of it; nothing is left.
    fn report(&mut self, elapsed: Duration) -> Element {
        let mut total = Count::default();
        for Suite { count, .. } in &self.suites {
            total.tests += count.tests;
            total.skipped += count.skipped;
            total.failures += count.failures;
        }
        let top = Element::new("testsuites").with("name", "cargo-schedcheck");
        let suites = self.suites.drain(..).map(|suite| {
            let element = Element::new("testsuite").with("name", &suite.binary);
            suite.count.describe(element).children(suite.cases)
        });
        total.describe(top).with("time", seconds(elapsed)).children(suites)
    }
}

impl Count {
    fn describe(self, element: Element) -> Element {
        let element = element.with("tests", self.tests).with("skipped", self.skipped);
        element.with("failures", self.failures).with("errors", 0)
    }
}

impl Sink for Junit {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) => {
                let suite = self.suite(result.id.binary());
                suite.count.tests += 1;
                suite.count.failures += usize::from(result.failed());
                suite.cases.push(finished(result));
            }
            Event::TestStopped(id, progress) => {
                let message = format!("stopped after {} schedules", progress.executions);
                let skipped = Element::new("skipped").with("message", message);
                let case = case(id.name.as_str(), &id.binary()).children([skipped]);
                let suite = self.suite(id.binary());
                suite.count.tests += 1;
                suite.count.skipped += 1;
                suite.cases.push(case);
            }
            Event::RunFinished(summary) => {
                let text = self.report(summary.elapsed).to_string();
                fs::write(&self.path, text)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn case(name: &str, binary: &str) -> Element {
    Element::new("testcase").with("name", name).with("classname", binary)
}

fn finished(result: &TestResult) -> Element {
    let finished = &result.finished;
    let mut properties = vec![
        ("executions", finished.executions.to_string()),
        ("traces", finished.traces.to_string()),
        ("complete", finished.complete.to_string()),
    ];
    properties.extend(finished.bound_done.map(|bound| ("bound-done", bound.to_string())));
    properties.extend(result.replay.as_ref().map(|path| ("replay", path.to_string())));
    let properties = properties.into_iter().map(|(name, value)| {
        Element::new("property").with("name", format_args!("schedcheck.{name}")).with("value", value)
    });
    let mut inside = vec![Element::new("properties").children(properties)];
    if result.failed() {
        inside.push(
            Element::new("failure")
                .with("message", Form::of(finished).title)
                .with("type", format_args!("schedcheck::{}", finished.outcome.name()))
                .text(diagnostic::render(result, Look::PLAIN)),
        );
        let story = interleaving::render(finished, Look::PLAIN.width, false);
        inside.push(Element::new("system-out").text(story));
        if !finished.output.is_empty() {
            inside.push(Element::new("system-err").text(finished.output.as_str()));
        }
    }
    let time = Duration::from_millis(finished.elapsed_ms);
    case(result.id.name.as_str(), &result.id.binary()).with("time", seconds(time)).children(inside)
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}
