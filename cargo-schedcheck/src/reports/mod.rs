//! Reports: every form of output is a sink of the same events and knows nothing about searching.
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
pub mod predictions;
pub mod progress;
pub mod sarif;
pub mod sources;
pub mod story;
pub mod summary;
pub mod trend;
pub mod words;
mod xml;

use std::io::{self, Write};

use camino::Utf8Path;
pub use event::Event;

use crate::cli::output_opts::MessageFormat;
use crate::cli::{KeepOpts, OutputOpts};
use crate::error::Result;

/// A form of output.
pub trait Sink {
    /// Takes the next event. An error means that nobody reads any more.
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
pub struct Reports(Vec<Box<dyn Sink>>);

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
        let mut pages: Vec<_> = keep.summary.iter().cloned().map(summary::Page::Write).collect();
        match output.message_format {
            MessageFormat::Human => sinks.push(Box::new(human::Human::new(volume.quiet, volume.everything))),
            MessageFormat::Json => sinks.push(Box::new(jsonl::JsonLines(std::io::stdout()))),
        }
        if output.annotates_for_github() {
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            pages.extend(variable("GITHUB_STEP_SUMMARY").map(|path| summary::Page::Append(path.into())));
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
        if !pages.is_empty() {
            sinks.push(Box::new(summary::Markdown::new(pages, last)));
        }
        Ok(Self(sinks))
    }
}

/// Prints a line on stderr. Whoever closed it does not want to know.
pub fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

impl Sink for Reports {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.event(event))
    }
}
