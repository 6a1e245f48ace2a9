//! One test from start to verdict.
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use camino::Utf8PathBuf;
use fs_err as fs;

use super::allotment::Allotment;
use super::child::{self, Ending, Heard, Remains};
use super::request::Request;
use super::wire::{ChildEvent, Finished, Outcome, PredictionKind, PredictionVerdict, Progress, arguments};
use super::{interrupt, record};
use crate::build::TestBinary;
use crate::cli::part::Part;
use crate::config::Limits;
use crate::error::{ExpectedError, Result};
use crate::paths::utf8;
use crate::regressions::saved::Saved;
use crate::reports::event::TestId;

/// How long a child may be silent after its time budget.
const GRACE: Duration = Duration::from_secs(10);

/// How long it may take to make a long failing schedule shorter.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The test did nothing wrong, but is too much for the time it was given.
const BUSY: &str = "stopped while looking for other schedules in one that passed: it is so long that this takes \
                    longer than the time limit; the test needs more time (`--max-time`), or less to do";
/// How often a child that was killed is started again.
const PATIENCE: u32 = 50;
/// How long a child may take to end after its verdict.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// One test to explore.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub id: TestId,
    pub binary: &'a TestBinary,
    /// Stronger than the attribute of the test.
    pub set: Limits,
    /// Weaker than the attribute of the test.
    pub default: Limits,
    /// Nothing is to be searched, only predicted.
    pub only_predict: bool,
    /// The arguments of that attribute: `bound=2;max_time=10s`.
    pub attribute: String,
    /// Failures of this test that were kept.
    pub saved: Vec<Saved>,
    /// Where the state of its search is written.
    pub checkpoint: Option<Utf8PathBuf>,
    /// How often, if not as usual.
    pub checkpoint_every: Option<Duration>,
    /// The state to go on from.
    pub resume: Option<Utf8PathBuf>,
    /// Bytes that its search may take.
    pub max_memory: Option<u64>,
    /// Only this part of its search.
    pub part: Option<Part>,
}

impl Plan<'_> {
    /// Whether its attribute switches the search for data races on, and nothing stronger has a say in it.
    pub fn asks_for_races(&self) -> bool {
        let mut arguments = arguments(&self.attribute);
        self.set.races.is_none() && arguments.any(|(name, value)| name == "races" && value == "on")
    }
}

#[cfg(test)]
impl<'a> Plan<'a> {
    /// Of a test about which nothing is set.
    pub fn example(binary: &'a TestBinary, name: &str) -> Self {
        Self {
            id: TestId {
                package: binary.package.clone(),
                target: binary.target.clone(),
                name: name.to_owned(),
            },
            binary,
            set: Limits::default(),
            default: Limits::default(),
            only_predict: false,
            attribute: String::new(),
            saved: Vec::new(),
            checkpoint: None,
            checkpoint_every: None,
            resume: None,
            max_memory: None,
            part: None,
        }
    }
}

/// A sign of life of a test that is being explored.
#[derive(Clone, Copy, Debug)]
pub enum Sign<'a> {
    Progress(&'a Progress),
    /// Lines that it wrote to stderr.
    Stderr(&'a str),
    /// Something the user should know.
    Warning(&'a str),
}

/// How the exploration of a test ended.
#[derive(Debug)]
pub enum Verdict {
    Finished {
        finished: Box<Finished>,
        pending: u64,
        /// There is no verdict because somebody killed the process.
        killed: bool,
    },
    /// The user wanted to stop.
    Stopped(Progress),
}

/// Explores one test in a child of its own, unless somebody else has answered the question.
pub fn explore(
    plan: &Plan<'_>,
    allotment: &Allotment,
    hear_stderr: bool,
    answered: &AtomicBool,
    mut on_sign: impl FnMut(Sign<'_>),
) -> Result<Verdict> {
    let work = tempfile::tempdir()?;
    let work = utf8(work.path())?.to_owned();
    let (record, workers) = (work.join("record"), work.join("workers"));
    let _allotted = allotment.enter(&workers);
    let budget = plan.set.max_time.or(plan.default.max_time).unwrap_or(Duration::MAX / 4);
    let started = SystemTime::now();
    let mut resume = plan.resume.clone();
    let mut deaths = 0;
    let mut verdict = loop {
        let request = Request::explore(&plan.id.name)
            .settings("set", plan.set.pairs())
            .settings("default", plan.default.pairs())
            .settings("set", plan.only_predict.then(|| ("predict-only", "yes".to_owned())))
            .record(&record)
            .checkpoint(plan.checkpoint.as_deref())
            .checkpoint_every(plan.checkpoint_every)
            .max_memory(plan.max_memory)
            .resume(resume.as_deref())
            .part(plan.part)
            .workers(&workers);
        let verdict = attend(plan.binary, &request, &work, hear_stderr, budget, answered, &mut on_sign)?;
        let is_killed = matches!(&verdict, Verdict::Finished { killed: true, .. });
        let is_over = interrupt::is_requested() || answered.load(Ordering::SeqCst);
        if !is_killed || deaths == PATIENCE || is_over {
            break verdict;
        }
        // Nothing that the test did: somebody, or a system without memory, has killed its process.
        deaths += 1;
        let checkpoint = plan.checkpoint.as_ref().filter(|path| {
            let written = fs::metadata(path).and_then(|file| file.modified());
            written.is_ok_and(|written| written >= started)
        });
        resume = checkpoint.cloned().or(resume);
        on_sign(Sign::Warning(match resume {
            Some(_) => "the test process was killed; its search goes on from where it was written down last",
            None => "the test process was killed; its search starts again",
        }));
    };
    if let Verdict::Finished { finished, .. } = &mut verdict
        && !plan.only_predict
    {
        // An open order is no suspicion before it has led to something.
        finished.predictions.retain(|one| {
            one.kind != PredictionKind::Conflict || one.verdict == PredictionVerdict::Confirmed
        });
    }
    Ok(verdict)
}

/// Runs a request that ends with a verdict, whatever the child does.
pub fn attend(
    binary: &TestBinary,
    request: &Request,
    work: &Utf8PathBuf,
    hear_stderr: bool,
    budget: Duration,
    answered: &AtomicBool,
    mut on_sign: impl FnMut(Sign<'_>),
) -> Result<Verdict> {
    let start = Instant::now();
    let far = start + Duration::from_secs(100 * 365 * 24 * 3600);
    let after = |budget: Duration| start.checked_add(budget.saturating_add(GRACE)).unwrap_or(far);
    let mut last = Progress::default();
    let mut verdict = None;
    let mut refusal = None;
    let mut predictions = Vec::new();
    let remains =
        child::run(binary, request, work, hear_stderr, after(budget), |heard, deadline| match heard {
            Heard::Stderr(text) => on_sign(Sign::Stderr(&text)),
            Heard::Event(ChildEvent::Started(started)) => {
                if let Some(limit) = started.max_time_ms {
                    *deadline = after(Duration::from_millis(limit));
                }
            }
            Heard::Event(ChildEvent::Progress(progress)) => {
                on_sign(Sign::Progress(&progress));
                last = progress;
                // It works: it will see for itself that its time is over.
                *deadline = (*deadline).max(Instant::now() + GRACE);
                if answered.load(Ordering::SeqCst) {
                    *deadline = start;
                }
            }
            Heard::Event(ChildEvent::Failing) => *deadline = (*deadline).max(Instant::now() + AFTER_FAILURE),
            Heard::Event(ChildEvent::Prediction(prediction)) => predictions.push(prediction),
            Heard::Event(ChildEvent::Finished(finished)) => {
                verdict = Some(finished);
                *deadline = Instant::now() + AFTERWARDS;
            }
            Heard::Event(ChildEvent::Refused { message }) => {
                refusal = Some(message);
                *deadline = Instant::now() + AFTERWARDS;
            }
            Heard::Event(ChildEvent::Warning { message }) => on_sign(Sign::Warning(&message)),
            Heard::Event(
                ChildEvent::Test(_) | ChildEvent::Listed | ChildEvent::Merged(_) | ChildEvent::Unknown,
            ) => {}
        })?;
    if let Some(message) = refusal {
        return Err(ExpectedError::Refused { test: request.test().to_owned(), message });
    }
    if let Some(mut finished) = verdict {
        finished.predictions = predictions;
        finished.forget_engine_places();
        // What aborts a program often says why, past all capturing.
        if finished.outcome == Outcome::Crash && finished.output.is_empty() {
            finished.output = remains.stderr;
        }
        let pending = if finished.complete { 0 } else { finished.pending.unwrap_or(last.pending) };
        return Ok(Verdict::Finished { finished, pending, killed: false });
    }
    last.elapsed_ms = start.elapsed().as_millis() as u64;
    if let Ending::Interrupted = remains.ending {
        return Ok(Verdict::Stopped(last));
    }
    let recorded = fs::read(work.join("record")).unwrap_or_default();
    if let Ending::TimedOut = remains.ending
        && record::is_over(&recorded)
    {
        on_sign(Sign::Warning(BUSY));
        let finished = Finished::without_child(Outcome::Passed, String::new(), &last);
        return Ok(Verdict::Finished { finished: Box::new(finished), pending: last.pending, killed: false });
    }
    Ok(posthumous(remains, &recorded, &last))
}

/// The verdict on a child that gave none, from what it noted before it died.
fn posthumous(remains: Remains, recorded: &[u8], last: &Progress) -> Verdict {
    let mut finished = Finished::without_child(Outcome::Crash, obituary(&remains, last.elapsed_ms), last);
    if let Some((execution, schedule)) = record::last_schedule(recorded) {
        finished.executions = finished.executions.max(execution);
        finished.schedule = Some(schedule);
    }
    let killed = matches!(&remains.ending, Ending::Exited(status) if is_killed(status));
    finished.output = remains.stderr;
    Verdict::Finished { finished: Box::new(finished), pending: last.pending, killed }
}

/// Whether a process was ended by a signal that it cannot send itself by accident.
fn is_killed(status: &std::process::ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(status) == Some(nix::sys::signal::Signal::SIGKILL as i32)
}

/// Why there is no verdict of the child's own.
fn obituary(remains: &Remains, elapsed_ms: u64) -> String {
    let mut text = match &remains.ending {
        Ending::Exited(status) => format!("the test process ended without a result ({status})"),
        Ending::TimedOut | Ending::Interrupted => {
            let seconds = elapsed_ms as f64 / 1000.0;
            format!("the test process did not answer for {seconds:.0} s and was stopped")
        }
    };
    if let Some(call) = remains.waited_in {
        text.push_str(&format!("; a thread waited in the system call `{call}`, and all others for it"));
    }
    if let Some(line) = &remains.garbled {
        let line: String = line.chars().take(200).collect();
        text.push_str(&format!("; it sent a message that could not be understood: {line}"));
    }
    text
}
