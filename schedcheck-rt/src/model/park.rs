//! The park token of a thread.
//!
//! It is set by `unpark` (any number of them is one token) and taken by `park`. Unparks
//! commute with each other. A park has an enabler only if a single unpark set the token: of two,
//! either alone would have sufficed, so the park can be reordered before each of them.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Alt, BudgetKind, BudgetKinds, Mode, StepIndex};

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
        op.ways_to_give_up().with(BudgetKind::Spurious)
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
