//! Gates: behind them wait threads whose loops go round in vain, until somebody changes what they look at.
//!
//! What commutes with all that the loop does to an object is no such change: an `unpark` where the loop does no more than
//! that, or a reader beside readers. The loop finds the same before and after it, and equivalent schedules have it in either place.

use super::controller::{Slot, World};
use super::recent::Since;
use super::spin::Trail;
use crate::model::Kind;
use crate::search::dependence::{Class, class};
use crate::search::step::{Access, Mode, NO_STEP, ObjectId, StepIndex};

/// So many timed waits give up, one after the other, before a thread behind a gate gets through.
pub(super) const WAITS_IN_A_ROW: u32 = 8;

/// What a thread can run again only after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    pub(super) closed: bool,
    /// A change to one of these opens it.
    objects: Vec<Awaited>,
    /// The first step of the thread's last round.
    pub(super) first: StepIndex,
    /// The step that opened it.
    opened: StepIndex,
}

/// An object that the thread used in its last round.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    object: ObjectId,
    /// The thread's last access: what came before that opens nothing.
    last: StepIndex,
    /// What all its accesses commute with.
    class: Class,
}

impl Awaited {
    /// Whether this access of somebody else matters to the loop.
    #[inline]
    fn is_changed_by(&self, access: Access) -> bool {
        access.object == self.object
            && changes(access.mode)
            && (self.class == Class::Total || self.class != class(access.mode))
    }
}

impl Gate {
    /// Is to be opened by a change to what this round, the thread's last one, used.
    pub(super) fn prepare(&mut self, round: Since<'_>, trail: Trail<'_>) {
        self.first = round.steps().next().unwrap_or(NO_STEP);
        self.objects.clear();
        for step in round.steps().filter(|&step| trail.notes[step as usize].kind != Kind::Spin) {
            let accesses = trail.events[step as usize].accesses.into_iter();
            for access in accesses.filter(|access| access.mode != Mode::None) {
                let class = class(access.mode);
                match self.objects.iter_mut().find(|used| used.object == access.object) {
                    Some(used) => {
                        let class = if used.class == class { class } else { Class::Total };
                        *used = Awaited { last: step, class, ..*used };
                    }
                    None => self.objects.push(Awaited { object: access.object, last: step, class }),
                }
            }
        }
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = ObjectId> {
        self.objects.iter().map(|used| used.object)
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
        objects.filter_map(|used| self.first_change(used)).min()
    }

    /// The first step with which somebody changed an object.
    fn first_change(&self, used: &Awaited) -> Option<StepIndex> {
        let mut later = self.trace.events[used.last as usize + 1..].iter().zip(used.last + 1..);
        let changed =
            later.find(|(event, _)| event.accesses.iter().any(|access| used.is_changed_by(*access)));
        changed.map(|(_, step)| step)
    }

    /// Gates open when a step changes what their threads wait for.
    #[inline]
    pub(super) fn announce_change(&mut self, step: StepIndex) {
        if self.gated == 0 {
            return;
        }
        for access in self.trace.events[step as usize].accesses {
            if access.object != ObjectId::NONE && changes(access.mode) {
                self.open_gates(access, step);
            }
        }
    }

    /// Tells gated threads what `step` did to an object.
    #[inline]
    fn open_gates(&mut self, access: Access, step: StepIndex) {
        for spin in &mut self.spins {
            let gate = &mut spin.gate;
            let is_opened = |used: &Awaited| used.is_changed_by(access);
            if gate.closed && gate.opened == NO_STEP && gate.objects.iter().any(is_opened) {
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
