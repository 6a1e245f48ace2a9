//! A search that is shared with others: processes of its own, parts of it on other machines, and this process
//! itself another day.

use super::again::Again;
use super::checkpoint::{Checkpoint, Part, Refusal, program, write_whole};
use super::crew::{Crew, Return, Started, Worker};
use super::explore::Run;
use super::names;
use super::settings::Settings;
use crate::exec::Execution;
use crate::exec::names::Known;
use crate::exec::outcome::Outcome;
use crate::search::bytes::{Damaged, Reader, Writer};
use crate::search::step::{End, Model, Plan, StepIndex, Trace};
use crate::search::{Options, Search};
use crate::wire::json::Object;
use crate::wire::request::Request;
use std::time::{Duration, Instant};

/// How long a search goes on alone before it looks for company: most are done by then.
const ALONE: Duration = Duration::from_millis(200);
/// How often it looks after its company.
const TICK: Duration = Duration::from_millis(5);
/// How often the state is written, unless that takes long.
const CHECKPOINT: Duration = Duration::from_secs(5);
/// Lines for each part that a search has pending before it is dealt out.
const LINES_PER_PART: usize = 64;
/// Executions after which it is dealt out anyway.
const ENOUGH: u64 = 5000;

/// Whether to go on.
pub(super) enum Go {
    On,
    /// With a verdict, or without one because somebody wants to stop.
    End(Option<Box<Object>>),
}

/// Everybody who has to do with the search, and its files.
pub(super) struct Company {
    test: String,
    options: String,
    /// Whether the search can be shared and written down.
    can_share: bool,
    crew: Crew,
    /// Set in a process that works for another one.
    worker: Option<Worker>,
    /// What was known when the search was shared out.
    known: Option<Known>,
    /// Executions that others have done.
    pub(super) brought: u64,
    /// Repetitions among the runs of others.
    pub(super) brought_repeats: u64,
    workers_file: Option<String>,
    allowed: usize,
    looked: Instant,
    asked: Instant,
    checkpoint: Option<String>,
    written: Instant,
    shortest_pause: Duration,
    pause: Duration,
    max_memory: Option<usize>,
    /// The number of the next part of the search that goes to the disk.
    next_spill: u32,
    /// Parts that are back in memory, but not for the checkpoint that was written last.
    obsolete: Vec<String>,
    /// A write failed, and it was said.
    complained: bool,
    /// The part of the search that this process does, and the whole as it was dealt out.
    part: Option<(Part, Checkpoint)>,
    wanted_part: Option<Part>,
    /// The search was over before it was dealt out.
    nothing_dealt: bool,
    resume: Option<String>,
    went_on: bool,
}

impl Company {
    pub(super) fn new(settings: &Settings, request: &Request, options: &Options) -> Company {
        let now = Instant::now();
        let can_share = Search::can_be_shared(options) && !settings.os_threads && settings.sample.is_none();
        Company {
            test: request.test.clone(),
            options: settings.lasting(),
            can_share,
            crew: Crew::new(request.record.as_deref()),
            worker: None,
            known: None,
            brought: 0,
            brought_repeats: 0,
            // A limited number of executions is to be the same ones every time.
            workers_file: request.workers.clone().filter(|_| settings.max_executions.is_none()),
            allowed: 1,
            looked: now,
            asked: now,
            checkpoint: request.checkpoint.clone().filter(|_| can_share),
            written: now,
            shortest_pause: request.checkpoint_every.map_or(CHECKPOINT, Duration::from_millis),
            pause: request.checkpoint_every.map_or(CHECKPOINT, Duration::from_millis),
            max_memory: request.max_memory,
            next_spill: 0,
            obsolete: Vec::new(),
            complained: false,
            part: None,
            wanted_part: request.part.as_deref().and_then(Part::parse),
            nothing_dealt: false,
            resume: request.resume.clone(),
            went_on: false,
        }
    }

    /// The search to begin with: a new one, or one that was written down.
    pub(super) fn begin(
        &mut self,
        execution: &mut Execution,
        options: Options,
        settings: &Settings,
    ) -> Result<Search, Refusal> {
        let Some(path) = self.resume.take() else { return Ok(Search::new(options)) };
        let mut checkpoint = Checkpoint::read(&path)?;
        checkpoint.check(&self.test, settings)?;
        let mut search = load(execution, options, &checkpoint)?;
        self.went_on = true;
        if let Some(part) = checkpoint.part.or(self.wanted_part) {
            let done = checkpoint.done.take();
            self.take_part(part, checkpoint, execution, &mut search);
            if let Some((names, share)) = done {
                let names =
                    names::read(execution, &mut Reader::new(&names)).map_err(|Damaged| Refusal::Damaged)?;
                search.take_back(&share, &names).map_err(|Damaged| Refusal::Damaged)?;
            }
        }
        self.brought = search.stats().executions;
        self.next_spill = search.spilled().map_or(0, |last| last + 1);
        Ok(search)
    }

    /// From now on `search` is the part of what `whole` says.
    fn take_part(&mut self, part: Part, mut whole: Checkpoint, execution: &Execution, search: &mut Search) {
        let share = search.deal(part.count).swap_remove(part.index - 1);
        search.become_share(share);
        self.known = Some(execution.known());
        whole.part = Some(part);
        self.part = Some((part, whole));
    }

    /// Whether this process does a part of a search, or will when it was dealt out. Until then all that do one must do
    /// the same, so the clock has no say in it: nobody is hired, and nothing goes to the disk.
    fn does_a_part(&self) -> bool {
        self.part.is_some() || self.wanted_part.is_some()
    }

    /// Whether this process has seen the whole search, from its first execution on.
    pub(super) fn has_seen_all(&self) -> bool {
        !self.went_on && self.part.is_none()
    }

    pub(super) fn executions_under_way(&self) -> u64 {
        self.crew.executions()
    }

    pub(super) fn dismiss(&mut self) {
        self.crew.dismiss();
    }

    /// What a statement about the search means if this process has only a part of it.
    pub(super) fn part_of(&self, coverage: String) -> String {
        match &self.part {
            Some((part, _)) if self.nothing_dealt => format!(
                "part {} of {} of the search: all of it was executed before there were parts",
                part.index, part.count
            ),
            Some((part, _)) => format!("part {} of {} of the search", part.index, part.count),
            None => coverage,
        }
    }

    fn state(&self, execution: &Execution, search: &Search) -> Checkpoint {
        if let (Some((_, whole)), Some(known)) = (&self.part, self.known) {
            let mut names = Writer::default();
            names::write(execution, known.objects, &mut names);
            return Checkpoint { done: Some((names.into_bytes(), search.give_back())), ..whole.clone() };
        }
        let mut names = Writer::default();
        names::write(execution, 0, &mut names);
        Checkpoint {
            test: self.test.clone(),
            program: program(),
            options: self.options.clone(),
            part: None,
            spills: search.spilled().is_some(),
            names: names.into_bytes(),
            search: search.save(),
            done: None,
        }
    }

    /// Removes files that no checkpoint refers to any more. If one stays, it does no harm.
    fn remove_obsolete(&mut self) {
        for file in self.obsolete.drain(..) {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Where a part of the search lies on the disk.
    fn spill_file(&self, number: u32) -> Option<String> {
        self.checkpoint.as_ref().map(|path| format!("{path}.spill-{number}"))
    }

    /// How many processes may work on the test, as the command says it.
    fn ask(&mut self) {
        let said = self.workers_file.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        self.allowed = said.and_then(|said| said.trim().parse().ok()).unwrap_or(1);
    }
}

/// The search of a checkpoint, with the names that its threads and objects had.
pub(super) fn load(
    execution: &mut Execution,
    options: Options,
    checkpoint: &Checkpoint,
) -> Result<Search, Refusal> {
    let names = names::read(execution, &mut Reader::new(&checkpoint.names));
    let names = names.map_err(|Damaged| Refusal::Damaged)?;
    Search::load(options, &checkpoint.search, &names).map_err(|Damaged| Refusal::Damaged)
}

impl Run<'_> {
    /// Whether this process has a share that belongs to another one, which wants it back when it is time.
    pub(super) fn works_for_owner(&mut self) -> bool {
        let executions = self.executions;
        let Some(worker) = &self.company.worker else { return false };
        if worker.is_over(executions) || self.search.wants_back() {
            self.bring_back();
        }
        true
    }

    /// Gives the share back and ends.
    fn bring_back(&mut self) -> ! {
        self.company.worker.iter().for_each(Worker::returns);
        let known = self.company.known.expect("noted when it was given");
        let mut out = Writer::default();
        names::write(&self.execution, known.objects, &mut out);
        out.block(&self.search.give_back());
        out.number(self.execution.runs() - self.executions);
        let worker = self.company.worker.as_mut().expect("it works for another process");
        worker.end(&Return::Share(out.into_bytes()))
    }

    /// Whether the last execution met threads that have no numbers yet: only the owner gives those.
    pub(super) fn is_to_be_left(&mut self) -> bool {
        let Some(known) = self.company.known else { return false };
        let leaves = self.execution.forget_new_threads(known.threads);
        if leaves {
            self.search.leave_last();
            self.executions -= 1;
        }
        leaves
    }

    /// In a process that works for another one: tells that, and ends.
    pub(super) fn tell_owner_of_failure(&mut self, trace: &Trace) {
        if let Some(worker) = &mut self.company.worker {
            worker.end(&match self.execution.outcome() {
                Outcome::Diverged(it) => Return::Differs(it.step, it.expected.clone(), it.found.clone()),
                _ => Return::Failed(Plan::repeating(trace)),
            });
        }
    }

    /// The same for an execution that did not repeat what it should.
    pub(super) fn tell_owner_of_difference(&mut self, step: StepIndex, expected: &str, found: &str) {
        if let Some(worker) = &mut self.company.worker {
            worker.end(&Return::Differs(step, expected.to_owned(), found.to_owned()));
        }
    }

    /// Takes in what others have done, gives them more, and writes the state down when it is time.
    pub(super) fn keep_company(&mut self, now: Instant, trace: &mut Trace) -> Go {
        if now - self.company.looked < TICK {
            return Go::On;
        }
        self.company.looked = now;
        while let Some((member, back)) = self.company.crew.ended() {
            if let Go::End(finished) = self.receive(&member.share, back, trace) {
                return Go::End(finished);
            }
        }
        self.save_memory();
        if now - self.company.written >= self.company.pause {
            self.write_checkpoint();
        }
        if now - self.started >= ALONE && self.company.can_share && !self.company.does_a_part() {
            if now - self.company.asked >= Duration::from_millis(100) {
                self.company.asked = now;
                self.company.ask();
            }
            self.hire();
        }
        Go::On
    }

    /// Starts processes for parts of what is pending, as many as are allowed.
    fn hire(&mut self) {
        // What scenarios mean is decided by all of their executions together.
        while !self.scenario.is_used() && self.company.crew.has_room(self.company.allowed.saturating_sub(1)) {
            // Only what is in memory can be given away, and of that some has to stay: who has nothing left wants
            // everything back.
            let at_hand = self.search.at_hand();
            let idle = self.company.allowed - self.company.crew.len();
            let wanted = (at_hand / idle.max(2)).min(1 << 16);
            if wanted == 0 {
                return;
            }
            // Before it is copied: finding the places takes a while.
            self.execution.uncontrolled().for_each(drop);
            let share = self.search.give(wanted);
            match self.company.crew.start(share) {
                Started::Here => {}
                Started::There(mut worker, share) => {
                    self.words.mute = true;
                    self.record = worker.record.take();
                    self.executions = 0;
                    self.execution.forget_runs();
                    self.again = Again::default();
                    self.company.brought = 0;
                    self.company.known = Some(self.execution.known());
                    self.company.worker = Some(worker);
                    self.search.become_share(share);
                    return;
                }
                Started::Refused(share) => {
                    self.search.reclaim(&share);
                    self.company.allowed = 1;
                }
            }
        }
    }

    /// What to do with what came back.
    fn receive(&mut self, share: &crate::search::together::Share, back: Return, trace: &mut Trace) -> Go {
        match back {
            Return::Share(bytes) => {
                let began = Instant::now();
                let before = self.search.stats().executions;
                if self.take_in(&bytes).is_err() {
                    self.go_on_alone();
                }
                self.company.brought += self.search.stats().executions - before;
                self.company.crew.adjust(began.elapsed());
                Go::On
            }
            Return::Killed => {
                self.search.reclaim(share);
                Go::On
            }
            Return::Died(None) => {
                self.search.reclaim(share);
                Go::On
            }
            Return::Differs(step, expected, found) => {
                self.company.dismiss();
                Go::End(Some(Box::new(self.diverged(step, expected, found))))
            }
            Return::Failed(plan) => self.execute_again(&plan, trace, "the schedule failed"),
            Return::Died(Some(plan)) => self.execute_again(&plan, trace, "the schedule ended the process"),
        }
    }

    /// What another process brought cannot be read: what others have is of the search as it was, and it may happen again.
    fn go_on_alone(&mut self) {
        self.company.dismiss();
        self.company.can_share = false;
        self.search.reclaim_all();
        self.warn("what another process found cannot be read: the search goes on alone, and may start again");
    }

    fn take_in(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        let mut from = Reader::new(bytes);
        let names = names::read(&mut self.execution, &mut from)?;
        self.search.take_back(from.block()?, &names)?;
        self.company.brought_repeats += from.long()?;
        Ok(())
    }

    /// Executes what another process failed in: this one has the last word.
    fn execute_again(&mut self, plan: &Plan, trace: &mut Trace, seen: &str) -> Go {
        self.company.dismiss();
        self.executions += 1;
        self.words.figures.executions = self.executions + self.company.brought;
        self.words.figures.traces = self.search.traces() + 1;
        if let Some(record) = &mut self.record {
            record.note(self.words.figures.executions, plan, self.execution.parents());
        }
        self.execution.run(plan, None, trace);
        Go::End(Some(Box::new(match trace.end {
            End::Failed | End::Diverged(_) => self.failed(trace),
            End::Passed | End::Stopped => {
                let steps = trace.events.len() as StepIndex;
                let found = "executed again it passed".to_owned();
                self.diverged(steps, format!("{seen} in another process"), found)
            }
        })))
    }

    /// Nothing is pending here: waits for others, or it is done.
    pub(super) fn nothing_left(&mut self, trace: &mut Trace) -> Go {
        if self.company.worker.is_some() {
            self.bring_back();
        }
        if let Some(number) = self.search.spilled() {
            return self.bring_in(number, trace);
        }
        if self.company.crew.len() > 0 {
            self.company.crew.recall();
            let back = self.company.crew.wait();
            return back.map_or(Go::On, |(member, back)| self.receive(&member.share, back, trace));
        }
        if self.company.wanted_part.is_some() && self.company.part.is_none() {
            // Nothing was left to be dealt out.
            self.deal_out();
            self.company.nothing_dealt = true;
            return Go::On;
        }
        if let Some(finished) = self.is_first_another() {
            return Go::End(Some(Box::new(finished)));
        }
        let is_whole = self.company.part.is_none();
        if self.company.went_on || !is_whole || self.started.elapsed() >= ALONE {
            self.write_checkpoint();
        } else if let Some(path) = &self.company.checkpoint {
            // Of an earlier run, which did not come as far.
            let _ = std::fs::remove_file(path);
            self.company.remove_obsolete();
        }
        Go::End(Some(Box::new(self.nothing_failed(is_whole))))
    }

    /// Takes in what everybody has done so far.
    pub(super) fn gather(&mut self, trace: &mut Trace) -> Go {
        self.company.crew.recall();
        while let Some((member, back)) = self.company.crew.wait() {
            if let Go::End(finished) = self.receive(&member.share, back, trace) {
                return Go::End(finished);
            }
        }
        Go::On
    }

    /// After the same number of executions in every process, whatever the clock says.
    pub(super) fn deal_out_if_wanted(&mut self) {
        let Some(part) = self.company.wanted_part.filter(|_| self.company.part.is_none()) else { return };
        if self.search.stats().pending >= LINES_PER_PART * part.count || self.executions >= ENOUGH {
            self.deal_out();
        }
    }

    /// Deals the search out, and goes on with one part of it. What the parts do is joined in a search that is
    /// loaded from the same bytes, so this one is too.
    fn deal_out(&mut self) {
        let Some(part) = self.company.wanted_part else { return };
        let whole = self.company.state(&self.execution, &self.search);
        let mut options = self.settings.options();
        options.places = self.search.places();
        options.scoped = self.search.is_scoped();
        if let Ok(mut search) = load(&mut self.execution, options, &whole) {
            self.company.take_part(part, whole, &self.execution, &mut search);
            self.search = search;
        }
    }

    /// Puts a part of the search on the disk if it takes more memory than it may.
    fn save_memory(&mut self) {
        let Some(limit) = self.company.max_memory.filter(|_| !self.company.does_a_part()) else { return };
        let (spare, classes) = self.search.memory();
        if classes > limit / 2 {
            self.search.forget_classes();
        }
        if spare <= limit / 2 {
            return;
        }
        let number = self.company.next_spill;
        // What is taken out of memory must have a place: a search that is not written down has none.
        let Some(file) = self.company.spill_file(number) else { return };
        let Some(bytes) = self.search.spill(number) else { return };
        self.company.next_spill += 1;
        if let Err(error) = write_whole(&file, &bytes) {
            // It stays in memory, and so does everything else from now on.
            let back = self.search.unspill(number, &bytes);
            debug_assert!(back.is_ok(), "it was written a moment ago");
            self.company.max_memory = None;
            self.warn(&format!("nothing more can be written to {file}: {error}; the search stays in memory"));
        }
    }

    /// Goes on with a part of the search that lies on the disk.
    fn bring_in(&mut self, number: u32, trace: &mut Trace) -> Go {
        let Some(file) = self.company.spill_file(number) else { return Go::End(None) };
        let bytes = std::fs::read(&file).unwrap_or_default();
        if self.search.unspill(number, &bytes).is_err() {
            self.warn(&format!("{file} is damaged: a part of the search is lost"));
            // What others have found meanwhile is not.
            if let Go::End(finished) = self.gather(trace) {
                return Go::End(finished);
            }
            return Go::End(Some(Box::new(self.nothing_failed(false))));
        }
        self.company.obsolete.push(file);
        Go::On
    }

    fn warn(&self, message: &str) {
        self.channel.send(Object::new().text("event", "warning").text("message", message));
    }

    /// Writes the state down.
    pub(super) fn write_checkpoint(&mut self) {
        let Some(path) = &self.company.checkpoint else { return };
        let began = Instant::now();
        let written = self.company.state(&self.execution, &self.search).write(path, &self.search.stats());
        match written {
            Ok(()) => self.company.remove_obsolete(),
            Err(error) if !self.company.complained => {
                let message = format!("the state of the search cannot be written to {path}: {error}");
                self.company.complained = true;
                self.warn(&message);
            }
            Err(_) => {}
        }
        self.company.written = Instant::now();
        self.company.pause = self.company.shortest_pause.max(20 * began.elapsed());
    }
}
