//! Model threads as coroutines: all on the thread of the system that the root runs on.

use super::fixed_stack::FixedStack;
use super::switch::{Birth, Carrier, Resumed};
use corosensei::{CoroutineResult, Yielder};

type Inner = corosensei::Coroutine<(), (), (), FixedStack>;

/// One thread's stack and saved registers.
pub(crate) struct Coroutine(Inner);

/// Where a coroutine suspends from: lives at the base of its stack.
pub(crate) type Gangway = *const Yielder<(), ()>;

impl Coroutine {
    /// Will run `body` on `stack`.
    pub(super) fn on(stack: FixedStack, body: impl FnOnce(Gangway) + 'static) -> Coroutine {
        Coroutine(Inner::with_stack(stack, move |yielder, ()| body(yielder)))
    }
}

impl Carrier for Coroutine {
    type Exit = Gangway;

    fn start<F: FnOnce(Gangway) + 'static>(birth: Birth<'_>, body: F) -> Coroutine {
        Coroutine::on(birth.stack, body)
    }

    #[inline]
    fn resume(&mut self) -> Resumed {
        match self.0.resume(()) {
            CoroutineResult::Yield(()) => Resumed::Suspended,
            CoroutineResult::Return(()) => Resumed::Returned,
        }
    }

    #[inline]
    unsafe fn suspend(exit: Gangway) {
        // SAFETY: the caller runs on this coroutine, so its base, where the yielder is, exists.
        unsafe { (*exit).suspend(()) };
    }

    fn reclaim(mut self) -> FixedStack {
        if !self.0.done() {
            // SAFETY: the frames on this stack are never run again. What they own is memory of the
            // execution's heap, which is dropped as a whole, or leaks by design.
            unsafe { self.0.force_reset() };
        }
        self.0.into_stack()
    }
}
