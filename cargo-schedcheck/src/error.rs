//! Everything that can go wrong in ways a user can do something about.
use std::io;

use camino::Utf8PathBuf;

use crate::exit_code::ExitCode;

/// The result of everything that can fail for an expected reason.
pub type Result<T, E = ExpectedError> = std::result::Result<T, E>;

/// An expected failure: printed as one message, mapped to one documented exit code.
#[derive(Debug, thiserror::Error)]
pub enum ExpectedError {
    /// Cargo failed and has already said why.
    #[error("cargo could not build the tests")]
    BuildFailed,
    /// `cargo metadata` failed; the text is cargo's own.
    #[error("{stderr}")]
    Metadata { stderr: String },
    #[error("could not start `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("`{program}` gave an answer that could not be read: {reason}")]
    Unreadable { program: String, reason: String },
    #[error(
        "could not prepare the engine for {rustc}\n\n{stderr}\n\
         The engine's dependencies are fetched and built once per toolchain; this step needs what `cargo build` needs \
         (a linker, and the registry or its cache).\nThe files are in {dir}; after fixing the cause, run the command again."
    )]
    EngineBuild { rustc: String, stderr: String, dir: Utf8PathBuf },
    #[error(
        "the engine was built, but `{name}` is missing in its output; run `cargo schedcheck clean` and try again"
    )]
    EngineIncomplete { name: &'static str },
    #[error("could not find a cache directory: set SCHEDCHECK_CACHE to a directory that may be written to")]
    NoCacheDir,
    #[error("the path is not valid UTF-8: {}", path.display())]
    NotUtf8 { path: std::path::PathBuf },
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("could not read cargo's configuration: {0}")]
    CargoConfig(String),
    #[error("{0}")]
    NoTests(String),
    /// Flags that do not go together, or an argument that clap could not judge.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    BadSetup(String),
    /// The user pressed Ctrl-C, and there is no summary to print.
    #[error("interrupted")]
    Interrupted,
    /// Whoever read what a run prints has closed the pipe.
    #[error("nobody reads what is printed any more")]
    NobodyListens,
    #[error("the checkpoint {path} cannot be used: {problem}")]
    Checkpoint { path: camino::Utf8PathBuf, problem: String },
    /// A test process would not do what it was asked to, for example because of an attribute's argument.
    #[error("`{test}` cannot be explored: {message}")]
    Refused { test: String, message: String },
    #[error("the debugger ended before the test did")]
    DebuggerEnded,
}

impl ExpectedError {
    /// The documented exit code of this failure.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::BuildFailed | Self::Metadata { .. } => ExitCode::BuildFailed,
            Self::NoTests(_) => ExitCode::NoTests,
            Self::Usage(_) => ExitCode::Usage,
            Self::Interrupted | Self::NobodyListens | Self::DebuggerEnded => ExitCode::Interrupted,
            // Of commands that only print: `list | head -1` has done what it was to do.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::Passed,
            Self::Start { .. }
            | Self::Unreadable { .. }
            | Self::EngineBuild { .. }
            | Self::EngineIncomplete { .. }
            | Self::NoCacheDir
            | Self::NotUtf8 { .. }
            | Self::Io(_)
            | Self::CargoConfig(_)
            | Self::Refused { .. }
            | Self::Checkpoint { .. }
            | Self::BadSetup(_) => ExitCode::BadSetup,
        }
    }

    /// The message for people, or none where somebody else has already spoken.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::BuildFailed | Self::NobodyListens => None,
            // Cargo's text begins with `error:` itself.
            Self::Metadata { stderr } => Some(stderr.trim_end().to_owned()),
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            other => Some(format!("error: {other}")),
        }
    }
}
