//! `cargo schedcheck replay`: one recorded schedule, one run, the same failure.
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use camino::Utf8PathBuf;

use super::file::ReplayFile;
use super::{saved, sites};
use crate::build::{Build, TestBinary, target_args};
use crate::cli::explore_opts::Switch;
use crate::cli::{CargoOpts, ExploreOpts, KeepOpts, ReplayArgs};
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::paths::{as_typed, utf8};
use crate::reports::event::{RunStarted, Summary, TestResult};
use crate::reports::{Event, Reports, Volume, say};
use crate::run::Purpose;
use crate::run::explore::{Verdict, attend};
use crate::run::interrupt;
use crate::run::request::Request;
use crate::run::session::{self, Session};
use crate::run::wire::{Finished, Outcome, Schedule};

/// A single execution needs a fraction of this, unless it hangs in code that we do not control.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reproduces the failure in a file.
pub fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    args.output.check()?;
    let file = ReplayFile::load(&args.file)?;
    let cargo = cargo_opts(&file, &args.cargo)?;
    let (session, build) = built(args, &file, &cargo)?;
    let binary = find(&file, &build.binaries)?;
    let source_dirs = session.source_dirs(binary);

    let everything = args.trace || cargo.verbose > 0;
    let volume = Volume { quiet: cargo.quiet, everything };
    let limits = session.settings.general();
    let purpose = Purpose::Explore;
    let started = RunStarted { tests: 1, binaries: 1, limits, replay: true, purpose };
    let mut reports = Reports::new(&args.output, &KeepOpts::default(), volume, session.project.root())?;
    let start = std::time::Instant::now();
    reports.tell(&Event::RunStarted(&started))?;
    reports.tell(&Event::TestStarted(&file.id()))?;
    let once = Once { file: &file, binary, source_dirs: &source_dirs };
    let Replayed { state, mut finished } = once.run(args.os_threads)?;
    if let (Some(debugger), State::Fails) = (&args.debugger, state) {
        // In the debugger there is one execution: the schedule must fit as it is.
        let work = tempfile::tempdir()?;
        let work = utf8(work.path())?.to_owned();
        let schedule = finished.schedule.as_ref().unwrap_or(&file.schedule);
        let request = once.request(schedule, true).exactly();
        finished = once.judged(debugger.run(binary, request, &work)?).finished;
    }
    let exit_code = match finished.outcome {
        Outcome::Nondeterminism => ExitCode::Nondeterminism,
        _ => ExitCode::Failed,
    };
    let path = as_typed(&args.file);
    let result = TestResult {
        id: file.id(),
        finished,
        pending: 0,
        replayed: true,
        replay_command: Some(session.replay_command(&path)),
        replay: Some(path),
        source_dirs: source_dirs.clone(),
    };
    reports.tell(&Event::TestFinished(&result))?;
    let summary = Summary {
        passed: 0,
        failed: 1,
        incomplete: 0,
        unfinished: 0,
        elapsed: start.elapsed(),
        replay_command: None,
        certificate: None,
        exit_code,
    };
    let exit_code = reports.finish(summary);
    if args.save && state == State::Fails {
        let kept = saved::keep(&args.file, &binary.package_dir)?;
        if !cargo.quiet {
            say(&format!("note: kept as {kept}: replayed first on every run from now on"));
        }
    }
    Ok(exit_code)
}

/// The tests, built as they were when the failure was found, or packed so.
fn built(args: &ReplayArgs, file: &ReplayFile, cargo: &CargoOpts) -> Result<(Session, Build)> {
    let packed = args.from.archive.is_some();
    let mut session = match packed {
        true => Session::start(&args.from, &args.cargo, &args.config, &ExploreOpts::default())?,
        false => Session::open(cargo, &args.config, &ExploreOpts::default())?,
    };
    session.settings.set.races = Some(if file.detects_races() { Switch::On } else { Switch::Off });
    if session.project.lacks_target(&file.test.package, &file.test.target) {
        return Err(missing(file));
    }
    let build = session.build(cargo)?;
    if packed && build.races != file.detects_races() {
        return Err(ExpectedError::BadSetup(
            "the failure and the archive are of different builds: one with --races off, one without"
                .to_owned(),
        ));
    }
    Ok((session, build))
}

/// What became of a recorded failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It happens again.
    Fails,
    /// The schedule is still possible, and the test passes in it.
    Fixed,
    /// The schedule is not possible any more, or leads to something else.
    Stale,
}

/// A replay, judged. Where the failure did not come, the verdict says so: it is never a pass.
#[derive(Debug)]
pub struct Replayed {
    pub state: State,
    pub finished: Finished,
}

/// A file and the binary that has its test.
#[derive(Debug)]
pub struct Once<'a> {
    pub file: &'a ReplayFile,
    pub binary: &'a TestBinary,
    /// Folders that relative source paths may be relative to.
    pub source_dirs: &'a [Utf8PathBuf],
}

impl Once<'_> {
    /// Executes the recorded schedule and judges what came.
    pub fn run(&self, os_threads: bool) -> Result<Replayed> {
        let work = tempfile::tempdir()?;
        let work = utf8(work.path())?.to_owned();
        let schedule = sites::moved(self.file.schedule.clone(), self.source_dirs);
        let request = self.request(&schedule, os_threads).record(&work.join("record"));
        match attend(self.binary, &request, &work, false, PATIENCE, &AtomicBool::new(false), |_| {})? {
            Verdict::Finished { finished, .. } if !interrupt::is_requested() => Ok(self.judged(*finished)),
            // A run that was ended is no divergence, whatever it has become.
            Verdict::Finished { .. } | Verdict::Stopped(_) => Err(ExpectedError::Interrupted),
        }
    }

    fn request(&self, schedule: &Schedule, os_threads: bool) -> Request {
        let file = self.file;
        let pairs = |pairs: &'_ [(String, String)]| pairs.to_vec();
        Request::replay(&file.test.name, schedule)
            .settings("set", pairs(&file.options.set))
            .settings("set", os_threads.then(|| ("os-threads", "yes".to_owned())))
            .settings("default", pairs(&file.options.default))
    }

    fn judged(&self, mut finished: Finished) -> Replayed {
        if let Some(root) = self.source_dirs.first() {
            finished.shorten_places(root);
        }
        let recorded = self.file.failure.outcome;
        let (state, complaint) = if let Some(diverged) = &finished.diverged {
            let complaint = format!(
                "the replay left the recorded schedule at step {}: expected {}, found {}",
                diverged.step, diverged.expected, diverged.found
            );
            (State::Stale, complaint)
        } else if finished.outcome == Outcome::Passed {
            let complaint =
                format!("the recorded {} did not happen: the test passed in this schedule", recorded.name());
            (State::Fixed, complaint)
        } else if finished.outcome != recorded {
            let complaint =
                format!("the file records a {}, but this time it was: {}", recorded.name(), finished.message);
            (State::Stale, complaint)
        } else {
            return Replayed { state: State::Fails, finished };
        };
        finished.outcome = Outcome::Nondeterminism;
        finished.message =
            format!("{complaint}; the code has changed since, or something is not under control");
        Replayed { state, finished }
    }
}

/// Builds the recorded target in the recorded variant; flags given now come on top.
fn cargo_opts(file: &ReplayFile, given: &CargoOpts) -> Result<CargoOpts> {
    #[derive(clap::Parser)]
    struct Recorded {
        #[command(flatten)]
        cargo: CargoOpts,
    }
    let args = ["replay".to_owned()]
        .into_iter()
        .chain(file.test.cargo_args.clone())
        .chain(target_args(&file.test.target));
    let recorded = <Recorded as clap::Parser>::try_parse_from(args)
        .map_err(|_| {
            ExpectedError::BadSetup("the replay file asks for cargo flags that are not known".to_owned())
        })?
        .cargo;
    let mut opts = given.clone();
    opts.package = vec![file.test.package.clone()];
    (opts.lib, opts.bin, opts.test) = (recorded.lib, recorded.bin, recorded.test);
    (opts.example, opts.bench) = (recorded.example, recorded.bench);
    if given.variant_args().is_empty() {
        opts.features = recorded.features;
        opts.all_features = recorded.all_features;
        opts.no_default_features = recorded.no_default_features;
        opts.release = recorded.release;
        opts.profile = recorded.profile;
    }
    Ok(opts)
}

/// The binary that has the recorded test.
fn find<'a>(file: &ReplayFile, binaries: &'a [TestBinary]) -> Result<&'a TestBinary> {
    session::discover(binaries)?.binary_with(&file.id()).ok_or_else(|| missing(file))
}

fn missing(file: &ReplayFile) -> ExpectedError {
    ExpectedError::BadSetup(format!("the recorded test does not exist (any more): {}", file.id()))
}
