//! Small random programs whose threads poll: for ever, or a few times more than loops are followed round by round.
//!
//! As in `program.rs`, every thread notes what each of its operations found.

use super::draw::{Kind, chosen};
use super::notes::{begin, note};
use schedcheck_rt::exec::{TestResult, outside};
use schedcheck_rt::facade::sync::atomic::{AtomicU32, fence};
use schedcheck_rt::facade::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use schedcheck_rt::facade::sync::{OnceLock, RwLock};
use schedcheck_rt::facade::thread;
use std::cell::OnceCell;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// What one thread does next. Those that poll come to their end after some time, `Await…` do not.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Op {
    Poll,
    PollWithNaps,
    PollWithFences,
    PollForMessage,
    PollForOffer,
    PollForRoom,
    PollToRead,
    PollToWrite,
    PollForValue,
    PollForPoison,
    PollForTheEnd,
    AwaitMessage,
    AwaitRoom,
    AwaitValue,
    AwaitTheEnd,
    Store,
    Add,
    Send,
    Offer,
    Take,
    Read,
    Write,
    ReadAndAdd,
    WriteAndAdd,
    Initialise,
}

use Op::*;

const THEMES: [&[Op]; 8] = [
    &[Poll, PollWithNaps, PollWithFences, Store, Add],
    &[PollForMessage, Send, Add, AwaitMessage],
    &[PollForOffer, PollForRoom, Offer, Take, Add],
    &[AwaitMessage, AwaitRoom, Send, Offer, Take],
    &[PollToRead, PollToWrite, WriteAndAdd, ReadAndAdd, Read, Write],
    &[PollForValue, AwaitValue, Initialise, Add],
    &[PollForTheEnd, AwaitTheEnd, Add, Store],
    &[PollForPoison, Write, Store, PollToRead],
];

const KIND: Kind<Op> = Kind {
    salt: 0x9011,
    themes: &THEMES,
    sizes: &[(2, 1), (2, 2), (2, 3), (3, 1)],
    is_second: |random| random.below(3) == 0,
};

pub(crate) fn describe(seed: u64) -> String {
    format!("{:?}", KIND.draw(seed))
}

/// Whether a thread polls for a while twice, and does nothing else in between.
pub(crate) fn has_loops_in_a_row(seed: u64) -> bool {
    KIND.draw(seed).iter().any(|list| list.windows(2).any(|two| two.iter().all(|op| *op <= PollForTheEnd)))
}

/// What the threads share.
struct Shared {
    /// How often those that poll for a while try.
    attempts: u32,
    number: AtomicU32,
    table: RwLock<u32>,
    value: OnceLock<u32>,
}

/// What only one thread has.
struct Own<'a> {
    thread: usize,
    senders: (Sender<u32>, SyncSender<u32>),
    /// Only the main thread's.
    receivers: Option<(Receiver<u32>, Receiver<u32>)>,
    first: OnceCell<thread::ScopedJoinHandle<'a, ()>>,
}

fn try_for_ever(mut attempt: impl FnMut() -> Option<u32>) -> u32 {
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        thread::yield_now();
    }
}

/// What is noted where somebody gave up.
pub(crate) const GAVE_UP: u32 = 500;

/// The program of the chosen seed. Threads try more often than loops are followed round by round.
pub(crate) fn body() -> TestResult {
    run(7)
}

/// The same, but they give up as soon as they have failed once.
pub(crate) fn hasty() -> TestResult {
    run(1)
}

fn run(attempts: u32) -> TestResult {
    let (operations, capacity) = outside(|| {
        begin();
        let seed = chosen();
        (KIND.draw(seed), (seed % 3) as usize)
    });
    let shared =
        Shared { attempts, number: AtomicU32::new(0), table: RwLock::new(0), value: OnceLock::new() };
    let (sender, receiver) = channel();
    let (offers, taken) = sync_channel(capacity);
    thread::scope(|scope| {
        let first = OnceCell::new();
        for (thread, list) in operations.iter().enumerate().skip(1) {
            let own = Own {
                thread,
                senders: (sender.clone(), offers.clone()),
                receivers: None,
                first: OnceCell::new(),
            };
            let shared = &shared;
            let handle = scope.spawn(move || list.iter().for_each(|&op| shared.perform(&own, op)));
            let _ = first.set(handle);
        }
        let own = Own { thread: 0, senders: (sender, offers), receivers: Some((receiver, taken)), first };
        operations[0].iter().for_each(|&op| shared.perform(&own, op));
    });
    Ok(())
}

impl Own<'_> {
    /// Whether the first thread has ended; nobody but the main thread can tell.
    fn first_has_ended(&self) -> Option<u32> {
        self.first.get().is_none_or(thread::ScopedJoinHandle::is_finished).then_some(7)
    }

    /// Only the main thread receives; the others send instead.
    fn receive(&self, receive: impl Fn(&(Receiver<u32>, Receiver<u32>)) -> u32) -> u32 {
        match &self.receivers {
            Some(receivers) => receive(receivers),
            None => u32::from(self.senders.0.send(9).is_ok()),
        }
    }
}

impl Shared {
    fn try_with(&self, rest: impl Fn(), mut attempt: impl FnMut() -> Option<u32>) -> u32 {
        for _ in 0..self.attempts {
            if let Some(value) = attempt() {
                return value;
            }
            rest();
        }
        GAVE_UP
    }

    fn poll(&self, attempt: impl FnMut() -> Option<u32>) -> u32 {
        self.try_with(thread::yield_now, attempt)
    }

    fn set(&self) -> Option<u32> {
        Some(self.number.load(SeqCst)).filter(|number| *number != 0)
    }

    fn add(&self, me: u32) -> u32 {
        self.number.fetch_add(me * 8, SeqCst) * 1_000
    }

    fn perform(&self, own: &Own<'_>, op: Op) {
        let me = own.thread as u32 + 1;
        let found = match op {
            Poll => self.poll(|| self.set()),
            PollWithNaps => self.try_with(|| thread::sleep(Duration::from_millis(1)), || self.set()),
            PollWithFences => self.poll(|| {
                fence(SeqCst);
                self.set()
            }),
            PollForMessage => own.receive(|(sent, _)| self.poll(|| sent.try_recv().ok())),
            PollForOffer => own.receive(|(_, offered)| self.poll(|| offered.try_recv().ok())),
            PollForRoom => self.poll(|| own.senders.1.try_send(me).ok().map(|()| 1)),
            PollToRead => self.poll(|| self.table.try_read().ok().map(|guard| *guard)),
            PollToWrite => self.poll(|| {
                let mut guard = self.table.try_write().ok()?;
                *guard = *guard * 4 + me;
                Some(*guard)
            }),
            PollForValue => self.poll(|| self.value.get().copied()),
            PollForPoison => self.poll(|| self.table.is_poisoned().then_some(1)),
            PollForTheEnd => self.poll(|| own.first_has_ended()),
            AwaitMessage => own.receive(|(sent, _)| try_for_ever(|| sent.try_recv().ok())),
            AwaitRoom => try_for_ever(|| own.senders.1.try_send(me).ok().map(|()| 1)),
            AwaitValue => try_for_ever(|| self.value.get().copied()),
            AwaitTheEnd => try_for_ever(|| own.first_has_ended()),
            Store => {
                self.number.store(me, SeqCst);
                0
            }
            Add => self.add(me),
            Send => u32::from(own.senders.0.send(me).is_ok()),
            Offer => u32::from(own.senders.1.send(me).is_ok()),
            Take => own.receive(|(_, offered)| offered.recv().unwrap_or(100)),
            Read => *self.table.read().unwrap(),
            Write => {
                let mut guard = self.table.write().unwrap();
                *guard = *guard * 4 + me;
                *guard
            }
            ReadAndAdd => {
                let guard = self.table.read().unwrap();
                *guard + self.add(me)
            }
            WriteAndAdd => {
                let guard = self.table.write().unwrap();
                *guard + self.add(me)
            }
            Initialise => *self.value.get_or_init(|| me),
        };
        note(own.thread, found);
    }
}
