//! Small random programs about what goes wrong and what comes to an end: panics that poison, initialisers that
//! fail, threads that others join, results that nobody wants, references that are counted.
//!
//! As in `program.rs`, every thread notes what each of its operations found.

use super::draw::{Kind, chosen};
use super::notes::{begin, note};
use schedcheck_rt::__schedcheck_thread_local as thread_local;
use schedcheck_rt::choose;
use schedcheck_rt::exec::{TestResult, outside};
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::mpsc::{Receiver, SyncSender, sync_channel};
use schedcheck_rt::facade::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use schedcheck_rt::facade::thread::{self, JoinHandle};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
enum Op {
    Lock,
    TryLock,
    LockAndPanic,
    IsPoisoned,
    ClearPoison,
    Read,
    Write,
    TryRead,
    WriteAndPanic,
    ReadAndPanic,
    Call,
    CallAndPanic,
    CallAnyway,
    IsCompleted,
    AwaitCall,
    AwaitCallAnyway,
    Initialise,
    InitialiseAndPanic,
    Set,
    Get,
    AwaitValue,
    Start,
    StartAndForget,
    Join,
    IsFinished,
    ForgetHandle,
    KeepLocally,
    ScopeInside,
    Receive,
    ReceiveAWhile,
    ReceiveAll,
    Offer,
    HangUpReceiver,
    HangUpSender,
    AwaitToken,
    AwaitTokenAWhile,
    GiveToken,
    GiveTokens,
    MeetTwo,
    Count,
    CountWeakly,
    Choose,
    Upgrade,
    DropReference,
    Unwrap,
    References,
}

use Op::*;

const THEMES: [&[Op]; 12] = [
    &[Lock, TryLock, LockAndPanic, IsPoisoned, ClearPoison],
    &[Read, Write, TryRead, WriteAndPanic, ReadAndPanic],
    &[Call, CallAndPanic, CallAnyway, IsCompleted, AwaitCall, AwaitCallAnyway],
    &[Initialise, InitialiseAndPanic, Set, Get, AwaitValue],
    &[Start, StartAndForget, Join, IsFinished, ForgetHandle, Count],
    &[KeepLocally, ScopeInside, Start, Join, Count],
    &[Receive, ReceiveAll, ReceiveAWhile, Offer, HangUpReceiver, HangUpSender],
    &[AwaitToken, AwaitTokenAWhile, GiveToken, GiveTokens],
    &[MeetTwo, Count, Lock, LockAndPanic],
    &[CountWeakly, Count, Choose],
    &[Upgrade, DropReference, Unwrap, References],
    &[Upgrade, DropReference, Count],
];

const KIND: Kind<Op> = Kind {
    salt: 0x11FE,
    themes: &THEMES,
    sizes: &[(2, 2), (2, 3), (2, 3), (3, 1), (3, 2)],
    is_second: |random| random.below(3) == 0,
};

pub(crate) fn describe(seed: u64) -> String {
    format!("{:?}, {} places", KIND.draw(seed), seed % 3)
}

unsafe extern "C" {
    safe fn __tsan_atomic64_load(cell: &AtomicU64, order: i32) -> u64;
    safe fn __tsan_atomic64_fetch_sub(cell: &AtomicU64, value: u64, order: i32) -> u64;
    safe fn __tsan_atomic64_compare_exchange_strong(
        cell: &AtomicU64,
        expected: &mut u64,
        new: u64,
        success: i32,
        failure: i32,
    ) -> i32;
}

/// A reference count as `Arc` has it, seen as the compiler's pass shows it.
struct Counted(AtomicU64);

const SEQUENTIAL: i32 = 5;

impl Counted {
    /// As `Weak::upgrade`.
    fn upgrade(&self) -> bool {
        let mut count = __tsan_atomic64_load(&self.0, SEQUENTIAL);
        while count != 0 {
            let new = count + 1;
            if __tsan_atomic64_compare_exchange_strong(&self.0, &mut count, new, SEQUENTIAL, SEQUENTIAL) == 1
            {
                return true;
            }
        }
        false
    }

    /// As the drop of an `Arc`: whether it was the last.
    fn give_up(&self) -> bool {
        __tsan_atomic64_fetch_sub(&self.0, 1, SEQUENTIAL) == 1
    }

    /// As `Arc::try_unwrap`.
    fn unwrap(&self) -> bool {
        __tsan_atomic64_compare_exchange_strong(&self.0, &mut 1, 0, SEQUENTIAL, SEQUENTIAL) == 1
    }
}

/// What the threads share.
struct Shared {
    lock: Mutex<u32>,
    table: RwLock<u32>,
    once: Once,
    value: OnceLock<u32>,
    handles: Mutex<Vec<JoinHandle<Noisy>>>,
    number: AtomicU32,
    tokens: Mutex<u32>,
    token: Condvar,
    barrier: Barrier,
    receiver: Mutex<Option<Receiver<u32>>>,
    references: Counted,
}

/// Adds to the number when it is dropped.
struct Noisy(Arc<Shared>, u32);

impl Drop for Noisy {
    fn drop(&mut self) {
        self.0.number.fetch_add(self.1, SeqCst);
    }
}

thread_local!(static KEPT: RefCell<Option<Noisy>> = const { RefCell::new(None) });

/// What only one thread has.
struct Own {
    thread: usize,
    sender: Option<SyncSender<u32>>,
    /// How many references it holds.
    references: u32,
}

/// The program of the chosen seed.
pub(crate) fn body() -> TestResult {
    let (operations, places, counted) = outside(|| {
        begin();
        let seed = chosen();
        (KIND.draw(seed), (seed % 3) as usize, seed.is_multiple_of(2))
    });
    // All threads, or only the main thread.
    let holders = if counted { operations.len() } else { 1 };
    let (sender, receiver) = sync_channel(places);
    let shared = Arc::new(Shared {
        lock: Mutex::new(0),
        table: RwLock::new(0),
        once: Once::new(),
        value: OnceLock::new(),
        handles: Mutex::new(Vec::new()),
        number: AtomicU32::new(0),
        tokens: Mutex::new(0),
        token: Condvar::new(),
        barrier: Barrier::new(2),
        receiver: Mutex::new(Some(receiver)),
        references: Counted(AtomicU64::new(holders as u64)),
    });
    thread::scope(|scope| {
        for (thread, list) in operations.iter().enumerate().skip(1) {
            let (shared, mut own) = (
                &shared,
                Own { thread, sender: Some(sender.clone()), references: (thread < holders).into() },
            );
            scope.spawn(move || list.iter().for_each(|&op| shared.clone().perform(&mut own, op)));
        }
        let mut own = Own { thread: 0, sender: Some(sender), references: 1 };
        operations[0].iter().for_each(|&op| shared.clone().perform(&mut own, op));
    });
    let left = shared.number.load(SeqCst);
    note(0, 10_000 + left);
    Ok(())
}

/// A panic that does not go through the hook.
fn panic() -> ! {
    resume_unwind(Box::new(()))
}

fn caught<R>(section: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(section)).ok()
}

/// What a lock gave, and whether it was poisoned.
fn read<G: std::ops::Deref<Target = u32>>(result: Result<G, PoisonError<G>>) -> u32 {
    match result {
        Ok(guard) => *guard,
        Err(poisoned) => 1_000 + **poisoned.get_ref(),
    }
}

fn change<G: std::ops::DerefMut<Target = u32>>(result: Result<G, PoisonError<G>>, me: u32) -> u32 {
    let (mut guard, poisoned) = match result {
        Ok(guard) => (guard, 0),
        Err(poisoned) => (poisoned.into_inner(), 1_000),
    };
    *guard = *guard * 4 + me;
    *guard + poisoned
}

impl Shared {
    fn start(self: &Arc<Self>, me: u32) -> JoinHandle<Noisy> {
        let shared = self.clone();
        thread::spawn(move || {
            shared.number.fetch_add(me, SeqCst);
            Noisy(shared, me * 16)
        })
    }

    fn perform(self: Arc<Self>, own: &mut Own, op: Op) {
        let me = own.thread as u32 + 1;
        let found = match op {
            Lock => change(self.lock.lock(), me),
            TryLock => match self.lock.try_lock() {
                Ok(guard) => *guard,
                Err(TryLockError::Poisoned(guard)) => 1_000 + **guard.get_ref(),
                Err(TryLockError::WouldBlock) => 2_000,
            },
            LockAndPanic => caught(|| {
                let _guard = self.lock.lock();
                panic()
            })
            .unwrap_or(0),
            IsPoisoned => u32::from(self.lock.is_poisoned()) + 2 * u32::from(self.table.is_poisoned()),
            ClearPoison => {
                self.lock.clear_poison();
                0
            }
            Read => read(self.table.read()),
            Write => change(self.table.write(), me),
            TryRead => match self.table.try_read() {
                Ok(guard) => *guard,
                Err(TryLockError::Poisoned(guard)) => 1_000 + **guard.get_ref(),
                Err(TryLockError::WouldBlock) => 2_000,
            },
            WriteAndPanic => caught(|| {
                let _guard = self.table.write();
                panic()
            })
            .unwrap_or(0),
            ReadAndPanic => caught(|| {
                let _guard = self.table.read();
                panic()
            })
            .unwrap_or(0),
            Call => caught(|| self.once.call_once(|| self.number.store(me, SeqCst))).map_or(1, |()| 0),
            CallAndPanic => caught(|| self.once.call_once(|| panic())).map_or(1, |()| 0),
            CallAnyway => {
                let mut found = 0;
                self.once.call_once_force(|state| found = 1 + u32::from(state.is_poisoned()));
                found
            }
            IsCompleted => self.once.is_completed().into(),
            AwaitCall => caught(|| self.once.wait()).map_or(1, |()| 0),
            AwaitCallAnyway => {
                self.once.wait_force();
                0
            }
            Initialise => *self.value.get_or_init(|| me),
            InitialiseAndPanic => caught(|| *self.value.get_or_init(|| panic())).unwrap_or(100),
            Set => self.value.set(me).map_or_else(|_| 1, |()| 0),
            Get => self.value.get().copied().unwrap_or(0),
            AwaitValue => *self.value.wait(),
            Start => {
                let handle = self.start(me);
                self.handles.lock().unwrap().push(handle);
                0
            }
            StartAndForget => {
                drop(self.start(me));
                0
            }
            Join => {
                let handle = self.handles.lock().unwrap().pop();
                handle.map_or(0, |handle| handle.join().unwrap().1)
            }
            IsFinished => self.handles.lock().unwrap().last().map_or(2, |handle| handle.is_finished().into()),
            ForgetHandle => {
                let handle = self.handles.lock().unwrap().pop();
                handle.is_some().into()
            }
            KeepLocally => {
                KEPT.set(Some(Noisy(self.clone(), me * 256)));
                0
            }
            ScopeInside => {
                thread::scope(|scope| {
                    scope.spawn(|| KEPT.set(Some(Noisy(self.clone(), me * 256))));
                });
                self.number.load(SeqCst)
            }
            Receive | ReceiveAWhile | ReceiveAll => self.receive(op),
            Offer => own.sender.as_ref().map_or(2, |sender| sender.send(me).map_or(1, |()| 0)),
            HangUpReceiver => {
                let receiver = self.receiver.lock().unwrap().take();
                receiver.is_some().into()
            }
            HangUpSender => {
                own.sender = None;
                0
            }
            AwaitToken => {
                let tokens = self.tokens.lock().unwrap();
                let mut tokens = self.token.wait_while(tokens, |tokens| *tokens == 0).unwrap();
                *tokens -= 1;
                *tokens
            }
            AwaitTokenAWhile => {
                let tokens = self.tokens.lock().unwrap();
                let (mut tokens, waited) =
                    self.token.wait_timeout_while(tokens, MOMENT, |tokens| *tokens == 0).unwrap();
                *tokens -= u32::from(*tokens > 0);
                *tokens * 2 + u32::from(waited.timed_out())
            }
            GiveToken => {
                *self.tokens.lock().unwrap() += 1;
                self.token.notify_one();
                0
            }
            GiveTokens => {
                *self.tokens.lock().unwrap() += 2;
                self.token.notify_all();
                0
            }
            MeetTwo => self.barrier.wait().is_leader().into(),
            Count => self.number.fetch_add(me, SeqCst),
            CountWeakly => {
                let mut seen = self.number.load(SeqCst);
                let mut rounds = 0;
                while let Err(now) = self.number.compare_exchange_weak(seen, seen + me, SeqCst, SeqCst) {
                    seen = now;
                    rounds += 1_000;
                }
                seen + rounds
            }
            Choose => choose(2) as u32,
            Upgrade => {
                let upgraded = self.references.upgrade();
                own.references += u32::from(upgraded);
                upgraded.into()
            }
            DropReference if own.references == 0 => 2,
            DropReference => {
                own.references -= 1;
                self.references.give_up().into()
            }
            Unwrap if own.references == 0 => 2,
            Unwrap => {
                let unwrapped = self.references.unwrap();
                own.references -= u32::from(unwrapped);
                unwrapped.into()
            }
            References => __tsan_atomic64_load(&self.references.0, SEQUENTIAL) as u32,
        };
        note(own.thread, found);
    }

    fn receive(&self, op: Op) -> u32 {
        let receiver = self.receiver.lock().unwrap();
        let Some(receiver) = &*receiver else { return 200 };
        match op {
            Receive => receiver.recv().unwrap_or(100),
            ReceiveAWhile => receiver.recv_timeout(MOMENT).unwrap_or(100),
            _ => receiver.try_iter().fold(0, |all, item| all * 4 + item),
        }
    }
}
