//! Every thread that could run gets its turn in the end.
//!
//! Default behaviour lets a thread go on for as long as it can, and then the first one that can. Most programs come to an
//! end that way. But a thread that works until another one stops it would never be stopped, and two that wake each other
//! would keep a third from running: no failures, since no fair scheduler does that. So from time to time the thread that has
//! waited longest has its turn, as if the running one had yielded. What is left to the step limit is a livelock, unless the
//! test itself is over and only threads in its background go on.
//!
//! A plan goes before that, and so does a guide: they may keep a thread from running for as long as they like. Otherwise a
//! thread that works until another one stops it would be called a livelock in the schedules in which that comes late. So the
//! step limit says nothing while somebody is kept from running, nor for half as many steps after that. Where it goes on so for
//! three times the limit, the execution is given up: a loop that no rule recognises as one that waits has schedules of every
//! length.
//!
//! A turn may be short: one that spins and gives a hint hands it back at once. So turns come ten times as often when a quarter
//! of the limit is over, and more often the more threads there are. And who waits for a lock that others take again and again
//! may be found waiting for it whenever one looks, if one looks in time with them: then one looks at each of some steps.
//!
//! It depends on nothing but the steps so far, so a plan leads to the same schedule again.

use super::controller::{Slot, World};
use super::outcome::Outcome;
use crate::model::Kind;
use crate::search::step::StepIndex;

/// So many steps a thread may wait, though it could run. That is looked at as often, so it may be up to twice as many.
pub(super) const PATIENCE: StepIndex = 1_000;
/// The same in an execution that is long already.
const LITTLE_PATIENCE: StepIndex = PATIENCE / 10;
/// Steps between two looks at least.
const BETWEEN_LOOKS: StepIndex = 16;
/// Looks, one after the other, at a thread that has waited too long for what others take before it.
const LOOKS_IN_A_ROW: StepIndex = 64;

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
            } else if self.threads[0].ended {
                // The test is over: what goes on in the background ends with the process.
                self.spin_bound_reached = true;
                Outcome::Passed
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
        let turns = 2 * BETWEEN_LOOKS * self.threads.len() as StepIndex;
        let waited = step - self.threads[slot].ran_until;
        slot != self.current
            && waited >= turns.max(3 * PATIENCE)
            && self.is_enabled(slot)
            && !self.is_gated(slot)
    }

    /// How long a thread may wait now.
    fn patience(&self, step: StepIndex) -> StepIndex {
        if step < self.max_steps / 4 { PATIENCE } else { LITTLE_PATIENCE }
    }

    /// Whether it is time to see who has waited too long.
    #[inline]
    pub(super) fn is_time_for_others(&self, step: StepIndex) -> bool {
        step >= self.fair_at
    }

    /// Finds the thread that has waited longest, if that is too long. It has its turn if nothing else is asked for.
    #[cold]
    pub(super) fn look_for_others(&mut self, step: StepIndex) {
        if (0..self.threads.len()).any(|slot| self.is_starving(slot, step)) {
            self.starved_at = step;
        }
        let patience = self.patience(step);
        let waited = |slot: &Slot| step - self.threads[*slot].ran_until;
        let too_long =
            || (0..self.threads.len()).filter(|slot| *slot != self.current && waited(slot) >= patience);
        let can_run = |slot: &Slot| self.is_enabled(*slot) && !self.is_gated(*slot);
        self.overdue = too_long().filter(can_run).min_by_key(|slot| self.threads[*slot].ran_until);
        let competes = |slot: Slot| {
            matches!(
                self.threads[slot].op.kind,
                Kind::Lock
                    | Kind::ReadLock
                    | Kind::ReadLockInLine
                    | Kind::WriteLock
                    | Kind::Send
                    | Kind::Receive
            )
        };
        let is_kept_out = self.overdue.is_none() && too_long().any(competes);
        self.looks = if is_kept_out { (self.looks + 1) % LOOKS_IN_A_ROW } else { 0 };
        let pause = (patience / self.threads.len() as StepIndex).max(BETWEEN_LOOKS);
        self.fair_at = step + if self.looks > 0 { 1 } else { pause };
        self.find_next_special();
    }

    /// The turn of a thread ended before this step.
    #[inline]
    pub(super) fn note_end_of_turn(&mut self, slot: Slot, step: StepIndex) {
        self.threads[slot].ran_until = step;
        self.overdue = None;
    }
}
