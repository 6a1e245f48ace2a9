//! Every thread that could run gets its turn in the end.
//!
//! Default behaviour lets a thread go on for as long as it can, and then the first one that can. Most programs come to an
//! end that way. But a thread that works until another one stops it would never be stopped, and two that wake each other
//! would keep a third from running: no failures, since no fair scheduler does that. So from time to time the thread that has
//! waited longest has its turn, as if the running one had yielded. What is left to the step limit is a livelock.
//!
//! A plan goes before that, and so does a guide: they may keep a thread from running for as long as they like. Otherwise a
//! thread that works until another one stops it would be called a livelock in the schedules in which that comes late. So the
//! step limit says nothing while somebody is kept from running, nor for half as many steps after that. Where it goes on so for
//! three times the limit, the execution is given up: a loop that no rule recognises as one that waits has schedules of every
//! length.
//!
//! It depends on nothing but the steps so far, so a plan leads to the same schedule again.

use super::controller::{Slot, World};
use super::outcome::Outcome;
use crate::search::step::StepIndex;

/// So many steps a thread may wait, though it could run. That is looked at as often, so it may be up to twice as many.
pub(super) const PATIENCE: StepIndex = 1_000;

impl World {
    /// Whether the execution ends here: it is endless, since everybody who could run had a turn again and again, or it is given
    /// up. Otherwise it has more steps.
    #[cold]
    pub(super) fn ends_at_limit(&mut self, step: StepIndex) -> bool {
        // SAFETY: as in `ask`.
        if self.guide.is_some_and(|guide| !unsafe { (*guide).is_fair() }) {
            self.outcome.get_or_insert(Outcome::Abandoned);
            return true;
        }
        if (0..self.threads.len()).any(|slot| self.is_starving(slot, step)) {
            self.starved_at = step;
        }
        let fair_from = if self.starved_at == 0 { 0 } else { self.starved_at + self.max_steps / 2 };
        if step >= fair_from {
            let endless = if self.script.active {
                self.too_long_for_script()
            } else {
                Outcome::Livelock { steps: self.max_steps }
            };
            self.outcome.get_or_insert(endless);
            return true;
        }
        if step >= self.prefix.max(self.max_steps.saturating_mul(3)) {
            self.spin_bound_reached = true;
            self.outcome.get_or_insert(Outcome::Abandoned);
            return true;
        }
        self.limit = fair_from.min(step.saturating_add(PATIENCE));
        self.find_next_special();
        false
    }

    /// Whether a thread was kept from running, longer than it takes until all others had their turn.
    fn is_starving(&self, slot: Slot, step: StepIndex) -> bool {
        let turns = self.threads.len() as StepIndex + 1;
        slot != self.current
            && (step - self.threads[slot].ran_until) / PATIENCE >= turns
            && self.is_enabled(slot)
            && !self.is_gated(slot)
    }

    /// Whether it is time to see who has waited too long.
    #[inline]
    pub(super) fn is_time_for_others(&self, step: StepIndex) -> bool {
        step >= self.fair_at
    }

    /// Finds the thread that has waited longest, if that is too long. It has its turn if nothing else is asked for.
    #[cold]
    pub(super) fn look_for_others(&mut self, step: StepIndex) {
        self.fair_at = step + PATIENCE;
        if (0..self.threads.len()).any(|slot| self.is_starving(slot, step)) {
            self.starved_at = step;
        }
        let waiting = (0..self.threads.len()).filter(|slot| *slot != self.current);
        let too_long = waiting.filter(|slot| step - self.threads[*slot].ran_until >= PATIENCE);
        self.overdue = too_long
            .filter(|slot| self.is_enabled(*slot) && !self.is_gated(*slot))
            .min_by_key(|slot| self.threads[*slot].ran_until);
        self.find_next_special();
    }

    /// The turn of a thread ended before this step.
    #[inline]
    pub(super) fn note_end_of_turn(&mut self, slot: Slot, step: StepIndex) {
        self.threads[slot].ran_until = step;
        self.overdue = None;
    }
}
