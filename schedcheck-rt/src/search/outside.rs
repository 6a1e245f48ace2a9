//! Executions of a share that lead out of it.
//!
//! A race between a step above the share and a later one is to be reversed above it, where others are at
//! work too. The share only looks whether the tree covers the sequence, as it was when the share was given.
//! If not, it makes no line, and relies on none: it keeps the execution. The owner of the tree reverses the
//! races of such executions when the share comes back, as if it had executed them only then.
//!
//! Many executions ask for the same sequence, since what depends on the reversed step is not part of it. Of
//! those one is enough: sequences are told apart by the hashes that classes are told apart by.

use super::bytes::{Damaged, Reader, Writer};
use super::lines::LineId;
use super::records::{Renaming, read_trace, write_trace};
use super::step::{Event, StepIndex, Trace};
use rustc_hash::FxHashSet;

/// Bytes of executions that a share keeps. Then it should come back.
const ROOM: usize = 4 << 20;

/// What a share keeps for the owner of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// The line whose region each execution is from, and the execution.
    kept: Writer,
    count: usize,
    /// The steps of the one that was kept last, of which the next one repeats some.
    last: Vec<Event>,
    /// What stands for the sequences that they ask for.
    known: FxHashSet<u64>,
}

impl Outside {
    /// Whether no execution that was kept asks for this sequence.
    pub(super) fn is_new(&mut self, name: u64) -> bool {
        self.known.insert(name)
    }

    /// Keeps an execution of the region of `top`.
    pub(super) fn keep(&mut self, top: LineId, trace: &Trace) {
        self.kept.number(top);
        write_trace(trace, &self.last, &mut self.kept);
        self.last.clone_from(&trace.events);
        self.count += 1;
    }

    /// How many executions it has kept.
    #[cfg(any(test, feature = "soak"))]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether it has kept enough.
    pub(super) fn is_full(&self) -> bool {
        self.kept.bytes().len() >= ROOM
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.count(self.count);
        out.append(self.kept.bytes());
    }

    /// Reads executions of the regions of `tops`, and does something with each of them; the last argument
    /// is how many steps it has in common with the one before, if that was of the same region.
    pub(super) fn read(
        tops: &[LineId],
        names: &Renaming,
        from: &mut Reader<'_>,
        mut each: impl FnMut(LineId, &Trace, StepIndex),
    ) -> Result<(), Damaged> {
        let tops: FxHashSet<LineId> = tops.iter().copied().collect();
        let (mut trace, mut last) = (Trace::default(), None);
        for _ in 0..from.count()? {
            let top: LineId = from.number()?;
            if !tops.contains(&top) {
                return Err(Damaged);
            }
            let same = read_trace(names, from, &mut trace)?;
            each(top, &trace, if last == Some(top) { same } else { 0 });
            last = Some(top);
        }
        Ok(())
    }
}
