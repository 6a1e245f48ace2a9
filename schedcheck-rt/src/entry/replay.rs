//! One schedule, once: as it was recorded, or carried over to a program that has changed since.
//!
//! A recorded decision says at which step it was taken, who took it, and what default behaviour would have done in its
//! place. First the steps are tried as they are. If they do not fit any more, the decisions are placed anew, one after
//! the other: execute the decisions placed so far, find in what default behaviour does then the point that the next
//! one was taken at, place it there. So the schedule survives operations that came or went elsewhere.

use super::crash::{self, LastWords};
use super::report::{self, Figures};
use super::settings::Settings;
use super::stdio::Channel;
use crate::exec::outcome::{Divergence, Outcome};
use crate::exec::view::{Point, StepView, site_text};
use crate::exec::{Execution, Test};
use crate::search::step::{Alt, Choice, Delta, Model, Plan, Trace};
use crate::wire::json::Object;
use crate::wire::request::{NamedDelta, Request};

/// Placing anew takes an execution for each decision: no report has more than a few.
const MOST_PLACED: usize = 2_000;

/// Executes the schedule of `request` and reports what it did.
pub(super) fn replay(test: Test, settings: &Settings, request: &Request, channel: &Channel) {
    channel.send(Object::new().text("event", "started"));
    let mut execution = Box::new(settings.execution(test));
    let mut figures = Figures { executions: 1, traces: 1, ..Figures::default() };
    let mut words = LastWords::new(channel, &mut *execution, figures.clone());
    // SAFETY: only the lifetime changes; the process ends with this replay.
    crash::watch(unsafe { std::mem::transmute::<*mut LastWords<'_>, *mut LastWords<'static>>(&mut words) });
    execution.take_over_process();
    execution.report_executions();
    let mut run = |execution: &mut Execution, plan: &Plan| {
        let mut trace = Trace::default();
        let mut output = channel.captured(|| execution.run(plan, None, &mut trace)).1;
        if matches!(execution.outcome(), Outcome::DataRace(_)) {
            // Once more, now that it is known which access to look out for.
            output = channel.captured(|| execution.run(plan, None, &mut trace)).1;
        }
        output
    };

    let as_recorded = plan_as_recorded(&mut execution, request);
    let (mut outcome, mut output) = (None, String::new());
    if let Ok(plan) = &as_recorded {
        output = run(&mut execution, plan);
        outcome = Some(match (execution.outcome(), stale(&execution, request)) {
            (found @ Outcome::Diverged(_), _) | (found, None) => found.clone(),
            (_, Some(divergence)) => Outcome::Diverged(divergence),
        });
    }
    let fits = outcome.as_ref().is_some_and(|outcome| {
        let same = Some(format!("{:016x}", execution.view().fingerprint)) == request.fingerprint;
        outcome.is_failure() || (same && !matches!(outcome, Outcome::Diverged(_)))
    });
    if !fits && !request.exact && can_be_placed(request) {
        match plan_placed_anew(&mut execution, request, &mut run) {
            Ok(plan) => {
                output = run(&mut execution, &plan);
                outcome = Some(execution.outcome().clone());
                figures.carried_over = true;
            }
            // A schedule that fits but does not fail says more than that it could not be moved.
            Err(_) if matches!(outcome, Some(Outcome::Passed | Outcome::Abandoned)) => {}
            Err(divergence) => outcome = Some(Outcome::Diverged(divergence)),
        }
    }
    let outcome = match (outcome, as_recorded) {
        (Some(outcome), _) => outcome,
        (None, Err(divergence)) => Outcome::Diverged(divergence),
        (None, Ok(_)) => execution.outcome().clone(),
    };
    channel.send(report::finished(&execution, &outcome, &figures, &output));
}

/// The decisions at the steps at which they were recorded.
fn plan_as_recorded(execution: &mut Execution, request: &Request) -> Result<Plan, Divergence> {
    let mut deltas = Vec::with_capacity(request.deltas.len());
    for named in &request.deltas {
        deltas.push(Delta { step: named.step, choice: choice(execution, named)? });
    }
    Ok(plan_of(deltas))
}

fn plan_of(deltas: Vec<Delta>) -> Plan {
    let prefix = deltas.last().map_or(0, |delta| delta.step.saturating_add(1));
    Plan { deltas, prefix }
}

fn choice(execution: &mut Execution, named: &NamedDelta) -> Result<Choice, Divergence> {
    let thread = execution.thread_of_path(&named.thread).ok_or_else(|| Divergence {
        step: named.step,
        expected: format!("thread {} runs", named.thread),
        found: "that is not the path of a thread".to_owned(),
    })?;
    Ok(Choice { thread, alt: Alt(named.alt) })
}

/// The first recorded decision that met another operation than it was recorded for, or another alternative to it.
fn stale(execution: &Execution, request: &Request) -> Option<Divergence> {
    let view = execution.view();
    request.deltas.iter().find_map(|named| {
        let at = named.step as usize;
        let found = view.steps.get(at).map(|step| (step.op, site_text(&step.place)));
        let differs = |op: &str, site: &str, found: Option<(&str, String)>, ended: &str| {
            let same = found.as_ref().is_some_and(|(other, place)| *other == op && place == site);
            (!same).then(|| Divergence {
                step: named.step,
                expected: format!("{op} at {site}"),
                found: found.map_or_else(|| ended.to_owned(), |(op, site)| format!("{op} at {site}")),
            })
        };
        if named.op.is_empty() {
            return found.is_none().then(|| Divergence {
                step: named.step,
                expected: format!("thread {} runs", named.thread),
                found: "the execution had ended".to_owned(),
            });
        }
        differs(&named.op, &named.site, found, "the execution had ended").or_else(|| {
            // What stood aside comes next in its thread, or never comes.
            let instead = named.instead.as_ref()?;
            let thread = view.threads.iter().position(|thread| thread.path == instead.thread)?;
            let next = view.steps.iter().skip(at).find(|step| step.thread == thread)?;
            let next = Some((next.op, site_text(&next.place)));
            let mut divergence = differs(&instead.op, &instead.site, next, "")?;
            divergence.expected = format!("thread {} before its {}", instead.thread, divergence.expected);
            divergence.found = format!("before its {}", divergence.found);
            Some(divergence)
        })
    })
}

/// Whether enough is known about the decisions: a crash leaves only their steps.
fn can_be_placed(request: &Request) -> bool {
    request.deltas.len() <= MOST_PLACED && request.deltas.iter().all(|named| named.instead.is_some())
}

/// The decisions at the points that they were taken at, wherever those are now.
fn plan_placed_anew(
    execution: &mut Execution,
    request: &Request,
    run: &mut impl FnMut(&mut Execution, &Plan) -> String,
) -> Result<Plan, Divergence> {
    let mut placed: Vec<Delta> = Vec::new();
    for named in &request.deltas {
        let choice = choice(execution, named)?;
        run(execution, &plan_of(placed.clone()));
        let view = execution.view();
        let from = placed.last().map_or(0, |delta| delta.step as usize + 1);
        let Some(instead) = &named.instead else { continue };
        let point = Point {
            thread: instead.thread.clone(),
            op: instead.op.clone(),
            site: instead.site.clone(),
            nth: instead.nth,
        };
        let step = match point == Point::end() {
            true => Some(view.steps.len()).filter(|end| *end >= from),
            false => view.find(&point, from),
        };
        let Some(step) = step else {
            let expected = match point == Point::end() {
                true => "nothing else can be done any more".to_owned(),
                false => format!(
                    "thread {} comes to its {} at {} (occurrence {})",
                    point.thread, point.op, point.site, point.nth
                ),
            };
            // Places in the engine say nothing to users.
            let shown = |step: &&StepView| !step.place.0.starts_with("schedcheck-engine/src/");
            let own = |step: &&StepView| view.threads[step.thread].path == point.thread && shown(step);
            let found = match view.steps.iter().rev().find(own) {
                Some(last) => {
                    format!("it does not: its last step is {} at {}", last.op, site_text(&last.place))
                }
                None => "it does not".to_owned(),
            };
            return Err(Divergence { step: named.step, expected, found });
        };
        placed.push(Delta { step: step as u32, choice });
    }
    Ok(plan_of(placed))
}
