//! The operation whose turn has come: what it does to the objects, and what is noted of it.

use super::controller::{StepNote, World};
use super::script::without_waking;
use super::spin::{self, Place};
use super::switch::Backend;
use crate::model::{Kind, Moment, Op};
use crate::search::step::{Alt, BudgetKinds, Event, Mode, NO_STEP, ObjectId, ReadsWhen, StepIndex};

/// How the operation came to its turn.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub(super) alt: Alt,
    pub(super) previous_enabled: bool,
    pub(super) forced: bool,
}

impl World {
    /// Executes the announced operation of the thread whose turn it is. The answer is the model's.
    pub(crate) fn execute(&mut self) -> u32 {
        debug_assert_eq!(self.closely, self.is_close(), "it is found anew with every change");
        debug_assert!(self.is_apart(), "its traces would be part of a loop's state");
        let op = self.threads[self.current].op;
        let chosen = Chosen { alt: self.alt, previous_enabled: self.previous_enabled, forced: self.forced };
        if self.closely { self.execute_closely(&op, chosen) } else { self.execute_as::<false>(&op, chosen) }
    }

    #[cold]
    #[inline(never)]
    fn execute_closely(&mut self, op: &Op, chosen: Chosen) -> u32 {
        self.execute_as::<true>(op, chosen)
    }

    /// Executes `op`. `CLOSELY`: threads wait behind gates or for twins, or somebody watches every step.
    #[inline(always)]
    pub(super) fn execute_as<const CLOSELY: bool>(&mut self, op: &Op, chosen: Chosen) -> u32 {
        let step = self.trace.events.len() as StepIndex;
        let me = self.current;
        let thread = &self.threads[me];
        let (id, place) = (thread.id, thread.place);
        if CLOSELY && self.backend == Backend::OsThreads {
            super::schedcheck_step(step, me as u32);
        }
        // Who may run again in a scenario goes through its gate with what it does then.
        let opened = if CLOSELY && op.kind != Kind::Resume { self.pass_gate() } else { NO_STEP };
        let moment = Moment { thread: id, step, alt: chosen.alt };
        let mut applied = self.objects.apply(moment, op);
        if CLOSELY && opened != NO_STEP {
            applied = applied.after_gate(opened);
            self.objects.note_wait(id, ObjectId::NONE);
        }
        if CLOSELY && self.twins {
            applied = self.note_first(op.kind, step, applied);
        }
        if self.is_directed(me) {
            applied.costly_alts = without_waking(applied.costly_alts);
        }
        if self.races.is_some() {
            self.order_step(moment, op, &applied);
        }
        let known = spin::is_known(op.kind, chosen.alt, &applied.accesses);
        let after = if known && op.object != ObjectId::NONE { self.objects.summary(op.object) } else { 0 };
        let thread = &mut self.threads[me];
        if let Some(enabler) = self.notes.get(applied.enabler as usize) {
            thread.time = thread.time.max(enabler.time);
        }
        if chosen.alt.gives_up() {
            let late = if chosen.alt == Alt::LATE { op.deadline.saturating_sub(thread.time) } else { 0 };
            thread.time = thread.time.max(op.deadline).saturating_add(late);
            self.times.moved = true;
        }
        // What it does to memory is not known yet.
        if self.times.moved && !op.kind.is_on_memory() {
            thread.time = self.times.of_step(&applied.accesses, thread.time);
        }
        let time = thread.time;
        let comes_round = self.spins[me].remember(Place::of(op), step, known);
        self.trace.events.push(Event {
            thread: id,
            alt: chosen.alt,
            free_alts: applied.free_alts,
            could_wait: applied.could_wait,
            costly_alts: applied.costly_alts,
            previous_enabled: chosen.previous_enabled,
            forced: chosen.forced,
            yields: matches!(op.kind, Kind::Yield | Kind::Sleep),
            comes_round,
            accesses: applied.accesses,
            enabler: applied.enabler,
            before: applied.before,
            reads_when: applied.reads_when,
            full_mode: applied.full_mode,
            site: place,
        });
        self.notes.push(StepNote { kind: op.kind, object: op.object, site: op.site, time, after });
        if op.kind == Kind::Sleep && self.threads[0].ended {
            self.threads[me].sleeps_after_end += 1;
        }
        // Whether a CAS changes something will be known when it was done.
        if CLOSELY && !matches!(op.kind, Kind::CompareExchange | Kind::CompareExchangeWeak) {
            self.announce_change(step);
        }
        if let Some(misuse) = self.objects.misuse() {
            super::misuse::end(self, misuse);
        }
        if CLOSELY && self.keep_needed {
            self.note_caller(op, step);
        }
        if CLOSELY && let Some(guide) = self.guide {
            // SAFETY: as in `ask`.
            unsafe { (*guide).executed(step, &self.trace.events[step as usize]) };
        }
        applied.result
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
    #[inline(never)]
    pub(crate) fn executed_on(&mut self, before: u64, after: u64, wrote: bool) {
        let event = self.trace.events.last_mut().expect("an operation was executed");
        event.before = before;
        if !wrote {
            event.accesses[0].mode = if event.enabler == NO_STEP { Mode::Read } else { Mode::Await };
        }
        let object = event.accesses[0].object;
        self.objects.set_value(object, after);
        if let Some(note) = self.notes.last_mut() {
            note.after = after;
        }
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
