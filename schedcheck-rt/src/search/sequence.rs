//! The sequence w of a reversal: what happens if a step comes later or not at all.
//!
//! All steps behind the reversed one that do not depend on it, up to the end of the execution, then
//! the reversing operation. (Stopping at the place where that operation was executed loses classes:
//! what runs behind it decides who is a weak initial.) Two kinds of steps are left out on top, with
//! all that depends on them: shared holders that would still block an exclusive acquisition, and
//! costly alternatives that are not needed and no longer fit into the budget.

use super::dependence::{Class, class, dependent};
use super::history::mix;
use super::lines::LineId;
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
            let behind = (reversal.at + 1).min(len)..len;
            match self.without[..] {
                [only] if only < len => {
                    let owner = source.trace.events[only as usize].thread;
                    source.history.not_after(only, owner, &mut self.rest);
                }
                _ => self.rest.extend(behind.filter(|&step| {
                    !self.without.iter().any(|&gone| {
                        source.history.before(gone, source.trace.events[gone as usize].thread, step)
                    })
                })),
            }
            self.rest.push(REVERSED);
            if !reversal.excludes_sharers {
                return true;
            }
            match self.remaining_sharer(source, reversal) {
                None => return true,
                Some(sharer) if sharer < reversal.at => return false,
                // The reversed operation cannot come without it, nor while it holds on.
                Some(sharer) if self.leads_to(source, sharer, reversal) => return false,
                Some(sharer) => self.without.push(sharer),
            }
        }
    }

    /// A number that stands for w and the point of the tree it is inserted at: equal for equal sequences,
    /// different (up to 64-bit hashing) for different ones.
    pub(super) fn name(&mut self, source: Source<'_>, reversal: &Reversal, line: LineId) -> u64 {
        self.prepare(source, reversal.at);
        self.collect(source, reversal);
        self.fit_budget(source, reversal);
        let fingerprint = |step: StepIndex| {
            let history = source.history;
            history.signature_before(step + 1).wrapping_sub(history.signature_before(step))
        };
        let steps = self.rest.iter().filter(|&&step| step != REVERSED);
        let sum = steps.fold(0u64, |sum, &step| sum.wrapping_add(fingerprint(step)));
        let number = |choice: Choice| u64::from(choice.thread.0) << 16 | u64::from(choice.alt.0);
        let reversed = source.trace.events.get(reversal.at as usize);
        let enabler = if reversal.enabler == NO_STEP { 0 } else { fingerprint(reversal.enabler) };
        let accesses = reversal.accesses.map(|access| u64::from(access.object.0) << 8 | access.mode as u64);
        let point = u64::from(line) << 32 | u64::from(reversal.at);
        let choices = [reversed.map_or(0, |event| 1 + number(event.choice())), number(reversal.choice)];
        let all = [point, choices[0], choices[1], enabler, accesses[0], accesses[1]];
        all.into_iter().fold(sum, |sum, part| mix(sum.wrapping_add(part)))
    }

    /// Whether `step` happens before the last step of the reversing thread ahead of its operation.
    fn leads_to(&self, source: Source<'_>, step: StepIndex, reversal: &Reversal) -> bool {
        let steps = source.history.of_thread(reversal.choice.thread);
        // Behind a forced step it may have gone on: what follows the reversed step is not in w.
        let first = source.trace.events[reversal.at as usize].thread;
        let ahead = steps.partition_point(|&own| {
            own < reversal.instead_of && !source.history.before(reversal.at, first, own)
        });
        let owner = source.trace.events[step as usize].thread;
        ahead > 0 && source.history.before(step, owner, steps[ahead - 1])
    }

    /// A shared acquisition in the prefix or in w that is not given up in them.
    fn remaining_sharer(&self, source: Source<'_>, reversal: &Reversal) -> Option<StepIndex> {
        let wanted = reversal.accesses.iter().find(|access| access.mode == Mode::Acquire)?.object;
        self.sharers(source, reversal.at, wanted).first().copied()
    }

    /// The shared acquisitions of `object` in the prefix and in w that are not given up in them.
    fn sharers(&self, source: Source<'_>, at: StepIndex, object: ObjectId) -> Vec<StepIndex> {
        let mut held: Vec<StepIndex> = Vec::new();
        for step in (0..at).chain(self.rest.iter().copied().filter(|&step| step != REVERSED)) {
            let event = &source.trace.events[step as usize];
            for access in event.accesses.iter().filter(|access| access.object == object) {
                match access.mode {
                    // Who stands in line instead takes nothing.
                    Mode::AcquireShared if event.alt != Alt::DEFAULT => {}
                    // A writer that goes on as a reader is a sharer from there.
                    Mode::AcquireShared | Mode::TryAcquireShared | Mode::Downgrade => held.push(step),
                    Mode::ReleaseShared | Mode::ReleaseInTurn => {
                        let mine =
                            |&other: &StepIndex| source.trace.events[other as usize].thread == event.thread;
                        if let Some(at) = held.iter().rposition(mine) {
                            held.remove(at);
                        }
                    }
                    _ => {}
                }
            }
        }
        held
    }

    /// The accesses of the reversed operation at the end of w.
    ///
    /// What `at` found is what the reversed operation finds, unless `at` is one of several sharers
    /// who come and go in any order: they have to be counted.
    pub(super) fn foresee(&self, source: Source<'_>, reversal: &Reversal) -> [Access; 2] {
        let mut accesses = reversal.accesses;
        let Some(first) = source.trace.events.get(reversal.at as usize) else {
            return accesses;
        };
        let Some(second) = source.trace.events.get(reversal.instead_of as usize) else {
            return accesses;
        };
        let object = accesses[0].object;
        let shared = |access: &Access| access.object == object && class(access.mode) == Class::Shared;
        let counts = second.reads_when == ReadsWhen::StateIsNot(0) && reversal.choice.alt.budget().is_none();
        if counts && first.accesses.iter().any(shared) {
            let held = !self.sharers(source, reversal.at, object).is_empty();
            accesses[0].mode = if held { Mode::Read } else { second.full_mode };
        }
        accesses
    }

    /// Drops costly steps that the reversal does not need while the budget is exceeded.
    pub(super) fn fit_budget(&mut self, source: Source<'_>, reversal: &Reversal) -> bool {
        let Some(kind) = reversal.choice.alt.budget() else {
            return true;
        };
        let limit = source.limit(kind);
        let events = &source.trace.events;
        let costs = |step: StepIndex| draws_on(kind, &events[step as usize]);
        let is_excluded = |step: &StepIndex| is_excluded_by(kind, &events[*step as usize]);
        self.find_needed(source, reversal);
        let needed = &self.needed;
        let is_needed =
            |step: StepIndex| needed[events[step as usize].thread.0 as usize] >= source.history.index(step);
        let prefix = spent(source, kind, reversal.at);
        let inner = self.rest.iter().filter(|&&step| step != REVERSED && (costs(step) || is_excluded(&step)));
        let (kept, surplus): (Vec<_>, Vec<_>) = inner.copied().partition(|&step| is_needed(step));
        if prefix + kept.len() + 1 > limit || kept.iter().any(is_excluded) {
            return false;
        }
        if prefix + kept.len() + surplus.len() + 1 > limit || surplus.iter().any(is_excluded) {
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

impl Source<'_> {
    fn limit(&self, kind: BudgetKind) -> usize {
        usize::from(self.budget.limit(kind))
    }

    /// Whether the budget is not used up where a reversal begins, whatever w is.
    #[inline]
    pub(super) fn affords(&self, reversal: &Reversal) -> bool {
        let kind = reversal.choice.alt.budget();
        kind.is_none_or(|kind| {
            let mut ahead = self.history.costly().iter().take_while(|&&step| step < reversal.at);
            let is_excluded = |&step: &StepIndex| is_excluded_by(kind, &self.trace.events[step as usize]);
            spent(*self, kind, reversal.at) < self.limit(kind) && !ahead.any(is_excluded)
        })
    }
}

fn draws_on(kind: BudgetKind, event: &Event) -> bool {
    event.cost() == Some(kind)
}

/// Whether no execution with this step has an alternative of that kind.
fn is_excluded_by(kind: BudgetKind, event: &Event) -> bool {
    event.cost().is_some_and(|other| kind.excludes(other))
}

/// What the steps ahead of `until` cost.
fn spent(source: Source<'_>, kind: BudgetKind, until: StepIndex) -> usize {
    let ahead = source.history.costly().iter().take_while(|&&step| step < until);
    let count = ahead.filter(|&&step| draws_on(kind, &source.trace.events[step as usize])).count();
    debug_assert_eq!(
        count,
        source.trace.events[..until as usize].iter().filter(|event| draws_on(kind, event)).count()
    );
    count
}
