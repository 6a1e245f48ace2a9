//! `std::thread`.

mod builder;
mod handle;
mod join;
pub mod local;
mod scoped;

pub(crate) use builder::spawn_controlled;
pub use builder::{Builder, spawn};
pub use handle::{Thread, ThreadId, current};
pub use join::JoinHandle;
pub use local::{AccessError, LocalKey};
pub use scoped::{Scope, ScopedJoinHandle, scope};

use crate::exec::active;
use crate::model::{Kind, Op};
use crate::search::step::ObjectId;
use std::panic::Location;
use std::time::Duration;

/// The same as [`std::thread::yield_now`]: lets other threads go first.
#[track_caller]
#[inline(never)]
pub fn yield_now() {
    match active() {
        Some(active) => {
            active.perform(Op::new(Kind::Yield, ObjectId::NONE, Location::caller()));
        }
        None => std::thread::yield_now(),
    }
}

/// The same as [`std::thread::sleep`]; under control time is virtual and other threads may do
/// anything meanwhile.
#[track_caller]
#[inline(never)]
pub fn sleep(duration: Duration) {
    match active() {
        Some(active) => {
            active.perform(Op::new(Kind::Sleep, ObjectId::NONE, Location::caller()));
            active.pass_time(duration);
        }
        None => std::thread::sleep(duration),
    }
}

/// The same as [`std::thread::sleep_ms`].
#[deprecated(note = "replaced by `std::thread::sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(ms.into()));
}

/// The same as [`std::thread::park`]; may also return spuriously, within the budget.
#[track_caller]
#[inline(never)]
pub fn park() {
    match active() {
        Some(active) => {
            let token = active.token_of(active.current());
            active.perform(Op::new(Kind::Park, token, Location::caller()));
        }
        None => std::thread::park(),
    }
}

/// The same as [`std::thread::park_timeout`].
#[track_caller]
#[inline(never)]
pub fn park_timeout(duration: Duration) {
    match active() {
        Some(active) => {
            let token = active.token_of(active.current());
            let deadline = active.deadline(duration);
            active.perform(active.until(deadline, Op::new(Kind::Park, token, Location::caller())));
        }
        None => std::thread::park_timeout(duration),
    }
}

/// The same as [`std::thread::park_timeout_ms`].
#[deprecated(note = "replaced by `std::thread::park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(ms.into()));
}

/// The same as [`std::thread::panicking`]. Not inlined: std's is, and looks at an atomic, which would be a step of the program.
#[must_use]
#[inline(never)]
pub fn panicking() -> bool {
    std::thread::panicking()
}

/// The same as [`std::thread::available_parallelism`]; two under control, on every machine.
#[inline(never)]
pub fn available_parallelism() -> std::io::Result<std::num::NonZero<usize>> {
    match active() {
        Some(_) => Ok(const { std::num::NonZero::new(2).expect("two is not zero") }),
        None => std::thread::available_parallelism(),
    }
}
