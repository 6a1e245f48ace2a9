//! Futexes: threads that block through the kernel (parking_lot, std's own internals) block here.

use super::{Active, outside};
use crate::model::{Kind, ObjectKind, Op};
use crate::search::step::ObjectId;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where clocks stand when an execution begins: at the year 2030. No file is newer, and programs may subtract from it.
pub(crate) const EPOCH_NANOSECONDS: u64 = 1_893_456_000 * 1_000_000_000;

/// `FUTEX_BITSET_MATCH_ANY`: waits for, or wakes, whoever it is.
const ANYBODY: u32 = u32::MAX;

/// The arguments of the system call that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FutexCall {
    pub(crate) address: usize,
    pub(crate) operation: i32,
    pub(crate) value: u32,
    pub(crate) timeout: usize,
    pub(crate) bitset: u32,
}

/// Where threads wait. The kernel has two queues for one address: of those who say that it is their process's alone, and
/// of those who do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    address: usize,
    private: bool,
}

impl Queue {
    /// That of our own process.
    pub(super) fn private(address: usize) -> Self {
        Queue { address, private: true }
    }
}

impl Active {
    /// Executes a futex system call under control; `None` if it is of a kind that is not modelled.
    /// The answer is the kernel's: a negative error number, or a count.
    #[track_caller]
    pub(crate) fn futex(&self, call: FutexCall) -> Option<i64> {
        let FutexCall { address, operation, value, timeout, bitset } = call;
        let queue = Queue { address, private: operation & libc::FUTEX_PRIVATE_FLAG != 0 };
        match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
            libc::FUTEX_WAIT => Some(self.futex_wait(queue, value, self.relative(timeout))),
            libc::FUTEX_WAKE => Some(self.futex_wake(queue, value)),
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET if bitset == 0 => {
                Some(-i64::from(libc::EINVAL))
            }
            wait_or_wake @ (libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET) => {
                if bitset != ANYBODY {
                    // Who waits for whom is left to the kernel there: here everybody waits for everybody.
                    self.meets(outside::Kind::Futexes, c"syscall");
                }
                Some(match wait_or_wake {
                    libc::FUTEX_WAIT_BITSET => self.futex_wait(queue, value, absolute(timeout)),
                    _ => self.futex_wake(queue, value),
                })
            }
            _ => None,
        }
    }

    /// The waiters of a queue: an object beside the memory cell of the same address, or of the byte behind if the
    /// futex is shared, since words are aligned.
    fn futex_queue(&self, queue: Queue) -> ObjectId {
        let at = queue.address + usize::from(!queue.private);
        self.in_engine(|world| world.object_at(at, ObjectKind::Condvar))
    }

    pub(super) fn futex_wait(&self, queue: Queue, expected: u32, deadline: u64) -> i64 {
        let site = Location::caller();
        let address = queue.address;
        let queue = self.futex_queue(queue);
        let word = self.in_engine(|world| world.memory_at((address, size_of::<u32>())));
        let enqueue = Op { second: word, ..Op::new(Kind::FutexWait, queue, site) };
        if !self.perform_if(enqueue, || read_word(address) == expected) {
            return -i64::from(libc::EAGAIN);
        }
        let sleep = self.until(deadline, Op::new(Kind::FutexSleep, queue, site));
        let woken = self.perform(sleep) != crate::model::TIMED_OUT;
        if woken { 0 } else { -i64::from(libc::ETIMEDOUT) }
    }

    pub(super) fn futex_wake(&self, queue: Queue, count: u32) -> i64 {
        let queue = self.futex_queue(queue);
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
