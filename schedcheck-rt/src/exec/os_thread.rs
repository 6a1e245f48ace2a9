//! Model threads as threads of the system, of which one runs at a time.
//!
//! The thread of the system waits for its turn wherever the model thread is, so that a debugger
//! sees every thread in the middle of what it does. Its body runs on a stack of the pool all the
//! same: an abandoned thread leaves that stack as a coroutine does, without unwinding, and ends.
//! So none outlives its execution, the stack can be used again, and statics can be put back.
//!
//! Threads are made with `pthread_create`: std's own machinery notes its threads in statics, which
//! are not the same before and after an execution. For std these are threads made by somebody else.

use super::baton::{Baton, Given};
use super::coroutine::{Coroutine, Gangway};
use super::fixed_stack::FixedStack;
use super::signal_stack::SignalStack;
use super::switch::{Birth, Carrier, Resumed};
use super::thread_locals::{Kept, StdWords};
use super::{WORLD, controller::World};
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A thread of the system that carries a model thread.
pub(crate) struct OsThread {
    baton: Arc<Baton>,
    handle: libc::pthread_t,
}

/// Where a model thread waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parking {
    baton: *const Baton,
    /// The way out for a thread that is abandoned.
    leave: Gangway,
}

/// What a thread of the system is started with.
struct Luggage<F> {
    baton: Arc<Baton>,
    world: *mut World,
    stack: FixedStack,
    words: Kept,
    name: CString,
    body: F,
}

/// What a thread of the system returns: the stack, or the panic of an engine that is broken.
type Returned = std::thread::Result<FixedStack>;

impl Carrier for OsThread {
    type Exit = Parking;

    fn start<F: FnOnce(Parking) + 'static>(birth: Birth<'_>, body: F) -> OsThread {
        let baton = Arc::new(Baton::new());
        let luggage = Box::new(Luggage {
            baton: Arc::clone(&baton),
            world: WORLD.get(),
            stack: birth.stack,
            words: birth.root_words.first(birth.number),
            name: system_name(birth.name, birth.slot),
            body,
        });
        let mut handle = 0;
        // SAFETY: `enter` gets the luggage it expects, and takes it over. What is in it may change
        // threads: the root does not touch it any more, and hands turns on through the baton.
        let problem = unsafe {
            libc::pthread_create(&raw mut handle, std::ptr::null(), enter::<F>, Box::into_raw(luggage).cast())
        };
        assert!(problem == 0, "the system gives a thread: {}", std::io::Error::from_raw_os_error(problem));
        OsThread { baton, handle }
    }

    // Cold, as below: the turns of coroutines, through the same code, must not pay for these.
    #[cold]
    #[inline(never)]
    fn resume(&mut self) -> Resumed {
        self.baton.lend()
    }

    #[cold]
    #[inline(never)]
    unsafe fn suspend(exit: Parking) {
        // SAFETY: the running thread holds its baton at the base of its stack.
        let baton = unsafe { &*exit.baton };
        baton.give_back(Resumed::Suspended);
        if baton.wait() == Given::Abandoned {
            // SAFETY: the caller's promise: this stack's own yielder.
            unsafe { (*exit.leave).suspend(()) };
            unreachable!("nobody resumes an abandoned thread");
        }
    }

    fn reclaim(self) -> FixedStack {
        self.baton.abandon();
        let mut returned = std::ptr::null_mut();
        // SAFETY: the thread was started by `start`, and is joined once.
        let problem = unsafe { libc::pthread_join(self.handle, &raw mut returned) };
        assert!(problem == 0, "a thread can be joined once");
        // SAFETY: `enter` returns a box of this type.
        let returned = *unsafe { Box::from_raw(returned.cast::<Returned>()) };
        returned.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// The name as debuggers show it: that of the model thread, as far as the system takes it.
fn system_name(name: Option<&str>, slot: usize) -> CString {
    /// Longer names are refused.
    const LONGEST: usize = 15;
    let name = name.map_or_else(|| format!("thread-{slot}"), |name| name.replace('\0', ""));
    let end = (0..=LONGEST.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    CString::new(&name[..end.unwrap_or(0)]).expect("zeros were taken out")
}

/// The first function of a thread of the system.
extern "C" fn enter<F: FnOnce(Parking) + 'static>(luggage: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made it, of this type, for this call alone.
    let luggage = unsafe { Box::from_raw(luggage.cast::<Luggage<F>>()) };
    let baton = Arc::clone(&luggage.baton);
    let returned: Returned = catch_unwind(AssertUnwindSafe(|| carry(*luggage)));
    WORLD.set(std::ptr::null_mut());
    let returned = Box::into_raw(Box::new(returned));
    baton.give_back(Resumed::Returned);
    returned.cast()
}

/// Runs the model thread until it returns or is abandoned.
fn carry<F: FnOnce(Parking) + 'static>(luggage: Luggage<F>) -> FixedStack {
    let Luggage { baton, world, stack, words, name, body } = luggage;
    // SAFETY: names the calling thread; the name is short enough and ends with a zero.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    let _handles_overflows = SignalStack::install();
    StdWords::find().adopt(words);
    if baton.wait() == Given::Abandoned {
        // The execution is over before it began; what the body captured goes with the heap.
        std::mem::forget(body);
        return stack;
    }
    WORLD.set(world);
    let parked_at = Arc::as_ptr(&baton);
    let mut coroutine = Coroutine::on(stack, move |leave| body(Parking { baton: parked_at, leave }));
    coroutine.resume();
    // Whatever its thread-local destructors do now is outside the execution.
    WORLD.set(std::ptr::null_mut());
    coroutine.reclaim()
}
