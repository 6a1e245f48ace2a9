//! Threads that the test declares to be interchangeable: only one order of their first operations.
//!
//! Threads that run the same body on the same data can be renamed: if an execution exists, so does
//! the one in which two of them have changed places, step by step, and it fails in the same way. So
//! of each set of executions that differ by such a renaming one is enough, and every set has one in
//! which the threads execute their first operations in order of creation: name them in the order in
//! which they do. Up to its first operation a thread has seen nothing, so twins all stand before the
//! same operation, and holding back all but the first of those that have not begun makes none of
//! them wait that could do something else.
//!
//! To the search a twin that is held back is blocked, and the first operation of the one before it
//! is what enables it. That is an order edge like any other; nothing else in the search knows of
//! twins, so what it covers is every execution of the program with that edge.
//!
//! Only first operations whose events can carry such an edge are ordered (loads, stores,
//! read-modify-writes, locking). The order of later operations is not reduced.
//!
//! That the body does not ask who runs it cannot be seen from outside; it is the promise of whoever
//! calls `schedcheck_rt::symmetric`.

use super::Active;
use super::controller::{Slot, World};
use crate::model::{Applied, Kind};
use crate::search::step::{NO_STEP, StepIndex};

/// What a thread knows of its twins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twin {
    /// The one created before it.
    before: Option<Slot>,
    /// Its first operation, once it was executed.
    first: StepIndex,
}

/// Whether an event of this kind can be ordered after one of another thread.
fn can_be_ordered(kind: Kind) -> bool {
    matches!(kind, Kind::Load | Kind::Store | Kind::ReadModifyWrite | Kind::Lock)
}

impl World {
    /// Whether the thread in `slot` is held back until the twin before it has begun.
    #[cold]
    pub(super) fn waits_for_twin(&self, slot: Slot) -> bool {
        let thread = &self.threads[slot];
        let Some(Twin { before: Some(before), first: NO_STEP }) = thread.twin else { return false };
        let begun = self.threads[before].twin.is_none_or(|twin| twin.first != NO_STEP);
        !begun && can_be_ordered(thread.op.kind)
    }

    /// The thread whose turn it is executes an operation of this kind.
    #[cold]
    pub(super) fn note_first(&mut self, kind: Kind, step: StepIndex, applied: Applied) -> Applied {
        let Some(twin) = &mut self.threads[self.current].twin else { return applied };
        if kind == Kind::Begin || twin.first != NO_STEP {
            return applied;
        }
        twin.first = step;
        let before = twin.before.and_then(|before| self.threads[before].twin);
        match before {
            Some(before) if can_be_ordered(kind) => applied.enabled_by(before.first),
            _ => applied,
        }
    }
}

impl Active {
    /// The thread in `slot`, which has not begun, is the twin of the one in `before`.
    pub(crate) fn make_twin(&self, slot: Slot, before: Option<Slot>) {
        let world = self.world();
        if world.symmetry {
            world.twins = true;
            world.had_twins = true;
            world.threads[slot].twin = Some(Twin { before, first: NO_STEP });
            world.find_next_special();
        }
    }

    /// The thread created last.
    pub(crate) fn youngest(&self) -> Slot {
        self.world().threads.len() - 1
    }
}
