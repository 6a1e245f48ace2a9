//! Which operations of the model order memory accesses: those of std that synchronise, and no others.
//!
//! What a thread knows flows into an object (*publish*) and from it into another thread (*acquire*).
//!
//! * A condition variable orders nothing: its mutex does. A futex orders nothing: its word does.
//! * Readers of a reader-writer lock are not ordered among each other, only with writers. What they publish is kept apart,
//!   under the number of the lock's queue.
//! * A message orders its sender before its receiver; the taking of a message from a full channel orders the receiver
//!   before the sender that gets the room. Senders are not ordered among each other.
//! * `is_finished` looks at a count without ordering anything; a failed `try_lock` neither.
//! * Operations that the search takes for independent must give the same clocks in either order. So those who are let go
//!   on by a single step (out of a barrier, or when an offer was taken) take over what that step left, not what the object
//!   has come to pass on since.
//! * Atomics and fences order by what their `Ordering` says: `detector.rs`.

use super::threads::Clocks;
use crate::model::{
    Applied, DISCONNECTED, IN_LINE, Kind, LEADER, Moment, NESTED_IN_LINE, NOT_NOW, Op, PASSED_ON, UNBOUNDED,
    WOULD_BLOCK,
};
use crate::search::step::{Alt, ObjectId, StepIndex};

/// A part of an object, by its number after it.
const fn part(object: ObjectId, number: u32) -> ObjectId {
    ObjectId(object.0 + number)
}

/// The read guards of a reader-writer lock that were given up.
const fn readers(lock: ObjectId) -> ObjectId {
    part(lock, 1)
}

/// The end of a channel's receiver.
const fn receiver_left(channel: ObjectId) -> ObjectId {
    part(channel, 1)
}

/// The ends of a channel's senders.
const fn senders_left(channel: ObjectId) -> ObjectId {
    part(channel, 2)
}

/// The arrivals of the receiver at a channel without places.
const fn arrivals(channel: ObjectId) -> ObjectId {
    part(channel, 3)
}

/// Orders the accesses of `thread` as the operation that it has just executed does.
pub(super) fn apply(clocks: &mut Clocks, thread: usize, op: &Op, moment: Moment, applied: &Applied) {
    let (object, step) = (op.object, moment.step);
    match op.kind {
        Kind::Lock | Kind::ReadLockInLine | Kind::OnceEnter | Kind::OnceLook | Kind::OnceWait => {
            clocks.acquire(thread, object)
        }
        Kind::TryLock | Kind::TryReadLock if applied.result != WOULD_BLOCK => clocks.acquire(thread, object),
        Kind::ReadLock if !matches!(applied.result, IN_LINE | NESTED_IN_LINE) => {
            clocks.acquire(thread, object);
        }
        Kind::WriteLock => acquire_all(clocks, thread, object),
        Kind::TryWriteLock if applied.result != WOULD_BLOCK => acquire_all(clocks, thread, object),
        Kind::Unlock | Kind::WriteUnlock | Kind::Downgrade | Kind::OnceFinish => {
            clocks.publish(thread, object);
        }
        // The end of a body and that of its thread are objects apart, if they are: `model/life.rs`.
        Kind::Join | Kind::JoinScoped | Kind::AwaitLetGo => {
            clocks.acquire(thread, applied.accesses[0].object)
        }
        Kind::Finish => clocks.publish(thread, object),
        // What was done with a result comes before its drop, whoever drops it, and what was done before a handle was given
        // up before the end of the scope that waits for that.
        Kind::Leave | Kind::Detach | Kind::LetGo => {
            clocks.publish_more(thread, applied.accesses[0].object);
            clocks.acquire(thread, applied.accesses[0].object);
        }
        Kind::End => {
            clocks.publish(thread, applied.accesses[0].object);
            if op.second != ObjectId::NONE {
                clocks.publish(thread, op.second);
            }
        }
        // Whoever directs a scenario may look at what its threads did. They themselves are not ordered by it: without
        // it they would not be either.
        Kind::HandBack => clocks.publish(thread, object),
        Kind::Regain => clocks.acquire(thread, object),
        Kind::ReadUnlock => clocks.publish_more(thread, readers(object)),
        Kind::Unpark => clocks.publish_more(thread, object),
        Kind::Park if moment.alt == Alt::DEFAULT => clocks.acquire(thread, object),
        Kind::BarrierArrive => {
            clocks.publish_more(thread, object);
            if applied.result == LEADER {
                clocks.acquire(thread, object);
                clocks.leave(thread, step);
                // Arrivals of the next round may come before all have left this one.
                clocks.renew(object);
            }
        }
        Kind::BarrierLeave => clocks.follow(thread, applied.enabler),
        Kind::Send
        | Kind::TrySend
        | Kind::OfferTaken
        | Kind::ReceiverArrives
        | Kind::Receive
        | Kind::TryReceive
        | Kind::DropSender
        | Kind::DropReceiver => channel(clocks, thread, op, step, applied),
        _ => {}
    }
}

fn acquire_all(clocks: &mut Clocks, thread: usize, lock: ObjectId) {
    clocks.acquire(thread, lock);
    clocks.acquire(thread, readers(lock));
}

fn channel(clocks: &mut Clocks, thread: usize, op: &Op, step: StepIndex, applied: &Applied) {
    let (channel, capacity) = (op.object, op.arg);
    let bounded = capacity != UNBOUNDED && capacity != 0;
    let places = if bounded { capacity.into() } else { u64::MAX };
    match (op.kind, applied.result) {
        (Kind::Send | Kind::TrySend | Kind::OfferTaken, DISCONNECTED) => {
            clocks.acquire(thread, receiver_left(channel));
        }
        (Kind::Receive | Kind::TryReceive, DISCONNECTED) => clocks.acquire(thread, senders_left(channel)),
        (Kind::Send, _) => clocks.send(thread, channel, places),
        (Kind::TrySend, result) if result != NOT_NOW => {
            if capacity == 0 {
                clocks.acquire(thread, arrivals(channel));
            }
            clocks.send(thread, channel, places);
        }
        (Kind::OfferTaken, _) => clocks.follow(thread, applied.enabler),
        (Kind::ReceiverArrives, _) => clocks.publish_more(thread, arrivals(channel)),
        (Kind::Receive | Kind::TryReceive, PASSED_ON) => {
            clocks.receive(thread, channel, bounded);
            if capacity == 0 {
                clocks.leave(thread, step);
            }
        }
        (Kind::DropSender, _) => clocks.publish_more(thread, senders_left(channel)),
        (Kind::DropReceiver, _) => {
            if capacity != 0 {
                clocks.receive_all(thread, channel);
            }
            clocks.publish(thread, receiver_left(channel));
        }
        _ => {}
    }
}
