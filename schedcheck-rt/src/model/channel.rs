//! A channel: the items under way, who can still send, whether somebody can still receive.
//!
//! A send and a receive of different items commute, so a channel is several objects: its head,
//! where items leave, its tail, where they arrive, its senders, its room, and its end. They are
//! numbered in this order; operations name the head.
//!
//! * A receive is enabled by the send of that very item, or by the drop of the last sender.
//! * `try_recv` and a time-out observe the tail and the end.
//! * A clone of a sender is no step: only "nobody is left" can be observed, and whoever clones is
//!   left. Drops that are not the last commute.
//! * A send into a channel of two or more places that was full is enabled by the receive that made
//!   room. Where the receive is itself behind another send, that edge hides that the two compete for
//!   a place. So a send *takes* one ([`Mode::AwaitWrite`]): the search then asks what would have
//!   happened, had it come before the one that took the last place. With one place the receive always
//!   is behind the other send, so there the room is taken and released like a lock.
//! * A send that waited for room and is told that the receiver has gone could have had a place, too.
//! * Without any place, a send is an offer and a wait until it was taken. The receiver announces
//!   that it waits, because `try_send` succeeds only then.

use super::{Applied, Kind, Moment, Op, Ready};
use crate::search::step::{Access, BudgetKinds, Mode, NO_STEP, ObjectId, StepIndex, ThreadId};
use std::collections::VecDeque;

/// Number of objects a channel consists of.
pub(crate) const CHANNEL_OBJECTS: u32 = 5;
/// Capacity of a channel that is never full.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// Answer: an item was handed over.
pub(crate) const PASSED_ON: u32 = 0;
/// Answer: there is no item, or no room.
pub(crate) const NOT_NOW: u32 = 1;
/// Answer: nobody is left at the other end.
pub(crate) const DISCONNECTED: u32 = 2;
/// Answer: the time is over.
pub(crate) const GAVE_UP: u32 = 3;

/// An item under way.
#[derive(Clone, Copy, Debug)]
struct Item {
    sender: ThreadId,
    sent: StepIndex,
    /// The sender waits until it is taken.
    offered: bool,
}

/// State of a channel.
#[derive(Clone, Debug)]
pub struct Channel {
    capacity: u32,
    items: VecDeque<Item>,
    /// Items sent so far.
    sent: usize,
    /// The receives so far, where sends may wait for them.
    takes: Vec<StepIndex>,
    /// Senders whose offer was taken, and by which step.
    taken: Vec<(ThreadId, StepIndex)>,
    /// The receiver waits for an offer.
    receiver_waits: bool,
    senders: u32,
    last_sender_left: StepIndex,
    receiver_left: StepIndex,
    /// It was full when the receiver left: sends had to wait for that.
    full_when_left: bool,
}

const fn tail(head: ObjectId) -> ObjectId {
    ObjectId(head.0 + 1)
}

const fn senders(head: ObjectId) -> ObjectId {
    ObjectId(head.0 + 2)
}

const fn room(head: ObjectId) -> ObjectId {
    ObjectId(head.0 + 3)
}

fn two(first: (ObjectId, Mode), second: (ObjectId, Mode)) -> Applied {
    let mut applied = Applied::access(first.0, first.1);
    if second.1 != Mode::None {
        applied.accesses[1] = Access::new(second.0, second.1);
    }
    applied
}

/// How a send uses the room of a channel of this capacity.
const fn taking_room(capacity: u32) -> Mode {
    if capacity == 1 { Mode::Acquire } else { Mode::None }
}

/// How a receive uses the room of a channel of this capacity.
const fn making_room(capacity: u32) -> Mode {
    match capacity {
        0 => Mode::Write,
        1 => Mode::Release,
        UNBOUNDED => Mode::None,
        _ => Mode::Mark,
    }
}

/// What tells that no sender is left, apart from their number. A time-out on a channel without places
/// uses the tail and the room, so there it is the tail.
const fn end(head: ObjectId, capacity: u32) -> ObjectId {
    if capacity == 0 { tail(head) } else { ObjectId(head.0 + 4) }
}

impl Channel {
    pub(super) fn new(capacity: u32) -> Channel {
        Channel {
            capacity,
            items: VecDeque::new(),
            sent: 0,
            takes: Vec::new(),
            taken: Vec::new(),
            receiver_waits: false,
            senders: 1,
            last_sender_left: NO_STEP,
            receiver_left: NO_STEP,
            full_when_left: false,
        }
    }

    /// The next execution begins.
    pub(super) fn renew(&mut self, capacity: u32) {
        let (mut items, mut takes, mut taken) = (
            std::mem::take(&mut self.items),
            std::mem::take(&mut self.takes),
            std::mem::take(&mut self.taken),
        );
        items.clear();
        takes.clear();
        taken.clear();
        *self = Channel { items, takes, taken, ..Channel::new(capacity) };
    }

    /// How many items were ever sent, how many wait, whether somebody is gone.
    pub(super) fn summary(&self) -> u64 {
        let gone = u64::from(self.senders == 0) | u64::from(self.disconnected()) << 1;
        (self.sent as u64) << 32 | (self.items.len() as u64) << 2 | gone
    }

    pub(super) fn add_sender(&mut self) {
        self.senders += 1;
    }

    fn disconnected(&self) -> bool {
        self.receiver_left != NO_STEP
    }

    /// Whether a send has to wait; offers are never refused.
    fn is_full(&self) -> bool {
        self.capacity != 0 && self.items.len() as u64 >= u64::from(self.capacity)
    }

    pub(super) fn ready(&self, thread: ThreadId, op: &Op) -> Ready {
        match op.kind {
            Kind::Send => Ready::when(self.disconnected() || !self.is_full()),
            Kind::OfferTaken => {
                Ready::when(self.disconnected() || self.taken.iter().any(|(taken, _)| *taken == thread))
            }
            Kind::Receive => {
                let enabled = !self.items.is_empty() || self.senders == 0;
                Ready { enabled, costly: if enabled { BudgetKinds::NONE } else { op.ways_to_give_up() } }
            }
            _ => Ready::ALWAYS,
        }
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let head = op.object;
        match op.kind {
            Kind::Send => self.send(moment, head),
            Kind::TrySend => self.try_send(moment, head),
            Kind::OfferTaken => self.offer_taken(moment),
            Kind::ReceiverArrives => {
                self.receiver_waits = true;
                Applied::access(room(head), Mode::Write)
            }
            Kind::Receive => self.receive(moment, op),
            Kind::TryReceive => self.try_receive(moment, head),
            Kind::DropSender => {
                self.senders -= 1;
                if self.senders > 0 {
                    return Applied::access(senders(head), Mode::Mark);
                }
                self.last_sender_left = moment.step;
                two((senders(head), Mode::Write), (end(head, self.capacity), Mode::Write))
            }
            Kind::DropReceiver => {
                self.full_when_left = self.is_full();
                self.receiver_left = moment.step;
                self.items.clear();
                two((tail(head), Mode::Write), (room(head), making_room(self.capacity)))
            }
            other => unreachable!("{other:?} is not an operation of a channel"),
        }
    }

    fn put(&mut self, moment: Moment, offered: bool) {
        self.items.push_back(Item { sender: moment.thread, sent: moment.step, offered });
        self.sent += 1;
    }

    fn send(&mut self, moment: Moment, head: ObjectId) -> Applied {
        if self.disconnected() {
            let applied = if self.full_when_left {
                // It could have had a place, had it been there before whoever took the last one.
                let room_mode = if self.capacity == 1 { Mode::AwaitWrite } else { Mode::None };
                two((tail(head), Mode::AwaitWrite), (room(head), room_mode)).enabled_by(self.receiver_left)
            } else {
                Applied::access(tail(head), Mode::Read)
            };
            return applied.result(DISCONNECTED);
        }
        let (mode, waited_for) = match self.capacity {
            0 | 1 | UNBOUNDED => (Mode::Write, NO_STEP),
            places => {
                let take = self.sent.checked_sub(places as usize);
                (Mode::AwaitWrite, take.map_or(NO_STEP, |take| self.takes[take]))
            }
        };
        self.put(moment, self.capacity == 0);
        two((tail(head), mode), (room(head), taking_room(self.capacity))).enabled_by(waited_for)
    }

    fn try_send(&mut self, moment: Moment, head: ObjectId) -> Applied {
        let applied = self.trying_to_send(head);
        if applied.result == PASSED_ON {
            self.put(moment, false);
        }
        applied
    }

    fn trying_to_send(&self, head: ObjectId) -> Applied {
        if self.disconnected() {
            return Applied::access(tail(head), Mode::Read).result(DISCONNECTED);
        }
        let possible =
            if self.capacity == 0 { self.receiver_waits && self.items.is_empty() } else { !self.is_full() };
        if !possible {
            // Where the room is a lock, it tells all. A send that comes later would compete with a look at
            // the tail as if it could have come first, which it could not as long as there was no room.
            let tail_mode = if self.capacity == 1 { Mode::None } else { Mode::Read };
            return two((room(head), Mode::Read), (tail(head), tail_mode)).result(NOT_NOW);
        }
        let (tail_mode, room_mode) = match self.capacity {
            0 => (Mode::Write, Mode::Write),
            1 => (Mode::Write, Mode::TryAcquire),
            _ => (Mode::TryAcquire, Mode::Read),
        };
        two((tail(head), tail_mode), (room(head), room_mode)).result(PASSED_ON)
    }

    fn offer_taken(&mut self, moment: Moment) -> Applied {
        match self.taken.iter().position(|(sender, _)| *sender == moment.thread) {
            Some(at) => Applied::LOCAL.enabled_by(self.taken.swap_remove(at).1),
            None => Applied::LOCAL.enabled_by(self.receiver_left).result(DISCONNECTED),
        }
    }

    fn take(&mut self, moment: Moment) -> Option<Item> {
        let item = self.items.pop_front()?;
        if item.offered {
            self.taken.push((item.sender, moment.step));
        }
        if self.capacity != UNBOUNDED {
            self.takes.push(moment.step);
        }
        Some(item)
    }

    fn receive(&mut self, moment: Moment, op: &Op) -> Applied {
        let head = op.object;
        self.receiver_waits = false;
        if moment.alt.gives_up() {
            let second = if self.capacity == 0 {
                (room(head), Mode::Write)
            } else {
                (end(head, UNBOUNDED), Mode::Read)
            };
            return two((tail(head), Mode::Read), second).result(GAVE_UP);
        }
        let applied = match self.take(moment) {
            Some(item) => two((head, Mode::AwaitWrite), (room(head), making_room(self.capacity)))
                .enabled_by(item.sent)
                .result(PASSED_ON),
            None => Applied::access(end(head, self.capacity), Mode::Await)
                .enabled_by(self.last_sender_left)
                .result(DISCONNECTED),
        };
        Applied { costly_alts: op.ways_to_give_up(), ..applied }
    }

    fn try_receive(&mut self, moment: Moment, head: ObjectId) -> Applied {
        let applied = self.trying_to_receive(head);
        self.take(moment);
        applied
    }

    fn trying_to_receive(&self, head: ObjectId) -> Applied {
        if self.items.is_empty() {
            let answer = if self.senders == 0 { DISCONNECTED } else { NOT_NOW };
            return two((tail(head), Mode::Read), (end(head, self.capacity), Mode::Read)).result(answer);
        }
        // The receiver has the head for itself: only senders can notice that an item left.
        let applied = match self.capacity {
            0 | UNBOUNDED => two((tail(head), Mode::Read), (head, Mode::Write)),
            // The send of this item took the room: that is what it competes with. Later sends
            // had to wait for it, and must not seem reversible through the tail.
            1 => Applied::access(room(head), Mode::Release),
            capacity => two((tail(head), Mode::Read), (room(head), making_room(capacity))),
        };
        applied.result(PASSED_ON)
    }

    /// What an attempt would be told that moves no item; `None` of one that does, and of other operations.
    pub(super) fn looks(&self, op: &Op) -> Option<u32> {
        let told = match op.kind {
            Kind::TrySend => self.trying_to_send(op.object).result,
            Kind::TryReceive => self.trying_to_receive(op.object).result,
            _ => return None,
        };
        (told != PASSED_ON).then_some(told)
    }

    /// The accesses of a pending operation, as it would turn out now or as far as they are known. The
    /// parameter of every such operation is the capacity.
    pub(super) fn pending_accesses(&self, op: &Op) -> [Access; 2] {
        let (head, capacity) = (op.object, op.arg);
        let blocking = if matches!(capacity, 0 | UNBOUNDED) { Mode::Write } else { Mode::AwaitWrite };
        match op.kind {
            Kind::Send => two((tail(head), blocking), (room(head), taking_room(capacity))),
            Kind::TrySend => self.trying_to_send(head),
            Kind::ReceiverArrives => Applied::access(room(head), Mode::Write),
            Kind::Receive => two((head, Mode::AwaitWrite), (room(head), making_room(capacity))),
            Kind::TryReceive => self.trying_to_receive(head),
            Kind::DropSender => two((senders(head), Mode::Write), (end(head, capacity), Mode::Write)),
            Kind::DropReceiver => two((tail(head), Mode::Write), (room(head), Mode::Write)),
            _ => Applied::LOCAL,
        }
        .accesses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::step::Alt;
    use std::panic::Location;

    const HEAD: ObjectId = ObjectId(0);

    struct Bench(Channel, StepIndex);

    impl Bench {
        fn op(&self, kind: Kind) -> Op {
            Op { arg: self.0.capacity, ..Op::new(kind, HEAD, Location::caller()) }
        }

        fn ready(&self, thread: u16, kind: Kind) -> bool {
            self.0.ready(ThreadId(thread), &self.op(kind)).enabled
        }

        fn run(&mut self, thread: u16, kind: Kind) -> Applied {
            let moment = Moment { thread: ThreadId(thread), step: self.1, alt: Alt::DEFAULT };
            self.1 += 1;
            let op = self.op(kind);
            self.0.apply(moment, &op)
        }
    }

    fn channel(capacity: u32) -> Bench {
        Bench(Channel::new(capacity), 0)
    }

    #[test]
    fn a_receive_is_enabled_by_the_send_of_its_item() {
        let mut bench = channel(UNBOUNDED);
        assert!(!bench.ready(1, Kind::Receive));
        for _ in 0..3 {
            bench.run(0, Kind::Send);
        }
        for item in 0..3 {
            let received = bench.run(1, Kind::Receive);
            assert_eq!((received.enabler, received.result), (item, PASSED_ON));
            assert!(received.accesses.iter().all(|access| access.object != tail(HEAD)), "sends commute");
        }
        bench.run(0, Kind::DropSender);
        assert_eq!(bench.run(1, Kind::Receive).result, DISCONNECTED);
    }

    #[test]
    fn only_the_last_drop_of_a_sender_disconnects() {
        let mut bench = channel(UNBOUNDED);
        bench.0.add_sender();
        assert_eq!(bench.run(0, Kind::DropSender).accesses[0].mode, Mode::Mark);
        assert_eq!(bench.run(1, Kind::TryReceive).result, NOT_NOW);
        assert_eq!(bench.run(0, Kind::DropSender).accesses[0].mode, Mode::Write);
        assert_eq!(bench.run(1, Kind::TryReceive).result, DISCONNECTED);
    }

    #[test]
    fn a_send_waits_for_the_receive_that_makes_room() {
        let mut bench = channel(2);
        bench.run(0, Kind::Send);
        bench.run(0, Kind::Send);
        assert!(!bench.ready(0, Kind::Send));
        assert_eq!(bench.run(0, Kind::TrySend).result, NOT_NOW);
        bench.run(1, Kind::Receive);
        assert_eq!(bench.run(0, Kind::Send).enabler, 3);
    }

    #[test]
    fn senders_compete_for_a_single_place_as_for_a_lock() {
        let mut bench = channel(1);
        let sent = bench.run(0, Kind::Send);
        assert_eq!(sent.accesses[1], Access::new(room(HEAD), Mode::Acquire));
        let received = bench.run(2, Kind::Receive);
        assert_eq!(received.accesses[1], Access::new(room(HEAD), Mode::Release));
        assert_eq!(bench.run(1, Kind::Send).enabler, NO_STEP);
    }

    #[test]
    fn an_offer_waits_until_it_is_taken_or_nobody_is_left() {
        let mut bench = channel(0);
        assert_eq!(bench.run(0, Kind::TrySend).result, NOT_NOW);
        bench.run(0, Kind::Send);
        assert!(!bench.ready(0, Kind::OfferTaken));
        bench.run(1, Kind::ReceiverArrives);
        bench.run(1, Kind::Receive);
        assert_eq!(bench.run(0, Kind::OfferTaken).enabler, 3);
        bench.run(1, Kind::ReceiverArrives);
        assert_eq!(bench.run(0, Kind::TrySend).result, PASSED_ON);
        assert_eq!(bench.run(0, Kind::TrySend).result, NOT_NOW, "that receiver is taken");
        bench.run(1, Kind::Receive);
        bench.run(0, Kind::Send);
        bench.run(1, Kind::DropReceiver);
        assert_eq!(bench.run(0, Kind::OfferTaken).result, DISCONNECTED);
    }
}
