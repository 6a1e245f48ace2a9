//! The hot path: steps at which nothing is to be decided.
//!
//! Most steps continue the running thread, because default behaviour or the plan says so. Those do
//! not go through [`World::decide`], and operations on memory, which never block, not even through
//! the model; neither do those when they had to wait for their turn.

use super::controller::{StepNote, World};
use super::execute::Chosen;
use super::spin::Place;
use super::switch::Backend;
use super::threads::Thread;
use crate::model::{Kind, Op, Site};
use crate::search::step::{Access, Alt, BudgetKind, BudgetKinds, Choice, Delta, Event, Mode, StepIndex};

impl World {
    /// Finds the next step at which something may be to decide. To be called whenever what it depends on changes.
    pub(super) fn find_next_special(&mut self) {
        self.closely = self.is_close();
        self.unplanned_until = if self.closely { 0 } else { self.limit.min(self.fair_at) };
        self.find_next_planned();
    }

    /// The same, where nothing has changed but the place in the plan.
    #[inline]
    pub(super) fn find_next_planned(&mut self) {
        let planned = self.deltas.get(self.next_delta).map_or(StepIndex::MAX, |delta| delta.step);
        self.next_special = planned.min(self.unplanned_until);
    }

    /// Whether every step is to be looked at: threads wait behind gates or for twins, or somebody watches.
    pub(super) fn is_close(&self) -> bool {
        self.gated > 0 || self.twins || self.is_at_once() || self.is_watched()
    }

    /// Whether the running thread, which can, goes on: by default or because the plan says so. Asked
    /// once for every step.
    #[inline]
    pub(crate) fn goes_on(&mut self) -> bool {
        debug_assert_eq!(self.closely, self.is_close(), "it is found anew with every change");
        debug_assert!(self.is_apart(), "its traces would be part of a loop's state");
        let step = self.trace.events.len() as StepIndex;
        step < self.next_special || self.is_planned_to_go_on(step)
    }

    #[inline]
    fn is_planned_to_go_on(&mut self, step: StepIndex) -> bool {
        let choice = Choice { thread: self.threads[self.current].id, alt: Alt::DEFAULT };
        let goes_on =
            step < self.unplanned_until && self.deltas.get(self.next_delta) == Some(&Delta { step, choice });
        if goes_on {
            self.next_delta += 1;
            self.find_next_planned();
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

    /// Announces and executes `op`, if it can run and the thread goes on with it. The answer is the model's.
    #[inline(always)]
    pub(super) fn perform_in_passing(&mut self, op: &Op) -> Option<u32> {
        // Nobody wants to know where it stands, and none of its steps is counted.
        if self.closely || matches!(op.kind, Kind::Yield | Kind::Sleep) {
            return None;
        }
        let thread = &mut self.threads[self.current];
        if !self.objects.ready(thread.id, op).enabled {
            return None;
        }
        thread.op = *op;
        if !self.goes_on() {
            return None;
        }
        self.go_on();
        Some(
            self.execute_as::<false>(op, Chosen { alt: Alt::DEFAULT, previous_enabled: true, forced: false }),
        )
    }

    /// Performs an operation on memory, which can always run, if nothing is out of the ordinary: the cell is known, the
    /// thread goes on and not in a loop that may wait, and there is room to note it. So it calls nobody.
    pub(super) fn memory_in_passing(&mut self, kind: Kind, memory: (usize, usize), site: Site) -> bool {
        let Some(object) = self.known_memory(memory.0) else { return false };
        let place = Place { kind, object, site };
        let has_room = self.trace.events.len() < self.trace.events.capacity()
            && self.notes.len() < self.notes.capacity();
        if !has_room || self.spins[self.current].may_repeat(place, self.trail()) || !self.goes_on() {
            return false;
        }
        self.execute_in_passing(place);
        if self.races.is_some() {
            self.touched = memory;
        }
        true
    }

    /// Announces and executes an operation on memory, which can always run, where the thread [`goes_on`].
    ///
    /// The hot path of programs with atomics: what [`World::announce`] and [`World::execute`] do, as
    /// far as it matters here.
    ///
    /// [`goes_on`]: World::goes_on
    #[inline(always)]
    pub(crate) fn execute_in_passing(&mut self, place: Place) {
        self.go_on();
        self.execute_memory(place, Chosen { alt: Alt::DEFAULT, previous_enabled: true, forced: false }, 0);
    }

    /// Whether the operation whose turn has come is executed in its usual way, and nobody watches.
    #[inline]
    pub(crate) fn is_ordinary(&self) -> bool {
        !self.closely && self.alt == Alt::DEFAULT
    }

    /// Executes an operation on memory that was announced and [`is_ordinary`].
    ///
    /// [`is_ordinary`]: World::is_ordinary
    #[inline]
    pub(crate) fn execute_on_memory(&mut self, place: Place) {
        let chosen =
            Chosen { alt: Alt::DEFAULT, previous_enabled: self.previous_enabled, forced: self.forced };
        let before = self.objects.summary(place.object);
        self.execute_memory(place, chosen, before);
    }

    /// What [`World::execute_as`] does, as far as it matters to an operation on memory: it is known what the model would say.
    #[inline(always)]
    fn execute_memory(&mut self, place: Place, chosen: Chosen, before: u64) {
        let Place { kind, object, site } = place;
        let step = self.trace.events.len() as StepIndex;
        let Thread { id, time, .. } = self.threads[self.current];
        let (mode, costly_alts) = match kind {
            Kind::Load => (Mode::Read, BudgetKinds::NONE),
            Kind::CountUp | Kind::CountDown => (Mode::Mark, BudgetKinds::NONE),
            Kind::CompareExchangeWeak => (Mode::Write, BudgetKinds::NONE.with(BudgetKind::WeakFailure)),
            _ => (Mode::Write, BudgetKinds::NONE),
        };
        // What counts do to their object does not show in its state.
        let comes_round = self.spins[self.current].remember(place, step, mode != Mode::Mark);
        self.trace.events.push(Event {
            costly_alts,
            previous_enabled: chosen.previous_enabled,
            forced: chosen.forced,
            comes_round,
            accesses: [Access::new(object, mode), Access::NONE],
            before,
            full_mode: mode,
            ..Event::of(id)
        });
        self.notes.push(StepNote { kind, object, site, time, after: 0 });
        if self.races.is_some() {
            self.begin_racing_step(step);
        }
    }
}
