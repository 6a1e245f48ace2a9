//! Reports: every form of output is a sink of the same events and knows nothing about searching.
mod calls;
pub mod chrome_trace;
pub mod diagnostic;
pub mod event;
pub mod forms;
pub mod github;
pub mod html;
pub mod human;
pub mod interleaving;
pub mod jsonl;
pub mod junit;
pub mod lasso;
mod last_seen;
pub mod predictions;
pub mod progress;
mod repeats;
pub mod sarif;
pub mod sources;
pub mod story;
pub mod summary;
pub mod trend;
mod wakeups;
pub mod words;
mod xml;

use std::io::{self, Write};

use camino::Utf8Path;
pub use event::Event;
use event::Summary;

use crate::cli::output_opts::MessageFormat;
use crate::cli::{KeepOpts, OutputOpts};
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;

/// A form of output.
pub trait Sink {
    /// Takes the next event. After an error it gets no more of them.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
}

/// How much is said to people.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    pub quiet: bool,
    /// All steps of a failing schedule, not only those that matter.
    pub everything: bool,
}

/// All that were asked for, as one.
pub struct Reports {
    sinks: Vec<Box<dyn Sink>>,
    /// One of them could not be written.
    lacking: bool,
}

impl Reports {
    /// The reports on a run in the workspace at `root`.
    pub fn new(output: &OutputOpts, keep: &KeepOpts, volume: Volume, root: &Utf8Path) -> Result<Self> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        // Files before words: who reads of a failure finds its report.
        if let Some(path) = &output.chrome_trace {
            sinks.push(Box::new(chrome_trace::ChromeTrace::new(path.clone())));
        }
        if let Some(dir) = &output.html {
            sinks.push(Box::new(html::Html::new(dir.clone(), root.to_owned(), output.open)));
        }
        if let Some(path) = &output.junit {
            sinks.push(Box::new(junit::Junit::new(path.clone())));
        }
        if let Some(path) = &output.sarif {
            sinks.push(Box::new(sarif::Sarif::new(path.clone(), root.to_owned())));
        }
        let last = keep.trend.as_deref().map(trend::last_rows).transpose()?;
        if let Some(path) = &keep.trend {
            sinks.push(Box::new(trend::Trend::new(path.clone())));
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let github = output.annotates_for_github();
        let mut pages: Vec<_> = keep.summary.iter().cloned().map(summary::Page::Write).collect();
        if let (true, Some(path)) = (github, variable("GITHUB_STEP_SUMMARY")) {
            pages.push(summary::Page::Append(path.into()));
        }
        if !pages.is_empty() {
            sinks.push(Box::new(summary::Markdown::new(pages, last)));
        }
        match output.message_format {
            MessageFormat::Human => sinks.push(Box::new(human::Human::new(volume.quiet, volume.everything))),
            MessageFormat::Json => sinks.push(Box::new(jsonl::JsonLines(std::io::stdout()))),
        }
        if github {
            let checkout = variable("GITHUB_WORKSPACE").map_or_else(|| root.to_owned(), Into::into);
            // JSON lines have stdout to themselves; the runner reads both.
            match output.message_format {
                MessageFormat::Human => {
                    sinks.push(Box::new(github::Github::new(std::io::stdout(), checkout)));
                }
                MessageFormat::Json => {
                    sinks.push(Box::new(github::Github::new(std::io::stderr(), checkout)));
                }
            }
        }
        Ok(Self { sinks, lacking: false })
    }

    /// Tells all of them what happened. One that cannot be written is mentioned and left out, the others go on; but when
    /// nobody reads what is printed, there is nothing to go on for.
    pub fn tell(&mut self, event: &Event<'_>) -> Result<()> {
        let mut is_heard = true;
        for mut sink in std::mem::take(&mut self.sinks) {
            match give(&mut *sink, event) {
                Given::Taken => self.sinks.push(sink),
                Given::NotWritten => self.lacking = true,
                Given::NotHeard => is_heard = false,
            }
        }
        if is_heard { Ok(()) } else { Err(ExpectedError::NobodyListens) }
    }

    /// Tells all of them the end, and how the command is to end. A verdict on the tests is stronger than a report that is
    /// lacking. Files come before words, so that the words have the right code.
    pub fn finish(self, mut summary: Summary) -> ExitCode {
        let weaken = |summary: &mut Summary, code| {
            if summary.exit_code == ExitCode::Passed {
                summary.exit_code = code;
            }
        };
        if self.lacking {
            weaken(&mut summary, ExitCode::BadSetup);
        }
        for mut sink in self.sinks {
            match give(&mut *sink, &Event::RunFinished(&summary)) {
                Given::Taken => {}
                Given::NotWritten => weaken(&mut summary, ExitCode::BadSetup),
                Given::NotHeard => weaken(&mut summary, ExitCode::Interrupted),
            }
        }
        summary.exit_code
    }
}

/// What became of an event.
enum Given {
    Taken,
    NotWritten,
    NotHeard,
}

fn give(sink: &mut dyn Sink, event: &Event<'_>) -> Given {
    match sink.event(event) {
        Ok(()) => Given::Taken,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Given::NotHeard,
        Err(error) => {
            say(&format!("error: a report is lacking: {error}"));
            Given::NotWritten
        }
    }
}

/// Prints a line on stderr. Whoever closed it does not want to know.
pub fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static CODES: Mutex<Vec<ExitCode>> = Mutex::new(Vec::new());

    struct Words;

    impl Sink for Words {
        fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
            if let Event::RunFinished(summary) = event {
                CODES.lock().unwrap().push(summary.exit_code);
            }
            Ok(())
        }
    }

    struct Closed(io::ErrorKind);

    impl Sink for Closed {
        fn event(&mut self, _: &Event<'_>) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    fn finished(first: io::ErrorKind, verdict: ExitCode) -> ExitCode {
        let reports = Reports { sinks: vec![Box::new(Closed(first)), Box::new(Words)], lacking: false };
        reports.finish(Summary { exit_code: verdict, ..Summary::of_one_pass() })
    }

    #[test]
    fn a_report_that_is_lacking_spoils_a_pass_and_nothing_else() {
        let (full, pipe) = (io::ErrorKind::StorageFull, io::ErrorKind::BrokenPipe);
        for (error, verdict, code) in [
            (full, ExitCode::Passed, ExitCode::BadSetup),
            (full, ExitCode::Failed, ExitCode::Failed),
            (pipe, ExitCode::Passed, ExitCode::Interrupted),
            (pipe, ExitCode::Failed, ExitCode::Failed),
        ] {
            assert_eq!(finished(error, verdict), code);
            assert_eq!(CODES.lock().unwrap().pop(), Some(code), "the others hear of it");
        }
    }

    #[test]
    fn only_a_closed_pipe_ends_a_run() {
        let mut reports =
            Reports { sinks: vec![Box::new(Closed(io::ErrorKind::StorageFull))], lacking: false };
        assert!(reports.tell(&Event::Said("")).is_ok() && reports.lacking && reports.sinks.is_empty());
        reports.sinks.push(Box::new(Closed(io::ErrorKind::BrokenPipe)));
        assert!(matches!(reports.tell(&Event::Said("")), Err(ExpectedError::NobodyListens)));
    }
}
