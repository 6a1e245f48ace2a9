//! Context switching: model threads as coroutines on pooled stacks.
//!
//! Control always passes through the root: a thread that gives up its turn suspends, and the root
//! resumes the next one. Abandoned threads are neither resumed nor unwound; their memory goes with
//! the execution's heap (see `heap.rs`).

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{CoroutineResult, Yielder};

/// Room for one thread: std's default for spawned threads.
const STACK_BYTES: usize = 2 << 20;

type Inner = corosensei::Coroutine<(), (), (), DefaultStack>;

/// One thread's stack and saved registers.
pub(crate) struct Coroutine(Inner);

/// What a resumed thread did with its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// It gave it up.
    Suspended,
    /// Its body returned.
    Returned,
}

impl Coroutine {
    /// A thread that will run `body` on `stack`; the body is told where to suspend from.
    pub(crate) fn new(stack: DefaultStack, body: impl FnOnce(*const Yielder<(), ()>) + 'static) -> Coroutine {
        Coroutine(Inner::with_stack(stack, move |yielder, ()| body(yielder)))
    }

    /// Gives the thread its turn.
    pub(crate) fn resume(&mut self) -> Resumed {
        match self.0.resume(()) {
            CoroutineResult::Yield(()) => Resumed::Suspended,
            CoroutineResult::Return(()) => Resumed::Returned,
        }
    }

    /// Takes the stack back, whatever the thread was doing.
    pub(crate) fn reclaim(mut self) -> DefaultStack {
        if !self.0.done() {
            // SAFETY: the frames on this stack are never run again. What they own is memory of the
            // execution's heap, which is dropped as a whole, or leaks by design.
            unsafe { self.0.force_reset() };
        }
        self.0.into_stack()
    }
}

/// Suspends the running thread until the root resumes it.
///
/// # Safety
/// `yielder` must be the one of the thread that is running now.
pub(crate) unsafe fn suspend(yielder: *const Yielder<(), ()>) {
    // SAFETY: the yielder lives on the stack of the running thread, at its base.
    unsafe { (*yielder).suspend(()) };
}

/// Zeroes a stack that nobody runs on, from its base down to where it was never used: four pages
/// without a trace.
fn clean(stack: &DefaultStack) {
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

/// Stacks waiting for their thread, by the thread's number, so that a thread's addresses are the
/// same in every execution.
#[derive(Default)]
pub(crate) struct StackPool {
    stacks: Vec<Option<DefaultStack>>,
    /// The lowest address of each stack that was ever made, guard page included.
    limits: Vec<usize>,
}

impl StackPool {
    /// The stack of thread number `thread`.
    pub(crate) fn take(&mut self, thread: usize) -> DefaultStack {
        if self.stacks.len() <= thread {
            self.stacks.resize_with(thread + 1, || None);
        }
        let limits = &mut self.limits;
        self.stacks[thread].take().unwrap_or_else(|| {
            let stack = DefaultStack::new(STACK_BYTES).expect("the system gives memory for a stack");
            limits.push(stack.limit().get());
            stack
        })
    }

    /// Whether `address` lies in the guard page below one of the stacks.
    pub(crate) fn guards(&self, address: usize) -> bool {
        const GUARD: usize = 0x1000;
        self.limits.iter().any(|limit| (*limit..limit + GUARD).contains(&address))
    }

    /// Zeroes what was used of every stack: an execution that compares stacks must find in unused
    /// slots what every other execution finds there.
    pub(crate) fn clean(&mut self) {
        self.stacks.iter().flatten().for_each(clean);
    }

    /// Puts it back.
    pub(crate) fn put(&mut self, thread: usize, stack: DefaultStack) {
        self.stacks[thread] = Some(stack);
    }
}
