//! GitHub Actions: an annotation at the place of each failure, and a summary of the run as Markdown.
use std::io::{self, Write};

use camino::Utf8PathBuf;

use super::diagnostic::{self, Look};
use super::event::{Summary, TestResult};
use super::forms::Form;
use super::{Event, Sink, sources};

/// Longer reports are cut: a summary may have a megabyte.
const LONGEST: usize = 50_000;

/// Writes workflow commands and the step summary.
#[derive(Debug)]
pub struct Github<W> {
    /// Where workflow commands go.
    commands: W,
    /// The file of the step summary.
    summary: Option<Utf8PathBuf>,
    /// The checkout, from which paths of annotations start.
    root: Utf8PathBuf,
    rows: String,
    details: String,
}

impl<W: Write> Github<W> {
    /// Annotations on `commands`, a summary in `summary`, paths relative to `root`.
    pub fn new(commands: W, summary: Option<Utf8PathBuf>, root: Utf8PathBuf) -> Self {
        Self { commands, summary, root, rows: String::new(), details: String::new() }
    }

    fn annotate(&mut self, result: &TestResult) -> io::Result<()> {
        let form = Form::of(&result.finished);
        let mut properties = Vec::new();
        if let Some(mark) = form.marks().find(|mark| mark.primary) {
            let file = sources::relative_to(&self.root, &result.source_dirs, &mark.site.file);
            properties.push(format!("file={}", property(&file)));
            properties.push(format!("line={}", mark.site.line));
            if mark.site.column > 0 {
                properties.push(format!("col={}", mark.site.column));
            }
        }
        let title = format!("{} in {}", result.finished.outcome.name(), result.id.name);
        properties.push(format!("title={}", property(&title)));
        let mut message = form.title;
        if let Some(command) = &result.replay_command {
            message.push_str(&format!("\nreplay with: {command}"));
        }
        writeln!(self.commands, "::error {}::{}", properties.join(","), escaped(&message))?;
        self.commands.flush()
    }

    fn note(&mut self, result: &TestResult) {
        let finished = &result.finished;
        let verdict = match (result.failed(), finished.complete) {
            (true, _) => format!("❌ {}", finished.outcome.name()),
            (false, true) => "✅ complete".to_owned(),
            (false, false) => "🟡 passed, not complete".to_owned(),
        };
        let id = cell(&result.id.to_string());
        self.rows.push_str(&format!("| {id} | {verdict} | {} |\n", finished.executions));
        if result.failed() && self.details.len() < LONGEST {
            let text = diagnostic::render(result, Look::PLAIN);
            let text: String = text.chars().take(LONGEST).collect();
            // A fence that the text cannot close.
            let fence = "`".repeat(3 + text.matches("```").count());
            self.details.push_str(&format!(
                "\n<details open><summary>{id}</summary>\n\n{fence}text\n{text}{fence}\n\n</details>\n"
            ));
        }
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let Some(path) = &self.summary else { return Ok(()) };
        let text = format!(
            "## cargo schedcheck\n\n{} passed ({} incomplete), {} failed\n\n| test | verdict | schedules |\n|---|---|---:|\n{}{}\n",
            summary.passed, summary.incomplete, summary.failed, self.rows, self.details
        );
        let mut file = fs_err::OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(text.as_bytes())
    }
}

impl<W: Write> Sink for Github<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) => {
                self.note(result);
                if result.failed() { self.annotate(result) } else { Ok(()) }
            }
            Event::RunFinished(summary) => self.finish(summary),
            _ => Ok(()),
        }
    }
}

/// Text in a workflow command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_end_its_command() {
        assert_eq!(escaped("50%\r\nnext"), "50%25%0D%0Anext");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
        assert_eq!(cell("a|<b>"), "a\\|&lt;b&gt;");
    }
}
