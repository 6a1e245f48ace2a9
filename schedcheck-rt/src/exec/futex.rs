//! Futexes: threads that block through the kernel (parking_lot, std's own internals) block here.

use super::Active;
use crate::model::{Kind, ObjectKind, Op};
use crate::search::step::ObjectId;
use std::backtrace::Backtrace;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where clocks stand when an execution begins: at the year 2030. No file is newer, and programs may subtract from it.
pub(crate) const EPOCH_NANOSECONDS: u64 = 1_893_456_000 * 1_000_000_000;

impl Active {
    /// Executes a futex system call under control; `None` if it is of a kind that is not modelled.
    /// The answer is the kernel's: a negative error number, or a count.
    #[track_caller]
    pub(crate) fn futex(&self, address: usize, operation: i32, value: u32, timeout: usize) -> Option<i64> {
        match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
            libc::FUTEX_WAIT => Some(self.futex_wait(address, value, self.relative(timeout))),
            libc::FUTEX_WAIT_BITSET => Some(self.futex_wait(address, value, absolute(timeout))),
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Some(self.futex_wake(address, value)),
            _ => None,
        }
    }

    /// The queue of waiters at `address`: an object beside the memory cell of the same address.
    fn futex_queue(&self, address: usize) -> ObjectId {
        self.in_engine(|world| world.object_at(address, ObjectKind::Condvar))
    }

    pub(super) fn futex_wait(&self, address: usize, expected: u32, deadline: u64) -> i64 {
        let site = Location::caller();
        let queue = self.futex_queue(address);
        let word = self.in_engine(|world| world.memory_at((address, size_of::<u32>())));
        let enqueue = Op { second: word, ..Op::new(Kind::FutexWait, queue, site) };
        if !self.perform_if(enqueue, || read_word(address) == expected) {
            return -i64::from(libc::EAGAIN);
        }
        let sleep = Op { deadline, ..Op::new(Kind::FutexSleep, queue, site) };
        self.note_calls(true);
        let woken = self.perform(sleep) != crate::model::TIMED_OUT;
        self.note_calls(false);
        if woken { 0 } else { -i64::from(libc::ETIMEDOUT) }
    }

    /// Keeps who called whom while the thread waits, if that is for a report: the site is our own.
    fn note_calls(&self, waits: bool) {
        if self.world().keep_needed {
            self.in_engine(|world| {
                world.threads[world.running].calls = waits.then(|| Box::new(Backtrace::force_capture()));
            });
        }
    }

    pub(super) fn futex_wake(&self, address: usize, count: u32) -> i64 {
        let queue = self.futex_queue(address);
        let wake = Op { arg: count, ..Op::new(Kind::FutexWake, queue, Location::caller()) };
        self.perform(wake).into()
    }

    fn relative(&self, timeout: usize) -> u64 {
        match timespec(timeout) {
            Some(duration) => self.world().now().saturating_add(duration),
            None => u64::MAX,
        }
    }
}

fn read_word(address: usize) -> u32 {
    // SAFETY: the program passed this address to the kernel as a futex word.
    unsafe { (*(address as *const AtomicU32)).load(Ordering::SeqCst) }
}

fn absolute(timeout: usize) -> u64 {
    timespec(timeout).map_or(u64::MAX, |moment| moment.saturating_sub(EPOCH_NANOSECONDS))
}

fn timespec(address: usize) -> Option<u64> {
    if address == 0 {
        return None;
    }
    // SAFETY: the program passed this address to the kernel as a time.
    let time = unsafe { (address as *const libc::timespec).read_unaligned() };
    Some((time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}
