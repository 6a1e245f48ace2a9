//! What the two ends of a channel share under control, without the type of its items.
//!
//! Items travel as boxes of their own, known here by their address only: this code is compiled once
//! and never seen by the instrumentation of user crates, while a box is written by the sender and
//! read by the receiver, ordered by the send and the receive of that item.

use crate::exec::{Active, active};
use crate::model::{DISCONNECTED, GAVE_UP, Kind, NOT_NOW, Op, Site, UNBOUNDED};
use crate::search::step::ObjectId;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::time::Duration;

/// An item under way: a leaked box.
pub(super) type Item = NonNull<()>;

/// Why an item was not handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No item, or no room, or no time left.
    NotNow,
    /// Nobody is left at the other end.
    Disconnected,
}

/// One end of a channel of the execution going on.
pub(super) struct End(NonNull<Core>);

struct Core {
    channel: ObjectId,
    capacity: u32,
    items: VecDeque<Item>,
    /// Ends that still exist. A plain number: only one thread runs at a time.
    ends: usize,
}

/// The two ends of a new channel, if an execution is going on.
#[inline(never)]
pub(super) fn channel(capacity: Option<usize>) -> Option<(End, End)> {
    let active = active()?;
    let capacity = capacity.map_or(UNBOUNDED, |places| u32::try_from(places).unwrap_or(UNBOUNDED));
    let channel = active.new_channel(capacity);
    let core = active.unwatched(|| Box::new(Core { channel, capacity, items: VecDeque::new(), ends: 2 }));
    let core = NonNull::from(Box::leak(core));
    Some((End(core), End(core)))
}

impl End {
    /// The shared part, for a section in which no other thread gets its turn.
    #[expect(clippy::mut_from_ref, reason = "the core is shared by threads of which only one runs")]
    fn core(&self) -> &mut Core {
        // SAFETY: the core lives until its last end is gone. Only the thread whose turn it is
        // executes, and no such reference is kept across an operation.
        unsafe { &mut *self.0.as_ptr() }
    }

    /// Does something with the items under way, which all ends share.
    fn with_items<R>(&self, section: impl FnOnce(&mut VecDeque<Item>) -> R) -> R {
        let section = || section(&mut self.core().items);
        match active() {
            Some(active) => active.unwatched(section),
            None => section(),
        }
    }

    /// Performs an operation; `None` when the execution is over.
    fn perform(&self, kind: Kind, deadline: u64, site: Site) -> Option<u32> {
        let active: Active = active()?;
        let (channel, capacity) = (self.core().channel, self.core().capacity);
        let op = Op { arg: capacity, ..Op::new(kind, channel, site) };
        Some(active.perform(active.until(deadline, op)))
    }

    fn outcome(answer: Option<u32>) -> Result<(), Failure> {
        match answer {
            None | Some(DISCONNECTED) => Err(Failure::Disconnected),
            Some(NOT_NOW | GAVE_UP) => Err(Failure::NotNow),
            Some(_) => Ok(()),
        }
    }

    #[inline(never)]
    pub(super) fn send(&self, item: Item, site: Site) -> Result<(), Failure> {
        Self::outcome(self.perform(Kind::Send, u64::MAX, site))?;
        self.with_items(|items| items.push_back(item));
        if self.core().capacity > 0 {
            return Ok(());
        }
        let taken = Self::outcome(self.perform(Kind::OfferTaken, u64::MAX, site));
        if taken.is_err() {
            self.with_items(|items| items.retain(|offered| *offered != item));
        }
        taken
    }

    #[inline(never)]
    pub(super) fn try_send(&self, item: Item, site: Site) -> Result<(), Failure> {
        Self::outcome(self.perform(Kind::TrySend, u64::MAX, site))?;
        self.with_items(|items| items.push_back(item));
        Ok(())
    }

    #[inline(never)]
    pub(super) fn receive(&self, timeout: Option<Duration>, site: Site) -> Result<Item, Failure> {
        let deadline = match (timeout, active()) {
            (Some(timeout), Some(active)) => active.deadline(timeout),
            _ => u64::MAX,
        };
        if self.core().capacity == 0 {
            self.perform(Kind::ReceiverArrives, u64::MAX, site);
        }
        Self::outcome(self.perform(Kind::Receive, deadline, site))?;
        self.with_items(VecDeque::pop_front).ok_or(Failure::Disconnected)
    }

    #[inline(never)]
    pub(super) fn try_receive(&self, site: Site) -> Result<Item, Failure> {
        Self::outcome(self.perform(Kind::TryReceive, u64::MAX, site))?;
        self.with_items(VecDeque::pop_front).ok_or(Failure::Disconnected)
    }

    /// Another sender.
    #[inline(never)]
    pub(super) fn clone_sender(&self) -> End {
        let core = self.core();
        core.ends += 1;
        if let Some(active) = active() {
            active.add_sender(core.channel);
        }
        End(self.0)
    }

    /// This sender is given up.
    #[inline(never)]
    pub(super) fn drop_sender(&self, site: Site) {
        self.perform(Kind::DropSender, u64::MAX, site);
        self.leave();
    }

    /// The receiver is given up; the items that nobody will receive are handed to `discard`.
    #[inline(never)]
    pub(super) fn drop_receiver(&self, discard: &mut dyn FnMut(Item), site: Site) {
        self.perform(Kind::DropReceiver, u64::MAX, site);
        if self.core().capacity > 0 {
            // The core stays while `discard` runs, which may give up a sender of this very channel.
            while let Some(item) = self.with_items(VecDeque::pop_front) {
                discard(item);
            }
        }
        self.leave();
    }

    fn leave(&self) {
        self.core().ends -= 1;
        if self.core().ends == 0 {
            // SAFETY: this was the last end; it was leaked from a box when the channel was made.
            let core = unsafe { Box::from_raw(self.0.as_ptr()) };
            match active() {
                Some(active) => active.unwatched(|| drop(core)),
                None => drop(core),
            }
        }
    }
}
