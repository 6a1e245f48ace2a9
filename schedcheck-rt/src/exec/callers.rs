//! Who called std for a step whose own place is the engine's, for reports: reference counts and futexes.
//!
//! The operations of facades know their callers (`track_caller`). Those that generic code of std does, compiled into user
//! crates, are met in calls that the compiler has put in, and what a lock does in the kernel is met in a system call. There
//! only the stack tells who wanted it.

use super::call_stack::{calls_of_user, is_own};
use super::controller::World;
use crate::model::{Kind, Op};
use crate::search::step::StepIndex;
use std::backtrace::Backtrace;
use std::collections::VecDeque;

/// More than a report shows of a schedule; to read a stack takes a while.
const KEPT: usize = 64;

/// The stacks of the last such steps.
#[derive(Debug, Default)]
pub(super) struct Callers(VecDeque<(StepIndex, Backtrace)>);

impl Callers {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The innermost place in user code from which a step came.
    pub(super) fn place(&self, step: StepIndex) -> Option<(String, u32, u32)> {
        let at = self.0.binary_search_by_key(&step, |(step, _)| *step).ok()?;
        calls_of_user(&self.0[at].1).into_iter().next().map(|call| call.place)
    }
}

impl World {
    /// Keeps who called the running thread's operation, if nothing else tells.
    #[cold]
    pub(super) fn note_caller(&mut self, op: &Op, step: StepIndex) {
        let on_futex = matches!(op.kind, Kind::FutexWait | Kind::FutexSleep | Kind::FutexWake);
        if (on_futex || op.kind.is_on_memory()) && is_own(op.site.file()) {
            if self.callers.0.len() == KEPT {
                self.callers.0.pop_front();
            }
            self.callers.0.push_back((step, Backtrace::force_capture()));
        }
    }
}
