//! Small random programs about one reader-writer lock: guards inside of guards, writers that go on as readers, attempts beside
//! both, and holders that wait for others.
//!
//! As in `program.rs`, every thread notes what each of its operations found.

use super::draw::{Kind, chosen};
use super::notes::{begin, note};
use schedcheck_rt::exec::{TestResult, outside};
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::mpsc::{Receiver, Sender, channel};
use schedcheck_rt::facade::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use schedcheck_rt::facade::thread;
use std::sync::atomic::Ordering::SeqCst;

/// What one thread does next. What ends a line of these gives up all guards of the line.
#[derive(Clone, Copy, Debug)]
enum Op {
    Read,
    ReadTwice,
    ReadAndTryRead,
    ReadAndTryWrite,
    ReadAndAwait,
    ReadAndCount,
    TryRead,
    TryReadAndCount,
    Write,
    WriteAndCount,
    TryWrite,
    Downgrade,
    DowngradeAndRead,
    DowngradeAndTryRead,
    DowngradeAndTryWrite,
    DowngradeAndAwait,
    DowngradeAndCount,
    TryDowngrade,
    TryDowngradeAndRead,
    Forget,
    Count,
    Load,
    Tell,
}

use Op::*;

const THEMES: [&[Op]; 7] = [
    &[Downgrade, DowngradeAndRead, DowngradeAndTryRead, DowngradeAndTryWrite, DowngradeAndCount],
    &[Downgrade, DowngradeAndAwait, ReadAndAwait, Tell],
    &[Read, Write, Read, Write, WriteAndCount, ReadAndCount],
    &[Read, ReadTwice, ReadAndTryRead, ReadAndTryWrite, ReadAndAwait, Tell],
    &[TryRead, TryWrite, TryReadAndCount, TryDowngrade, TryDowngradeAndRead, Write],
    &[Count, Load, Read, Write],
    &[Forget, Read, Downgrade, TryRead, TryWrite],
];

const KIND: Kind<Op> = Kind {
    salt: 0x5A4E,
    themes: &THEMES,
    sizes: &[(2, 2), (2, 3), (3, 1), (3, 2)],
    is_second: |random| random.below(2) == 1,
};

pub(crate) fn describe(seed: u64) -> String {
    format!("{:?}", KIND.draw(seed))
}

/// What the threads share.
struct Shared {
    table: RwLock<u32>,
    number: AtomicU32,
}

/// What only one thread has.
struct Own {
    thread: usize,
    /// To the next thread.
    next: Sender<()>,
    told: Receiver<()>,
}

/// The program of the chosen seed.
pub(crate) fn body() -> TestResult {
    let operations = outside(|| {
        begin();
        KIND.draw(chosen())
    });
    let shared = Shared { table: RwLock::new(0), number: AtomicU32::new(0) };
    let (mut senders, receivers): (Vec<_>, Vec<_>) = operations.iter().map(|_| channel()).unzip();
    senders.rotate_left(1);
    let ends = senders.into_iter().zip(receivers).enumerate();
    let mut all: Vec<Own> = ends.map(|(thread, (next, told))| Own { thread, next, told }).collect();
    thread::scope(|scope| {
        for (own, list) in all.drain(1..).zip(&operations[1..]) {
            let shared = &shared;
            scope.spawn(move || list.iter().for_each(|&op| shared.perform(&own, op)));
        }
        let own = all.pop().expect("the main thread's");
        operations[0].iter().for_each(|&op| shared.perform(&own, op));
    });
    Ok(())
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, u32> {
        self.table.read().unwrap()
    }

    fn write(&self, me: u32) -> RwLockWriteGuard<'_, u32> {
        let mut guard = self.table.write().unwrap();
        *guard = *guard * 4 + me;
        guard
    }

    fn downgraded(&self, me: u32) -> RwLockReadGuard<'_, u32> {
        RwLockWriteGuard::downgrade(self.write(me))
    }

    fn try_read(&self) -> u32 {
        self.table.try_read().map_or(9_000, |guard| *guard)
    }

    fn try_write(&self, me: u32) -> Option<RwLockWriteGuard<'_, u32>> {
        let mut guard = self.table.try_write().ok()?;
        *guard = *guard * 4 + me;
        Some(guard)
    }

    fn perform(&self, own: &Own, op: Op) {
        let me = own.thread as u32 + 1;
        let hear = || u32::from(own.told.recv().is_ok()) * 5_000;
        let count = || self.number.fetch_add(me, SeqCst) * 1_000;
        let found = match op {
            Read => *self.read(),
            ReadTwice => {
                let (outer, inner) = (self.read(), self.read());
                *outer + *inner
            }
            ReadAndTryRead => *self.read() + self.try_read(),
            ReadAndTryWrite => *self.read() + self.try_write(me).map_or(9_000, |guard| *guard),
            ReadAndAwait => *self.read() + hear(),
            ReadAndCount => *self.read() + count(),
            TryRead => self.try_read(),
            TryReadAndCount => self.table.try_read().map_or(9_000, |guard| *guard + count()),
            Write => *self.write(me),
            WriteAndCount => *self.write(me) + count(),
            TryWrite => self.try_write(me).map_or(9_000, |guard| *guard),
            Downgrade => *self.downgraded(me),
            DowngradeAndRead => *self.downgraded(me) + *self.read(),
            DowngradeAndTryRead => *self.downgraded(me) + self.try_read(),
            DowngradeAndTryWrite => *self.downgraded(me) + self.try_write(me).map_or(9_000, |guard| *guard),
            DowngradeAndAwait => *self.downgraded(me) + hear(),
            DowngradeAndCount => *self.downgraded(me) + count(),
            TryDowngrade => {
                self.try_write(me).map_or(9_000, |guard| *RwLockWriteGuard::downgrade(guard) + count())
            }
            TryDowngradeAndRead => self.try_write(me).map_or(9_000, |guard| {
                let guard = RwLockWriteGuard::downgrade(guard);
                *guard + *self.read()
            }),
            Forget => {
                let guard = self.read();
                let found = *guard;
                std::mem::forget(guard);
                found
            }
            Count => count(),
            Load => self.number.load(SeqCst),
            Tell => u32::from(own.next.send(()).is_ok()),
        };
        note(own.thread, found);
    }
}
