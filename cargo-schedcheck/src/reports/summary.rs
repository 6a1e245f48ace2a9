//! The run on one page of Markdown: for the summary of a CI job.
use std::io::{self, Write};

use camino::Utf8PathBuf;

use super::diagnostic::{self, Look};
use super::event::{Certified, Summary, TestResult};
use super::trend::{LastRows, Row};
use super::words::counted;
use super::{Event, Sink};
use crate::run::wire::Finished;
use crate::whole_file;

/// Longer reports are cut: a summary may have a megabyte.
const LONGEST: usize = 50_000;

/// Where a page goes.
#[derive(Debug)]
pub enum Page {
    /// Several steps of a job share it.
    Append(Utf8PathBuf),
    Write(Utf8PathBuf),
}

/// Collects a run for its pages.
#[derive(Debug)]
pub struct Markdown {
    pages: Vec<Page>,
    /// What came out last time, where there is a trend file.
    last: Option<LastRows>,
    rows: Vec<String>,
    details: String,
}

impl Markdown {
    /// A summary that has seen nothing yet.
    pub fn new(pages: Vec<Page>, last: Option<LastRows>) -> Self {
        Self { pages, last, rows: Vec::new(), details: String::new() }
    }

    fn note(&mut self, result: &TestResult) {
        let finished = &result.finished;
        let id = cell(&result.id.to_string());
        let mut row = format!(
            "| {id} | {} | {} | {} | {} | {} |",
            verdict(finished.outcome.name(), finished.complete),
            covered(result),
            finished.executions,
            finished.traces,
            seconds(finished.elapsed_ms),
        );
        if let Some(last) = &self.last {
            let before = last.get(&result.id.to_string());
            let change =
                before.map_or_else(|| "new".to_owned(), |before| change(before, &Row::new("", result)));
            row.push_str(&format!(" {change} |"));
        }
        self.rows.push(row);
        if result.failed() && self.details.len() < LONGEST {
            let text = fenced(&diagnostic::render(result, Look::PLAIN));
            self.details
                .push_str(&format!("\n<details open><summary>{id}</summary>\n\n{text}\n</details>\n"));
        }
    }

    fn text(&self, summary: &Summary) -> String {
        let mut text = format!(
            "## cargo schedcheck\n\n{} passed ({} incomplete), {} failed",
            summary.passed, summary.incomplete, summary.failed
        );
        if summary.unfinished > 0 {
            text.push_str(&format!(", {} not finished", summary.unfinished));
        }
        text.push_str(&format!(", in {}\n", seconds(summary.elapsed.as_millis() as u64)));
        match &summary.certificate {
            Some(Certified::Yes(path)) => text.push_str(&format!("\nCertificate: `{path}`\n")),
            Some(Certified::No(reason)) => text.push_str(&format!("\nNo certificate: {}\n", cell(reason))),
            None => {}
        }
        if !self.rows.is_empty() {
            let (title, line) = if self.last.is_some() { (" since last time |", "---|") } else { ("", "") };
            text.push_str("\n| test | verdict | covered | schedules | traces | time |");
            text.push_str(&format!(
                "{title}\n|---|---|---|---:|---:|---:|{line}\n{}\n",
                self.rows.join("\n")
            ));
        }
        text.push_str(&self.details);
        text.push('\n');
        text
    }

    fn finish(&self, summary: &Summary) -> io::Result<()> {
        let text = self.text(summary);
        let write = |page: &Page| match page {
            Page::Append(path) => {
                let mut file = fs_err::OpenOptions::new().append(true).create(true).open(path)?;
                file.write_all(text.as_bytes())
            }
            Page::Write(path) => whole_file::write(path, |file| file.write_all(text.as_bytes())),
        };
        // One that cannot be written does not take the other with it.
        self.pages.iter().map(write).fold(Ok(()), io::Result::and)
    }
}

impl Sink for Markdown {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) => self.note(result),
            Event::RunFinished(summary) => self.finish(summary)?,
            _ => {}
        }
        Ok(())
    }
}

fn verdict(outcome: &str, complete: bool) -> String {
    match (outcome, complete) {
        ("passed", true) => "✅ complete".to_owned(),
        ("passed", false) => "🟡 passed, not complete".to_owned(),
        (outcome, _) => format!("❌ {outcome}"),
    }
}

/// The guarantee in a few words: the engine's own, where it has any.
fn covered(result: &TestResult) -> String {
    let Finished { complete, bound, bound_done, .. } = result.finished;
    let coverage = &result.finished.coverage;
    if !result.failed() && !coverage.is_empty() {
        return cell(
            coverage.split_once(" (each with at most ").map_or(coverage, |(schedules, _)| schedules),
        );
    }
    let preemptions = |most: u32| format!("≤ {}", counted(most.into(), "preemption"));
    match (result.failed(), complete, bound, bound_done) {
        (true, ..) => "–".to_owned(),
        (false, true, None, _) => "all schedules".to_owned(),
        (false, true, Some(bound), _) => preemptions(bound),
        (false, false, _, Some(done)) => format!("{} so far", preemptions(done)),
        (false, false, _, None) => "some schedules".to_owned(),
    }
}

/// What is different from last time.
fn change(before: &Row, now: &Row) -> String {
    if before.outcome != now.outcome || before.complete != now.complete {
        return format!("was {}", verdict(&before.outcome, before.complete));
    }
    let percent = |before: u64, now: u64| match (before, now) {
        _ if before == now => "±0 %".to_owned(),
        (0, _) => format!("0 → {now}"),
        _ => {
            let change = 100.0 * (now as f64 - before as f64) / before as f64;
            format!("{}{:.0} %", if change < 0.0 { '−' } else { '+' }, change.abs())
        }
    };
    format!(
        "traces {}, time {}",
        percent(before.traces, now.traces),
        percent(before.elapsed_ms, now.elapsed_ms)
    )
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:01} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Text as it is, in a block that it cannot end.
fn fenced(text: &str) -> String {
    let mut text: String = text.chars().take(LONGEST).collect();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}text\n{text}{fence}\n")
}

/// Text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_end_its_row() {
        assert_eq!(cell("a|<b>\nc"), "a\\|&lt;b&gt; c");
    }

    #[test]
    fn no_report_ends_its_fence_or_leaves_it_open() {
        for text in ["short", "whole\n", "```\n", "`````````` ``` `", &"ü".repeat(LONGEST + 1)] {
            let block = fenced(text);
            let lines: Vec<&str> = block.lines().collect();
            let fence = lines[lines.len() - 1];
            assert_eq!(lines[0], format!("{fence}text"));
            assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'), "{fence}");
            assert!(lines[1..lines.len() - 1].iter().all(|line| !line.contains(fence)), "{text}");
        }
    }

    #[test]
    fn changes_are_named_by_their_weight() {
        let row = |outcome: &str, complete: bool, traces: u64, elapsed_ms: u64| -> Row {
            serde_json::from_value(serde_json::json!({
                "v": 1, "date": "", "package": "bank", "target": "lib", "test": "a", "outcome": outcome,
                "executions": 1, "traces": traces, "complete": complete, "elapsed_ms": elapsed_ms,
            }))
            .unwrap()
        };
        let now = row("passed", true, 120, 1000);
        assert_eq!(change(&row("panic", false, 1, 1), &now), "was ❌ panic");
        assert_eq!(change(&row("passed", false, 120, 1), &now), "was 🟡 passed, not complete");
        assert_eq!(change(&row("passed", true, 100, 2000), &now), "traces +20 %, time −50 %");
        assert_eq!(change(&row("passed", true, 120, 1000), &now), "traces ±0 %, time ±0 %");
        assert_eq!(change(&row("passed", true, 0, 0), &now), "traces 0 → 120, time 0 → 1000");
    }
}
