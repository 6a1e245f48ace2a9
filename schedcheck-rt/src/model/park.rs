//! A thread as an object of others: its park token and its end.
//!
//! The token is set by `unpark` (any number of them is one token) and taken by `park`. Unparks
//! commute with each other. A park has an enabler only if a single unpark set the token: of two,
//! either alone would have sufficed, so the park can be reordered before each of them.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Alt, BudgetKind, BudgetKinds, Mode, NO_STEP, StepIndex};

/// Answer of `is_finished` for an ended thread.
pub(crate) const FINISHED: u32 = 1;

/// The park token of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Token {
    /// Unparks since the last park.
    unparks: u32,
    /// The first of them.
    first: StepIndex,
}

impl Token {
    fn costly(op: &Op) -> BudgetKinds {
        let kinds = BudgetKinds::NONE.with(BudgetKind::Spurious);
        if op.timed() { kinds.with(BudgetKind::Timeout) } else { kinds }
    }

    /// Whether there is a token.
    pub(super) fn summary(&self) -> u64 {
        (self.unparks > 0).into()
    }

    pub(super) fn ready(&self, op: &Op) -> Ready {
        let enabled = self.unparks > 0;
        Ready { enabled, costly: if enabled { BudgetKinds::NONE } else { Self::costly(op) } }
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::Unpark => {
                if self.unparks == 0 {
                    self.first = moment.step;
                }
                self.unparks += 1;
                Applied::access(op.object, Mode::Mark)
            }
            Kind::Park if moment.alt == Alt::DEFAULT => {
                let taken = core::mem::take(self);
                let applied = Applied::access(op.object, Mode::AwaitWrite);
                if taken.unparks > 1 {
                    return applied;
                }
                Applied { enabler: taken.first, costly_alts: Self::costly(op), ..applied }
            }
            Kind::Park => {
                // Given up or spurious: the caller is not told which, but each has its own budget.
                Applied { costly_alts: Self::costly(op), ..Applied::access(op.object, Mode::Write) }
            }
            other => unreachable!("{other:?} is not an operation on a park token"),
        }
    }
}

/// The life of a thread as seen by others.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// The step with which it ended.
    ended: StepIndex,
}

impl Default for Thread {
    fn default() -> Self {
        Thread { ended: NO_STEP }
    }
}

impl Thread {
    /// Whether it has ended.
    pub(super) fn summary(&self) -> u64 {
        (self.ended != NO_STEP).into()
    }

    pub(super) fn ready_to_join(&self) -> Ready {
        Ready::when(self.ended != NO_STEP)
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::End => {
                self.ended = moment.step;
                Applied::access(op.object, Mode::Write)
            }
            Kind::Join => Applied::access(op.object, Mode::Await).enabled_by(self.ended),
            Kind::IsFinished => Applied::access(op.object, Mode::Read).result(if self.ended == NO_STEP {
                0
            } else {
                FINISHED
            }),
            other => unreachable!("{other:?} is not an operation on a thread"),
        }
    }
}
