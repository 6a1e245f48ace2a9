//! shuttle's synchronisation, and its schedulers.

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};

use crate::attempt::Request;

/// `std::sync`.
pub mod sync {
    pub use shuttle::sync::{Barrier, Condvar, Mutex, MutexGuard, Once, RwLock, mpsc};
    pub use std::sync::*;

    /// `std::sync::atomic`.
    pub mod atomic {
        pub use shuttle::sync::atomic::*;
    }
}

/// `std::thread`.
pub mod thread {
    pub use shuttle::thread::{JoinHandle, park, scope, sleep, spawn, yield_now};
    pub use std::thread::*;
}

pub(crate) fn explore(request: &Request, body: impl Fn() + Send + Sync + 'static) {
    let (seed, endless) = (request.seed, usize::MAX);
    match request.way.as_str() {
        "dfs" => run(DfsScheduler::new(None, false), request, body),
        "random" => run(RandomScheduler::new_from_seed(seed, endless), request, body),
        "pct 2" => run(PctScheduler::new_from_seed(seed, 2, endless), request, body),
        "pct 3" => run(PctScheduler::new_from_seed(seed, 3, endless), request, body),
        "urw" => run(UrwRandomScheduler::new_from_seed(seed, endless), request, body),
        way => panic!("shuttle has no way {way}"),
    }
}

fn run(scheduler: impl Scheduler + 'static, request: &Request, body: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.silence_warnings = true;
    config.max_time = Some(request.time);
    shuttle::Runner::new(scheduler, config).run(body);
}
