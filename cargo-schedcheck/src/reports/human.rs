//! Status lines and summary for people, on stderr.
use std::io;
use std::time::Duration;

use clap_cargo::style;

use super::diagnostic::Look;
use super::event::{Certified, Regression, RunStarted, Summary, TestId, TestResult};
use super::progress::Terminal;
use super::words::{counted, plural};
use super::{Event, Sink, diagnostic, predictions};
use crate::exit_code::ExitCode;
use crate::regressions::replay::State;
use crate::run::Purpose;
use crate::run::wire::{Finished, Outcome, PredictionKind, PredictionVerdict, Progress};

/// The report for people.
#[derive(Debug)]
pub struct Human {
    terminal: Terminal,
    quiet: bool,
    verbose: bool,
    tests: usize,
    done: usize,
    failed: usize,
    /// The budget of tests about which nothing special is said.
    max_time: Option<Duration>,
    running: Vec<(TestId, Progress)>,
    purpose: Purpose,
}

impl Human {
    /// A report that has seen nothing yet.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        let terminal = Terminal::new(quiet);
        let (tests, done, failed, max_time, running) = (0, 0, 0, None, Vec::new());
        let purpose = Purpose::Explore;
        Self { terminal, quiet, verbose, tests, done, failed, max_time, running, purpose }
    }

    fn started(&mut self, run: &RunStarted) {
        self.tests = run.tests;
        self.max_time = run.limits.max_time;
        self.purpose = run.purpose;
        if self.quiet || run.replay {
            return;
        }
        let tests = counted(run.tests as u64, "test");
        let binaries = counted(run.binaries as u64, "binary");
        let bound = run.limits.bound.map(|bound| counted(bound.into(), "preemption"));
        let bound = bound.map_or_else(String::new, |most| format!(", at most {most}"));
        let time = run.limits.max_time.map(humantime::format_duration);
        let time = time.map_or_else(|| "no time limit".to_owned(), |time| format!("{time} each"));
        let text = format_args!("{tests} in {binaries} ({time}{bound})");
        self.terminal.status("Exploring", style::GOOD, text);
    }

    fn show_progress(&mut self) {
        let Some((id, progress)) = self.running.first() else {
            return;
        };
        let mut text = format!("{}/{} tests", self.done, self.tests);
        if self.failed > 0 {
            text.push_str(&format!(", {} failed", self.failed));
        }
        text.push_str(&format!("  {}  {}", id.name, state(progress, self.max_time)));
        if let others @ 1.. = self.running.len() - 1 {
            text.push_str(&format!("  (and {others} more)"));
        }
        self.terminal.now(text);
    }

    /// What was predicted: all of it where that was asked for, else what is worth a remark.
    fn predictions(&self, finished: &Finished) {
        let all = self.purpose == Purpose::Predict;
        for prediction in &finished.predictions {
            let confirmed = prediction.verdict == PredictionVerdict::Confirmed;
            let order = finished.outcome == Outcome::Passed
                && prediction.kind == PredictionKind::LockOrder
                && prediction.verdict != PredictionVerdict::Refuted;
            if all || confirmed || order {
                let told = predictions::headline(prediction);
                self.terminal.text(&format!("{:>12} predicted: {told}", ""));
                for place in predictions::places(prediction) {
                    self.terminal.text(&format!("{:>12}   {place}", ""));
                }
            }
        }
    }

    fn notes(&self, finished: &Finished) {
        for note in &finished.notes {
            self.terminal.text(&format!("{:>12} note: {note}", ""));
        }
    }

    fn finished(&self, result: &TestResult) {
        let finished = &result.finished;
        if self.purpose == Purpose::Predict && !result.failed() {
            let count = finished.predictions.len() as u64;
            let text = format!("{} {}", counted(count, "prediction"), result.id);
            self.terminal.status("PREDICT", style::GOOD, text);
            return self.predictions(finished);
        }
        let (verb, color, how) = match (finished.outcome, finished.complete) {
            (Outcome::Passed, true) => ("PASS", style::GOOD, reached(finished)),
            (Outcome::Passed, false) => ("BUDGET", style::WARN, open(result.pending)),
            (outcome, _) => ("FAIL", style::ERROR, outcome.name().to_owned()),
        };
        if self.quiet && !result.failed() {
            return;
        }
        let amount = match result.replayed {
            true => "replayed".to_owned(),
            false => amount(finished.executions),
        };
        let elapsed = seconds(finished.elapsed_ms);
        self.terminal.status(verb, color, format_args!("[{elapsed:>8}, {amount}, {how}] {}", result.id));
        if result.failed() {
            let look = Look { width: terminal_width(), everything: self.verbose, styled: true };
            self.terminal.text(&diagnostic::render(result, look));
            self.notes(finished);
            return self.predictions(finished);
        }
        self.terminal.text(&format!("{:>12} {}", "", covered(finished)));
        for thing in &finished.uncontrolled {
            self.terminal.text(&format!("{:>12} note: not controlled: {thing}", ""));
        }
        self.notes(finished);
        self.predictions(finished);
    }

    /// A kept failure that does not come any more; one that does is reported like any other.
    fn regression(&self, regression: &Regression) {
        let Regression { id, file, .. } = regression;
        let end = if regression.removed { "removed" } else { "`--prune` removes it" };
        match regression.state {
            State::Fails => {}
            State::Fixed => {
                let text = format!("{file} no longer fails ({end}): {id}");
                self.terminal.status("FIXED", style::GOOD, text);
            }
            State::Stale => {
                self.terminal.status(
                    "STALE",
                    style::WARN,
                    format!("{file} does not fit any more ({end}): {id}"),
                );
                self.terminal.text(&format!("{:>12} {}", "", regression.message));
            }
        }
    }

    fn summary(&self, summary: &Summary) {
        self.terminal.clear();
        let mut text = format!("{}: {} passed", counted(self.tests as u64, "test"), summary.passed);
        if summary.incomplete > 0 {
            text.push_str(&format!(" ({} incomplete)", summary.incomplete));
        }
        text.push_str(&format!(", {} failed", summary.failed));
        if summary.unfinished > 0 {
            let why = match summary.exit_code {
                ExitCode::Interrupted => "not finished",
                _ => "not run",
            };
            text.push_str(&format!(", {} {why}", summary.unfinished));
        }
        if let Some(command) = &summary.replay_command {
            text.push_str(&format!("; replay: {command}"));
        }
        let color = if summary.failed > 0 { style::ERROR } else { style::GOOD };
        let elapsed = seconds(summary.elapsed.as_millis() as u64);
        self.terminal.status("Summary", color, format_args!("[{elapsed:>8}] {text}"));
        match &summary.certificate {
            Some(Certified::Yes(path)) => self.terminal.status("Certificate", style::GOOD, path),
            Some(Certified::No(reason)) => {
                self.terminal.status("Certificate", style::WARN, format_args!("not written: {reason}"));
            }
            None => {}
        }
    }
}

impl Sink for Human {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::RunStarted(run) => self.started(run),
            Event::Regression(regression) => self.regression(regression),
            Event::TestStarted(id) => {
                self.running.push(((*id).clone(), Progress::default()));
                self.show_progress();
            }
            Event::TestProgress(id, progress) => {
                if let Some(entry) = self.running.iter_mut().find(|(running, _)| running == *id) {
                    entry.1 = (*progress).clone();
                }
                self.show_progress();
            }
            Event::Said(text) => self.terminal.text(text.trim_end_matches('\n')),
            Event::TestFinished(result) => {
                self.running.retain(|(running, _)| *running != result.id);
                self.done += 1;
                self.failed += usize::from(result.failed());
                if self.done == self.tests {
                    self.terminal.clear();
                }
                self.finished(result);
                self.show_progress();
            }
            Event::TestStopped(id, progress) => {
                self.running.retain(|(running, _)| running != *id);
                self.terminal.status(
                    "STOPPED",
                    style::WARN,
                    format_args!(
                        "[{:>8}, {}, {}] {id}",
                        seconds(progress.elapsed_ms),
                        amount(progress.executions),
                        open(progress.pending),
                    ),
                );
            }
            Event::RunFinished(summary) => self.summary(summary),
        }
        Ok(())
    }
}

/// How far a search is: amount, speed, what is covered, how much is left.
fn state(progress: &Progress, max_time: Option<Duration>) -> String {
    let mut text = amount(progress.executions).trim_start().to_owned();
    let elapsed = Duration::from_millis(progress.elapsed_ms);
    let rate = progress.executions as f64 / elapsed.as_secs_f64();
    if progress.elapsed_ms > 0 {
        text.push_str(&format!(", {rate:.0}/s"));
    }
    if let Some(bound) = progress.bound_done {
        text.push_str(&format!(", done up to {}", counted(bound.into(), "preemption")));
    }
    let begun = progress.levels.iter().position(|(_, queued)| *queued > 0);
    if let Some(level) = begun.filter(|_| progress.levels.len() > 1) {
        let (done, queued) = progress.levels[level];
        let with = counted(level as u64, "preemption");
        text.push_str(&format!(", {done} of {} with {with}", done + queued));
    }
    let executions = progress.executions as f64;
    let estimate = progress.estimate.filter(|estimate| *estimate > 0.0 && *estimate >= executions);
    match estimate {
        Some(estimate) => {
            let percent = |total: f64| 100.0 * executions / total;
            let range = match (progress.estimate_high, progress.estimate_low) {
                (Some(high), Some(low)) => format!(" ({:.0} to {:.0} %)", percent(high), percent(low)),
                _ => String::new(),
            };
            text.push_str(&format!(", ≈ {:.0} %{range}", percent(estimate)));
        }
        None => text.push_str(&format!(", {} open", progress.pending)),
    }
    // Until the search is done or the budget is spent, whichever comes first.
    let budget = max_time.map(|limit| limit.saturating_sub(elapsed));
    let search = estimate.filter(|_| progress.elapsed_ms > 0).map(|estimate| (estimate - executions) / rate);
    let search = search.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match (search, budget) {
        (Some(search), budget) if budget.is_none_or(|budget| search <= budget) => {
            text.push_str(&format!(", ≈ {} s left", search.as_secs()));
        }
        (_, Some(budget)) => text.push_str(&format!(", at most {} s left", budget.as_secs())),
        _ => {}
    }
    text
}

/// The guarantee in two words.
fn reached(finished: &Finished) -> String {
    match finished.bound {
        Some(bound) => format!("complete up to {}", counted(bound.into(), "preemption")),
        None => "complete".to_owned(),
    }
}

fn open(pending: u64) -> String {
    if pending > 0 { format!("{pending} open") } else { "not complete".to_owned() }
}

/// What a pass means, as a sentence.
fn covered(finished: &Finished) -> String {
    if !finished.coverage.is_empty() {
        return format!("covered: {}", finished.coverage);
    }
    let bounded = |most: u32| format!("all schedules with at most {}", counted(most.into(), "preemption"));
    match (finished.complete, finished.bound, finished.bound_done) {
        (true, None, _) => "covered: all schedules".to_owned(),
        (true, Some(bound), _) => format!("covered: {}", bounded(bound)),
        (false, _, Some(done)) => format!("covered: {}; beyond that only a part", bounded(done)),
        (false, _, None) => {
            format!("covered: {}, with no guarantee yet", amount(finished.executions).trim_start())
        }
    }
}

fn amount(executions: u64) -> String {
    format!("{executions:>5} {}", plural(executions, "schedule"))
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:01}s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Columns of the terminal, or a width that reads well in a log.
fn terminal_width() -> usize {
    let measured = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    measured.or_else(told).unwrap_or(120).clamp(30, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_far_how_fast_and_how_long() {
        let progress = |estimate| Progress {
            executions: 500,
            pending: 38,
            estimate,
            bound_done: Some(1),
            elapsed_ms: 1000,
            ..Progress::default()
        };
        let minute = Some(Duration::from_secs(60));
        let done = "500 schedules, 500/s, done up to 1 preemption";
        assert_eq!(state(&progress(Some(2000.0)), minute), format!("{done}, ≈ 25 %, ≈ 3 s left"));
        assert_eq!(state(&progress(Some(2e9)), minute), format!("{done}, ≈ 0 %, at most 59 s left"));
        assert_eq!(state(&progress(None), minute), format!("{done}, 38 open, at most 59 s left"));
        assert_eq!(state(&progress(None), None), format!("{done}, 38 open"));
        assert_eq!(state(&Progress::default(), None), "0 schedules, 0 open");
    }
}
