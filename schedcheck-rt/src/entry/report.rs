//! The `finished` event: verdict, figures, and everything a reader needs to see what happened.

use crate::exec::outcome::{DataRace, Deadlock, LostWakeup, Outcome, place};
use crate::exec::view::{DeltaView, Point, View};
use crate::exec::{Execution, Unmet};
use crate::search::hunt::Hunted;
use crate::wire::json::{self, Object};
use std::time::Duration;

/// What an exploration did, in numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) executions: u64,
    /// Other runs of the test body: of schedules that had been executed before.
    pub(super) repeats: u64,
    pub(super) traces: u64,
    pub(super) complete: bool,
    pub(super) bound: Option<u32>,
    pub(super) bound_done: Option<u32>,
    pub(super) elapsed: Duration,
    /// Schedules that are known and were not executed.
    pub(super) pending: u64,
    pub(super) peak_pending: u64,
    pub(super) peak_bytes: u64,
    pub(super) coverage: String,
    /// Stands for the set of classes that were executed.
    pub(super) trace_set: u64,
    /// A replay of a schedule whose steps are not where they were.
    pub(super) carried_over: bool,
    /// What was met and is not under control.
    pub(super) uncontrolled: Vec<String>,
    /// Remarks for people.
    pub(super) notes: Vec<String>,
}

impl Figures {
    fn write(&self, event: Object) -> Object {
        event
            .number("executions", self.executions)
            .number("repeats", self.repeats)
            .number("traces", self.traces)
            .flag("complete", self.complete)
            .number("bound", self.bound.map(u64::from))
            .number("bound_done", self.bound_done.map(u64::from))
            .number("elapsed_ms", self.elapsed.as_millis() as u64)
            .number("pending", self.pending)
            .number("peak_pending", self.peak_pending)
            .number("peak_bytes", self.peak_bytes)
            .text("coverage", &self.coverage)
            .text("trace_set", &format!("{:016x}", self.trace_set))
            .raw("uncontrolled", &json::array(self.uncontrolled.iter().map(|thing| json::text(thing))))
            .raw("notes", &json::array(self.notes.iter().map(|note| json::text(note))))
    }
}

/// The event of an exploration that has no schedule to show, only a place at most.
fn without_schedule(figures: &Figures, outcome: &str, message: &str, location: &str) -> Object {
    let event = Object::new().text("event", "finished").text("outcome", outcome).text("message", message);
    figures.write(event).number("preemptions", 0).number("steps", 0).raw("location", location)
}

/// The event of an exploration without a finding.
pub(super) fn passed(figures: &Figures) -> Object {
    without_schedule(figures, "passed", "", "null")
}

/// The event of an exploration that was to find something and did not.
pub(super) fn unexpected_pass(figures: &Figures, expected: &str) -> Object {
    let message = format!("expected to find a {expected}, but every schedule passed");
    without_schedule(figures, "panic", &message, "null")
}

/// The event of an exploration in which no execution met its scenario.
pub(super) fn unmet_scenario(figures: &Figures, unmet: &Unmet) -> Object {
    let message =
        format!("no execution meets the scenario: `{}` cannot be met: {}", unmet.statement, unmet.reason);
    without_schedule(figures, "panic", &message, &site(Some(&place(unmet.site))))
}

/// The event of an execution that is reported. Its trace is the one `execution` still holds.
pub(super) fn finished(execution: &Execution, outcome: &Outcome, figures: &Figures, output: &str) -> Object {
    let view = execution.view();
    let event = Object::new()
        .text("event", "finished")
        .text("outcome", outcome.word())
        .text("message", &message(execution, outcome));
    let mut event = figures
        .write(event)
        .number("preemptions", view.preemptions())
        .number("steps", view.steps.len() as u64)
        .raw("location", &location(execution, outcome))
        .number("thread", failed_thread(execution, outcome))
        .flag("lost_wakeup", matches!(outcome, Outcome::Deadlock(Deadlock { lost_wakeup: Some(_), .. })))
        .raw("schedule", &schedule(view))
        .raw("threads", &threads(view))
        .raw("trace", &steps(execution))
        .raw("blocked", &blocked(view))
        .raw("cycle", &cycle(view, outcome))
        .text("output", output)
        .flag("carried_over", figures.carried_over);
    if let Outcome::DataRace(race) = outcome {
        event = event.raw("accesses", &accesses(race)).text("remedy", &race.remedy);
    }
    if let Outcome::Diverged(divergence) = outcome {
        event = event.raw(
            "diverged",
            &Object::new()
                .number("step", u64::from(divergence.step))
                .text("expected", &divergence.expected)
                .text("found", &divergence.found)
                .finish(),
        );
    }
    event
}

/// The event of something that was predicted from executions that passed.
pub(super) fn prediction(execution: &Execution, hunted: &Hunted, verdict: &str) -> Object {
    let places = hunted.prediction.places.iter().filter_map(|point| {
        let (at, kind) = execution.place(point.site)?;
        let object = Object::new()
            .text("thread", &execution.path_of(point.thread))
            .text("name", execution.name_of(point.thread).unwrap_or_default())
            .text("op", kind.name())
            .raw("site", &site(Some(&place(at))));
        Some(object.finish())
    });
    Object::new()
        .text("event", "prediction")
        .text("kind", hunted.prediction.kind.name())
        .text("verdict", verdict)
        .number("hunts", u64::from(hunted.hunts))
        .raw("places", &json::array(places))
}

fn message(execution: &Execution, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed | Outcome::Abandoned => String::new(),
        Outcome::Panicked(report) if report.earlier.is_empty() => report.message.clone(),
        Outcome::Panicked(report) => {
            format!("{}\nbefore that, {}", report.message, report.earlier.join("\n"))
        }
        Outcome::ExpectationMissed(text)
        | Outcome::Misuse(text)
        | Outcome::Leak(text)
        | Outcome::Crash(text) => text.clone(),
        Outcome::Deadlock(Deadlock { lost_wakeup: Some(lost), may_be_missing, .. }) => {
            let (or_missing, notification) = match may_be_missing {
                true => (" or missing notification", "one"),
                false => ("", "a notification"),
            };
            let fate = match lost {
                LostWakeup::Early => "was given before the thread waited",
                LostWakeup::Wasted { .. } => "woke a thread that waits again",
            };
            format!("lost wake-up{or_missing}: {notification} {fate}, and no other will come")
        }
        Outcome::Deadlock(deadlock) => {
            let view = execution.view();
            let (waiting, alive) = (view.blocked.len(), view.threads.len());
            match deadlock.cycle.len() {
                0 => format!("deadlock: {waiting} of {alive} threads are blocked forever"),
                1 => {
                    let own =
                        view.blocked.iter().find(|own| view.threads[own.thread].id == deadlock.cycle[0]);
                    own.map_or_else(String::new, |own| {
                        let name = &view.threads[own.thread].name;
                        let wish = wish(own.op, &own.object);
                        format!("deadlock: a thread waits for itself: '{name}' cannot {wish}")
                    })
                }
                n => format!("deadlock: {n} threads wait for each other in a cycle"),
            }
        }
        Outcome::DataRace(race) => race.message.clone(),
        Outcome::Livelock { steps } => format!("livelock: no end after {steps} steps of a fair schedule"),
        Outcome::Diverged(divergence) => format!(
            "not deterministic under control: at step {} {}, but {}",
            divergence.step, divergence.expected, divergence.found
        ),
    }
}

/// What a thread cannot do because of itself.
fn wish(op: &str, object: &str) -> String {
    match op {
        "once" => format!("initialise {object}, which it does already"),
        "read_in_line" => {
            format!("read {object}, which it holds already, in line behind a waiting writer")
        }
        op => format!("{op} {object}, which it holds already"),
    }
}

fn site(place: Option<&(String, u32, u32)>) -> String {
    match place {
        None => "null".to_owned(),
        Some((file, line, column)) => Object::new()
            .text("file", file)
            .number("line", u64::from(*line))
            .number("column", u64::from(*column))
            .finish(),
    }
}

/// The positions of threads that wait for each other, each for the next.
fn cycle(view: &View, outcome: &Outcome) -> String {
    let Outcome::Deadlock(deadlock) = outcome else { return json::array([]) };
    let positions =
        deadlock.cycle.iter().filter_map(|id| view.threads.iter().position(|thread| thread.id == *id));
    json::array(positions.map(|position| position.to_string()))
}

/// Where the reader should look first.
fn location(execution: &Execution, outcome: &Outcome) -> String {
    let view = execution.view();
    match outcome {
        Outcome::Panicked(report) => site(report.place().as_ref()),
        Outcome::DataRace(race) => {
            let [earlier, later] = &race.accesses;
            site(later.place.as_ref().or(earlier.place.as_ref()))
        }
        Outcome::Deadlock(deadlock) => {
            let first = view.blocked.iter().find(|blocked| {
                deadlock.cycle.first().is_none_or(|id| view.threads[blocked.thread].id == *id)
            });
            site(first.map(|blocked| &blocked.place))
        }
        _ => {
            let last = view.steps.len().checked_sub(1);
            site(last.map(|last| place_of_step(execution, last)).as_ref())
        }
    }
}

/// The position of the thread that failed, where one did.
fn failed_thread(execution: &Execution, outcome: &Outcome) -> Option<u64> {
    let threads = &execution.view().threads;
    let position = match outcome {
        Outcome::Panicked(report) => threads.iter().position(|thread| thread.id == report.thread),
        Outcome::Crash(_) => Some(execution.running()).filter(|slot| *slot < threads.len()),
        _ => None,
    };
    position.map(|position| position as u64)
}

fn accesses(race: &DataRace) -> String {
    json::array(race.accesses.iter().map(|access| {
        let stack = access.stack.iter().map(|call| json::text(call));
        Object::new()
            .number("thread", access.thread as u64)
            .text("action", access.action)
            .number("size", access.size as u64)
            .number("step", access.step.map(u64::from))
            .raw("site", &site(access.place.as_ref()))
            .raw("stack", &json::array(stack))
            .finish()
    }))
}

fn schedule(view: &View) -> String {
    let deltas = view.deltas.iter().filter_map(|DeltaView { delta, instead }| {
        let point = view.point(delta.step as usize)?;
        let mut object = Object::new()
            .number("step", u64::from(delta.step))
            .text("thread", &view.thread_of(delta)?.path)
            .text("alt", &delta.choice.alt.0.to_string())
            .text("op", &point.op)
            .text("site", &point.site)
            .number("nth", point.nth);
        if let Some(instead) = instead {
            object = object.raw("instead", &named(instead));
        }
        Some(object.finish())
    });
    Object::new()
        .raw("deltas", &json::array(deltas))
        .text("fingerprint", &format!("{:016x}", view.fingerprint))
        .number("steps", view.steps.len() as u64)
        .finish()
}

fn named(point: &Point) -> String {
    Object::new()
        .text("thread", &point.thread)
        .text("op", &point.op)
        .text("site", &point.site)
        .number("nth", point.nth)
        .finish()
}

fn threads(view: &View) -> String {
    json::array(
        view.threads
            .iter()
            .map(|thread| Object::new().text("path", &thread.path).text("name", &thread.name).finish()),
    )
}

/// Where it stands in user code, or else where its operation says.
fn place_of_step(execution: &Execution, step: usize) -> (String, u32, u32) {
    execution.caller(step).place.unwrap_or_else(|| execution.view().steps[step].place.clone())
}

fn steps(execution: &Execution) -> String {
    let steps = execution.view().steps.iter().zip(execution.callers());
    json::array(steps.enumerate().map(|(index, (step, caller))| {
        let event = Object::new()
            .number("step", index as u64)
            .number("thread", step.thread as u64)
            .text("op", step.op)
            .text("object", &step.object)
            .raw("site", &site(caller.place.as_ref().or(Some(&step.place))))
            .flag("preemption", step.preemption)
            .text("alt", &step.alt.to_string());
        match caller.call {
            Some((name, place)) => {
                let within = Object::new().text("call", &name).raw("site", &site(Some(&place))).finish();
                event.raw("within", &within).finish()
            }
            None => event.finish(),
        }
    }))
}

/// Whom the notification woke that a thread has missed.
fn notified(view: &View, lost: Option<LostWakeup>) -> String {
    match lost {
        None => "null".to_owned(),
        Some(LostWakeup::Early) => r#""nobody""#.to_owned(),
        Some(LostWakeup::Wasted { woken }) => {
            let position = view.threads.iter().position(|thread| thread.id == woken);
            Object::new().number("woken", position.map(|position| position as u64)).finish()
        }
    }
}

fn blocked(view: &View) -> String {
    json::array(view.blocked.iter().map(|blocked| {
        Object::new()
            .number("thread", blocked.thread as u64)
            .text("op", blocked.op)
            .text("object", &blocked.object)
            .raw("site", &site(Some(&blocked.place)))
            .number("holder", blocked.holder.map(|holder| holder as u64))
            .raw("notified", &notified(view, blocked.lost_wakeup))
            .number("unheard_change", blocked.unheard_change.map(u64::from))
            .finish()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_wants_is_said_in_words_of_users() {
        let behind = "read rwlock#1, which it holds already, in line behind a waiting writer";
        assert_eq!(wish("read_in_line", "rwlock#1"), behind);
        assert_eq!(wish("lock", "mutex#1"), "lock mutex#1, which it holds already");
        assert_eq!(wish("once", "once#1"), "initialise once#1, which it does already");
    }
}
