//! The hot path: steps at which nothing is to be decided.
//!
//! Most steps continue the running thread, because default behaviour or the plan says so. Those do
//! not go through [`World::decide`], and operations on memory, which never block, not even through
//! the model.

use super::controller::{StepNote, World};
use super::spin;
use super::switch::Backend;
use crate::model::{Kind, Op};
use crate::search::step::{Access, Alt, BudgetKind, BudgetKinds, Choice, Delta, Event, Mode, StepIndex};

impl World {
    #[inline]
    pub(super) fn find_next_special(&mut self) {
        let planned = self.deltas.get(self.next_delta).map_or(StepIndex::MAX, |delta| delta.step);
        let fixed = self.limit.min(self.fair_at);
        self.next_special = if self.is_watched() { 0 } else { planned.min(fixed) };
    }

    /// Whether the running thread, which can, goes on: by default or because the plan says so. Asked
    /// once for every step.
    #[inline]
    pub(crate) fn goes_on(&mut self) -> bool {
        let step = self.trace.events.len() as StepIndex;
        self.gated == 0 && !self.twins && (step < self.next_special || self.is_planned_to_go_on(step))
    }

    fn is_planned_to_go_on(&mut self, step: StepIndex) -> bool {
        let choice = Choice { thread: self.threads[self.current].id, alt: Alt::DEFAULT };
        let planned = self.deltas.get(self.next_delta) == Some(&Delta { step, choice });
        let goes_on = planned && !self.is_watched() && step < self.limit && !self.is_time_for_others(step);
        if goes_on {
            self.next_delta += 1;
            self.find_next_special();
        }
        goes_on
    }

    /// Guides see every step, debuggers stop at each, reports want to know which were needed, and
    /// whoever looks for names wants to know where each of them stands.
    fn is_watched(&self) -> bool {
        self.guide.is_some()
            || self.backend == Backend::OsThreads
            || self.keep_needed
            || self.places.is_some()
            || self.script.counts_steps()
    }

    /// It does.
    #[inline]
    pub(super) fn go_on(&mut self) {
        self.previous_enabled = true;
        self.forced = false;
        self.alt = Alt::DEFAULT;
    }

    /// Announces and executes `op` on memory, which can always run, where the thread [`goes_on`].
    ///
    /// The hot path of programs with atomics: what [`World::announce`] and [`World::execute`] do, as
    /// far as it matters here.
    ///
    /// [`goes_on`]: World::goes_on
    #[inline]
    pub(crate) fn execute_in_passing(&mut self, op: &Op) {
        self.go_on();
        let step = self.trace.events.len() as StepIndex;
        let thread = &mut self.threads[self.current];
        let (mode, costly_alts) = match op.kind {
            Kind::Load => (Mode::Read, BudgetKinds::NONE),
            Kind::CountUp | Kind::CountDown => (Mode::Mark, BudgetKinds::NONE),
            Kind::CompareExchangeWeak => (Mode::Write, BudgetKinds::NONE.with(BudgetKind::WeakFailure)),
            _ => (Mode::Write, BudgetKinds::NONE),
        };
        self.trace.events.push(Event::of(thread.id));
        let event = &mut self.trace.events[step as usize];
        event.costly_alts = costly_alts;
        event.previous_enabled = true;
        event.accesses[0] = Access::new(op.object, mode);
        event.full_mode = mode;
        let note = StepNote { kind: op.kind, object: op.object, site: op.site, time: thread.time };
        thread.spin.remember(&note, step, (0, 0), spin::is_known(op.kind, event));
        self.notes.push(note);
        if let Some(races) = &mut self.races {
            races.begin_step(self.current, step);
        }
    }
}
