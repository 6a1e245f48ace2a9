//! Stacks for model threads, kept from one execution to the next.

use super::fixed_stack::{FixedStack, GUARD};
use corosensei::stack::Stack;

/// So many bytes below what is compared are cleaned, too.
const BELOW: usize = 512;

/// Stacks waiting for their thread, by the thread's number, so that a thread's addresses are the
/// same in every execution.
#[derive(Default)]
pub(crate) struct StackPool {
    stacks: Vec<Option<FixedStack>>,
    /// The lowest address of each stack that was ever made, guard page included.
    limits: Vec<usize>,
    /// How many bytes of each stack, from its base, were ever compared.
    compared: Vec<usize>,
}

impl StackPool {
    /// The stack of thread number `thread`, which wishes for so many bytes.
    pub(crate) fn take(&mut self, thread: usize, wished: usize) -> FixedStack {
        if self.stacks.len() <= thread {
            self.stacks.resize_with(thread + 1, || None);
        }
        let limits = &mut self.limits;
        self.stacks[thread].take().filter(|stack| stack.fits(wished)).unwrap_or_else(|| {
            let stack = FixedStack::of(thread, wished);
            limits.push(stack.limit().get());
            stack
        })
    }

    /// Whether `address` lies in the guard page below one of the stacks.
    pub(crate) fn guards(&self, address: usize) -> bool {
        self.limits.iter().any(|limit| (*limit..limit + GUARD).contains(&address))
    }

    /// Zeroes what was used of every stack: an execution that compares stacks must find in unused
    /// slots what every other execution finds there.
    pub(crate) fn clean(&mut self) {
        self.stacks.iter().flatten().for_each(clean);
    }

    /// The same of what executions have compared so far, and of what lies right below: a function that returns an enum
    /// copies slots that it did not set into the frame of its caller.
    #[inline]
    pub(crate) fn clean_compared(&mut self) {
        for (stack, &bytes) in self.stacks.iter().zip(&self.compared) {
            if let Some(stack) = stack.as_ref().filter(|_| bytes > 0) {
                let (base, limit) = (stack.base().get(), stack.limit().get() + GUARD);
                let lowest = (base - bytes).saturating_sub(BELOW).max(limit);
                // SAFETY: the upper end of a stack that nobody runs on, above its guard page.
                unsafe { std::ptr::write_bytes(lowest as *mut u8, 0, base - lowest) };
            }
        }
    }

    /// The stack of thread number `thread` is compared from `from` to its base. Whether that is more
    /// than ever before.
    pub(crate) fn compares(&mut self, thread: usize, from: usize, base: usize) -> bool {
        if self.compared.len() <= thread {
            self.compared.resize(thread + 1, 0);
        }
        let bytes = base.saturating_sub(from);
        let more = bytes > self.compared[thread];
        if more {
            self.compared[thread] = bytes;
        }
        more
    }

    /// Puts it back.
    pub(crate) fn put(&mut self, thread: usize, stack: FixedStack) {
        self.stacks[thread] = Some(stack);
    }
}

/// Zeroes a stack that nobody runs on, from its base down to where it was never used: four pages
/// without a trace.
fn clean(stack: &FixedStack) {
    const PAGE: usize = 4096;
    let lowest = stack.limit().get() + 2 * PAGE;
    let mut page = stack.base().get() - PAGE;
    let mut untouched = 0;
    while page >= lowest && untouched < 4 {
        // SAFETY: memory of a stack between its guard page and its base, used by nobody now.
        let words = unsafe { std::slice::from_raw_parts_mut(page as *mut u64, PAGE / 8) };
        // Many words at a time, which a processor compares at once.
        if words.chunks_exact(16).all(|words| words.iter().fold(0, |all, word| all | word) == 0) {
            untouched += 1;
        } else {
            words.fill(0);
            untouched = 0;
        }
        page -= PAGE;
    }
}
