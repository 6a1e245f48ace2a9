//! What is printed or written, and in which form.
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};

use crate::error::{ExpectedError, Result};

/// Output of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output Options")]
pub struct OutputOpts {
    /// Human on stderr, or JSON lines on stdout
    #[arg(long, value_name = "FMT", env = "SCHEDCHECK_MESSAGE_FORMAT", default_value = "human")]
    pub message_format: MessageFormat,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_JUNIT")]
    pub junit: Option<Utf8PathBuf>,
    /// Write a SARIF report
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_SARIF")]
    pub sarif: Option<Utf8PathBuf>,
    /// Write an HTML report
    #[arg(long, value_name = "DIR", env = "SCHEDCHECK_HTML")]
    pub html: Option<Utf8PathBuf>,
}

/// Forms of the event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    Human,
    Json,
}

impl OutputOpts {
    /// Refuses reports that this version cannot write, before anything is built.
    pub fn check(&self) -> Result<()> {
        let asked = [("--junit", &self.junit), ("--sarif", &self.sarif), ("--html", &self.html)];
        match asked.into_iter().find(|(_, path)| path.is_some()) {
            None => Ok(()),
            Some((flag, _)) => Err(ExpectedError::Usage(format!(
                "{flag} is not available yet in this version; use `--message-format json` for machine-readable results"
            ))),
        }
    }
}
