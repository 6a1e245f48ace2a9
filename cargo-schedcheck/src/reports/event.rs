//! What happens in a run, for all reports.
use std::time::Duration;

use camino::Utf8PathBuf;

use crate::config::Limits;
use crate::exit_code::ExitCode;
use crate::regressions::replay::State;
use crate::run::Purpose;
use crate::run::wire::{Finished, Outcome, Progress};

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    RunStarted(&'a RunStarted),
    /// A kept failure was replayed, before its test is explored.
    Regression(&'a Regression),
    TestStarted(&'a TestId),
    TestProgress(&'a TestId, &'a Progress),
    /// A test wrote this to stderr, and the user wants to see it.
    Said(&'a str),
    TestFinished(&'a TestResult),
    /// A test was ended before it had a verdict, by the user.
    TestStopped(&'a TestId, &'a Progress),
    RunFinished(&'a Summary),
}

/// A test, by the names that people know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestId {
    pub package: String,
    pub target: String,
    pub name: String,
}

impl TestId {
    /// The binary that has it.
    pub fn binary(&self) -> String {
        format!("{}::{}", self.package, self.target)
    }
}

impl std::fmt::Display for TestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.binary(), self.name)
    }
}

/// What is about to be done.
#[derive(Debug)]
pub struct RunStarted {
    pub tests: usize,
    pub binaries: usize,
    /// What holds for tests about which nothing special is said.
    pub limits: Limits,
    /// One recorded schedule is repeated; nothing is searched.
    pub replay: bool,
    pub purpose: Purpose,
}

/// What became of a kept failure.
#[derive(Debug)]
pub struct Regression {
    pub id: TestId,
    /// Its file, as the user would write its path.
    pub file: Utf8PathBuf,
    pub state: State,
    /// Why it is not a failure any more.
    pub message: String,
    /// The file was removed.
    pub removed: bool,
}

/// The verdict on one test.
#[derive(Debug)]
pub struct TestResult {
    pub id: TestId,
    pub finished: Finished,
    /// How many schedules were known but not yet run when the search ended.
    pub pending: u64,
    /// The verdict is on one recorded schedule.
    pub replayed: bool,
    /// The file that repeats a failure, as the user would write its path.
    pub replay: Option<Utf8PathBuf>,
    /// The command that repeats a failure.
    pub replay_command: Option<String>,
    /// Folders that relative source paths may be relative to.
    pub source_dirs: Vec<Utf8PathBuf>,
}

impl TestResult {
    /// Whether a failing schedule was found.
    pub fn failed(&self) -> bool {
        self.finished.outcome != Outcome::Passed
    }
}

/// The whole run in numbers.
#[derive(Debug)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    /// Of those that passed: how many did not reach their guarantee.
    pub incomplete: usize,
    /// Selected but without a verdict: never started, or stopped.
    pub unfinished: usize,
    pub elapsed: Duration,
    /// The last failure's command, to paste.
    pub replay_command: Option<String>,
    /// What became of the certificate, if one was wanted.
    pub certificate: Option<Certified>,
    pub exit_code: ExitCode,
}

#[cfg(test)]
impl Summary {
    /// Of a run of one test, which passed.
    pub fn of_one_pass() -> Self {
        Self {
            passed: 1,
            failed: 0,
            incomplete: 0,
            unfinished: 0,
            elapsed: Duration::ZERO,
            replay_command: None,
            certificate: None,
            exit_code: ExitCode::Passed,
        }
    }
}

/// Whether a run has its certificate.
#[derive(Debug)]
pub enum Certified {
    /// It is in this file.
    Yes(Utf8PathBuf),
    /// Why not.
    No(String),
}
