//! Passing turns on: what carries a model thread, and how it gives up its turn.
//!
//! Control always passes through the root: a thread that gives up its turn suspends, and the root
//! resumes the next one. Abandoned threads are neither resumed nor unwound; their memory goes with
//! the execution's heap (see `heap.rs`).
//!
//! A thread is carried by a coroutine or by a thread of the system. Both run it on the same pooled
//! stack, so that addresses, stack comparison and guard pages are the same, and with them the trace.

use super::coroutine::{Coroutine, Gangway};
use super::fixed_stack::FixedStack;
use super::os_thread::{OsThread, Parking};
use super::thread_locals::StdWords;

/// What the threads of an execution run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Backend {
    /// All on one thread of the system: fast.
    #[default]
    Coroutines,
    /// Each on its own thread of the system: for debuggers, and for code that needs real
    /// thread-locals.
    OsThreads,
}

/// What a resumed thread did with its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// It gave it up.
    Suspended,
    /// Its body returned.
    Returned,
}

/// What a thread starts with.
pub(crate) struct Birth<'a> {
    pub(crate) stack: FixedStack,
    /// Given by the user.
    pub(crate) name: Option<&'a str>,
    /// Its position among the threads of the execution.
    pub(crate) slot: usize,
    /// Its number in every execution.
    pub(crate) number: u16,
    /// What std keeps for the root.
    pub(crate) root_words: StdWords,
}

/// Something that can run a model thread, turn by turn.
pub(crate) trait Carrier: Sized {
    /// Where the thread gives up its turn from.
    type Exit: Copy;

    /// A thread that will run `body` when it is resumed; the body is told its exit.
    fn start<F: FnOnce(Self::Exit) + 'static>(birth: Birth<'_>, body: F) -> Self;

    /// The root gives the thread its turn, until it gives it up.
    fn resume(&mut self) -> Resumed;

    /// The thread gives up its turn until the root resumes it.
    ///
    /// # Safety
    /// `exit` must be the one of the thread that is running now.
    unsafe fn suspend(exit: Self::Exit);

    /// Takes the stack back, whatever the thread was doing.
    fn reclaim(self) -> FixedStack;
}

/// A thread on either backend.
pub(crate) enum Carried {
    ByCoroutine(Coroutine),
    /// Boxed: carriers move in and out of their slot with every turn.
    ByOsThread(Box<OsThread>),
}

/// The exit of a thread on either backend.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    /// It has not started.
    None,
    OfCoroutine(Gangway),
    OfOsThread(Parking),
}

impl Carried {
    /// Starts a thread on `backend`.
    pub(crate) fn start_on(backend: Backend, birth: Birth<'_>, body: impl FnOnce(Exit) + 'static) -> Carried {
        match backend {
            Backend::Coroutines => {
                Carried::ByCoroutine(Coroutine::start(birth, |exit| body(Exit::OfCoroutine(exit))))
            }
            Backend::OsThreads => {
                let thread = OsThread::start(birth, |exit| body(Exit::OfOsThread(exit)));
                Carried::ByOsThread(Box::new(thread))
            }
        }
    }

    /// The root gives the thread its turn.
    #[inline]
    pub(crate) fn resume(&mut self) -> Resumed {
        match self {
            Carried::ByCoroutine(coroutine) => coroutine.resume(),
            Carried::ByOsThread(thread) => thread.resume(),
        }
    }

    /// Takes the stack back.
    pub(crate) fn reclaim(self) -> FixedStack {
        match self {
            Carried::ByCoroutine(coroutine) => coroutine.reclaim(),
            Carried::ByOsThread(thread) => thread.reclaim(),
        }
    }
}

/// Suspends the running thread until the root resumes it.
///
/// # Safety
/// `exit` must be the one of the thread that is running now.
#[inline]
pub(crate) unsafe fn suspend(exit: Exit) {
    match exit {
        // SAFETY: the caller's promise.
        Exit::OfCoroutine(exit) => unsafe { Coroutine::suspend(exit) },
        // SAFETY: the caller's promise.
        Exit::OfOsThread(exit) => unsafe { OsThread::suspend(exit) },
        Exit::None => unreachable!("a thread that runs has started"),
    }
}
