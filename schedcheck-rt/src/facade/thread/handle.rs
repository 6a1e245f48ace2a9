//! `Thread`, `ThreadId`, `current`.

use crate::exec::active;
use crate::model::{Kind, Op};
use std::fmt;
use std::num::NonZero;
use std::panic::Location;
use std::ptr::NonNull;

/// The same as [`std::thread::Thread`], and as small: one pointer that is never null.
///
/// For a thread under control it is twice its slot plus one; for a thread of the system, whose
/// handle is boxed, it is the box's address, which is even.
pub struct Thread(NonNull<()>);

// SAFETY: a number, or a std handle, which is `Send`.
unsafe impl Send for Thread {}
// SAFETY: a number, or a std handle, which is `Sync`.
unsafe impl Sync for Thread {}
impl std::panic::UnwindSafe for Thread {}
impl std::panic::RefUnwindSafe for Thread {}

/// What a handle stands for.
enum Meaning<'a> {
    Controlled(usize),
    System(&'a std::thread::Thread),
}

/// The same as [`std::thread::ThreadId`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(NonZero<u64>);

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadId").field(&self.0).finish()
    }
}

/// The same as [`std::thread::current`].
#[inline(never)]
pub fn current() -> Thread {
    match active() {
        Some(active) => Thread::controlled(active.current()),
        None => Thread::system(std::thread::current()),
    }
}

impl Thread {
    pub(super) fn controlled(slot: usize) -> Thread {
        let number = NonZero::new(slot * 2 + 1).expect("odd numbers are not zero");
        Thread(NonNull::without_provenance(number))
    }

    pub(super) fn system(thread: std::thread::Thread) -> Thread {
        Thread(NonNull::from(Box::leak(Box::new(thread))).cast())
    }

    fn meaning(&self) -> Meaning<'_> {
        let address = self.0.addr().get();
        if address % 2 == 1 {
            return Meaning::Controlled(address / 2);
        }
        // SAFETY: even values are boxes that live as long as the handle.
        Meaning::System(unsafe { self.0.cast::<std::thread::Thread>().as_ref() })
    }

    /// The same as std's `unpark`.
    #[track_caller]
    #[inline(never)]
    pub fn unpark(&self) {
        match (self.meaning(), active()) {
            (Meaning::Controlled(slot), Some(active)) => {
                active.perform(Op::new(Kind::Unpark, active.token_of(slot), Location::caller()));
            }
            (Meaning::Controlled(_), None) => {}
            (Meaning::System(thread), _) => thread.unpark(),
        }
    }

    /// The same as std's `id`.
    #[inline(never)]
    pub fn id(&self) -> ThreadId {
        match self.meaning() {
            Meaning::Controlled(slot) => {
                let number = active().map_or(slot as u64, |active| active.number_of(slot));
                ThreadId(NonZero::new(number + 1).expect("not zero"))
            }
            Meaning::System(thread) => ThreadId(system_number(thread.id())),
        }
    }

    /// The same as std's `name`.
    #[inline(never)]
    pub fn name(&self) -> Option<&str> {
        match self.meaning() {
            Meaning::Controlled(slot) => active()?.name_of(slot),
            Meaning::System(thread) => thread.name(),
        }
    }
}

impl Clone for Thread {
    #[inline(never)]
    fn clone(&self) -> Thread {
        match self.meaning() {
            Meaning::Controlled(slot) => Thread::controlled(slot),
            Meaning::System(thread) => Thread::system(thread.clone()),
        }
    }
}

impl Drop for Thread {
    #[inline(never)]
    fn drop(&mut self) {
        if let Meaning::System(_) = self.meaning() {
            // SAFETY: the box this handle was made of, dropped once.
            drop(unsafe { Box::from_raw(self.0.cast::<std::thread::Thread>().as_ptr()) });
        }
    }
}

/// std's number of a thread of the system, which it shows only in its debug form.
fn system_number(id: std::thread::ThreadId) -> NonZero<u64> {
    let shown = format!("{id:?}");
    let digits: String = shown.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(NonZero::<u64>::MAX)
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}
