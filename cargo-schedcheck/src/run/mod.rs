//! Builds the tests, explores each in a child of its own, and tells the reports what happens.
pub mod allotment;
pub mod changes;
pub mod checkpoints;
pub mod child;
pub mod debugger;
pub mod explore;
pub mod filter;
mod hang;
pub mod interrupt;
pub mod list;
pub mod merge;
pub mod portfolio;
pub mod record;
pub mod request;
pub mod session;
pub mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use camino::Utf8Path;

use crate::build::TestBinary;
use crate::certificate::{self, issue::Certifier};
use crate::cli::RunArgs;
use crate::cli::part::PartSpec;
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::paths::absolute;
use crate::regressions::replay::{Replayed, State};
use crate::regressions::saved::{self, Saved};
use crate::reports::event::{Regression, RunStarted, Summary, TestId, TestResult};
use crate::reports::{Event, Reports, Volume, say, trend};
use allotment::Allotment;
use checkpoints::Checkpoints;
use explore::{Plan, Sign, Verdict};
use session::{Discovered, Session};
use wire::{ListedTest, Outcome, Progress};

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Explore,
    /// Only what can be predicted from the first schedules.
    Predict,
}

/// `cargo schedcheck run` and `cargo schedcheck predict`.
pub fn run(args: &RunArgs, purpose: Purpose) -> Result<ExitCode> {
    args.output.check()?;
    // Whatever goes wrong from here on, no older certificate is taken for that of this run.
    args.keep.certificate.as_ref().map_or(Ok(()), certificate::make_way)?;
    let session = Session::start(&args.from, &args.cargo, &args.config, &args.explore)?;
    let keep = session.settings.keep(&args.keep, session.project.base());
    keep.check()?;
    if let Some(path) = &keep.trend {
        trend::last_rows(path)?;
    }
    keep.certificate.as_ref().map_or(Ok(()), certificate::make_way)?;
    let build = session.build(&args.cargo)?;
    let discovered = session::discover(&build.binaries)?;
    discovered.mention_skipped(args.cargo.quiet);
    let plans = select(&session, &discovered, args, purpose)?;
    let certifier = keep.certificate.clone().map(|path| {
        Certifier::new(path, session.draft(&build, &discovered, &args.cargo)?, &args.select, &plans)
    });
    let volume = Volume { quiet: args.cargo.quiet, everything: args.cargo.verbose > 0 };
    let reports = Reports::new(&args.output, &keep, volume, session.project.root())?;
    let limits = session.settings.general();
    let binaries = binaries_of(&plans);
    let started = RunStarted { tests: plans.len(), binaries, limits, replay: false, purpose };
    explore_all(&session, args, plans, &started, certifier.transpose()?, reports)
}

/// How many binaries have these tests.
fn binaries_of(plans: &[Plan<'_>]) -> usize {
    plans.iter().map(|plan| &plan.binary.executable).collect::<BTreeSet<_>>().len()
}

/// The selected tests in the order in which they are started: first those that have failed before.
fn select<'a>(
    session: &Session,
    discovered: &Discovered<'a>,
    args: &RunArgs,
    purpose: Purpose,
) -> Result<Vec<Plan<'a>>> {
    let selected = discovered.selected(&args.select)?;
    let dir = args.share.checkpoints.clone().unwrap_or_else(|| session.project.checkpoints_dir());
    let checkpoints = Checkpoints::in_dir(absolute(dir)?);
    let part = args.share.shard.map(PartSpec::here).transpose()?;
    let mut kept: BTreeMap<&Utf8Path, Vec<Saved>> = BTreeMap::new();
    for (binary, _) in &selected {
        if !kept.contains_key(&*binary.package_dir) {
            let mut saved = saved::load(&binary.package_dir)?;
            if !session.settings.want_races() {
                saved.retain(Saved::shows_without_race_detection);
            }
            discovered.mention_orphans(&session.project, &saved);
            kept.insert(&binary.package_dir, saved);
        }
    }
    let plan = |(binary, test): (&'a TestBinary, ListedTest)| {
        let default = session.settings.defaults_for(&test.name);
        let id = session::id(binary, test.name);
        let saved = kept[&*binary.package_dir].iter().filter(|saved| saved.is_of(&id)).cloned().collect();
        let checkpoint = Some(checkpoints.file(&id, part));
        let resume = args.share.resume.then(|| checkpoints.to_resume(&id, part)).flatten();
        let (set, attribute) = (session.settings.set.clone(), test.options);
        let only_predict = purpose == Purpose::Predict;
        let (checkpoint_every, max_memory) = (args.share.checkpoint_every, args.share.max_memory);
        Plan {
            checkpoint_every,
            max_memory,
            only_predict,
            set,
            default,
            attribute,
            id,
            binary,
            saved,
            checkpoint,
            resume,
            part,
        }
    };
    let mut plans: Vec<Plan<'_>> = selected.clone().into_iter().map(plan).collect();
    plans.sort_by_key(|plan| plan.saved.is_empty());
    // What attributes say is known when the tests are built.
    for plan in plans.iter().filter(|plan| !session.settings.want_races() && plan.asks_for_races()) {
        say(&format!(
            "warning: data races are not looked for in {}, although its attribute asks for it: the tests are built \
             without, as the config file wants it; use --races on",
            plan.id
        ));
    }
    Ok(plans)
}

/// What workers tell the thread that owns the reports.
enum Report {
    Regression(Box<Regression>),
    Started(TestId),
    Progress(TestId, Progress),
    /// What a test wrote to stderr.
    Said(String),
    Finished(Box<TestResult>),
    Stopped(TestId, Progress),
    Failed(ExpectedError),
}

fn explore_all(
    session: &Session,
    args: &RunArgs,
    plans: Vec<Plan<'_>>,
    started: &RunStarted,
    mut certifier: Option<Certifier>,
    mut reports: Reports,
) -> Result<ExitCode> {
    let start = Instant::now();
    reports.tell(&Event::RunStarted(started))?;
    // A portfolio needs all processes for one test.
    let workers = if args.share.portfolio { 1 } else { session.settings.jobs.min(plans.len()) };
    let allotment = Allotment::new(session.settings.jobs);
    let queue = Mutex::new(VecDeque::from(plans));
    let stop = AtomicBool::new(false);
    let (send, news) = channel();
    let mut tally = Tally::default();
    let outcome = std::thread::scope(|scope| {
        for _ in 0..workers {
            let send = send.clone();
            scope.spawn(|| work(session, args, &queue, &allotment, &stop, send));
        }
        drop(send);
        let mut outcome = Ok(());
        for report in news {
            let told = match report {
                Report::Regression(regression) => reports.tell(&Event::Regression(&regression)),
                Report::Started(id) => reports.tell(&Event::TestStarted(&id)),
                Report::Progress(id, progress) => reports.tell(&Event::TestProgress(&id, &progress)),
                Report::Said(text) => reports.tell(&Event::Said(&text)),
                Report::Stopped(id, progress) => reports.tell(&Event::TestStopped(&id, &progress)),
                Report::Finished(result) => {
                    tally.count(&result);
                    certifier.iter_mut().for_each(|certifier| certifier.note(&result));
                    reports.tell(&Event::TestFinished(&result))
                }
                Report::Failed(error) => {
                    outcome = Err(error);
                    Ok(())
                }
            };
            // Nobody reads any more: end the children too.
            if let Err(error) = told {
                outcome = Err(error);
            }
            if outcome.is_err() {
                interrupt::request();
            }
        }
        outcome
    });
    let mut summary = tally.summary(started.tests, session, start);
    if let Err(error) = &outcome {
        summary.exit_code = error.exit_code();
    }
    if let Some(certifier) = certifier {
        certifier.conclude(&mut summary);
    }
    // Whatever ended the run, the verdicts that there are belong into the reports.
    let exit_code = reports.finish(summary);
    outcome.map(|()| exit_code)
}

/// One worker: takes tests until there are none or a failure says to stop.
fn work(
    session: &Session,
    args: &RunArgs,
    queue: &Mutex<VecDeque<Plan<'_>>>,
    allotment: &Allotment,
    stop: &AtomicBool,
    send: Sender<Report>,
) {
    // The receiver outlives the workers, so sending cannot fail.
    let tell = |report| drop(send.send(report));
    while !stop.load(Ordering::SeqCst) && !interrupt::is_requested() {
        let Some(plan) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) else {
            return;
        };
        let report = one_test(session, args, &plan, allotment, &tell).unwrap_or_else(|error| match error {
            ExpectedError::Interrupted => Report::Stopped(plan.id.clone(), Progress::default()),
            error => Report::Failed(error),
        });
        if let Report::Finished(result) = &report
            && result.failed()
            && session.settings.fail_fast
        {
            stop.store(true, Ordering::SeqCst);
        }
        tell(report);
    }
}

/// Replays what is kept of a test, then explores it. Its replay file, if there can be one, exists before anyone hears
/// of a failure.
fn one_test(
    session: &Session,
    args: &RunArgs,
    plan: &Plan<'_>,
    allotment: &Allotment,
    tell: &dyn Fn(Report),
) -> Result<Report> {
    tell(Report::Started(plan.id.clone()));
    for saved in &plan.saved {
        let source_dirs = session.source_dirs(plan.binary);
        let Replayed { state, finished } = saved.replay(plan.binary, &source_dirs)?;
        let file = saved.shown();
        let removed = saved.prune(state, args.prune)?;
        let message = finished.message.clone();
        let regression = Regression { id: plan.id.clone(), file: file.clone(), state, message, removed };
        tell(Report::Regression(Box::new(regression)));
        if state == State::Fails {
            return Ok(Report::Finished(Box::new(TestResult {
                id: plan.id.clone(),
                finished,
                pending: 0,
                replayed: true,
                replay_command: Some(session.replay_command(&file)),
                replay: Some(file),
                source_dirs,
            })));
        }
    }
    let hear_stderr = args.cargo.verbose > 0;
    let on_sign = |sign: Sign<'_>| {
        tell(match sign {
            Sign::Progress(progress) => Report::Progress(plan.id.clone(), progress.clone()),
            Sign::Stderr(text) => Report::Said(text.to_owned()),
            Sign::Warning(text) => Report::Said(format!("warning: {text}\n")),
        });
    };
    let verdict = if args.share.portfolio {
        portfolio::explore(plan, session.settings.jobs, hear_stderr, on_sign)?
    } else {
        explore::explore(plan, allotment, hear_stderr, &AtomicBool::new(false), on_sign)?
    };
    Ok(match verdict {
        Verdict::Stopped(progress) => Report::Stopped(plan.id.clone(), progress),
        Verdict::Finished { finished, pending, .. } => {
            Report::Finished(Box::new(session.result(plan, *finished, pending, &args.cargo)))
        }
    })
}

/// Counts verdicts.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    incomplete: usize,
    nondeterministic: usize,
    replay_command: Option<String>,
}

impl Tally {
    fn count(&mut self, result: &TestResult) {
        let finished = &result.finished;
        if result.failed() {
            self.failed += 1;
            self.nondeterministic += usize::from(finished.outcome == Outcome::Nondeterminism);
            self.replay_command = result.replay_command.clone().or(self.replay_command.take());
        } else {
            self.passed += 1;
            self.incomplete += usize::from(!finished.complete);
        }
    }

    fn summary(self, tests: usize, session: &Session, start: Instant) -> Summary {
        let exit_code = if interrupt::is_requested() {
            ExitCode::Interrupted
        } else if self.failed > self.nondeterministic {
            ExitCode::Failed
        } else if self.failed > 0 {
            ExitCode::Nondeterminism
        } else if self.incomplete > 0 && session.settings.require_complete {
            ExitCode::Incomplete
        } else {
            ExitCode::Passed
        };
        Summary {
            passed: self.passed,
            failed: self.failed,
            incomplete: self.incomplete,
            unfinished: tests - self.passed - self.failed,
            elapsed: start.elapsed(),
            replay_command: self.replay_command,
            certificate: None,
            exit_code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_counts_once_wherever_its_tests_stand() {
        let (lib, flow) = (TestBinary::example("lib"), TestBinary::example("flow"));
        let plans = [(&flow, "has_failed_before"), (&lib, "a"), (&flow, "b")];
        assert_eq!(binaries_of(&plans.map(|(binary, name)| Plan::example(binary, name))), 2);
    }
}
