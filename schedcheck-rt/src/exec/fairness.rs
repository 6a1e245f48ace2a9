//! Every thread that could run gets its turn in the end.
//!
//! Default behaviour lets a thread go on for as long as it can, and then the first one that can. Most programs come to an
//! end that way. But a thread that works until another one stops it would never be stopped, and two that wake each other
//! would keep a third from running: no failures, since no fair scheduler does that. So from time to time the thread that has
//! waited longest has its turn, as if the running one had yielded. What is left to the step limit is a livelock.
//!
//! A plan goes before that: it may keep a thread from running for as long as it likes. Where it does, the step limit says
//! nothing yet. Otherwise a thread that works until another one stops it would be called a livelock in the schedules in which
//! that comes late.
//!
//! It depends on nothing but the steps so far, so a plan leads to the same schedule again.

use super::controller::{Slot, World};
use crate::search::step::StepIndex;

/// So many steps a thread may wait, though it could run. That is looked at as often, so it may be up to twice as many.
pub(super) const PATIENCE: StepIndex = 1_000;

impl World {
    /// Whether the execution is endless. If somebody was kept from running, longer than it takes until all others had
    /// their turn, it has more steps.
    #[cold]
    pub(super) fn is_endless(&mut self, step: StepIndex) -> bool {
        let turns = self.threads.len() as StepIndex + 1;
        let starves = |slot: Slot| {
            slot != self.current
                && (step - self.threads[slot].ran_until) / PATIENCE >= turns
                && self.is_enabled(slot)
                && !self.is_gated(slot)
        };
        // A guide need not ever let it run.
        if self.guide.is_some() || !(0..self.threads.len()).any(starves) {
            return true;
        }
        self.limit = step.saturating_add(PATIENCE);
        self.find_next_special();
        false
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
