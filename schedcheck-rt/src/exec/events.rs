//! Waiting for events of the system (`epoll`) that the threads of the test bring about themselves.
//!
//! The descriptors are real, and so is what becomes ready: threads run one at a time, so the kernel sees their calls in
//! the order of the schedule. Only the waiting is not: a thread that waits in the kernel would keep those from running
//! whom it waits for. So it asks without waiting, and then waits as on a futex until somebody has done something to such
//! a descriptor. The word of that futex counts what was done, so that the search knows of the order: every attempt is made
//! while it is written to, also one that fails or only asks: it may take away what the next one would have found.
//! Timers among the descriptors are the exception: nobody does anything to them, so it waits no longer than until one is due.

use super::futex::Queue;
use super::{Active, Done, Effect};
use crate::intercept::{error_number, set_error_number};
use crate::model::Kind;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// What was done to descriptors in this execution.
static CHANGES: AtomicU32 = AtomicU32::new(0);

impl Active {
    /// Makes an attempt that does not wait, again and again until it succeeds or the time is over. That may be early, as
    /// with every time. `changes`: once it has succeeded, something may be possible that was not, or the other way round.
    /// `due`: when it may succeed although nobody has done anything.
    pub(crate) fn attempt(
        self,
        timeout: Option<Duration>,
        changes: bool,
        due: impl Fn() -> u64,
        attempt: impl Fn() -> Option<usize>,
    ) -> Option<usize> {
        let deadline = timeout.map_or(u64::MAX, |timeout| self.deadline(timeout));
        let mut over = timeout == Some(Duration::ZERO);
        loop {
            let (answer, error, seen) =
                self.memory(Kind::ReadModifyWrite, &CHANGES, Location::caller(), None, |count, _| {
                    let answer = attempt();
                    let more = u32::from(changes && answer.is_some());
                    let before = count.fetch_add(more, SeqCst);
                    let effect = Effect::Found { before: before.into(), after: Some((before + more).into()) };
                    ((answer, error_number(), before), Done { effect, order: SeqCst.into() })
                });
            if answer.is_some() || over {
                if changes && answer.is_some() {
                    self.futex_wake(Queue::private(address()), i32::MAX as u32);
                }
                // Others may have made calls meanwhile, in the same thread of the system.
                set_error_number(error);
                return answer;
            }
            let until = deadline.min(due());
            let timed_out =
                self.futex_wait(Queue::private(address()), seen, until) == -i64::from(libc::ETIMEDOUT);
            over = timed_out && until == deadline;
        }
    }
}

fn address() -> usize {
    std::ptr::from_ref(&CHANGES).addr()
}
