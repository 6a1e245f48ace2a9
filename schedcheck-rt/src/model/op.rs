//! What a thread can be about to do.

use crate::search::step::{BudgetKind, BudgetKinds, ObjectId};
use core::panic::Location;

/// Where in the source an operation stands.
pub type Site = &'static Location<'static>;

/// The kinds of operation. Each is one step of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A thread starts.
    Begin,
    /// The body of a thread is done; the destructors of its thread-local values follow.
    Finish,
    /// A thread ends.
    End,
    /// Waits for a thread's end.
    Join,
    /// Waits until a thread's body is done.
    JoinScoped,
    /// Leaves a result to whoever has the handle.
    Leave,
    /// Drops a handle, and what its thread left.
    Detach,
    /// Gives up the handle of a scoped thread where its scope cannot know of it otherwise.
    LetGo,
    /// Waits at the end of a scope until the handle of a thread is given up.
    AwaitLetGo,
    /// Looks whether a thread has ended.
    IsFinished,
    /// Starts a thread.
    Spawn,
    /// Lets others go first.
    Yield,
    /// Waits for time to pass.
    Sleep,
    /// Goes round once more in a loop that counts its rounds and waits for others.
    Spin,
    /// Waits for a token.
    Park,
    /// Gives a token.
    Unpark,
    /// Reads an atomic.
    Load,
    /// Writes an atomic.
    Store,
    /// Reads and writes an atomic.
    ReadModifyWrite,
    /// Reads an atomic, writes it if the value is the expected one.
    CompareExchange,
    /// The same, but may fail for no reason.
    CompareExchangeWeak,
    /// Orders memory accesses.
    Fence,
    /// Looks at an object without changing it (a poison flag).
    Inspect,
    /// Changes an object without taking it (clearing a poison flag).
    Adjust,
    /// Locks a mutex.
    Lock,
    /// Locks a mutex if it is free.
    TryLock,
    /// Unlocks a mutex.
    Unlock,
    /// Joins the waiters of a condvar (the mutex is still held).
    CondvarEnqueue,
    /// Leaves the waiters of a condvar: woken, timed out or for no reason.
    CondvarWake,
    /// Wakes one waiter.
    NotifyOne,
    /// Wakes all waiters.
    NotifyAll,
    /// Raises a reference count.
    CountUp,
    /// Lowers a reference count.
    CountDown,
    /// Joins the waiters of a futex, whose word was found as expected.
    FutexWait,
    /// Leaves the waiters of a futex: woken, timed out or for no reason.
    FutexSleep,
    /// Wakes waiters of a futex.
    FutexWake,
    /// Locks for reading; passes waiting writers, or stands in line behind them.
    ReadLock,
    /// Locks for reading once no writer waits.
    ReadLockInLine,
    /// Locks for reading if that is possible at once.
    TryReadLock,
    /// Gives up a read lock.
    ReadUnlock,
    /// Joins the writers that wait.
    WriteRequest,
    /// Locks for writing.
    WriteLock,
    /// Locks for writing if that is possible at once.
    TryWriteLock,
    /// Gives up a write lock.
    WriteUnlock,
    /// Makes a write lock a read lock.
    Downgrade,
    /// Begins a one-time initialisation, or finds it done.
    OnceEnter,
    /// Ends a one-time initialisation.
    OnceFinish,
    /// Looks how far a one-time initialisation is.
    OnceLook,
    /// Waits for the end of a one-time initialisation.
    OnceWait,
    /// Arrives at a barrier.
    BarrierArrive,
    /// Leaves a barrier when all have arrived.
    BarrierLeave,
    /// Sends an item.
    Send,
    /// Sends an item if there is room.
    TrySend,
    /// Waits until an offered item was taken.
    OfferTaken,
    /// Announces a receiver on a channel without places.
    ReceiverArrives,
    /// Receives an item.
    Receive,
    /// Receives an item if there is one.
    TryReceive,
    /// Gives up a sender.
    DropSender,
    /// Gives up the receiver.
    DropReceiver,
    /// Chooses one of several values.
    Choose,
    /// Passes a label at which it may be switched.
    Label,
    /// Is about to read what the program names.
    YieldRead,
    /// Is about to write what the program names.
    YieldWrite,
    /// Lets a thread of a scenario run.
    Transfer,
    /// Waits until that one has stopped.
    Regain,
    /// Stops, as its scenario wants.
    HandBack,
    /// Goes on when its scenario says so.
    Resume,
    /// Lets all threads of a scenario run.
    Release,
}

impl Kind {
    /// The name used in reports and replay files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Begin => "begin",
            Kind::Finish => "finish",
            Kind::End => "end",
            Kind::Join | Kind::JoinScoped => "join",
            Kind::Leave => "leave",
            Kind::Detach => "detach",
            Kind::LetGo => "let_go",
            Kind::AwaitLetGo => "scope_end",
            Kind::IsFinished => "is_finished",
            Kind::Spawn => "spawn",
            Kind::Yield => "yield",
            Kind::Sleep => "sleep",
            Kind::Spin => "spin",
            Kind::Park => "park",
            Kind::Unpark => "unpark",
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::ReadModifyWrite => "rmw",
            Kind::CompareExchange => "cas",
            Kind::CompareExchangeWeak => "cas_weak",
            Kind::Fence => "fence",
            Kind::Inspect => "inspect",
            Kind::Adjust => "adjust",
            Kind::Lock => "lock",
            Kind::TryLock => "try_lock",
            Kind::Unlock => "unlock",
            Kind::CondvarEnqueue => "wait",
            Kind::CondvarWake => "wake",
            Kind::NotifyOne => "notify_one",
            Kind::NotifyAll => "notify_all",
            Kind::CountUp => "count_up",
            Kind::CountDown => "count_down",
            Kind::FutexWait => "futex_wait",
            Kind::FutexSleep => "futex_sleep",
            Kind::FutexWake => "futex_wake",
            Kind::ReadLock => "read",
            Kind::ReadLockInLine => "read_in_line",
            Kind::TryReadLock => "try_read",
            Kind::ReadUnlock => "read_unlock",
            Kind::WriteRequest => "request_write",
            Kind::WriteLock => "write",
            Kind::TryWriteLock => "try_write",
            Kind::WriteUnlock => "write_unlock",
            Kind::Downgrade => "downgrade",
            Kind::OnceEnter => "once",
            Kind::OnceFinish => "once_end",
            Kind::OnceLook => "is_completed",
            Kind::OnceWait => "once_wait",
            Kind::BarrierArrive => "barrier",
            Kind::BarrierLeave => "barrier_leave",
            Kind::Send => "send",
            Kind::TrySend => "try_send",
            Kind::OfferTaken => "send_taken",
            Kind::ReceiverArrives => "recv_ready",
            Kind::Receive => "recv",
            Kind::TryReceive => "try_recv",
            Kind::DropSender => "drop_sender",
            Kind::DropReceiver => "drop_receiver",
            Kind::Choose => "choose",
            Kind::Label => "label",
            Kind::YieldRead => "yield_read",
            Kind::YieldWrite => "yield_write",
            Kind::Transfer => "transfer",
            Kind::Regain => "regain",
            Kind::HandBack => "hand_back",
            Kind::Resume => "resume",
            Kind::Release => "release",
        }
    }

    /// Whether it is forbidden in some states (see `misuse.rs`).
    pub(crate) const fn has_rules(self) -> bool {
        matches!(
            self,
            Kind::Unlock | Kind::ReadUnlock | Kind::WriteUnlock | Kind::Downgrade | Kind::CondvarEnqueue
        )
    }

    /// Whether it is an operation on a memory cell: what it does is known when the program has done it.
    pub(crate) const fn is_on_memory(self) -> bool {
        matches!(
            self,
            Kind::Load
                | Kind::Store
                | Kind::ReadModifyWrite
                | Kind::CompareExchange
                | Kind::CompareExchangeWeak
                | Kind::CountUp
                | Kind::CountDown
        )
    }

    /// Whether it can run in every state, in one way only.
    #[inline]
    pub(crate) const fn is_always_ready(self) -> bool {
        matches!(
            self,
            Kind::Spawn
                | Kind::Finish
                | Kind::End
                | Kind::Leave
                | Kind::Detach
                | Kind::LetGo
                | Kind::Load
                | Kind::Store
                | Kind::ReadModifyWrite
                | Kind::CompareExchange
                | Kind::CountUp
                | Kind::CountDown
                | Kind::TryLock
                | Kind::Unlock
                | Kind::CondvarEnqueue
                | Kind::NotifyOne
                | Kind::NotifyAll
                | Kind::DropSender
        )
    }

    /// Whether it lets time pass until something happens elsewhere.
    pub const fn waits(self) -> bool {
        matches!(
            self,
            Kind::Join
                | Kind::JoinScoped
                | Kind::AwaitLetGo
                | Kind::Yield
                | Kind::Sleep
                | Kind::Park
                | Kind::Lock
                | Kind::CondvarWake
                | Kind::FutexSleep
                | Kind::ReadLock
                | Kind::ReadLockInLine
                | Kind::WriteLock
                | Kind::OnceEnter
                | Kind::OnceWait
                | Kind::BarrierLeave
                | Kind::Send
                | Kind::OfferTaken
                | Kind::Receive
                | Kind::Regain
                | Kind::Resume
        )
    }
}

/// One operation a thread is about to execute.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// What.
    pub kind: Kind,
    /// On which object, [`ObjectId::NONE`] if on none.
    pub object: ObjectId,
    /// A second object that it concerns (a futex's word, the right to run that ends with a thread), [`ObjectId::NONE`] if
    /// none.
    pub second: ObjectId,
    /// A parameter whose meaning belongs to the kind.
    pub arg: u32,
    /// When a timed wait would give up, in virtual nanoseconds; `u64::MAX` for never.
    pub deadline: u64,
    /// It may also give up late: its thread looks at the clock, and so may be late for whatever it finds there.
    pub may_be_late: bool,
    /// Where.
    pub site: Site,
}

impl Op {
    /// An operation without parameter or deadline.
    pub const fn new(kind: Kind, object: ObjectId, site: Site) -> Op {
        Op { kind, object, second: ObjectId::NONE, arg: 0, deadline: u64::MAX, may_be_late: false, site }
    }

    /// Whether it can time out.
    pub const fn timed(&self) -> bool {
        self.deadline != u64::MAX
    }

    /// The ways in which it can.
    pub(super) const fn ways_to_give_up(&self) -> BudgetKinds {
        let kinds = BudgetKinds::NONE;
        match (self.timed(), self.may_be_late) {
            (false, _) => kinds,
            (true, false) => kinds.with(BudgetKind::Timeout),
            (true, true) => kinds.with(BudgetKind::Timeout).with(BudgetKind::Lateness),
        }
    }
}
