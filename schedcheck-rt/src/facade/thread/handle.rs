//! `Thread`, `ThreadId`, `current`.

use crate::exec::active;
use crate::model::{Kind, Op};
use std::fmt;
use std::num::NonZero;
use std::panic::Location;

/// The same as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(pub(super) Handle);

/// A thread of the execution, or one outside.
#[derive(Clone)]
pub(super) enum Handle {
    /// A thread under control: its slot, and its name, which lives as long as the execution.
    Controlled { slot: usize, name: Option<&'static str> },
    /// A thread of the system.
    System(std::thread::Thread),
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
        None => Thread(Handle::System(std::thread::current())),
    }
}

impl Thread {
    pub(super) fn controlled(slot: usize) -> Thread {
        let active = active().expect("a controlled thread lives in an execution");
        Thread(Handle::Controlled { slot, name: active.name_of(slot) })
    }

    /// The same as std's `unpark`.
    #[track_caller]
    #[inline(never)]
    pub fn unpark(&self) {
        match (&self.0, active()) {
            (Handle::Controlled { slot, .. }, Some(active)) => {
                active.perform(Op::new(Kind::Unpark, active.token_of(*slot), Location::caller()));
            }
            (Handle::Controlled { .. }, None) => {}
            (Handle::System(thread), _) => thread.unpark(),
        }
    }

    /// The same as std's `id`.
    #[inline(never)]
    pub fn id(&self) -> ThreadId {
        match &self.0 {
            Handle::Controlled { slot, .. } => {
                let number = active().map_or(*slot as u64, |active| active.number_of(*slot));
                ThreadId(NonZero::new(number + 1).expect("not zero"))
            }
            Handle::System(thread) => ThreadId(system_number(thread.id())),
        }
    }

    /// The same as std's `name`.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Handle::Controlled { name, .. } => *name,
            Handle::System(thread) => thread.name(),
        }
    }

    /// The same as std's `into_raw`.
    pub fn into_raw(self) -> *const () {
        Box::into_raw(Box::new(self)).cast_const().cast()
    }

    /// The same as std's `from_raw`.
    ///
    /// # Safety
    /// As std's.
    pub unsafe fn from_raw(pointer: *const ()) -> Thread {
        // SAFETY: the caller promises that it came from `into_raw`.
        *unsafe { Box::from_raw(pointer.cast::<Thread>().cast_mut()) }
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
