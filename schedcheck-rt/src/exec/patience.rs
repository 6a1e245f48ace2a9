//! Loops that count their rounds: they wait for others, or come to their end while others could still run.
//!
//! parking_lot's locks go round ten times and park then; crossbeam's back off as often. After a few rounds without a change
//! such a loop waits behind a gate ([`super::spin`]), so what follows its last round would be seen only where nothing else can
//! run. But a count of rounds is a time-out, and to be impatient is an alternative of a step of its own ([`Kind::Spin`]): it
//! draws on a budget as large as that of time-outs.
//!
//! The rounds that are left are then done in one go: nobody comes between, looking at what the loop looks at is part of that
//! step, and hints are nothing; a sleep lets its time pass. That is one of the possible schedules, and the one that shows what
//! follows; those in which others come between the rounds are left out, which the coverage statement says.
//!
//! The step names what the loop looks at as read, so every change is ordered before or after it, and the looks find the same
//! in all equivalent schedules. So it is with whatever is tried and fails, as long as it only looks then
//! ([`crate::model::Objects::looks`]). Of objects with several parts it names those that the last round has read. It has place
//! for two: loops that look at more always wait, and so do those that do something else ([`may_be_part`]). Where something has
//! changed since the last round there is nothing to be done in one go.

use super::Active;
use super::controller::{StepNote, World};
use super::spin::Place;
use crate::model::{Kind, Objects, Op, Site};
use crate::search::step::{Alt, ObjectId};

/// Looks and hints that are done in one go. Who is not through with its loop then waits.
const AT_ONCE: u32 = 1_000;

/// Whether an operation of that kind can be done in one go with others.
pub(super) fn may_be_part(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Yield
            | Kind::Sleep
            | Kind::Spin
            | Kind::Fence
            | Kind::Load
            | Kind::CompareExchange
            | Kind::CompareExchangeWeak
            | Kind::TryLock
            | Kind::TryReadLock
            | Kind::TryWriteLock
            | Kind::Inspect
            | Kind::IsFinished
            | Kind::OnceLook
            | Kind::TryReceive
            | Kind::TrySend
    )
}

/// Whether a cell, with its size, has another value than this.
///
/// # Safety
/// There must be an atomic of that size.
pub(super) unsafe fn differs((address, size): (usize, usize), expected: u64) -> bool {
    let value = address as *const u8;
    let mut bytes = [0; 8];
    // SAFETY: the caller's promise; threads run one at a time.
    unsafe { value.copy_to_nonoverlapping(bytes.as_mut_ptr(), size.min(8)) };
    bytes[..size.min(8)] != expected.to_ne_bytes()[..size.min(8)]
}

/// What a thread does in one go, which runs now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtOnce {
    left: u32,
    /// How often it has read the clock meanwhile.
    readings: u32,
}

impl AtOnce {
    /// A reading of the clock, which takes so long by itself: twice as long every time, so that every deadline comes.
    pub(super) fn reading(&mut self, takes: u64) -> u64 {
        if self.left == 0 {
            return takes;
        }
        self.readings = (self.readings + 1).min(40);
        takes << self.readings
    }
}

impl Active {
    /// A thread that has gone round for some time waits for a change, or does not.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_or_go_on(self, site: Site) {
        let [object, second] = self.world().looked_at();
        self.perform_in_turn(&Op { second, ..Op::new(Kind::Spin, object, site) });
        self.world().end_counted_round();
    }
}

impl World {
    /// Whether the running thread does the rest of its rounds in one go.
    #[inline]
    pub(super) fn is_at_once(&self) -> bool {
        self.at_once.left > 0
    }

    /// The answer to an operation that is done already, as part of that. With others it comes to an end. `looks`: what it
    /// is told if it does no more than to look.
    #[inline]
    pub(super) fn does_at_once(
        &mut self,
        place: Place,
        looks: impl FnOnce(&Objects) -> Option<u32>,
    ) -> Option<u32> {
        if self.is_at_once() { self.goes_on_at_once(place, looks) } else { None }
    }

    #[cold]
    fn goes_on_at_once(&mut self, place: Place, looks: impl FnOnce(&Objects) -> Option<u32>) -> Option<u32> {
        let answer = match place.kind {
            Kind::Yield | Kind::Sleep => Some(0),
            // What looks at the same behind the loop is a step of its own.
            _ if !self.was_in_round(place) => None,
            _ => looks(&self.objects),
        };
        self.at_once.left = if answer.is_some() { self.at_once.left - 1 } else { 0 };
        if answer.is_some() && self.at_once.left == 0 {
            self.close_gate();
            return None;
        }
        self.find_next_special();
        answer
    }

    /// Whether the running thread did that in its last round.
    fn was_in_round(&self, place: Place) -> bool {
        let me = self.threads[self.running].id;
        let from = self.spins[self.running].gate.first as usize;
        let steps = self.trace.events[from..].iter().zip(&self.notes[from..]);
        let mut mine = steps.filter(|(event, _)| event.thread == me).map(|(_, note)| note);
        mine.any(|&StepNote { kind, object, site, .. }| place.is_alike(&Place { kind, object, site }))
    }

    /// What the running thread's loop looks at: at most two.
    fn looked_at(&self) -> [ObjectId; 2] {
        let mut objects = self.spins[self.running].gate.objects();
        [(); 2].map(|()| objects.next().unwrap_or(ObjectId::NONE))
    }

    /// The running thread, which has counted its rounds, waits, or does not.
    fn end_counted_round(&mut self) {
        self.spins[self.running].comes_round = true;
        if self.alt != Alt::IMPATIENT {
            self.close_gate();
        } else if self.first_change_in_loop().is_none() {
            self.at_once = AtOnce { left: AT_ONCE, readings: 0 };
            self.find_next_special();
        }
    }
}
