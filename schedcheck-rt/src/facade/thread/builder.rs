//! `spawn` and `Builder`.

use super::handle::Thread;
use super::join::{Controlled, JoinHandle, Joinable, Outcome, drop_outcome};
use super::scoped::{Scope, ScopedJoinHandle};
use crate::exec::active;
use crate::model::{Kind, LAST, Op, Site};
use crate::search::step::ObjectId;
use std::any::Any;
use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// The same as [`std::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// The same as [`std::thread::Builder`].
#[must_use = "must eventually spawn the thread"]
#[derive(Debug)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// The same as std's `new`.
    #[expect(clippy::new_without_default, reason = "std's has no default")]
    pub fn new() -> Builder {
        Builder { name: None, stack_size: None }
    }

    /// The same as std's `name`.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// The same as std's `stack_size`.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// The same as std's `spawn`.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is 'static.
        unsafe { self.spawn_unchecked(f) }
    }

    /// The same as std's `spawn_unchecked`.
    ///
    /// # Safety
    /// As std's: the thread must not outlive what it borrows.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        if active().is_some() {
            // SAFETY: the caller's promise.
            let controlled = unsafe { spawn_controlled(self.wishes()?, f, Location::caller()) };
            return Ok(JoinHandle(Joinable::Controlled(controlled)));
        }
        // SAFETY: the caller's promise.
        let handle = unsafe { self.system().spawn_unchecked(f) }?;
        let thread = Thread::system(handle.thread().clone());
        Ok(JoinHandle(Joinable::System(handle, thread)))
    }

    /// The same as std's `spawn_scoped`.
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.spawn_with(self, f, Location::caller())
    }

    /// Its settings, if the system could start such a thread. Panics where std does.
    #[track_caller]
    pub(super) fn wishes(self) -> io::Result<Wishes> {
        let name = self.name.map(|name| {
            let name = CString::new(name).expect("thread name may not contain interior null bytes");
            name.into_string().expect("it was a string before")
        });
        match self.stack_size {
            Some(size) if size > usize::MAX - (PAGE - 1) => Err(io::Error::from_raw_os_error(libc::EINVAL)),
            Some(size) if size >= ADDRESS_SPACE => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            size => Ok((name, size)),
        }
    }

    /// The system's builder with the same settings.
    pub(super) fn system(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}

/// No stack is as large: a process has no more addresses. What is less is refused or not as memory is there for it, which
/// differs from machine to machine; such a thread starts here, wherever the test runs.
const ADDRESS_SPACE: usize = 1 << 47;
/// The system rounds the size of a stack up to a multiple of that; what cannot be rounded up is no size.
const PAGE: usize = 0x1000;

/// The name of a thread, and how large its stack is to be.
pub(crate) type Wishes = (Option<String>, Option<usize>);

/// Starts `f` as a thread of the execution.
///
/// # Safety
/// The execution must not outlive what `f` borrows, or the thread must be joined before.
pub(crate) unsafe fn spawn_controlled<'a, F, T>(wishes: Wishes, f: F, site: Site) -> Controlled<T>
where
    F: FnOnce() -> T + 'a,
    T: 'a,
{
    let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
        let outcome: Outcome<T> = catch_unwind(AssertUnwindSafe(f));
        if let Err(payload) = &outcome {
            panicked(payload.as_ref());
        }
        let outcome = Box::into_raw(Box::new(outcome)).cast();
        if leave(outcome, std::mem::needs_drop::<T>(), site) {
            // SAFETY: made above, and nobody will join: the handle is gone.
            unsafe { drop_outcome::<T>(outcome) };
        }
        end(site);
    });
    // SAFETY: the caller's promise makes the borrow outlive the thread.
    let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce() + 'static>>(body) };
    let slot = start(wishes, body, site);
    Controlled { slot, thread: Thread::controlled(slot), scoped: false, outcome: PhantomData }
}

#[inline(never)]
fn start((name, stack_size): Wishes, body: Box<dyn FnOnce()>, site: Site) -> usize {
    let active = active().expect("a controlled thread starts in an execution");
    active.perform(Op::new(Kind::Spawn, ObjectId::NONE, site));
    active.spawn(name, stack_size, body, site)
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) {
    active().expect("a controlled thread ends in its execution").panicked(payload);
}

/// Leaves its outcome to whoever has the handle. True if nobody has, and it is to be dropped.
#[inline(never)]
fn leave(outcome: *mut (), needs_drop: bool, site: Site) -> bool {
    let active = active().expect("a controlled thread ends in its execution");
    if needs_drop && active.perform(Op::new(Kind::Leave, active.life_of(active.current()), site)) == LAST {
        return true;
    }
    active.leave(outcome);
    false
}

/// The last act of a thread.
#[inline(never)]
fn end(site: Site) {
    let active = active().expect("a controlled thread ends in its execution");
    active.before_end_of_thread();
    let life = active.life_of(active.current());
    let end = Op::new(Kind::End, life, site);
    active.perform(Op { second: active.own_baton(), ..end });
}
