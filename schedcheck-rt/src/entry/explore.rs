//! The loop between search and execution.

use super::crash::{self, LastWords};
use super::record::Record;
use super::report::{self, Figures};
use super::settings::Settings;
use super::stdio::Channel;
use crate::exec::outcome::{Divergence, Outcome};
use crate::exec::{Execution, Test};
use crate::search::step::{End, Model, Plan, Trace};
use crate::search::{Options, Reduction, Search, priority};
use crate::wire::json::Object;
use crate::wire::request::Request;
use std::time::{Duration, Instant};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(200);

/// Explores the schedules of `test` and reports on `channel`.
pub(super) fn explore(test: Test, settings: &Settings, request: &Request, channel: &Channel) {
    channel.send(Object::new().text("event", "started"));
    let mut run = Run::new(test, settings, request, channel);
    let finished = run.search();
    channel.send(finished);
}

struct Run<'a> {
    settings: &'a Settings,
    channel: &'a Channel,
    execution: Box<Execution>,
    search: Search,
    record: Option<Record>,
    words: Box<LastWords<'a>>,
    started: Instant,
    told: Instant,
}

impl<'a> Run<'a> {
    fn new(test: Test, settings: &'a Settings, request: &Request, channel: &'a Channel) -> Run<'a> {
        let mut execution = Box::new(Execution::new(test, settings.max_steps));
        let mut words =
            Box::new(LastWords { channel, execution: &mut *execution, figures: Figures::default() });
        // SAFETY: only the lifetime changes; the process ends with this exploration.
        crash::watch(unsafe {
            std::mem::transmute::<*mut LastWords<'a>, *mut LastWords<'static>>(&mut *words)
        });
        execution.take_over_process();
        Run {
            settings,
            channel,
            execution,
            search: Search::new(settings.options()),
            record: request.record.as_deref().and_then(Record::create),
            words,
            started: Instant::now(),
            told: Instant::now(),
        }
    }

    /// Executes until the search is done, fails, or is out of budget.
    fn search(&mut self) -> Object {
        let mut trace = Trace::default();
        let mut executions = 0;
        loop {
            if self.out_of_budget(executions) {
                return report::passed(&self.figures(false));
            }
            let Some(order) = self.search.next() else {
                return report::passed(&self.figures(true));
            };
            executions += 1;
            self.words.figures.executions = executions;
            if let Some(record) = &mut self.record {
                record.note(executions, order.plan, &self.execution);
            }
            self.execution.run(order.plan, order.guide, &mut trace);
            match trace.end {
                End::Failed | End::Diverged(_) => {
                    let plan = Plan::repeating(&trace);
                    return self.report(&plan, &mut trace);
                }
                End::Passed | End::Stopped => {
                    self.search.learn(&trace);
                }
            }
        }
    }

    fn out_of_budget(&mut self, executions: u64) -> bool {
        if self.settings.max_executions.is_some_and(|limit| executions >= limit) {
            return true;
        }
        // Reading the clock costs as much as a few steps.
        if executions % 16 != 1 {
            return false;
        }
        let now = Instant::now();
        if now - self.told >= PROGRESS {
            self.told = now;
            self.tell_progress();
        }
        now - self.started >= self.settings.max_time
    }

    fn tell_progress(&self) {
        let stats = self.search.stats();
        let event = Object::new()
            .text("event", "progress")
            .number("executions", stats.executions)
            .number("traces", stats.traces)
            .number("pending", stats.pending as u64)
            .fraction("estimate", None)
            .number("bound_done", None)
            .number("elapsed_ms", self.started.elapsed().as_millis() as u64)
            .number("peak_pending", stats.peak_pending as u64)
            .number("peak_bytes", stats.peak_bytes as u64);
        self.channel.send(event);
    }

    fn figures(&self, complete: bool) -> Figures {
        let stats = self.search.stats();
        Figures {
            executions: self.words.figures.executions,
            traces: stats.traces,
            complete,
            bound: self.settings.bound,
            bound_done: None,
            elapsed: self.started.elapsed(),
            peak_pending: stats.peak_pending as u64,
            peak_bytes: stats.peak_bytes as u64,
            coverage: self.settings.coverage(complete, None),
        }
    }

    /// Executes a failing schedule again, capturing what it prints: a failure that does not come
    /// back is not reported as one.
    fn report(&mut self, plan: &Plan, trace: &mut Trace) -> Object {
        let first = self.execution.outcome().clone();
        let first_print = self.execution.view_now(plan).fingerprint;
        let figures = self.figures(false);
        if matches!(first, Outcome::Diverged(_)) {
            return report::finished(&self.execution, &first, &figures, "");
        }
        let execution = &mut self.execution;
        let ((), output) = self.channel.captured(|| execution.run(plan, None, trace));
        let again = self.execution.outcome().clone();
        let second_print = self.execution.view_now(plan).fingerprint;
        if again.word() == first.word() && first_print == second_print {
            return report::finished(&self.execution, &again, &figures, &output);
        }
        let outcome = Outcome::Diverged(Divergence {
            step: trace.events.len() as u32,
            expected: format!("the schedule ended as {}", first.word()),
            found: format!("executed again it ended as {}", again.word()),
        });
        report::finished(&self.execution, &outcome, &figures, &output)
    }
}

impl Settings {
    fn options(&self) -> Options {
        Options {
            priority: priority::parse(&self.priority).unwrap_or_default(),
            bound: self.bound,
            reduction: Reduction::default(),
            budget: self.budget,
            seed: self.seed,
            ..Options::default()
        }
    }

    /// What a pass means, in a sentence.
    fn coverage(&self, complete: bool, bound_done: Option<u32>) -> String {
        let schedules = match (complete, self.bound, bound_done) {
            (true, None, _) => "all schedules".to_owned(),
            (true, Some(bound), _) => format!("all schedules with at most {bound} preemptions"),
            (false, _, Some(done)) => {
                format!("all schedules with at most {done} preemptions, and some others")
            }
            (false, _, None) => "some schedules".to_owned(),
        };
        let budget = self.budget;
        format!(
            "{schedules} (with at most {} spurious wake-ups, {} early time-outs, {} spurious CAS failures each)",
            budget.spurious, budget.timeouts, budget.weak_failures
        )
    }
}
