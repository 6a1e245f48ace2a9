//! One schedule, once.

use super::crash::{self, LastWords};
use super::report::{self, Figures};
use super::settings::Settings;
use super::stdio::Channel;
use crate::exec::outcome::{Divergence, Outcome};
use crate::exec::{Execution, Test};
use crate::search::step::{Alt, Choice, Delta, Model, Plan, Trace};
use crate::wire::json::Object;
use crate::wire::request::Request;

/// Executes the schedule of `request` and reports what it did.
pub(super) fn replay(test: Test, settings: &Settings, request: &Request, channel: &Channel) {
    channel.send(Object::new().text("event", "started"));
    let mut execution = Box::new(settings.execution(test));
    let figures = Figures { executions: 1, traces: 1, ..Figures::default() };
    let mut words = LastWords { channel, execution: &mut *execution, figures: figures.clone() };
    // SAFETY: only the lifetime changes; the process ends with this replay.
    crash::watch(unsafe { std::mem::transmute::<*mut LastWords<'_>, *mut LastWords<'static>>(&mut words) });
    execution.take_over_process();
    execution.report_executions();
    let plan = match plan(&mut execution, request) {
        Ok(plan) => plan,
        Err(divergence) => {
            let outcome = Outcome::Diverged(divergence);
            channel.send(report::finished(&execution, &outcome, &figures, ""));
            return;
        }
    };
    let mut trace = Trace::default();
    let ((), mut output) = channel.captured(|| execution.run(&plan, None, &mut trace));
    if matches!(execution.outcome(), Outcome::DataRace(_)) {
        // Once more, now that it is known which access to look out for.
        ((), output) = channel.captured(|| execution.run(&plan, None, &mut trace));
    }
    let outcome = execution.outcome().clone();
    let outcome = match (&outcome, stale(&execution, request)) {
        (Outcome::Diverged(_), _) | (_, None) => outcome,
        (_, Some(divergence)) => Outcome::Diverged(divergence),
    };
    channel.send(report::finished(&execution, &outcome, &figures, &output));
}

fn plan(execution: &mut Execution, request: &Request) -> Result<Plan, Divergence> {
    let mut deltas = Vec::with_capacity(request.deltas.len());
    for named in &request.deltas {
        let thread = execution.thread_of_path(&named.thread).ok_or_else(|| Divergence {
            step: named.step,
            expected: format!("thread {} runs", named.thread),
            found: "that is not the path of a thread".to_owned(),
        })?;
        deltas.push(Delta { step: named.step, choice: Choice { thread, alt: Alt(named.alt) } });
    }
    let prefix = deltas.last().map_or(0, |delta| delta.step + 1);
    Ok(Plan { deltas, prefix })
}

/// The first recorded decision that met another operation than it was recorded for.
fn stale(execution: &Execution, request: &Request) -> Option<Divergence> {
    let view = execution.view();
    request.deltas.iter().find_map(|named| {
        let found = view.steps.get(named.step as usize);
        let described = found.map(|step| {
            let (file, line, column) = &step.place;
            (step.op.to_owned(), format!("{file}:{line}:{column}"))
        });
        match &described {
            Some((op, site)) if named.op.is_empty() || (*op == named.op && *site == named.site) => None,
            _ => Some(Divergence {
                step: named.step,
                expected: format!("{} at {}", named.op, named.site),
                found: match described {
                    Some((op, site)) => format!("{op} at {site}"),
                    None => "the execution had ended".to_owned(),
                },
            }),
        }
    })
}
