//! The right to run, passed between the root and one thread of the system.
//!
//! Made of nothing but one word and the kernel's futex, entered directly: `syscall` itself, and
//! with it everything of std that blocks, belongs to the execution (see `intercept`).

use super::switch::Resumed;
use crate::intercept::real_syscall;
use std::sync::atomic::{AtomicU32, Ordering};

/// The thread waits, the root runs.
const SUSPENDED: u32 = 0;
/// The thread runs, the root waits.
const LENT: u32 = 1;
/// The thread has returned.
const RETURNED: u32 = 2;
/// The thread is to leave without returning.
const ABANDONED: u32 = 3;

/// Who of the two may run.
#[derive(Debug)]
pub(super) struct Baton(AtomicU32);

/// What a waiting thread is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// It is its turn.
    Turn,
    /// It will never be its turn again.
    Abandoned,
}

impl Baton {
    /// In the root's hands.
    pub(super) fn new() -> Baton {
        Baton(AtomicU32::new(SUSPENDED))
    }

    /// The root lends it to the thread and waits until it has it back.
    pub(super) fn lend(&self) -> Resumed {
        self.pass(LENT);
        match self.await_other_than(LENT) {
            RETURNED => Resumed::Returned,
            _ => Resumed::Suspended,
        }
    }

    /// The root will not lend it any more.
    pub(super) fn abandon(&self) {
        if self.0.load(Ordering::Acquire) == SUSPENDED {
            self.pass(ABANDONED);
        }
    }

    /// The thread gives it back to the root.
    pub(super) fn give_back(&self, how: Resumed) {
        self.pass(match how {
            Resumed::Suspended => SUSPENDED,
            Resumed::Returned => RETURNED,
        });
    }

    /// The thread waits until the root decides about it.
    pub(super) fn wait(&self) -> Given {
        match self.await_other_than(SUSPENDED) {
            LENT => Given::Turn,
            _ => Given::Abandoned,
        }
    }

    fn pass(&self, to: u32) {
        self.0.store(to, Ordering::Release);
        self.futex(libc::FUTEX_WAKE, 1);
    }

    fn await_other_than(&self, value: u32) -> u32 {
        loop {
            let found = self.0.load(Ordering::Acquire);
            if found != value {
                return found;
            }
            // Returns at once if the word has changed meanwhile.
            self.futex(libc::FUTEX_WAIT, value);
        }
    }

    fn futex(&self, operation: libc::c_int, value: u32) {
        let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
        let arguments = [self.0.as_ptr().addr(), operation, value as usize, 0, 0, 0];
        // SAFETY: waits on or wakes a word that lives as long as this reference, without a time-out.
        unsafe { real_syscall(libc::SYS_futex, arguments) };
    }
}
