//! Small random programs over the real facades.
//!
//! Every thread notes what each of its operations found, so that two schedules which can be told apart have
//! different notes, also where they end in a deadlock.

use super::draw::{Kind, chosen};
use super::notes::{begin, note};
use schedcheck_rt::exec::{TestResult, outside};
use schedcheck_rt::facade::hint::spin_loop;
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use schedcheck_rt::facade::sync::{Barrier, Condvar, Mutex, OnceLock, RwLock, RwLockWriteGuard};
use schedcheck_rt::facade::thread::{self, Thread};
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(1);

/// What one thread does next. Numbers choose an object, or are values.
#[derive(Clone, Copy, Debug)]
enum Op {
    Lock(usize),
    LockBoth(usize),
    TryLock(usize),
    Read,
    Write,
    TryRead,
    TryWrite,
    ReadAndLock,
    ReadTwice,
    WriteThenRead,
    Wait,
    WaitALittle,
    NotifyOne,
    NotifyAll,
    Load(usize),
    Store(usize),
    Add(usize),
    Swap(usize),
    Exchange(usize),
    ExchangeWeakly(usize),
    Send,
    Receive,
    ReceiveIfThere,
    ReceiveForAWhile,
    Offer,
    OfferIfRoom,
    HangUp,
    Nap,
    Park,
    ParkALittle,
    HoldAndPark(usize),
    Unpark,
    Meet,
    Initialise,
    LookIfInitialised,
    SpinUntilSet(usize),
    YieldUntilSet(usize),
    SpinUntilLocked(usize),
    SpinUntilExchanged(usize),
    SpinForAWhile(usize),
    TryForAWhile(usize),
    ExchangeForAWhile(usize),
}

use Op::*;

const THEMES: [&[Op]; 15] = [
    &[Lock(0), Lock(1), LockBoth(0), LockBoth(1), TryLock(0), TryLock(1)],
    &[Read, Write, TryRead, TryWrite, ReadAndLock],
    &[Wait, WaitALittle, NotifyOne, NotifyAll, Lock(0)],
    &[Load(0), Store(0), Add(0), Swap(0), Exchange(0), ExchangeWeakly(0)],
    &[Load(0), Store(1), Load(1), Store(0), Add(1)],
    &[Send, Receive, ReceiveIfThere, ReceiveForAWhile, Offer],
    &[Park, ParkALittle, Unpark, HoldAndPark(0), Lock(0), Nap],
    &[HoldAndPark(0), HoldAndPark(1), TryLock(0), LockBoth(0), LockBoth(1)],
    &[Meet, Initialise, Add(0), Lock(0)],
    &[SpinUntilSet(0), Store(0), Add(0), SpinUntilExchanged(0), Load(0)],
    &[YieldUntilSet(1), SpinUntilSet(1), Store(1), SpinUntilLocked(0), LockBoth(0), Lock(0)],
    &[SpinForAWhile(0), TryForAWhile(0), ExchangeForAWhile(0), Store(0), Add(0), Lock(0)],
    &[Offer, OfferIfRoom, Receive, ReceiveIfThere, HangUp],
    &[ReadTwice, WriteThenRead, Read, Write, TryWrite],
    &[Initialise, LookIfInitialised, Send, ReceiveIfThere, ReceiveForAWhile, HangUp],
];

const KIND: Kind<Op> = Kind {
    salt: 0,
    themes: &THEMES,
    sizes: &[(2, 2), (2, 2), (2, 3), (3, 1)],
    is_second: |random| random.below(3) == 0,
};

/// What each thread does, the main thread first.
pub(crate) fn describe(seed: u64) -> String {
    format!("{:?}", KIND.draw(seed))
}

/// Tries more often than loops are followed round by round.
fn for_a_while(mut attempt: impl FnMut() -> Option<u32>) -> u32 {
    for _ in 0..9 {
        if let Some(value) = attempt() {
            return value;
        }
        spin_loop();
    }
    500
}

/// What the threads share.
struct Shared {
    locks: [Mutex<u32>; 2],
    table: RwLock<u32>,
    changed: Condvar,
    numbers: [AtomicU32; 2],
    barrier: Barrier,
    once: OnceLock<u32>,
    creator: Thread,
}

/// What only one thread has.
struct Own {
    thread: usize,
    /// Until it hangs up.
    senders: Option<(Sender<u32>, SyncSender<u32>)>,
    receivers: Option<(Receiver<u32>, Receiver<u32>)>,
    /// Whom it can wake up.
    others: Vec<Thread>,
}

/// The program of the chosen seed.
pub(crate) fn body() -> TestResult {
    let (operations, capacity) = outside(|| {
        begin();
        let seed = chosen();
        (KIND.draw(seed), (seed % 3) as usize)
    });
    let shared = Shared {
        locks: [Mutex::new(0), Mutex::new(0)],
        table: RwLock::new(0),
        changed: Condvar::new(),
        numbers: [AtomicU32::new(0), AtomicU32::new(0)],
        barrier: Barrier::new(2),
        once: OnceLock::new(),
        creator: thread::current(),
    };
    let (sender, receiver) = channel();
    let (offers, taken) = sync_channel(capacity);
    thread::scope(|scope| {
        let mut others = Vec::new();
        for (thread, list) in operations.iter().enumerate().skip(1) {
            let mut own = Own {
                thread,
                senders: Some((sender.clone(), offers.clone())),
                receivers: None,
                others: vec![shared.creator.clone()],
            };
            let shared = &shared;
            let handle = scope.spawn(move || list.iter().for_each(|&op| shared.perform(&mut own, op)));
            others.push(handle.thread().clone());
        }
        let mut own =
            Own { thread: 0, senders: Some((sender, offers)), receivers: Some((receiver, taken)), others };
        operations[0].iter().for_each(|&op| shared.perform(&mut own, op));
    });
    Ok(())
}

impl Own {
    fn send(&self, item: u32) -> u32 {
        self.senders.as_ref().map_or(2, |(sender, _)| sender.send(item).map_or(1, |()| 0))
    }
}

impl Shared {
    fn perform(&self, own: &mut Own, op: Op) {
        let me = own.thread as u32 + 1;
        let found = match op {
            Lock(at) => {
                let mut guard = self.locks[at].lock().unwrap();
                *guard = *guard * 4 + me;
                *guard
            }
            LockBoth(first) => {
                let mut outer = self.locks[first].lock().unwrap();
                let mut inner = self.locks[1 - first].lock().unwrap();
                *outer = *outer * 4 + me;
                *inner = *inner * 4 + me;
                *outer * 1000 + *inner
            }
            TryLock(at) => self.locks[at].try_lock().map_or(u32::MAX, |mut guard| {
                *guard = *guard * 4 + me;
                *guard
            }),
            Read => *self.table.read().unwrap(),
            Write => {
                let mut guard = self.table.write().unwrap();
                *guard = *guard * 4 + me;
                *guard
            }
            TryRead => self.table.try_read().map_or(u32::MAX, |guard| *guard),
            TryWrite => self.table.try_write().map_or(u32::MAX, |mut guard| {
                *guard = *guard * 4 + me;
                *guard
            }),
            ReadAndLock => {
                let table = self.table.read().unwrap();
                let mut lock = self.locks[0].lock().unwrap();
                *lock = *lock * 4 + me;
                *table * 1000 + *lock
            }
            ReadTwice => {
                let outer = self.table.read().unwrap();
                let inner = self.table.read().unwrap();
                *outer * 1000 + *inner
            }
            WriteThenRead => {
                let mut guard = self.table.write().unwrap();
                *guard = *guard * 4 + me;
                *RwLockWriteGuard::downgrade(guard)
            }
            Wait => *self.changed.wait(self.locks[0].lock().unwrap()).unwrap(),
            WaitALittle => {
                let (guard, waited) =
                    self.changed.wait_timeout(self.locks[0].lock().unwrap(), MOMENT).unwrap();
                *guard * 2 + u32::from(waited.timed_out())
            }
            NotifyOne => {
                self.changed.notify_one();
                0
            }
            NotifyAll => {
                self.changed.notify_all();
                0
            }
            Load(at) => self.numbers[at].load(SeqCst),
            Store(at) => {
                self.numbers[at].store(me, SeqCst);
                0
            }
            Add(at) => self.numbers[at].fetch_add(me * 8, SeqCst),
            Swap(at) => self.numbers[at].swap(me, SeqCst),
            Exchange(at) => match self.numbers[at].compare_exchange(0, me, SeqCst, SeqCst) {
                Ok(found) => found,
                Err(found) => found + 1000,
            },
            ExchangeWeakly(at) => match self.numbers[at].compare_exchange_weak(0, me, SeqCst, SeqCst) {
                Ok(found) => found,
                Err(found) => found + 1000,
            },
            Send => own.send(me),
            Offer => own.senders.as_ref().map_or(2, |(_, offers)| offers.send(me).map_or(1, |()| 0)),
            OfferIfRoom => own.senders.as_ref().map_or(3, |(_, offers)| match offers.try_send(me) {
                Ok(()) => 0,
                Err(TrySendError::Disconnected(_)) => 1,
                Err(TrySendError::Full(_)) => 2,
            }),
            HangUp => {
                if own.receivers.take().is_none() {
                    own.senders = None;
                }
                0
            }
            // Only the main thread receives; the others send instead.
            Receive | ReceiveIfThere | ReceiveForAWhile => self.receive(own, op),
            Nap => {
                thread::sleep(MOMENT);
                0
            }
            Park => {
                thread::park();
                0
            }
            ParkALittle => {
                thread::park_timeout(MOMENT);
                0
            }
            HoldAndPark(at) => {
                let mut guard = self.locks[at].lock().unwrap();
                thread::park_timeout(MOMENT);
                *guard = *guard * 4 + me;
                *guard
            }
            Unpark => {
                own.others.iter().for_each(Thread::unpark);
                0
            }
            Meet => u32::from(self.barrier.wait().is_leader()),
            Initialise => *self.once.get_or_init(|| me),
            LookIfInitialised => self.once.get().copied().unwrap_or(0),
            SpinUntilSet(at) => loop {
                match self.numbers[at].load(SeqCst) {
                    0 => spin_loop(),
                    value => break value,
                }
            },
            YieldUntilSet(at) => loop {
                match self.numbers[at].load(SeqCst) {
                    0 => thread::yield_now(),
                    value => break value,
                }
            },
            SpinUntilLocked(at) => loop {
                if let Ok(mut guard) = self.locks[at].try_lock() {
                    *guard = *guard * 4 + me;
                    break *guard;
                }
            },
            SpinUntilExchanged(at) => {
                while self.numbers[at].compare_exchange(0, me, SeqCst, SeqCst).is_err() {
                    spin_loop();
                }
                self.numbers[at].swap(0, SeqCst)
            }
            SpinForAWhile(at) => for_a_while(|| match self.numbers[at].load(SeqCst) {
                0 => None,
                value => Some(value),
            }),
            TryForAWhile(at) => for_a_while(|| {
                let mut guard = self.locks[at].try_lock().ok()?;
                *guard = *guard * 4 + me;
                Some(*guard)
            }),
            ExchangeForAWhile(at) => {
                for_a_while(|| self.numbers[at].compare_exchange(0, me, SeqCst, SeqCst).ok())
            }
        };
        note(own.thread, found);
    }

    fn receive(&self, own: &mut Own, op: Op) -> u32 {
        let Some((sent, offered)) = &own.receivers else {
            return own.send(own.thread as u32 + 1);
        };
        match op {
            Receive => offered.recv().unwrap_or(100),
            ReceiveIfThere => {
                let why = |error| 100 + u32::from(error == TryRecvError::Disconnected);
                sent.try_recv().unwrap_or_else(why) * 1000 + offered.try_recv().unwrap_or_else(why)
            }
            _ => {
                let why = |error| 100 + u32::from(error == RecvTimeoutError::Disconnected);
                sent.recv_timeout(MOMENT).unwrap_or_else(why)
            }
        }
    }
}
