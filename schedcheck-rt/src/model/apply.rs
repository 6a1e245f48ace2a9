//! Which state machine an operation goes to: whether it can run ([`Objects::ready`]), and what it does ([`Objects::apply`]).

use super::rwlock::{HAS_WAITED, IN_LINE, NESTED_IN_LINE};
use super::{
    Access, Applied, BudgetKind, BudgetKinds, Kind, Mode, Moment, ObjectId, Objects, Op, Ready, State,
    ThreadId, WOULD_BLOCK, misuse, poison_accesses,
};
use crate::search::step::Alt;

impl Objects {
    /// Keeps account of read guards.
    #[cold]
    fn note_read_guards(&mut self, thread: ThreadId, op: &Op) {
        match op.kind {
            Kind::ReadUnlock => {
                let guard = (thread, op.object);
                if let Some(at) = self.read_guards.iter().position(|held| *held == guard) {
                    self.read_guards.swap_remove(at);
                }
            }
            kind if kind.waits() => self.note_wait(thread, op.object),
            _ => {}
        }
    }

    /// `thread` waits: for `object`, or in a loop ([`ObjectId::NONE`]). Whoever does so while it has a read guard of another
    /// lock may keep a writer, and through it other readers, from going on.
    pub(crate) fn note_wait(&mut self, thread: ThreadId, object: ObjectId) {
        for at in 0..self.read_guards.len() {
            let (holder, lock) = self.read_guards[at];
            if holder == thread && lock != object {
                self.rwlock(lock).holder_waits(thread);
            }
        }
    }

    fn apply_rwlock(&mut self, moment: Moment, op: &Op) -> Applied {
        let applied = self.rwlock(op.object).apply(moment, op);
        let shares = match op.kind {
            Kind::ReadLock => !matches!(applied.result, IN_LINE | NESTED_IN_LINE),
            Kind::TryReadLock => applied.result != WOULD_BLOCK,
            kind => matches!(kind, Kind::ReadLockInLine | Kind::Downgrade),
        };
        if shares {
            self.read_guards.push((moment.thread, op.object));
        }
        if op.kind == Kind::Downgrade && op.arg == HAS_WAITED && !self.marked.contains(&op.object) {
            self.marked.push(op.object);
        }
        applied
    }

    /// Whether `op`, pending in `thread`, could run now.
    #[inline]
    pub fn ready(&self, thread: ThreadId, op: &Op) -> Ready {
        if op.kind.is_always_ready() {
            return Ready::ALWAYS;
        }
        match (op.kind, self.states.get(op.object.0 as usize)) {
            (Kind::Lock, Some(State::Mutex(mutex))) => mutex.ready(),
            _ => self.ready_by_state(thread, op),
        }
    }

    fn ready_by_state(&self, thread: ThreadId, op: &Op) -> Ready {
        match (op.kind, self.states.get(op.object.0 as usize)) {
            (Kind::Spin, _) => {
                Ready { enabled: true, costly: BudgetKinds::NONE.with(BudgetKind::Impatience) }
            }
            (Kind::CondvarWake | Kind::FutexSleep, Some(State::Condvar(condvar))) => {
                condvar.ready(thread, op)
            }
            (Kind::Park, Some(State::Token(token))) => token.ready(op),
            (_, Some(State::Thread(target))) => target.ready(op),
            (kind, Some(State::RwLock(rwlock))) => rwlock.ready(thread, kind),
            (_, Some(State::Once(once))) => once.ready(op),
            (Kind::BarrierLeave, Some(State::Barrier(barrier))) => barrier.ready(thread),
            (_, Some(State::Channel(channel))) => channel.ready(thread, op),
            (_, Some(State::Baton(baton))) => baton.ready(thread, op),
            (Kind::CompareExchangeWeak, _) => {
                Ready { enabled: true, costly: BudgetKinds::NONE.with(BudgetKind::WeakFailure) }
            }
            _ => Ready::ALWAYS,
        }
    }

    /// What `op`, on something else than memory, would be told if it did no more than to look; `None` if it would do more. Who
    /// could fail does: whoever asks has failed just before.
    pub fn looks(&self, op: &Op) -> Option<u32> {
        match (op.kind, self.states.get(op.object.0 as usize)) {
            (Kind::Fence | Kind::Inspect, _) => Some(0),
            (Kind::TryLock, Some(State::Mutex(mutex))) => mutex.owner().map(|_| WOULD_BLOCK),
            (Kind::TryReadLock, Some(State::RwLock(rwlock))) => {
                rwlock.may_hold_readers_back().then_some(WOULD_BLOCK)
            }
            (Kind::TryWriteLock, Some(State::RwLock(rwlock))) => rwlock.holder().map(|_| WOULD_BLOCK),
            (Kind::IsFinished, Some(State::Thread(target))) => Some(target.is_finished()),
            (Kind::OnceLook, Some(State::Once(once))) => Some(once.progress()),
            (_, Some(State::Channel(channel))) => channel.looks(op),
            _ => None,
        }
    }

    /// Executes `op`, which must be ready (or have the costly alternative of `moment`).
    #[inline(always)]
    pub fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        if !self.read_guards.is_empty() {
            self.note_read_guards(moment.thread, op);
        }
        match op.kind {
            Kind::Lock | Kind::TryLock | Kind::Unlock => self.apply_mutex(moment, op),
            Kind::CondvarEnqueue | Kind::CondvarWake | Kind::NotifyOne | Kind::NotifyAll => {
                self.apply_condvar(moment, op)
            }
            Kind::Send
            | Kind::TrySend
            | Kind::OfferTaken
            | Kind::ReceiverArrives
            | Kind::Receive
            | Kind::TryReceive
            | Kind::DropSender
            | Kind::DropReceiver => self.apply_channel(moment, op),
            Kind::Load => self.apply_access(op.object, Mode::Read),
            Kind::Store | Kind::ReadModifyWrite | Kind::CompareExchange => {
                self.apply_access(op.object, Mode::Write)
            }
            Kind::CountUp | Kind::CountDown => self.apply_access(op.object, Mode::Mark),
            Kind::Finish
            | Kind::End
            | Kind::Join
            | Kind::JoinScoped
            | Kind::Leave
            | Kind::Detach
            | Kind::LetGo
            | Kind::AwaitLetGo => self.apply_life(moment, op),
            _ => self.apply_other(moment, op),
        }
    }

    fn apply_access(&self, object: ObjectId, mode: Mode) -> Applied {
        Applied::access(object, mode).from(self.summary(object))
    }

    fn apply_life(&mut self, moment: Moment, op: &Op) -> Applied {
        if op.kind == Kind::End && op.second != ObjectId::NONE {
            self.baton(op.second).ended(moment);
        }
        let life = self.thread(op.object);
        let before = life.summary_for(op);
        life.apply(moment, op).from(before)
    }

    fn apply_mutex(&mut self, moment: Moment, op: &Op) -> Applied {
        let mutex = self.mutex(op.object);
        let before = mutex.summary();
        if op.kind == Kind::Unlock && mutex.owner() != Some(moment.thread) {
            self.misuse = misuse::of(moment.thread, op, self.state(op.object));
            return self.misused(op);
        }
        let mutex = self.mutex(op.object);
        mutex.apply(moment, op).from(before)
    }

    fn apply_condvar(&mut self, moment: Moment, op: &Op) -> Applied {
        if op.kind == Kind::CondvarEnqueue && self.is_misuse(moment.thread, op) {
            return self.misused(op);
        }
        let condvar = self.condvar(op.object);
        let before = condvar.summary();
        condvar.apply(moment, op).from(before)
    }

    fn apply_channel(&mut self, moment: Moment, op: &Op) -> Applied {
        let channel = self.channel(op.object);
        let before = channel.summary();
        channel.apply(moment, op).from(before)
    }

    fn apply_other(&mut self, moment: Moment, op: &Op) -> Applied {
        if op.kind.has_rules() && self.is_misuse(moment.thread, op) {
            return self.misused(op);
        }
        let before = if op.object == ObjectId::NONE { 0 } else { self.summary(op.object) };
        self.change(moment, op).from(before)
    }

    /// Notes whether `op`, which is forbidden in some states, breaks a rule.
    #[inline]
    fn is_misuse(&mut self, thread: ThreadId, op: &Op) -> bool {
        self.misuse = misuse::of(thread, op, self.state(op.object));
        self.misuse.is_some()
    }

    /// What an operation does that broke one: nothing follows, and the state machines know only what is allowed.
    #[cold]
    fn misused(&self, op: &Op) -> Applied {
        Applied::access(op.object, Mode::Write).from(self.summary(op.object))
    }

    fn change(&mut self, moment: Moment, op: &Op) -> Applied {
        match op.kind {
            Kind::Begin if op.object == ObjectId::NONE => Applied::LOCAL.enabled_by(op.arg),
            Kind::Begin | Kind::Transfer | Kind::Regain | Kind::HandBack | Kind::Resume | Kind::Release => {
                self.baton(op.object).apply(moment, op)
            }
            Kind::Yield | Kind::Sleep | Kind::Fence | Kind::Spawn | Kind::Label => Applied::LOCAL,
            Kind::Spin => {
                // Who waits is ordered by what opens its gate alone.
                let mode = if moment.alt == Alt::IMPATIENT { Mode::Read } else { Mode::None };
                let accesses = [op.object, op.second].map(|object| Access::new(object, mode));
                let costly_alts = BudgetKinds::NONE.with(BudgetKind::Impatience);
                Applied { accesses, costly_alts, ..Applied::access(op.object, mode) }
            }
            Kind::YieldRead => Applied::access(op.object, Mode::Read),
            Kind::YieldWrite => Applied::access(op.object, Mode::Write),
            Kind::Inspect | Kind::Adjust => Applied { accesses: poison_accesses(op), ..Applied::LOCAL },
            Kind::CompareExchangeWeak => {
                let mut applied = Applied::access(op.object, Mode::Write);
                applied.costly_alts = BudgetKinds::NONE.with(BudgetKind::WeakFailure);
                applied
            }
            Kind::Park | Kind::Unpark => self.token(op.object).apply(moment, op),
            Kind::IsFinished => self.thread(op.object).apply(moment, op),
            Kind::FutexWait => {
                let mut applied = self.condvar(op.object).apply(moment, op);
                applied.accesses[1] = Access::new(op.second, Mode::Read);
                applied
            }
            Kind::FutexSleep | Kind::FutexWake => self.condvar(op.object).apply(moment, op),
            Kind::ReadLock
            | Kind::ReadLockInLine
            | Kind::TryReadLock
            | Kind::ReadUnlock
            | Kind::WriteRequest
            | Kind::WriteLock
            | Kind::TryWriteLock
            | Kind::WriteUnlock
            | Kind::Downgrade => self.apply_rwlock(moment, op),
            Kind::OnceEnter | Kind::OnceFinish | Kind::OnceLook | Kind::OnceWait => {
                self.once(op.object).apply(moment, op)
            }
            Kind::BarrierArrive | Kind::BarrierLeave => self.barrier(op.object).apply(moment, op),
            Kind::Choose => {
                Applied { free_alts: op.arg as u16, ..Applied::LOCAL.result(u32::from(moment.alt.0)) }
            }
            other => unreachable!("{other:?} was applied before"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ObjectKind;
    use super::*;
    use std::panic::Location;

    #[test]
    fn what_is_always_ready_is_so_by_its_state_too() {
        let mut objects = Objects::default();
        let held = objects.create(ObjectKind::Mutex);
        let lock = Op::new(Kind::Lock, held, Location::caller());
        objects.apply(Moment { thread: ThreadId(1), step: 0, alt: Alt::DEFAULT }, &lock);
        let kinds = [
            (ObjectKind::Mutex, &[Kind::TryLock, Kind::Unlock][..]),
            (ObjectKind::Condvar, &[Kind::CondvarEnqueue, Kind::NotifyOne, Kind::NotifyAll]),
            (ObjectKind::Thread, &[Kind::Finish, Kind::End, Kind::Leave, Kind::Detach, Kind::LetGo]),
            (ObjectKind::Channel { capacity: 0 }, &[Kind::DropSender]),
            (ObjectKind::Memory, &[Kind::Load, Kind::Store, Kind::ReadModifyWrite, Kind::CompareExchange]),
            (ObjectKind::Memory, &[Kind::CountUp, Kind::CountDown]),
        ];
        for (object, kinds) in kinds {
            let fresh = objects.create(object);
            for (object, kind) in kinds.iter().flat_map(|kind| [(fresh, *kind), (held, *kind)]) {
                let op = Op::new(kind, object, Location::caller());
                assert!(kind.is_always_ready());
                assert_eq!(objects.ready_by_state(ThreadId(1), &op), Ready::ALWAYS, "{kind:?}");
            }
        }
        let spawn = Op::new(Kind::Spawn, ObjectId::NONE, Location::caller());
        assert_eq!(objects.ready_by_state(ThreadId(1), &spawn), Ready::ALWAYS);
        assert!(!objects.ready(ThreadId(1), &lock).enabled);
    }
}
