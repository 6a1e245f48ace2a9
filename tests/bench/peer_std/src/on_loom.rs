//! loom's synchronisation, and its search.

use crate::attempt::Request;

/// `std::sync`.
pub mod sync {
    pub use super::condvar::Condvar;
    pub use loom::sync::{Mutex, MutexGuard, RwLock, mpsc};
    pub use std::sync::*;

    /// `std::sync::atomic`.
    pub mod atomic {
        pub use loom::sync::atomic::*;
    }
}

/// `std::thread`.
pub mod thread {
    pub use super::scope::{Scope, ScopedJoinHandle, scope};
    pub use loom::thread::{JoinHandle, park, spawn, yield_now};
    pub use std::thread::*;
}

#[path = "loom_condvar.rs"]
mod condvar;
#[path = "loom_scope.rs"]
mod scope;

/// Waiting loops of the programs take more than its default of 1000.
const BRANCHES: usize = 10_000;

pub(crate) fn explore(request: &Request, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = match request.way.as_str() {
        "full" => None,
        "bound 2" => Some(2),
        way => panic!("loom has no way {way}"),
    };
    builder.max_duration = Some(request.time);
    // The time is looked at only so often.
    builder.checkpoint_interval = 100;
    builder.max_branches = BRANCHES;
    builder.check(body);
}
