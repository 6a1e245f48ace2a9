//! What a thread would do to its objects if it ran now: what the search knows of pending operations.

use super::controller::World;
use super::script::without_waking;
use crate::model::{Kind, Objects, Op};
use crate::search::step::{Access, Mode, ObjectId, Pending, StepIndex};

impl World {
    /// Writes down what every live thread is about to do.
    pub(crate) fn collect_pending(&mut self) {
        self.views.clear();
        for slot in 0..self.threads.len() {
            if self.threads[slot].ended {
                continue;
            }
            let ready = self.ready(slot);
            let site = self.place_of(slot);
            let thread = &self.threads[slot];
            self.views.push(Pending {
                thread: thread.id,
                enabled: ready.enabled,
                costly_alts: if self.is_directed(slot) { without_waking(ready.costly) } else { ready.costly },
                accesses: if self.twins && self.waits_for_twin(slot) {
                    // What it will do, the twin before it does first.
                    [Access::NONE; 2]
                } else {
                    pending_accesses(&self.objects, &thread.op, ready.enabled)
                },
                site,
                yields: matches!(thread.op.kind, Kind::Yield | Kind::Sleep),
                held: thread.held || self.cooperative && thread.op.kind != Kind::Label,
                comes_round: self.spins[slot].comes_round,
            });
        }
    }

    /// Writes the pending operations at the end into the trace.
    pub(crate) fn keep_pending(&mut self) {
        self.collect_pending();
        std::mem::swap(&mut self.views, &mut self.trace.pending);
    }

    /// Writes into the trace what all but the thread that gets its turn wait for, at a step that is forced.
    #[cold]
    pub(super) fn keep_waiting(&mut self, step: StepIndex) {
        self.collect_pending();
        let current = self.threads[self.current].id;
        let others = self.views.iter().filter(|pending| pending.thread != current);
        self.trace.waiting.extend(others.map(|&pending| (step, pending)));
    }
}

/// The accesses an operation will make, as far as they are known beforehand.
fn pending_accesses(objects: &Objects, op: &Op, enabled: bool) -> [Access; 2] {
    let mode = match op.kind {
        Kind::Begin | Kind::Yield | Kind::Sleep | Kind::Fence | Kind::Spawn | Kind::Choose | Kind::Label => {
            Mode::None
        }
        // Passing the right to run on orders steps, but nobody competes for it.
        Kind::Transfer | Kind::Regain | Kind::HandBack | Kind::Resume | Kind::Release => Mode::None,
        Kind::Spin => return [op.object, op.second].map(|object| Access::new(object, Mode::None)),
        Kind::YieldRead => Mode::Read,
        Kind::YieldWrite => Mode::Write,
        // Being woken is ordered by its enabler alone; giving up is an alternative.
        Kind::CondvarWake | Kind::FutexSleep => Mode::None,
        Kind::Load => Mode::Read,
        Kind::Inspect | Kind::Adjust => return crate::model::poison_accesses(op),
        Kind::Store
        | Kind::ReadModifyWrite
        | Kind::CompareExchange
        | Kind::CompareExchangeWeak
        | Kind::CondvarEnqueue
        | Kind::NotifyOne
        | Kind::NotifyAll
        | Kind::CountDown
        | Kind::FutexWait
        | Kind::FutexWake => Mode::Write,
        Kind::Park => Mode::AwaitWrite,
        Kind::Unpark | Kind::CountUp => Mode::Mark,
        Kind::Lock => Mode::Acquire,
        Kind::TryLock => Mode::TryAcquire,
        Kind::Unlock => return crate::model::unlocked(op).accesses,
        Kind::ReadLock
        | Kind::ReadLockInLine
        | Kind::TryReadLock
        | Kind::ReadUnlock
        | Kind::WriteRequest
        | Kind::WriteLock
        | Kind::TryWriteLock
        | Kind::WriteUnlock
        | Kind::Downgrade => return objects.rwlock_accesses(op, enabled),
        Kind::OnceEnter | Kind::OnceFinish | Kind::OnceLook | Kind::OnceWait => {
            return objects.once_accesses(op, enabled);
        }
        Kind::Finish
        | Kind::End
        | Kind::Join
        | Kind::JoinScoped
        | Kind::IsFinished
        | Kind::Leave
        | Kind::Detach
        | Kind::LetGo
        | Kind::AwaitLetGo => return objects.life_accesses(op, enabled),
        Kind::BarrierArrive => Mode::Write,
        Kind::BarrierLeave => return [Access::NONE; 2],
        Kind::Send
        | Kind::TrySend
        | Kind::OfferTaken
        | Kind::ReceiverArrives
        | Kind::Receive
        | Kind::TryReceive
        | Kind::DropSender
        | Kind::DropReceiver => return objects.channel_accesses(op),
    };
    let second = if op.second == ObjectId::NONE { Mode::None } else { Mode::Read };
    [Access::new(op.object, mode), Access::new(op.second, second)]
}
