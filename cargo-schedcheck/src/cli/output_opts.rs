//! What is printed or written, and in which form.
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};

use crate::error::Result;
use crate::paths::make_room_for;

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
    /// Write a SARIF report, with one flow for each thread of a failing schedule
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_SARIF")]
    pub sarif: Option<Utf8PathBuf>,
    /// Write an HTML report into this folder: one file, `index.html`, that needs nothing else
    #[arg(long, value_name = "DIR", env = "SCHEDCHECK_HTML")]
    pub html: Option<Utf8PathBuf>,
    /// Open the HTML report in a browser
    #[arg(long, requires = "html")]
    pub open: bool,
    /// Write failing schedules as a Chrome trace, for ui.perfetto.dev
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_CHROME_TRACE")]
    pub chrome_trace: Option<Utf8PathBuf>,
    /// Annotations and a summary for a CI [default: for GitHub where GITHUB_ACTIONS is set]
    #[arg(
        long,
        value_name = "CI",
        env = "SCHEDCHECK_ANNOTATIONS",
        default_value = "auto",
        hide_default_value = true
    )]
    pub annotations: Annotations,
}

/// Forms of the event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    Human,
    Json,
}

/// Who gets annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Annotations {
    Auto,
    None,
    Github,
}

impl OutputOpts {
    /// Makes sure that the reports can be written, before anything is built.
    pub fn check(&self) -> Result<()> {
        if let Some(dir) = &self.html {
            fs_err::create_dir_all(dir)?;
        }
        let files = [&self.junit, &self.sarif, &self.chrome_trace];
        files.into_iter().flatten().try_for_each(|file| make_room_for(file))
    }

    /// Whether GitHub is to be told.
    pub fn annotates_for_github(&self) -> bool {
        match self.annotations {
            Annotations::None => false,
            Annotations::Github => true,
            Annotations::Auto => std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
        }
    }
}
