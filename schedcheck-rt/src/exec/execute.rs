//! The operation whose turn has come: what it does to the objects, and what is noted of it.

use super::controller::{StepNote, World};
use super::script::without_waking;
use super::spin;
use super::switch::Backend;
use crate::model::{Applied, Kind, Moment, Op};
use crate::search::step::{Alt, BudgetKinds, Event, Mode, NO_STEP, ObjectId, ReadsWhen, StepIndex};

impl World {
    /// Executes the announced operation of the thread whose turn it is.
    #[inline]
    pub(crate) fn execute(&mut self) -> Applied {
        let step = self.trace.events.len() as StepIndex;
        let thread = &self.threads[self.current];
        let (id, op, place) = (thread.id, thread.op, thread.place);
        if self.backend == Backend::OsThreads {
            super::schedcheck_step(step, self.current as u32);
        }
        // Who may run again in a scenario goes through its gate with what it does then.
        let opened = if op.kind == Kind::Resume { NO_STEP } else { self.pass_gate() };
        let moment = Moment { thread: id, step, alt: self.alt };
        let mut applied = self.objects.apply(moment, &op);
        if opened != NO_STEP {
            applied = applied.after_gate(opened);
            self.objects.note_wait(id, ObjectId::NONE);
        }
        if self.twins {
            applied = self.note_first(op.kind, step, applied);
        }
        if self.is_directed(self.current) {
            applied.costly_alts = without_waking(applied.costly_alts);
        }
        if let Some(races) = &mut self.races {
            races.step(self.current, moment, &op, &applied);
        }
        // Field by field in its place: built on the stack and copied from there, it would stall on
        // its own small stores.
        self.trace.events.push(Event::of(id));
        let event = &mut self.trace.events[step as usize];
        event.alt = self.alt;
        event.free_alts = applied.free_alts;
        event.costly_alts = applied.costly_alts;
        event.previous_enabled = self.previous_enabled;
        event.forced = self.forced;
        event.yields = matches!(op.kind, Kind::Yield | Kind::Sleep);
        event.accesses = applied.accesses;
        event.enabler = applied.enabler;
        event.before = applied.before;
        event.reads_when = applied.reads_when;
        event.full_mode = applied.full_mode;
        event.site = place;
        let known = spin::is_known(op.kind, event);
        self.advance_time(&op, applied.enabler);
        let after = if op.object == ObjectId::NONE { 0 } else { self.objects.summary(op.object) };
        let thread = &mut self.threads[self.current];
        let note = StepNote { kind: op.kind, object: op.object, site: op.site, time: thread.time };
        thread.spin.remember(&note, step, (applied.before, after), known);
        self.notes.push(note);
        if op.kind == Kind::Sleep && self.threads[0].ended {
            self.threads[self.current].sleeps_after_end += 1;
        }
        // Whether a CAS changes something will be known when it was done.
        if !matches!(op.kind, Kind::CompareExchange | Kind::CompareExchangeWeak) {
            self.announce_change(step);
        }
        if let Some(misuse) = self.objects.misuse() {
            super::misuse::end(self, misuse);
        }
        if let Some(guide) = self.guide {
            // SAFETY: as in `ask`.
            unsafe { (*guide).executed(step, &self.trace.events[step as usize]) };
        }
        applied
    }

    /// Virtual time follows causality, not the schedule: a thread's clock moves by its own waits
    /// and up to that of the step that enabled it, so equivalent schedules read the same times.
    fn advance_time(&mut self, op: &Op, enabler: StepIndex) {
        let enabled_at = self.notes.get(enabler as usize).map_or(0, |note| note.time);
        let thread = &mut self.threads[self.current];
        thread.time = thread.time.max(enabled_at);
        if self.alt == Alt::TIMEOUT {
            thread.time = thread.time.max(op.deadline);
        }
    }

    /// The virtual time of the running thread.
    pub(crate) fn now(&self) -> u64 {
        self.threads[self.current].time
    }

    /// The alternative of the operation just executed.
    pub(crate) fn alternative(&self) -> Alt {
        self.alt
    }

    /// The memory operation just executed found `before` and left `after`; if it did not write,
    /// it only looked.
    #[inline]
    pub(crate) fn executed_on(&mut self, before: u64, after: Option<u64>) {
        let event = self.trace.events.last_mut().expect("an operation was executed");
        event.before = before;
        if after.is_none() {
            event.accesses[0].mode = if event.enabler == NO_STEP { Mode::Read } else { Mode::Await };
        }
        let object = event.accesses[0].object;
        self.objects.set_value(object, after.unwrap_or(before));
        self.threads[self.current].spin.found(before, after.unwrap_or(before));
    }

    /// The operation just executed was a CAS that wanted `expected` and found `before`.
    #[inline]
    pub(crate) fn executed_cas(&mut self, before: u64, expected: u64) {
        let event = self.trace.events.last_mut().expect("an operation was executed");
        event.reads_when = ReadsWhen::StateIsNot(expected);
        event.full_mode = Mode::Write;
        if before != expected {
            // Failing for no reason would look the same.
            event.costly_alts = BudgetKinds::NONE;
        } else {
            self.announce_change(self.trace.events.len() as StepIndex - 1);
        }
    }

    /// The operation just executed was one that others can tell the order of.
    pub(crate) fn executed_as_write(&mut self) {
        let event = self.trace.events.last_mut().expect("an operation was executed");
        event.accesses[0].mode = Mode::Write;
    }
}
