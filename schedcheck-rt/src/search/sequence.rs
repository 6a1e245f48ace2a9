//! The sequence w of a reversal: what happens if a step comes later or not at all.
//!
//! All steps behind the reversed one that do not depend on it, up to the end of the execution, then
//! the reversing operation. (Stopping at the place where that operation was executed loses classes:
//! what runs behind it decides who is a weak initial.) Two kinds of steps are left out on top, with
//! all that depends on them: shared holders that would still block an exclusive acquisition, and
//! costly alternatives that are not needed and no longer fit into the budget.

use super::dependence::dependent;
use super::races::Reversal;
use super::step::*;
use super::wakeup::{Inserter, REVERSED, Source};

impl Inserter {
    /// Starts at the point before step `at`.
    pub(super) fn prepare(&mut self, source: Source<'_>, at: StepIndex) {
        let threads = source.history.threads();
        self.base.clear();
        self.base.extend((0..threads as u16).map(|thread| {
            let steps = source.history.of_thread(ThreadId(thread));
            steps.partition_point(|&step| step < at) as u32
        }));
        self.taken.clear();
        self.taken.resize(threads, 0);
        self.stranger.clear();
        self.stranger.resize(threads, false);
    }

    /// Computes w. False if the reversed operation would still be blocked.
    pub(super) fn collect(&mut self, source: Source<'_>, reversal: &Reversal) -> bool {
        self.without.clear();
        self.without.push(reversal.at);
        loop {
            self.rest.clear();
            let len = source.trace.events.len() as StepIndex;
            for step in (reversal.at + 1).min(len)..len {
                let dropped = self.without.iter().any(|&gone| {
                    source.history.before(gone, source.trace.events[gone as usize].thread, step)
                });
                if !dropped {
                    self.rest.push(step);
                }
            }
            self.rest.push(REVERSED);
            if !reversal.excludes_sharers {
                return true;
            }
            match self.remaining_sharer(source, reversal) {
                None => return true,
                Some(sharer) if sharer < reversal.at => return false,
                Some(sharer) => self.without.push(sharer),
            }
        }
    }

    /// A shared acquisition in the prefix or in w that is not given up in them.
    fn remaining_sharer(&self, source: Source<'_>, reversal: &Reversal) -> Option<StepIndex> {
        let wanted = reversal.accesses.iter().find(|access| access.mode == Mode::Acquire)?.object;
        let uses = |step: StepIndex, modes: &[Mode]| {
            let accesses = &source.trace.events[step as usize].accesses;
            accesses.iter().any(|access| access.object == wanted && modes.contains(&access.mode))
        };
        let prefix = 0..reversal.at;
        let all = || prefix.clone().chain(self.rest.iter().copied().filter(|&s| s != REVERSED));
        let mut held: Vec<StepIndex> = Vec::new();
        for step in all() {
            let thread = source.trace.events[step as usize].thread;
            if uses(step, &[Mode::AcquireShared, Mode::TryAcquireShared]) {
                held.push(step);
            } else if uses(step, &[Mode::ReleaseShared]) {
                let mine = |&other: &StepIndex| source.trace.events[other as usize].thread == thread;
                if let Some(at) = held.iter().rposition(mine) {
                    held.remove(at);
                }
            }
        }
        held.first().copied()
    }

    /// Drops costly steps that the reversal does not need while the budget is exceeded.
    pub(super) fn fit_budget(&mut self, source: Source<'_>, reversal: &Reversal) -> bool {
        let Some(kind) = reversal.choice.alt.budget() else {
            return true;
        };
        let limit = match kind {
            BudgetKind::Spurious => source.budget.spurious,
            BudgetKind::Timeout => source.budget.timeouts,
            BudgetKind::WeakFailure => source.budget.weak_failures,
        };
        let events = &source.trace.events;
        let costs = |step: StepIndex| {
            let event = &events[step as usize];
            event.alt.budget() == Some(kind) && !event.forced
        };
        self.find_needed(source, reversal);
        let needed = &self.needed;
        let is_needed =
            |step: StepIndex| needed[events[step as usize].thread.0 as usize] >= source.history.index(step);
        let prefix = (0..reversal.at).filter(|&step| costs(step)).count();
        let inner = self.rest.iter().filter(|&&step| step != REVERSED && costs(step));
        let (kept, surplus): (Vec<_>, Vec<_>) = inner.copied().partition(|&step| is_needed(step));
        if prefix + kept.len() + 1 > limit as usize {
            return false;
        }
        if prefix + kept.len() + surplus.len() + 1 > limit as usize {
            self.rest.retain(|&step| {
                step == REVERSED
                    || !surplus
                        .iter()
                        .any(|&gone| source.history.before(gone, events[gone as usize].thread, step))
            });
        }
        true
    }

    /// Computes the clock of the reversed operation within w: what must come before it.
    pub(super) fn find_needed(&mut self, source: Source<'_>, reversal: &Reversal) {
        self.needed.clear();
        self.needed.resize(source.history.threads(), 0);
        for &step in &self.rest {
            if step != REVERSED && precedes(source, step, reversal) {
                for (needed, &count) in self.needed.iter_mut().zip(source.history.clock(step)) {
                    *needed = (*needed).max(count);
                }
            }
        }
    }
}

/// Whether a step of w directly comes before the reversed operation.
pub(super) fn precedes(source: Source<'_>, step: StepIndex, reversal: &Reversal) -> bool {
    let event = &source.trace.events[step as usize];
    event.thread == reversal.choice.thread
        || step == reversal.enabler
        || dependent(&event.accesses, &reversal.accesses)
}
