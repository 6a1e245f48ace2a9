//! The documented exit codes.

/// How the command ended, as the number other programs see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Every selected test passed, completely or up to its budget.
    Passed = 0,
    /// Bad usage, as clap reports it.
    Usage = 2,
    /// No test was selected.
    NoTests = 4,
    /// Passed, but not complete although `--require-complete` was given, or without the certificate that was wanted.
    Incomplete = 5,
    /// A test is not deterministic under control, or a replay diverged.
    Nondeterminism = 6,
    /// A bug in this tool.
    InternalBug = 70,
    /// Bad config file, environment, replay file, checkpoint, archive or certificate.
    BadSetup = 96,
    /// A failing schedule was found.
    Failed = 100,
    /// Cargo could not build (or not even read) the project.
    BuildFailed = 101,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl ExitCode {
    /// The number itself.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
