//! A barrier: how many have arrived, and who waits.
//!
//! All arrivals depend on each other, as writes of one counter do. That those before the last of a round have the same
//! effect in either order is not made use of: whether an arrival is the last one depends on the state, so what commutes
//! here does not commute a step later, and where a round begins depends on all arrivals before it. Those who wait leave
//! when the last one, the leader, has arrived, with nothing left to take from the barrier.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Mode, StepIndex, ThreadId};

/// Answer of an arrival that completed a round.
pub(crate) const LEADER: u32 = 1;

/// State of a barrier.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// Arrived in this round.
    waiting: Vec<ThreadId>,
    /// Free to leave, and the arrival that freed them.
    released: Vec<(ThreadId, StepIndex)>,
}

impl Barrier {
    /// How many have arrived.
    pub(super) fn summary(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub(super) fn ready(&self, thread: ThreadId) -> Ready {
        Ready::when(self.released.iter().any(|(released, _)| *released == thread))
    }

    /// Applies `op`; the parameter of an arrival is the size of a round.
    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::BarrierArrive if self.waiting.len() as u64 + 1 < u64::from(op.arg) => {
                self.waiting.push(moment.thread);
                Applied::access(op.object, Mode::Write)
            }
            Kind::BarrierArrive => {
                self.released.extend(self.waiting.drain(..).map(|thread| (thread, moment.step)));
                Applied::access(op.object, Mode::Write).result(LEADER)
            }
            Kind::BarrierLeave => {
                let at = self.released.iter().position(|(thread, _)| *thread == moment.thread);
                let (_, leader) = self.released.swap_remove(at.expect("leaves only when released"));
                Applied::LOCAL.enabled_by(leader)
            }
            other => unreachable!("{other:?} is not an operation of a barrier"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::step::{Alt, ObjectId};
    use std::panic::Location;

    #[test]
    fn the_last_arrival_leads_and_frees_the_others() {
        let mut barrier = Barrier::default();
        let arrive = Op { arg: 3, ..Op::new(Kind::BarrierArrive, ObjectId(0), Location::caller()) };
        let leave = Op::new(Kind::BarrierLeave, ObjectId(0), Location::caller());
        let at = |thread, step| Moment { thread: ThreadId(thread), step, alt: Alt::DEFAULT };
        for round in [0, 10] {
            for (thread, step) in [(1, round), (2, round + 1)] {
                let applied = barrier.apply(at(thread, step), &arrive);
                assert_eq!((applied.result, applied.accesses[0].mode), (0, Mode::Write));
            }
            assert!(!barrier.ready(ThreadId(1)).enabled);
            let last = barrier.apply(at(3, round + 2), &arrive);
            assert_eq!((last.result, last.accesses[0].mode), (LEADER, Mode::Write));
            for thread in [2, 1] {
                assert!(barrier.ready(ThreadId(thread)).enabled);
                assert_eq!(barrier.apply(at(thread, round + 3), &leave).enabler, round + 2);
            }
        }
    }
}
