//! What is kept of a run for later ones.
use camino::Utf8PathBuf;
use clap::Args;

/// Files that outlive a run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output Options")]
pub struct KeepOpts {
    /// Write a certificate of what was covered, if every test passed with its guarantee; exit with 5 if not. An older
    /// one of this name is removed first
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_CERTIFICATE")]
    pub certificate: Option<Utf8PathBuf>,
}
