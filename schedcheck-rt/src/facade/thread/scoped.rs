//! `scope`, `Scope`, `ScopedJoinHandle`.

use super::builder::{Builder, spawn_controlled};
use super::handle::Thread;
use super::join::{Joinable, SystemHandle};
use crate::exec::{IN_SCOPE, ScopeId, active};
use crate::model::{Kind, Op, Site};
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, panic_any, resume_unwind};

/// The same as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    threads: Threads<'scope, 'env>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum Threads<'scope, 'env: 'scope> {
    /// The threads of the execution that were started here.
    Controlled(Started),
    System(&'scope std::thread::Scope<'scope, 'env>),
}

/// A list of threads, and which scope is theirs. What touches it is compiled here, not in the user's crate: there it would
/// look like a race of the threads that start others in the same scope.
struct Started {
    slots: UnsafeCell<Vec<usize>>,
    scope: ScopeId,
}

impl Started {
    #[inline(never)]
    fn new() -> Started {
        let active = active().expect("a scope under control begins in an execution");
        Started { slots: UnsafeCell::default(), scope: active.begin_scope() }
    }

    #[inline(never)]
    fn push(&self, slot: usize) {
        let active = active().expect("a controlled thread starts in an execution");
        active.started_in(self.scope, slot);
        // SAFETY: only the thread whose turn it is gets here.
        active.unwatched(|| unsafe { (*self.slots.get()).push(slot) });
    }

    #[inline(never)]
    fn get(&self, index: usize) -> Option<usize> {
        // SAFETY: as above.
        unsafe { (&*self.slots.get()).get(index).copied() }
    }

    /// Whether one of the first `count` panicked and nobody was told. They and their handles are gone.
    #[inline(never)]
    fn have_panicked(&self, count: usize) -> bool {
        let active = active().expect("a scope under control ends in its execution");
        let slots = (0..count).filter_map(|index| self.get(index));
        // All of them are blamed.
        slots.filter(|slot| active.panics_in_scope(*slot)).count() > 0
    }
}

impl Drop for Started {
    #[inline(never)]
    fn drop(&mut self) {
        let list = std::mem::take(self.slots.get_mut());
        if let Some(active) = active() {
            active.unwatched(|| drop(list));
        }
    }
}

// SAFETY: the list is touched only by the thread whose turn it is; std's scope is `Sync` itself.
unsafe impl Sync for Scope<'_, '_> {}
impl std::panic::RefUnwindSafe for Scope<'_, '_> {}

/// The same as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(Joinable<T, std::thread::ScopedJoinHandle<'scope, T>>);

impl<T> SystemHandle<T> for std::thread::ScopedJoinHandle<'_, T> {
    fn join(self) -> std::thread::Result<T> {
        self.join()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

// SAFETY: as std's: joining hands the outcome over from the thread that made it.
unsafe impl<T: Send> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as std's: a shared handle gives no access to the outcome.
unsafe impl<T: Send> Sync for ScopedJoinHandle<'_, T> {}
// The outcome is not in the handle.
impl<T> Unpin for ScopedJoinHandle<'_, T> {}

/// The same as [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    if active().is_some() {
        return controlled_scope(f, Location::caller());
    }
    // The wrapper must outlive every thread of the scope, hence stand outside std's call.
    let mut place = MaybeUninit::<Scope<'_, 'env>>::uninit();
    let place = place.as_mut_ptr().cast::<()>();
    std::thread::scope(|system| {
        let place = place.cast::<Scope<'_, 'env>>();
        // SAFETY: the place lives until std's scope has joined its threads; it needs no drop.
        let wrapper = unsafe {
            place.write(Scope { threads: Threads::System(system), scope: PhantomData, env: PhantomData });
            &*place
        };
        f(wrapper)
    })
}

fn controlled_scope<'env, F, T>(f: F, site: Site) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope { threads: Threads::Controlled(Started::new()), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let panicked = scope.join_all(site);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic_any(IN_SCOPE),
        Ok(result) => result,
    }
}

impl<'scope> Scope<'scope, '_> {
    /// The same as std's `spawn`.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(Builder::new(), f, Location::caller()).expect("failed to spawn thread")
    }

    #[track_caller]
    pub(super) fn spawn_with<F, T>(
        &'scope self,
        builder: Builder,
        f: F,
        site: Site,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match &self.threads {
            Threads::Controlled(slots) => {
                // SAFETY: the scope joins the thread before it ends.
                let mut controlled = unsafe { spawn_controlled(builder.wishes()?, f, site) };
                controlled.scoped = true;
                slots.push(controlled.slot);
                Ok(ScopedJoinHandle(Joinable::Controlled(controlled)))
            }
            Threads::System(system) => {
                let handle = builder.system().spawn_scoped(system, f)?;
                let thread = Thread::system(handle.thread().clone());
                Ok(ScopedJoinHandle(Joinable::System(handle, thread)))
            }
        }
    }

    /// Waits for all threads of the scope and for their handles; true if one panicked and nobody joined it.
    fn join_all(&self, site: Site) -> bool {
        let Threads::Controlled(slots) = &self.threads else { return false };
        let (mut done, mut let_go) = (0, 0);
        loop {
            // A thread of the scope may start further ones meanwhile.
            if let Some(slot) = slots.get(done) {
                await_body(slot, site);
                done += 1;
            } else if let Some(slot) = slots.get(let_go) {
                await_handle(slot, site);
                let_go += 1;
            } else {
                return slots.have_panicked(done);
            }
        }
    }
}

/// Waits until a scoped thread has left its result.
#[inline(never)]
fn await_body(slot: usize, site: Site) {
    let active = active().expect("a scope under control ends in its execution");
    active.perform(Op::new(Kind::JoinScoped, active.life_of(slot), site));
    active.awaited_by_scope(slot);
}

/// Waits until the handle of such a thread is gone, when the bodies of all are done.
#[inline(never)]
fn await_handle(slot: usize, site: Site) {
    let active = active().expect("a scope under control ends in its execution");
    if !active.was_let_go_in_scope(slot) {
        active.perform(Op::new(Kind::AwaitLetGo, active.life_of(slot), site));
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The same as std's `thread`.
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// The same as std's `join`.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join(Location::caller())
    }

    /// The same as std's `is_finished`.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(Location::caller())
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
