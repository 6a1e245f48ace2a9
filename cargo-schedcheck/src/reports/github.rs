//! GitHub Actions: an annotation at the place of each failure.
use std::io::{self, Write};

use camino::Utf8PathBuf;

use super::event::TestResult;
use super::forms::Form;
use super::{Event, Sink, sources};

/// Writes workflow commands.
#[derive(Debug)]
pub struct Github<W> {
    /// Where workflow commands go.
    commands: W,
    /// The checkout, from which paths of annotations start.
    root: Utf8PathBuf,
}

impl<W: Write> Github<W> {
    /// Annotations on `commands`, paths relative to `root`.
    pub fn new(commands: W, root: Utf8PathBuf) -> Self {
        Self { commands, root }
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
}

impl<W: Write> Sink for Github<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestFinished(result) if result.failed() => self.annotate(result),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_end_its_command() {
        assert_eq!(escaped("50%\r\nnext"), "50%25%0D%0Anext");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
