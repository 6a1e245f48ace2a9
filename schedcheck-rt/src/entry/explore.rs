//! The loop between search and execution.

use super::again::Again;
use super::checkpoint::Refusal;
use super::company::{Company, Go};
use super::crash::{self, LastWords};
use super::pace::{OVERTIME, Pace};
use super::record::Record;
use super::report::{self, Figures};
use super::settings::Settings;
use super::stdio::Channel;
use crate::exec::outcome::{Divergence, Outcome};
use crate::exec::{Execution, Fate, Test};
use crate::search::route::{Goal, Route, Wanted};
use crate::search::shrink::{minimise, preemptions};
use crate::search::step::{End, Model, Plan, StepIndex, Trace};
use crate::search::{Options, Search, Stats, priority};
use crate::wire::json::{self, Object};
use crate::wire::request::Request;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Executions of an unbounded search for each one of the bounded search beside it.
const LEVEL_EVERY: u32 = 49;

/// Trees of more pending executions are not compared with others.
const MOST_WALKED: usize = 1_000_000;

/// Executions that are enough to predict from.
const PREDICTS_FROM: u64 = 3;

/// What is said of a search whose executions were all given up.
const IN_VAIN: &str =
    "no schedule came to its end, so nothing was checked: is what the test assumes ever true?";

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(200);

/// Explores the schedules of `test` and reports on `channel`.
pub(super) fn explore(test: Test, settings: &Settings, request: &Request, channel: &Channel) {
    let limit = settings.max_time.as_millis() as u64;
    channel.send(Object::new().text("event", "started").number("max_time_ms", limit));
    match Run::new(test, settings, request, channel) {
        Ok(mut run) => {
            if let Some(finished) = run.search() {
                run.tell_predictions();
                channel.send(finished);
            }
        }
        Err(refusal) => {
            channel.send(Object::new().text("event", "refused").text("message", &refusal.to_string()));
        }
    }
}

pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    pub(super) channel: &'a Channel,
    pub(super) execution: Box<Execution>,
    pub(super) search: Search,
    pub(super) record: Option<Record>,
    pub(super) words: Box<LastWords<'a>>,
    /// Executions of this process that were not undone.
    pub(super) executions: u64,
    /// With whom the search is shared, and where it is written down.
    pub(super) company: Company,
    pub(super) started: Instant,
    pace: Pace,
    told: Instant,
    told_count: u32,
    /// A schedule failed, and what had been predicted of it.
    pub(super) failed_at: Option<Option<usize>>,
    route: Option<Rc<RefCell<Route>>>,
    pub(super) again: Again,
    pub(super) scenario: Scenario,
}

/// What became of the scenarios of all executions.
#[derive(Debug, Default)]
pub(super) struct Scenario {
    met: u64,
    /// Executions that could not meet theirs.
    discarded: u64,
}

impl Scenario {
    /// Whether there were any.
    pub(super) fn is_used(&self) -> bool {
        self.met + self.discarded > 0
    }

    fn count(&mut self, fate: Fate) {
        self.met += u64::from(fate == Fate::Met);
        self.discarded += u64::from(fate == Fate::Unmet);
    }

    /// There were scenarios, and none was met.
    fn is_unmet(&self) -> bool {
        self.met == 0 && self.discarded > 0
    }

    /// What it adds to a statement about all schedules.
    fn restriction(&self) -> String {
        match (self.met, self.discarded) {
            (0, 0) => String::new(),
            (_, 0) => " that the scenario allows".to_owned(),
            (0, discarded) => format!(
                " that the scenario allows, of which this run has seen none beside {discarded} that could not meet it"
            ),
            (_, discarded) => format!(" that the scenario allows, beside {discarded} that could not meet it"),
        }
    }
}

impl<'a> Run<'a> {
    fn new(
        test: Test,
        settings: &'a Settings,
        request: &Request,
        channel: &'a Channel,
    ) -> Result<Run<'a>, Refusal> {
        let mut execution = Box::new(settings.execution(test));
        let mut words = Box::new(LastWords::new(channel, &mut *execution, Figures::default()));
        // SAFETY: only the lifetime changes; the process ends with this exploration.
        crash::watch(unsafe {
            std::mem::transmute::<*mut LastWords<'a>, *mut LastWords<'static>>(&mut *words)
        });
        let mut options = settings.options_with_places(&mut execution);
        let route = settings.wanted.zip(options.places.clone());
        let route = route.map(|(wanted, places)| Rc::new(RefCell::new(Route::new(wanted, places))));
        options.route.clone_from(&route);
        crash::end_in_order();
        execution.take_over_process();
        let mut company = Company::new(settings, request, &options);
        let search = company.begin(&mut execution, options, settings)?;
        Ok(Run {
            settings,
            channel,
            execution,
            search,
            executions: 0,
            company,
            record: request.record.as_deref().and_then(Record::create),
            words,
            started: Instant::now(),
            pace: Pace::new(Instant::now()),
            told: Instant::now(),
            told_count: 0,
            failed_at: None,
            route,
            again: Again::default(),
            scenario: Scenario::default(),
        })
    }

    /// Executes until the search is done, fails, or is out of budget; `None` if it was asked to stop.
    fn search(&mut self) -> Option<Object> {
        let mut trace = Trace::default();
        loop {
            if self.settings.predict_only && self.executions == PREDICTS_FROM {
                return Some(self.nothing_failed(false));
            }
            match self.between(&mut trace) {
                Go::On => {}
                Go::End(finished) => return finished.map(|finished| *finished),
            }
            // A crash is of a class of its own, as every other failure is.
            self.words.figures.traces = self.search.traces() + 1;
            let Some(order) = self.search.next() else {
                match self.nothing_left(&mut trace) {
                    Go::On => continue,
                    Go::End(finished) => return finished.map(|finished| *finished),
                }
            };
            self.executions += 1;
            self.words.figures.executions = self.executions + self.company.brought;
            if let Some(record) = &mut self.record {
                record.note(self.words.figures.executions, order.plan, self.execution.parents());
            }
            self.execution.number_places(order.places);
            self.execution.run(order.plan, order.guide, &mut trace);
            if self.is_to_be_left() {
                continue;
            }
            match trace.end {
                End::Failed | End::Diverged(_) => {
                    self.tell_owner_of_failure(&trace);
                    self.failed_at = Some(self.search.hunted());
                    return Some(self.failed(&mut trace));
                }
                End::Passed | End::Stopped => {
                    let fate = self.execution.fate();
                    self.scenario.count(fate);
                    if fate == Fate::Met && self.execution.asks_for_one() {
                        return Some(self.found_one());
                    }
                    if let Some(record) = &self.record {
                        record.over();
                    }
                    if let Some(step) = self.search.learn(&trace).differs_at {
                        return Some(self.differs(&trace, step));
                    }
                    if trace.end == End::Passed
                        && let Some(finished) = self.is_another(&trace)
                    {
                        return Some(finished);
                    }
                }
            }
        }
    }

    /// What is to be done between executions: budgets, progress, company.
    fn between(&mut self, trace: &mut Trace) -> Go {
        if self.settings.max_executions.is_some_and(|limit| self.executions >= limit) {
            return self.out_of_budget(trace);
        }
        if self.works_for_owner() {
            return Go::On;
        }
        // Parts of a search are made by several processes: after the same execution in each, whatever the clock says.
        if self.executions % 16 == 1 {
            self.deal_out_if_wanted();
        }
        // Reading the clock costs as much as a few steps.
        if self.executions < self.pace.next {
            return Go::On;
        }
        if self.words.stop.load(Ordering::Relaxed) {
            self.company.dismiss();
            self.write_checkpoint();
            self.tell_progress();
            return Go::End(None);
        }
        let now = Instant::now();
        if now - self.told >= PROGRESS {
            self.told = now;
            self.tell_progress();
        }
        let longest = self.pace.look(self.executions, now);
        if now - self.started + longest.saturating_sub(OVERTIME) >= self.settings.max_time {
            return self.out_of_budget(trace);
        }
        self.keep_company(now, trace)
    }

    fn out_of_budget(&mut self, trace: &mut Trace) -> Go {
        if let Go::End(finished) = self.gather(trace) {
            return Go::End(finished);
        }
        if self.search.stats().complete {
            return self.nothing_left(trace);
        }
        self.write_checkpoint();
        Go::End(Some(Box::new(self.nothing_failed(false))))
    }

    fn tell_progress(&mut self) {
        let mut stats = self.search.stats();
        stats.executions += self.company.executions_under_way();
        // Walking the whole tree costs more than the rest, and a tenth of the search if it is large.
        let walk = self.told_count.is_multiple_of(8) && stats.pending < MOST_WALKED;
        let step_nodes = walk.then(|| self.search.step_nodes() as u64);
        self.told_count += 1;
        let event = Object::new()
            .text("event", "progress")
            .number("executions", stats.executions)
            .number("traces", stats.traces)
            .number("pending", stats.pending as u64)
            .fraction("estimate", stats.estimate.map(|estimate| estimate.total))
            .fraction("estimate_low", stats.estimate.map(|estimate| estimate.low))
            .fraction("estimate_high", stats.estimate.map(|estimate| estimate.high))
            .raw("levels", &levels(&stats))
            .number("bytes", stats.bytes as u64)
            .number("remembered_bytes", self.search.remembered_bytes() as u64)
            .number("step_nodes", step_nodes)
            .number("bound_done", stats.bound_done.map(u64::from))
            .number("elapsed_ms", self.started.elapsed().as_millis() as u64)
            .number("peak_pending", stats.peak_pending as u64)
            .number("peak_bytes", stats.peak_bytes as u64);
        self.channel.send(event);
    }

    pub(super) fn figures(&self, complete: bool) -> Figures {
        let stats = self.search.stats();
        Figures {
            executions: self.executions + self.company.brought,
            repeats: self.execution.runs() - self.executions + self.company.brought_repeats,
            traces: stats.traces,
            complete,
            bound: self.settings.bound,
            bound_done: stats.bound_done,
            elapsed: self.started.elapsed(),
            pending: stats.pending as u64,
            peak_pending: stats.peak_pending as u64,
            peak_bytes: stats.peak_bytes as u64,
            coverage: self.company.part_of(self.settings.coverage(
                complete,
                stats.bound_done,
                &self.execution,
                &self.scenario,
            )),
            trace_set: self.search.trace_set(),
            carried_over: false,
            uncontrolled: self.execution.uncontrolled().map(|(_, text)| text.to_owned()).collect(),
            notes: self.sequence_note().into_iter().chain(twice_note(&stats)).collect(),
        }
    }

    /// With the execution that ends the search, which is not learnt from: no other one of its class ended so.
    fn figures_with_last(&self, complete: bool) -> Figures {
        let figures = self.figures(complete);
        Figures { traces: figures.traces + 1, ..figures }
    }

    /// What became of the sequence that was asked for.
    fn sequence_note(&self) -> Option<String> {
        let route = self.route.as_ref()?.borrow();
        let (dived, diving) = (self.search.dived(), self.search.diving());
        let goals = route.goals();
        let names = goals.iter().map(|&goal| match goal {
            Goal::Given(number) => self.settings.names.elements[number as usize].to_string(),
            Goal::Added(place) => self
                .execution
                .place(place)
                .map_or_else(String::new, |(site, _)| format!("{}:{}", site.file(), site.line())),
        });
        let names: Vec<String> = names.collect();
        let dives = counted(dived.dives, "directed schedule");
        let arrived = dived.arrived;
        if let Wanted::Meeting(_) = route.wanted() {
            let places = names.join(" & ");
            return Some(match arrived {
                0 => format!("no schedule had threads at {places} at the same time ({dives})"),
                _ => format!("threads were at {places} at the same time in {arrived} of {dives}"),
            });
        }
        let refined = goals.iter().any(|goal| matches!(goal, Goal::Added(_)));
        let sequence = format!("{}sequence {}", if refined { "refined " } else { "" }, in_a_row(&names));
        Some(if diving == Some(goals.len()) {
            format!("this schedule follows the {sequence}")
        } else if arrived > 0 {
            format!("the {sequence} was followed in {arrived} of {dives}")
        } else {
            let furthest = dived.furthest.max(diving.unwrap_or(0));
            format!("no schedule came further than place {furthest} of the {sequence} ({dives})")
        })
    }

    /// Executes a failing schedule again in its simplest form, capturing what it prints: a failure
    /// that does not come back is not reported as one.
    fn report(&mut self, trace: &mut Trace) -> Object {
        let first = self.execution.outcome().clone();
        if matches!(first, Outcome::Diverged(_)) {
            return report::finished(&self.execution, &first, &self.figures(false), "");
        }
        let figures = self.figures_with_last(false);
        self.channel.send(Object::new().text("event", "failing"));
        self.execution.report_executions();
        let (found, most) = (Plan::repeating(trace), preemptions(trace));
        if let Some((simplest, _)) = minimise(trace)
            && let Ok(event) = self.repeat(&simplest, &first, trace, &figures)
            && preemptions(trace) <= most
        {
            return event;
        }
        let found = match self.repeat(&found, &first, trace, &figures) {
            Ok(event) => return event,
            Err(found) => found,
        };
        let (step, expected) = (trace.events.len() as u32, format!("the schedule ended as {}", first.word()));
        let outcome = Outcome::Diverged(Divergence { step, expected, found });
        report::finished(&self.execution, &outcome, &self.figures(false), "")
    }

    /// The event of `plan`, if it fails as `first` did, twice, with the same steps; otherwise what it does.
    fn repeat(
        &mut self,
        plan: &Plan,
        first: &Outcome,
        trace: &mut Trace,
        figures: &Figures,
    ) -> Result<Object, String> {
        let (execution, brought) = (&mut self.execution, self.company.brought_repeats);
        execution.run(plan, None, trace);
        let (once, fingerprint) = (execution.outcome().word(), execution.view().fingerprint);
        let ((), output) = self.channel.captured(|| execution.run(plan, None, trace));
        let again = execution.outcome().clone();
        if let Some(other) = [once, again.word()].into_iter().find(|word| *word != first.word()) {
            return Err(format!("executed again it ended as {other}"));
        }
        if execution.view().fingerprint != fingerprint {
            return Err("executed again it took other steps".to_owned());
        }
        let figures = Figures { repeats: execution.runs() - self.executions + brought, ..figures.clone() };
        Ok(report::finished(execution, &again, &figures, &output))
    }

    /// The verdict on an execution that passed, but not as its plan and an earlier execution of the
    /// same decisions say.
    fn differs(&mut self, trace: &Trace, step: StepIndex) -> Object {
        let expected = "the step that followed the same decisions in an earlier schedule".to_owned();
        let found = self.execution.describe_step(trace, step);
        self.tell_owner_of_difference(step, &expected, &found);
        // Nothing was kept of it, and what both did is what the reader is to see.
        self.execution.run_with_view(&Plan::repeating(trace), &mut Trace::default());
        self.execution.cut_view(step as usize);
        self.diverged(step, expected, found)
    }

    /// The verdict that something decides about the test that is not in its schedules.
    pub(super) fn diverged(&mut self, step: StepIndex, expected: String, found: String) -> Object {
        let outcome = Outcome::Diverged(Divergence { step, expected, found });
        report::finished(&self.execution, &outcome, &self.figures(false), "")
    }

    /// The verdict on an execution that failed.
    pub(super) fn failed(&mut self, trace: &mut Trace) -> Object {
        if self.settings.expect.as_deref() == Some(self.execution.outcome().word()) {
            // What was asked for was found: nothing is left to do.
            let mut figures = self.figures_with_last(true);
            figures.coverage = format!("found the expected {}", self.execution.outcome().word());
            return report::passed(&figures);
        }
        self.report(trace)
    }

    /// Tells what was predicted, and what became of it.
    fn tell_predictions(&self) {
        let complete = self.failed_at.is_none() && self.search.stats().complete;
        for (at, hunted) in self.search.predictions().iter().enumerate() {
            let verdict = match self.failed_at {
                Some(Some(found)) if found == at => "confirmed",
                _ if complete => "refuted",
                _ => "not-reproduced",
            };
            self.channel.send(report::prediction(&self.execution, hunted, verdict));
        }
    }

    /// The verdict when one execution that meets its scenario is all that was asked for.
    fn found_one(&self) -> Object {
        let mut figures = self.figures_with_last(true);
        figures.coverage = "found an execution that meets the scenario".to_owned();
        report::passed(&figures)
    }

    /// The verdict when nothing failed.
    pub(super) fn nothing_failed(&self, complete: bool) -> Object {
        let mut figures = self.figures(complete);
        if figures.traces == 0 && self.executions > 0 && !self.scenario.is_used() {
            figures.notes.push(IN_VAIN.to_owned());
        }
        if complete
            && self.scenario.is_unmet()
            && self.company.has_seen_all()
            && let Some(unmet) = self.execution.unmet()
        {
            return report::unmet_scenario(&figures, unmet);
        }
        match &self.settings.expect {
            Some(expected) if complete => report::unexpected_pass(&figures, expected),
            _ => report::passed(&figures),
        }
    }
}

impl Settings {
    pub(super) fn options(&self) -> Options {
        let mut priority = priority::seeded(&self.priority, self.seed).expect("checked when it was set");
        if !self.names.changed.is_empty() {
            priority::put_changed_first(&mut priority);
        }
        Options {
            priority,
            bound: self.bound,
            reduction: self.reduction,
            budget: self.budget,
            seed: self.seed,
            seed_runs: self.random_runs,
            hunts: if self.sample.is_some() { 0 } else { self.hunts },
            sample: self.sample,
            predict_only: self.predict_only,
            level_every: if self.levels { LEVEL_EVERY } else { 0 },
            ..Options::default()
        }
    }

    /// The same, where `execution` looks for the places that were named.
    pub(super) fn options_with_places(&self, execution: &mut Execution) -> Options {
        let mut options = self.options();
        if !self.names.is_empty() {
            options.places = Some(execution.look_for(self.names.clone()));
            options.scoped = execution.restricts_preemptions();
        }
        options.scoped |= self.cooperative;
        options
    }

    /// What a pass means, in a sentence.
    fn coverage(
        &self,
        complete: bool,
        bound_done: Option<u32>,
        execution: &Execution,
        scenario: &Scenario,
    ) -> String {
        let schedules = match (complete, self.bound, bound_done) {
            (true, None, _) => "all schedules".to_owned(),
            (true, Some(bound), _) => format!("all schedules with at most {}", counted(bound, "preemption")),
            (false, _, Some(done)) => {
                format!("all schedules with at most {}, and some others", counted(done, "preemption"))
            }
            (false, _, None) => "some schedules".to_owned(),
        };
        let budget = self.budget;
        let mut limits = vec![
            counted(budget.spurious, "spurious wake-up"),
            counted(budget.timeouts, "early time-out"),
            counted(budget.weak_failures, "spurious CAS failure"),
        ];
        if execution.spin_bound_reached() {
            limits.push("a few rounds of loops that count them and wait".to_owned());
        }
        let condition = if schedules.starts_with("all ") { execution.condition() } else { "" };
        let scope = scenario.restriction() + &self.scope(execution) + condition;
        let unknown = execution.unknown_paths().iter();
        let unknown: String = unknown.map(|path| format!("; no function is called `{path}`")).collect();
        format!("{schedules}{scope} (each with at most {}){unknown}", limits.join(", "))
    }

    /// Which of them the user does not want.
    fn scope(&self, execution: &Execution) -> String {
        let quoted = |paths: &[String]| {
            let known = paths.iter().filter(|path| !execution.unknown_paths().contains(path));
            known.map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
        };
        let mut text = String::new();
        if execution.has_twins() {
            text.push_str(", up to the order of interchangeable threads");
        }
        if self.cooperative {
            text.push_str(", with switches only at labels and where a thread blocks");
        }
        let trusted = quoted(&self.names.trusted);
        if !trusted.is_empty() {
            text.push_str(&format!(", without preemptions inside {trusted}"));
        }
        if !self.names.focus.is_empty() {
            let focus = quoted(&self.names.focus);
            let place = if focus.is_empty() { "nowhere".to_owned() } else { format!("only inside {focus}") };
            text.push_str(&format!(", with preemptions {place}"));
        }
        text
    }
}

/// `a -> b -> b` as `a -> b (2 times)`.
fn in_a_row(names: &[String]) -> String {
    let runs = names.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => run[0].clone(),
        times => format!("{} ({times} times)", run[0]),
    });
    runs.collect::<Vec<_>>().join(" -> ")
}

/// How many executions a single process would have saved.
fn twice_note(stats: &Stats) -> Option<String> {
    let many = stats.twice;
    let classes = if many == 1 { "class" } else { "classes" };
    (many > 0).then(|| {
        format!("{many} {classes} of schedules that two processes found at the same time, and both executed")
    })
}

/// Executions by number of preemptions: done, and known but still to be done.
fn levels(stats: &Stats) -> String {
    json::array(stats.levels.iter().map(|level| format!("[{},{}]", level.done, level.queued)))
}

fn counted(number: impl Into<u32>, what: &str) -> String {
    let number = number.into();
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
