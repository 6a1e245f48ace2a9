//! The failure message: shaped like an error of rustc, ending with a command to paste.
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::event::TestResult;
use super::forms::{Form, Section};
use super::interleaving;
use super::sources::{self, SourceFile, span};
use super::words::counted;
use crate::run::wire::{Location, Outcome};

/// How a message is to look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub width: usize,
    /// All steps, not only those that matter.
    pub everything: bool,
    pub styled: bool,
}

impl Look {
    /// For files and other programs.
    pub const PLAIN: Self = Self { width: 120, everything: false, styled: false };
}

/// The whole message.
pub fn render(result: &TestResult, look: Look) -> String {
    let finished = &result.finished;
    let form = Form::of(finished);
    let mut text = snippets(result, &form, look);
    let table = interleaving::render(finished, look.width, look.everything);
    if !table.is_empty() {
        text.push_str("\n\n");
        text.push_str(table.trim_end());
    }
    if !finished.output.trim().is_empty() {
        text.push_str("\n\noutput of the test in this schedule:\n");
        text.push_str(&indented(&finished.output));
    }
    text.push('\n');
    let mut remarks: Vec<_> = form.notes.iter().cloned().chain(notes(result)).collect();
    remarks.sort_by_key(|(kind, _)| *kind == "help");
    for (kind, note) in remarks {
        let style = if look.styled { clap_cargo::style::HEADER } else { anstyle::Style::new() };
        text.push_str(&format!("\n  = {style}{kind}{style:#}: {note}"));
    }
    text.push('\n');
    text
}

/// The title and the quoted places.
fn snippets(result: &TestResult, form: &Form<'_>, look: Look) -> String {
    let places: Vec<&Location> = form.marks().map(|mark| mark.site).collect();
    let files = sources::load(&result.source_dirs, &places);
    let mut groups = Vec::new();
    for (index, section) in form.sections.iter().enumerate() {
        if index > 0 && section.marks.is_empty() {
            continue;
        }
        let title = match index {
            0 => Level::ERROR
                .primary_title(form.title.as_str())
                .id(format!("schedcheck::{}", result.finished.outcome.name())),
            _ => Level::NOTE.secondary_title(section.title.as_str()),
        };
        groups.push(quoting(Group::with_title(title), section, &files));
    }
    let renderer = if look.styled { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(look.width).render(&groups)
}

fn quoting<'a>(mut group: Group<'a>, section: &'a Section<'_>, files: &'a [SourceFile]) -> Group<'a> {
    for file in files {
        let here = || section.marks.iter().filter(|mark| mark.site.file == file.path);
        if here().next().is_none() {
            continue;
        }
        match &file.text {
            Some(text) => {
                let annotations = here().map(|mark| {
                    let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
                    kind.span(span(text, mark.site)).label(mark.label.as_str())
                });
                let snippet = Snippet::source(text).path(&file.path).fold(true).annotations(annotations);
                group = group.element(snippet);
            }
            None => {
                let origins = here().map(|mark| {
                    Origin::path(&file.path).line(mark.site.line).char_column(mark.site.column.max(1))
                });
                group = group.elements(origins);
            }
        }
    }
    group
}

fn notes(result: &TestResult) -> Vec<(&'static str, String)> {
    let finished = &result.finished;
    let mut notes = Vec::new();
    if result.replayed && finished.outcome != Outcome::Nondeterminism {
        notes.push(("note", "this is the recorded failure, repeated".to_owned()));
        if finished.carried_over {
            let text = "the code has changed since it was recorded; its decisions were found at other steps";
            notes.push(("note", text.to_owned()));
        }
    } else if finished.executions > 0 && !result.replayed {
        let mut found = format!("found in schedule {}", finished.executions);
        if finished.steps > 0 {
            let preemptions = counted(finished.preemptions, "preemption");
            found.push_str(&format!("; {preemptions}, {}", counted(finished.steps, "step")));
        }
        notes.push(("note", found));
    }
    if finished.outcome == Outcome::Nondeterminism {
        let advice = match result.replayed {
            true => format!("search again with: cargo schedcheck --all-tests --exact {}", result.id.name),
            false => "look for what the schedule does not decide: files, sockets, environment, threads of C libraries, assembly"
                .to_owned(),
        };
        notes.push(("help", advice));
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

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(|line| format!("  | {line}")).collect();
    lines.join("\n")
}
