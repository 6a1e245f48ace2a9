//! `cargo schedcheck replay`: one recorded schedule, one run, the same failure.
use std::time::Duration;

use super::file::ReplayFile;
use crate::build::{TestBinary, target_args};
use crate::cli::explore_opts::Switch;
use crate::cli::{CargoOpts, ExploreOpts, ReplayArgs};
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::reports::Event;
use crate::reports::event::{RunStarted, Summary, TestResult};
use crate::run::explore::{Verdict, attend};
use crate::run::request::Request;
use crate::run::session::{Session, as_typed, replay_command};
use crate::run::wire::{Finished, Outcome};
use crate::run::{self, session, utf8};

/// A single execution needs a fraction of this, unless it hangs in code that we do not control.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reproduces the failure in a file.
pub fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    args.output.check()?;
    let file = ReplayFile::load(&args.file)?;
    let cargo = cargo_opts(&file, &args.cargo)?;
    let mut session = Session::open(&cargo, &args.config, &ExploreOpts::default())?;
    session.settings.set.races = Some(if file.detects_races() { Switch::On } else { Switch::Off });
    let binaries = session.build(&cargo)?;
    let binary = find(&file, &binaries)?;

    let work = tempfile::tempdir()?;
    let work = utf8(work.path())?.to_owned();
    let pairs = |pairs: &'_ [(String, String)]| pairs.to_vec();
    let (set, default) = (pairs(&file.options.set), pairs(&file.options.default));
    let on_os_threads = args.os_threads || args.debugger.is_some();
    let request = Request::replay(&file.test.name, &file.schedule)
        .settings("set", set.iter().map(|(key, value)| (key.as_str(), value.clone())))
        .settings("set", on_os_threads.then(|| ("os-threads", "yes".to_owned())))
        .settings("default", default.iter().map(|(key, value)| (key.as_str(), value.clone())))
        .record(&work.join("record"));

    let everything = args.trace || cargo.verbose > 0;
    let mut sink = run::sink(&args.output, cargo.quiet, everything);
    let started = RunStarted { tests: 1, binaries: 1, limits: session.settings.general(), replay: true };
    let start = std::time::Instant::now();
    sink.event(&Event::RunStarted(&started))?;
    sink.event(&Event::TestStarted(&file.id()))?;
    let finished = match &args.debugger {
        Some(debugger) => debugger.run(binary, request, &work)?,
        None => match attend(binary, &request, &work, cargo.verbose > 0, PATIENCE, |_| {})? {
            Verdict::Finished { finished, .. } => *finished,
            Verdict::Stopped(_) => return Err(ExpectedError::Interrupted),
        },
    };
    let mut finished = judged(&file, finished);
    finished.shorten_places(session.project.root());
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
        replay_command: Some(replay_command(&path, &args.cargo)),
        replay: Some(path),
        source_dirs: session.source_dirs(binary),
    };
    sink.event(&Event::TestFinished(&result))?;
    let summary = Summary {
        passed: 0,
        failed: 1,
        incomplete: 0,
        unfinished: 0,
        elapsed: start.elapsed(),
        replay_command: None,
        exit_code,
    };
    sink.event(&Event::RunFinished(&summary))?;
    Ok(exit_code)
}

/// The verdict on a replay: the recorded failure, or a clear statement that it did not come. Never a pass.
fn judged(file: &ReplayFile, mut finished: Finished) -> Finished {
    let recorded = file.failure.outcome;
    let complaint = if let Some(diverged) = &finished.diverged {
        format!(
            "the replay left the recorded schedule at step {}: expected {}, found {}",
            diverged.step, diverged.expected, diverged.found
        )
    } else if finished.outcome == Outcome::Passed {
        format!("the recorded {} did not happen: the test passed in this schedule", recorded.name())
    } else if finished.outcome != recorded {
        format!("the file records a {}, but this time it was: {}", recorded.name(), finished.message)
    } else {
        return finished;
    };
    finished.outcome = Outcome::Nondeterminism;
    finished.message = format!("{complaint}; the code has changed since, or something is not under control");
    finished
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
    (opts.lib, opts.bin, opts.test, opts.example) =
        (recorded.lib, recorded.bin, recorded.test, recorded.example);
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
    let id = file.id();
    let discovered = session::discover(binaries)?;
    let found = discovered.binary_with(&id);
    found.ok_or_else(|| ExpectedError::BadSetup(format!("the recorded test does not exist (any more): {id}")))
}
