//! Gates: behind them wait threads whose loops go round in vain, until somebody changes what they look at.

use super::controller::{Slot, World};
use super::recent::Since;
use super::spin::Trail;
use crate::model::Kind;
use crate::search::step::{Mode, NO_STEP, ObjectId, StepIndex};

/// What a thread can run again only after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    pub(super) closed: bool,
    /// A change to one of these opens it, after the thread's last access.
    pub(super) objects: Vec<(ObjectId, StepIndex)>,
    /// The first step of the thread's last round.
    pub(super) first: StepIndex,
    /// The step that opened it.
    opened: StepIndex,
}

impl Gate {
    /// Is to be opened by a change to what this round, the thread's last one, used.
    pub(super) fn prepare(&mut self, round: Since<'_>, trail: Trail<'_>) {
        self.first = round.steps().next().unwrap_or(NO_STEP);
        self.objects.clear();
        for step in round.steps().filter(|&step| trail.notes[step as usize].kind != Kind::Spin) {
            let accesses = trail.events[step as usize].accesses.into_iter();
            for access in accesses.filter(|access| access.mode != Mode::None) {
                match self.objects.iter_mut().find(|(object, _)| *object == access.object) {
                    Some((_, last)) => *last = step,
                    None => self.objects.push((access.object, step)),
                }
            }
        }
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = ObjectId> {
        self.objects.iter().map(|(object, _)| *object)
    }
}

/// Whether an access can change what others see.
pub(crate) fn changes(mode: Mode) -> bool {
    !matches!(mode, Mode::None | Mode::Read | Mode::Await)
}

impl World {
    /// The running thread can go on only after a change.
    pub(super) fn close_gate(&mut self) {
        let opened = self.first_change_in_loop().unwrap_or(NO_STEP);
        let gate = &mut self.spins[self.running].gate;
        (gate.closed, gate.opened) = (true, opened);
        self.gated += 1;
        self.find_next_special();
    }

    /// The first step with which somebody changed what the running thread's loop looks at.
    pub(super) fn first_change_in_loop(&self) -> Option<StepIndex> {
        let objects = self.spins[self.running].gate.objects.iter();
        objects.filter_map(|&(object, last)| self.first_change(object, last)).min()
    }

    /// The first step after `last` with which somebody changed `object`.
    fn first_change(&self, object: ObjectId, last: StepIndex) -> Option<StepIndex> {
        let mut later = self.trace.events[last as usize + 1..].iter().zip(last + 1..);
        let changed = later.find(|(event, _)| {
            event.accesses.iter().any(|access| access.object == object && changes(access.mode))
        });
        changed.map(|(_, step)| step)
    }

    /// Gates open when a step changes what their threads wait for.
    #[inline]
    pub(super) fn announce_change(&mut self, step: StepIndex) {
        if self.gated == 0 {
            return;
        }
        for access in self.trace.events[step as usize].accesses {
            if changes(access.mode) {
                self.open_gates(access.object, step);
            }
        }
    }

    /// Tells gated threads that `object` was changed by `step`.
    #[inline]
    fn open_gates(&mut self, object: ObjectId, step: StepIndex) {
        if self.gated == 0 || object == ObjectId::NONE {
            return;
        }
        for spin in &mut self.spins {
            let gate = &mut spin.gate;
            if gate.closed && gate.opened == NO_STEP && gate.objects().any(|used| used == object) {
                gate.opened = step;
            }
        }
    }

    /// Whether the thread in `slot` waits behind a gate that nobody has opened.
    #[inline]
    pub(crate) fn is_gated(&self, slot: usize) -> bool {
        let gate = &self.spins[slot].gate;
        gate.closed && gate.opened == NO_STEP
    }

    /// The thread whose turn it is goes through its gate, if it has one; the step that opened it.
    #[inline]
    pub(crate) fn pass_gate(&mut self) -> StepIndex {
        let spin = &mut self.spins[self.current];
        if !spin.gate.closed {
            return NO_STEP;
        }
        spin.gate.closed = false;
        spin.forget_state();
        self.watched.note(self.current, false);
        let opened = spin.gate.opened;
        self.gated -= 1;
        self.find_next_special();
        opened
    }

    /// The gated thread, of those that may go, that gets through when nothing else can happen. They wait for each other, and
    /// one of them may count its rounds: so each in turn, by number, beginning behind the one that got through last. Who ran
    /// last must have no part in it: that differs between schedules of a class, while forced steps come in one order in all
    /// of them.
    pub(super) fn next_through_gate(&self, may_go: impl Fn(Slot) -> bool) -> Option<Slot> {
        let number = |slot: &Slot| self.threads[*slot].id;
        let gated = (0..self.threads.len()).filter(|slot| self.is_gated(*slot) && may_go(*slot));
        gated.min_by_key(|slot| (Some(number(slot)) <= self.last_through_gate, number(slot)))
    }
}
