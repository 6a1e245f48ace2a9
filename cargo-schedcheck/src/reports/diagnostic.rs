//! The failure message: shaped like an error of rustc, ending with a command to paste.
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::event::TestResult;
use super::interleaving::{self, thread_name};
use crate::run::wire::{Blocked, Finished, Location, Outcome, RacyAccess};

/// The whole message. `everything`: all steps, not only the last ones.
pub fn render(result: &TestResult, width: usize, everything: bool) -> String {
    let finished = &result.finished;
    let marks = marks(finished);
    let files = Files::load(result, &marks);

    let title =
        Level::ERROR.primary_title(headline(finished)).id(format!("schedcheck::{}", finished.outcome.name()));
    let mut group = Group::with_title(title);
    for file in &files.0 {
        let here = marks.iter().filter(|mark| mark.site.file == file.path);
        match &file.text {
            Some(text) => {
                let annotations = here.map(|mark| {
                    let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
                    kind.span(span(text, mark.site)).label(mark.label.as_str())
                });
                group =
                    group.element(Snippet::source(text).path(&file.path).fold(true).annotations(annotations));
            }
            None => {
                let origins = here.map(|mark| {
                    Origin::path(&file.path).line(mark.site.line).char_column(mark.site.column.max(1))
                });
                group = group.elements(origins);
            }
        }
    }
    let mut text = Renderer::styled().term_width(width).render(&[group]);

    let table = interleaving::render(finished, width, everything);
    if !table.is_empty() {
        text.push_str("\n\n");
        text.push_str(table.trim_end());
    }
    if !finished.output.trim().is_empty() {
        text.push_str("\n\noutput of the test in this schedule:\n");
        text.push_str(&indented(&finished.output));
    }
    text.push('\n');
    for (kind, note) in notes(result) {
        let style = clap_cargo::style::HEADER;
        text.push_str(&format!("\n  = {style}{kind}{style:#}: {note}"));
    }
    text.push('\n');
    text
}

/// What happened, in one line; a panic's own text first.
fn headline(finished: &Finished) -> String {
    let message = finished.message.trim();
    let blocked = finished.blocked.len();
    let name = match finished.outcome {
        Outcome::Deadlock if finished.lost_wakeup => "lost wake-up",
        Outcome::DataRace => "data race",
        Outcome::Leak => "leaked threads",
        outcome => outcome.name(),
    };
    match finished.outcome {
        _ if message.starts_with(name) => message.to_owned(),
        Outcome::DataRace if !message.is_empty() => message.to_owned(),
        Outcome::Deadlock if message.is_empty() && blocked > 0 => {
            format!(
                "{name}: {blocked} of {} threads are blocked forever",
                finished.threads.len().max(blocked)
            )
        }
        _ if message.is_empty() => name.to_owned(),
        _ => format!("{name}: {message}"),
    }
}

/// A place in the source that matters, and why.
struct Mark<'a> {
    site: &'a Location,
    label: String,
    primary: bool,
}

fn marks(finished: &Finished) -> Vec<Mark<'_>> {
    let mut marks: Vec<Mark<'_>> = Vec::new();
    for blocked in &finished.blocked {
        if let Some((site, label)) = holding(finished, blocked) {
            marks.push(Mark { site, label, primary: false });
        }
        if let Some(site) = &blocked.site {
            marks.push(Mark { site, label: waiting(finished, blocked), primary: true });
        }
    }
    for (at, access) in finished.accesses.iter().enumerate() {
        if let Some(site) = &access.site {
            marks.push(Mark { site, label: accessing(finished, access, at == 0), primary: at != 0 });
        }
    }
    if let Some(site) = &finished.location
        && !marks.iter().any(|mark| mark.site == site)
    {
        let label = match finished.outcome {
            Outcome::Panic => "panicked here",
            Outcome::DataRace => "races here",
            Outcome::Livelock => "never gets past here",
            _ => "fails here",
        };
        marks.insert(0, Mark { site, label: label.to_owned(), primary: true });
    }
    marks
}

fn waiting(finished: &Finished, blocked: &Blocked) -> String {
    let mut label = format!("`{}` waits here", thread_name(finished, blocked.thread));
    if let Some(object) = &blocked.object {
        label.push_str(&format!(" for {object}"));
    }
    // Who joins a thread waits for its end, not for something it holds.
    if let Some(holder) = blocked.holder.filter(|_| blocked.op != "join") {
        label.push_str(&format!(", held by `{}`", thread_name(finished, holder)));
    }
    label
}

fn accessing(finished: &Finished, access: &RacyAccess, first: bool) -> String {
    let verb = match access.action.as_str() {
        "read" => "reads",
        "write" => "writes",
        "atomic read" => "atomically reads",
        "atomic write" => "atomically writes",
        "free" => "frees",
        other => other,
    };
    let size = format!("{} byte{}", access.size, if access.size == 1 { "" } else { "s" });
    let order = if first { "first" } else { "then" };
    let step = access.step.map_or_else(String::new, |step| format!(", after step {step}"));
    format!("{order}, `{}` {verb} {size} here{step}", thread_name(finished, access.thread))
}

/// Where the holder of what a thread waits for took it.
fn holding<'a>(finished: &'a Finished, blocked: &Blocked) -> Option<(&'a Location, String)> {
    let holder = blocked.holder?;
    let taken =
        finished.trace.iter().rev().find(|step| {
            step.thread == holder && step.object == blocked.object && !step.op.contains("unlock")
        })?;
    let object = blocked.object.as_deref().unwrap_or("it");
    let label = format!("`{}` holds {object} since step {}", thread_name(finished, holder), taken.step);
    Some((taken.site.as_ref()?, label))
}

fn notes(result: &TestResult) -> Vec<(&'static str, String)> {
    let finished = &result.finished;
    let count = |number: u64, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let mut notes = Vec::new();
    if result.replayed && finished.outcome != Outcome::Nondeterminism {
        notes.push(("note", "this is the recorded failure, repeated".to_owned()));
    } else if finished.executions > 0 && !result.replayed {
        let mut found = format!("found in schedule {}", finished.executions);
        if finished.steps > 0 {
            let preemptions = count(finished.preemptions, "preemption");
            found.push_str(&format!("; {preemptions}, {}", count(finished.steps, "step")));
        }
        notes.push(("note", found));
    }
    if let Some(remedy) = &finished.remedy {
        notes.push(("help", remedy.clone()));
    }
    if !finished.coverage.is_empty() {
        notes.push(("note", format!("explored: {}", finished.coverage)));
    }
    notes.extend(finished.uncontrolled.iter().map(|thing| ("note", format!("not controlled: {thing}"))));
    if let (Some(command), false) = (&result.replay_command, result.replayed) {
        notes.push(("help", format!("replay with: {command}")));
    }
    notes
}

struct SourceFile {
    path: String,
    text: Option<String>,
}

/// The source files that marks point into, in order of appearance.
struct Files(Vec<SourceFile>);

impl Files {
    fn load(result: &TestResult, marks: &[Mark<'_>]) -> Self {
        let mut files: Vec<SourceFile> = Vec::new();
        for mark in marks {
            let path = &mark.site.file;
            if files.iter().all(|file| file.path != *path) {
                // rustc writes paths relative to the workspace for its members.
                let text =
                    result.source_dirs.iter().find_map(|dir| fs_err::read_to_string(dir.join(path)).ok());
                // A file that was changed meanwhile may be too short.
                let fits = |text: &String| {
                    marks.iter().all(|m| m.site.file != *path || m.site.line <= text.lines().count())
                };
                files.push(SourceFile { path: path.clone(), text: text.filter(fits) });
            }
        }
        Self(files)
    }
}

/// The bytes of a call at a place: the word there and, if arguments follow, those.
fn span(text: &str, site: &Location) -> Range<usize> {
    let line_start: usize = text.split_inclusive('\n').take(site.line.saturating_sub(1)).map(str::len).sum();
    let line = text[line_start..].lines().next().unwrap_or_default();
    let from = line.char_indices().nth(site.column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let rest = &line[from..];
    let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!')).unwrap_or(rest.len());
    let mut depth = 0usize;
    let mut end = word;
    for (at, character) in rest[word..].char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            end = if at == 0 && character != '(' { word } else { word + at + character.len_utf8() };
            break;
        }
        end = rest.len();
    }
    let end = end.max(1).min(rest.len());
    line_start + from..line_start + from + end
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(|line| format!("  | {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_covers_the_call() {
        let text = "fn f() {\n    let g = a.lock(x(1)).unwrap();\n    b += 1;\n}\n";
        let at = |line, column| &text[span(text, &Location { file: String::new(), line, column })];
        assert_eq!(at(2, 15), "lock(x(1))");
        assert_eq!(at(3, 5), "b");
        assert_eq!(at(3, 99), "");
        assert_eq!(at(2, 13), "a");
    }

    #[test]
    fn headlines_do_not_repeat_themselves() {
        let finished = |json: &str| serde_json::from_str::<Finished>(json).unwrap();
        let of = |json| headline(&finished(json));
        assert_eq!(of(r#"{"outcome":"deadlock","message":"deadlock: two"}"#), "deadlock: two");
        assert_eq!(of(r#"{"outcome":"panic","message":"left != right"}"#), "panic: left != right");
        assert_eq!(of(r#"{"outcome":"deadlock","lost_wakeup":true}"#), "lost wake-up");
        assert_eq!(
            of(
                r#"{"outcome":"deadlock","blocked":[{"thread":1,"op":"mutex.lock"}],"threads":[{"path":"0"},{"path":"0.1"}]}"#
            ),
            "deadlock: 1 of 2 threads are blocked forever"
        );
    }
}
