//! `Condvar`.

use super::mutex::MutexGuard;
use super::raw_mutex::RawGuard;
use crate::exec::{ObjectTag, active};
use crate::model::{Kind, ObjectKind, Op, Site};
use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

/// The same as [`std::sync::Condvar`]; under control, every waiter may be the one that is woken,
/// and waits may end spuriously or by time-out within the budgets.
pub struct Condvar {
    tag: ObjectTag,
    real: std::sync::Condvar,
}

/// The same as [`std::sync::WaitTimeoutResult`].
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait is known to have timed out.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// The same as std's `new`.
    #[inline]
    pub const fn new() -> Self {
        Condvar { tag: ObjectTag::new(), real: std::sync::Condvar::new() }
    }

    /// The same as std's `wait`.
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_raw(&mut guard.raw, None, Location::caller());
        guard.checked()
    }

    /// The same as std's `wait_while`.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// The same as std's `wait_timeout`.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let timed_out = self.wait_raw(&mut guard.raw, Some(duration), Location::caller());
        let result = WaitTimeoutResult(timed_out);
        match guard.checked() {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    /// The same as std's `wait_timeout_ms`.
    #[deprecated(note = "replaced by `std::sync::Condvar::wait_timeout`")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(ms.into())) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(poisoned) => {
                let (guard, result) = poisoned.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// The same as std's `wait_timeout_while`.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = duration.checked_sub(start.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    /// The same as std's `notify_one`.
    #[track_caller]
    #[inline(never)]
    pub fn notify_one(&self) {
        self.notify(Kind::NotifyOne, std::sync::Condvar::notify_one, Location::caller());
    }

    /// The same as std's `notify_all`.
    #[track_caller]
    #[inline(never)]
    pub fn notify_all(&self) {
        self.notify(Kind::NotifyAll, std::sync::Condvar::notify_all, Location::caller());
    }

    fn notify(&self, kind: Kind, real: fn(&std::sync::Condvar), site: Site) {
        match active() {
            Some(active) => {
                let object = active.object(&self.tag, || ObjectKind::Condvar);
                active.perform(Op::new(kind, object, site));
            }
            None => real(&self.real),
        }
    }

    /// Waits; true if it timed out.
    #[inline(never)]
    fn wait_raw(&self, guard: &mut RawGuard<'_>, duration: Option<Duration>, site: Site) -> bool {
        let Some(active) = active() else {
            return guard.wait_outside(|real| match duration {
                None => (self.real.wait(real).unwrap_or_else(PoisonError::into_inner), false),
                Some(duration) => {
                    let (real, result) =
                        self.real.wait_timeout(real, duration).unwrap_or_else(PoisonError::into_inner);
                    (real, result.timed_out())
                }
            });
        };
        let object = active.object(&self.tag, || ObjectKind::Condvar);
        let enqueue = Op::new(Kind::CondvarEnqueue, object, site);
        active.perform(Op { arg: guard.mutex(active).0, ..enqueue });
        guard.unlock_for_wait(active, site);
        let deadline = duration.map_or(u64::MAX, |duration| active.deadline(duration));
        let wake = active.until(deadline, Op::new(Kind::CondvarWake, object, site));
        let timed_out = active.perform(wake) == crate::model::TIMED_OUT;
        guard.relock(active, site);
        timed_out
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}
