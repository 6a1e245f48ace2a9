//! What is kept of a run for later ones, and for the page of a CI job.
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use crate::error::Result;
use crate::paths::make_room_for;

/// Files that outlive a run. A preset can name them too.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output Options")]
pub struct KeepOpts {
    /// Write a certificate of what was covered, if every test passed with its guarantee; exit with 5 if not. An older
    /// one of this name is removed first
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_CERTIFICATE")]
    pub certificate: Option<Utf8PathBuf>,
    /// Append a JSON line for each test: date, executions, traces, what is covered, time
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_TREND")]
    pub trend: Option<Utf8PathBuf>,
    /// Write a summary for people as Markdown, with the changes since the last run in the trend file
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_SUMMARY")]
    pub summary: Option<Utf8PathBuf>,
}

impl KeepOpts {
    /// These files, and where nothing is said those of `weaker`.
    pub fn or(self, weaker: Self) -> Self {
        Self {
            certificate: self.certificate.or(weaker.certificate),
            trend: self.trend.or(weaker.trend),
            summary: self.summary.or(weaker.summary),
        }
    }

    /// The same files, with relative names as seen from `dir`.
    pub fn below(self, dir: &Utf8Path) -> Self {
        let below = |path: Option<Utf8PathBuf>| path.map(|path| dir.join(path));
        Self { certificate: below(self.certificate), trend: below(self.trend), summary: below(self.summary) }
    }

    /// Makes sure that the files can be written, before anything is built.
    pub fn check(&self) -> Result<()> {
        let files = [&self.certificate, &self.trend, &self.summary];
        files.into_iter().flatten().try_for_each(|file| make_room_for(file))
    }
}
