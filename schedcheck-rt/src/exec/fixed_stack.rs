//! The stack of a model thread, at the same place in every process.
//!
//! Objects on stacks are known by their addresses. A search that goes on in another process must find them
//! where they were, whatever was mapped before, so the place depends on the thread's number alone.
//!
//! Below it, behind a guard page, is the stack on which the engine works for that thread ([`super::own_stack`]).

use corosensei::stack::{Stack, StackPointer};
use std::num::NonZeroUsize;

/// Where the first one lies: behind the heaps of executions.
const BASE: usize = 0x2100_0000_0000;
/// From one to the next: twice the size, so that they are far from each other.
const STRIDE: usize = 2 * BYTES;
/// Room for one thread: std's default for spawned threads.
const BYTES: usize = 2 << 20;
/// Where those lie that are to be larger.
const LARGE_BASE: usize = 0x2800_0000_0000;
const LARGE_STRIDE: usize = 4 << 30;
/// More than that nobody gets.
const MOST: usize = 2 << 30;
/// Room for the engine.
const ENGINE: usize = 256 << 10;
/// Below each of the two, not accessible.
pub(super) const GUARD: usize = 0x1000;
/// What is there besides room for the thread.
const BESIDES: usize = GUARD + ENGINE + GUARD;

/// A mapping: a guard page, the engine's stack, another guard page, the thread's stack.
#[derive(Debug)]
pub(crate) struct FixedStack {
    start: usize,
    /// Room for the thread.
    bytes: usize,
}

impl FixedStack {
    /// The stack of thread number `thread`, as large as is [`usual`] for what is wished; elsewhere if something lies there.
    pub(crate) fn of(thread: usize, wished: usize) -> FixedStack {
        let bytes = usual(wished);
        let wanted = if bytes == BYTES { BASE + thread * STRIDE } else { LARGE_BASE + thread * LARGE_STRIDE };
        let start = map(wanted, bytes, libc::MAP_FIXED_NOREPLACE).or_else(|| map(0, bytes, 0));
        FixedStack { start: start.expect("the system gives memory for a stack"), bytes }
    }

    /// Whether it is as large as one that is made for what is wished.
    pub(crate) fn fits(&self, wished: usize) -> bool {
        self.bytes == usual(wished)
    }

    fn all(&self) -> usize {
        BESIDES + self.bytes
    }

    /// The upper end of the engine's stack.
    pub(crate) fn engine_top(&self) -> usize {
        self.start + GUARD + ENGINE
    }
}

/// Whether a stack may lie at `address`.
pub(super) fn is_place_of_one(address: usize) -> bool {
    const END: usize = 0x4000_0000_0000;
    (BASE..END).contains(&address)
}

/// How much room a thread gets that wishes for so many bytes: std's default, unless that is less.
fn usual(wished: usize) -> usize {
    wished.clamp(BYTES, MOST).next_multiple_of(GUARD)
}

/// New memory, accessible but for the guard pages.
fn map(wanted: usize, bytes: usize, flags: libc::c_int) -> Option<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
    // SAFETY: maps new memory, never over what is there.
    let mapped = unsafe { libc::mmap(wanted as *mut _, BESIDES + bytes, libc::PROT_NONE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let start = mapped as usize;
    let open = |from: usize, bytes: usize| {
        // SAFETY: a part of the mapping just made.
        unsafe { libc::mprotect(from as *mut _, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
    };
    let opened = open(start + GUARD, ENGINE) && open(start + BESIDES, bytes);
    opened.then_some(start)
}

impl Drop for FixedStack {
    fn drop(&mut self) {
        // SAFETY: this stack's own mapping, on which nobody runs.
        unsafe { libc::munmap(self.start as *mut _, self.all()) };
    }
}

// SAFETY: memory between `limit` and `base` is mapped as long as the value lives, aligned to pages, accessible
// but for the guard page, which is the lowest one as the trait wants it.
unsafe impl Stack for FixedStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.start + self.all()).expect("the end of a mapping is not 0")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.start + BESIDES - GUARD).expect("nothing is mapped at 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_number_has_one_place_and_who_comes_second_gets_another() {
        let number = 40_000;
        for wished in [0, 16 << 20] {
            let first = FixedStack::of(number, wished);
            let place = first.base();
            let second = FixedStack::of(number, wished);
            assert_ne!(second.base(), place);
            drop((first, second));
            assert_eq!(FixedStack::of(number, wished).base(), place);
        }
    }

    #[test]
    fn a_stack_has_at_least_the_usual_size() {
        let size = |wished| {
            let stack = FixedStack::of(40_001, wished);
            assert!(stack.fits(wished));
            stack.base().get() - stack.limit().get() - GUARD
        };
        assert_eq!(size(0), BYTES);
        assert_eq!(size(1 << 16), BYTES);
        assert_eq!(size((8 << 20) + 1), (8 << 20) + GUARD);
        assert!(!FixedStack::of(40_001, 0).fits(BYTES + 1));
    }
}
