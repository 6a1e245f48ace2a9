//! Loops that wait: found while they run, and made to wait without running.
//!
//! A thread that comes back to an operation it did before, with every object it used in between in
//! the same state, with the same contents of its own stack and registers, and with all plain memory
//! that it wrote as it was ([`super::written`]), will do the same again and again until somebody else changes one of those
//! objects. Going on with it alone shows nothing new, so it is *gated*: it can run again only after such a change. This is
//! the await reduction of GenMC and Nidhugg, decided by comparing states instead of by analysing code.
//!
//! What is left out: executions in which the loop goes round more often than once without a change.
//! They differ from those that remain only by repetitions of a cycle of states, so they reach no
//! state that the others do not.
//!
//! Atomics may lie on that stack, too, and others change them there. They are no part of what the thread is: those of the
//! round are compared as objects, and the others do not matter to it. If they counted, the gate would close a round later
//! in those schedules of a class in which the change falls into the round. What others change there without atomics is the
//! concern of [`super::foreign`].
//!
//! Only rounds of operations whose effect on their objects is known count: reads, yields, and
//! operations on atomics, mutexes, reader-writer locks and park tokens, whose states are compared. Anything else
//! (a spawn, a message, a notification that woke somebody) is progress.
//!
//! A loop whose state differs from round to round (it counts its rounds, or reads the clock) is
//! gated after [`ROUNDS`] rounds without a change, if it yields, sleeps or gives a spin hint: a
//! thread does that when it can do nothing else (the good samaritan of CHESS). One that gives no
//! hint is gated after [`ROUNDS_WITHOUT_HINT`]: by then a fair scheduler would have let others run.
//!
//! But a round that leaves other memory than it found, outside its stack, and meanwhile held a lock or changed an atomic, does
//! not wait: it works, however often it sleeps between, and others can see what it did as soon as it lets go of the lock.
//! Such rounds do not count. Where memory is not watched, every round that held a lock may be one.
//!
//! The bounds on rounds are named in the coverage statement. A gated thread gets its turn again when nothing else can run, so
//! bounded loops come to their end; one that goes on to the step limit is a livelock. That a loop with a hint comes to its
//! end earlier is an alternative ([`super::patience`]).
//!
//! Not seen without memory instrumentation: a loop that counts its rounds in plain memory outside
//! its stack counts as one whose state repeats. So the coverage statement names the bound there for every loop.

use super::addresses::AddressTable;
use super::controller::{StepNote, World};
use super::foreign::ForeignWrites;
use super::gate::{Gate, changes};
use super::recent::Recent;
use super::survey::{Seen, Survey, Used};
use super::written::Written;
use crate::model::{Kind, Op, Site};
use crate::races::VectorClock;
use crate::search::step::{Access, Alt, Event, Mode, ObjectId, StepIndex};

/// Rounds of a counting loop that are explored without a change from outside.
const ROUNDS: u32 = 4;
/// The same of a loop that gives no hint that it waits.
const ROUNDS_WITHOUT_HINT: u32 = 200;
/// Comparisons of a round with the one before it that a loop gets at least. The first is with nothing, the second with a round
/// that came from elsewhere.
const COMPARISONS: u32 = 3;

/// Registers that a function keeps for its caller, but for the frame pointer, which lies on the stack.
const KEPT: usize = if cfg!(target_arch = "x86_64") { 5 } else { 11 };

/// The registers and the stack of a thread at the moment it calls the engine ([`super::own_stack`]).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Frame {
    registers: [usize; KEPT],
    stack: usize,
}

impl Frame {
    /// The lowest address of the thread's stack: there lie the frame pointer of the caller and a return address.
    pub(super) fn stack(&self) -> usize {
        self.stack
    }
}

/// What is done, with which object, and where.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) object: ObjectId,
    pub(crate) site: Site,
}

impl Place {
    #[inline]
    pub(crate) fn of(op: &Op) -> Place {
        Place { kind: op.kind, object: op.object, site: op.site }
    }

    /// Whether `note` is of a step that did just this.
    #[inline]
    pub(super) fn is(&self, note: &StepNote) -> bool {
        note.kind == self.kind && note.object == self.object && std::ptr::eq(note.site, self.site)
    }

    /// The same, wherever the compiler has put the site.
    #[inline]
    pub(super) fn is_alike(&self, other: &Place) -> bool {
        (self.kind, self.object) == (other.kind, other.object)
            && (std::ptr::eq(self.site, other.site) || self.site == other.site)
    }
}

/// The steps of the execution so far: what threads remember of their own are numbers of these.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    pub(crate) notes: &'a [StepNote],
    pub(crate) events: &'a [Event],
}

impl Trail<'_> {
    /// Whether the step left its object in another state than it found it in.
    #[inline]
    pub(super) fn has_effect(&self, step: StepIndex) -> bool {
        self.changes_between(step, step)
    }

    /// Whether the last of two steps left their object in another state than the first one found it in.
    #[inline]
    pub(super) fn changes_between(&self, first: StepIndex, last: StepIndex) -> bool {
        self.events[first as usize].before != self.notes[last as usize].after
    }
}

/// What a round of a loop was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// None, or one that may have led somewhere.
    Useful,
    /// One that only a change by others can make useful. The thread is gated.
    InVain,
    /// One too many, as far as can be told. Whether the thread waits is to be chosen ([`super::patience`]).
    Counted,
}

/// What a thread remembers of its own steps.
pub(crate) struct Spin {
    recent: Recent,
    /// What the last round that changed something changed.
    changing: ObjectId,
    /// The last round that changed nothing, while that is of interest.
    survey: Option<Survey>,
    rounds: u32,
    /// How often its state was compared since something changed.
    comparisons: u32,
    /// The place in the loop at which states are compared, and the state there a round ago.
    compared_at: Option<Place>,
    /// Steps of the execution before that comparison.
    compared_after: usize,
    stack: Vec<u8>,
    /// The stack when the thread gave up its turn, where nobody tells what others write there.
    away: Vec<u8>,
    /// What the thread knew of others then.
    knew: VectorClock,
    registers: [usize; KEPT],
    /// Where its stack differed from that before: a counter differs there in every round.
    differed_at: usize,
    /// What it changed elsewhere since then.
    pub(super) written: Written,
    /// What the thread is about to do is a further round of a loop that changes nothing.
    pub(super) comes_round: bool,
    pub(crate) gate: Gate,
}

impl Spin {
    pub(crate) fn new() -> Spin {
        Spin {
            recent: Recent::new(),
            changing: ObjectId::NONE,
            survey: None,
            rounds: 0,
            comparisons: 0,
            compared_at: None,
            compared_after: 0,
            stack: Vec::new(),
            away: Vec::new(),
            knew: VectorClock::default(),
            registers: [0; KEPT],
            differed_at: 0,
            written: Written::default(),
            comes_round: false,
            gate: Gate::default(),
        }
    }

    /// Remembers a step that was executed; `known`: what it did to its object shows in the state. Whether it was a further
    /// round of a loop.
    #[inline]
    pub(crate) fn remember(
        &mut self,
        Place { kind, object, site }: Place,
        step: StepIndex,
        known: bool,
    ) -> bool {
        if known {
            self.recent.push(kind, object, site, step);
        } else {
            self.recent.clear();
            self.survey = None;
        }
        std::mem::take(&mut self.comes_round)
    }

    /// Makes it as new, for another thread.
    pub(crate) fn renew(&mut self) {
        self.recent.clear();
        self.forget_state();
        self.comes_round = false;
        self.gate.closed = false;
    }

    /// Something changed: what the thread was before says nothing any more.
    pub(super) fn forget_state(&mut self) {
        self.survey = None;
        self.rounds = 0;
        self.comparisons = 0;
        self.compared_at = None;
        self.stack.clear();
        self.knew.clear();
        self.written.end();
    }

    /// Whether doing that may be a round of a loop that waits: the thread may have done it before,
    /// and not just now with an effect.
    #[inline]
    pub(crate) fn may_repeat(&self, place: Place, trail: Trail<'_>) -> bool {
        self.recent.may_have(place) && !self.goes_round_with_effect(place, trail)
    }

    /// Whether that is all that the thread's loop does, and changes its object every time.
    #[inline]
    fn goes_round_with_effect(&self, place: Place, trail: Trail<'_>) -> bool {
        let does = |last: StepIndex| place.is(&trail.notes[last as usize]) && trail.has_effect(last);
        self.compared_at.is_none() && self.recent.last().is_some_and(does)
    }

    /// Compares the thread with what it was a round ago, and keeps what it is now.
    #[inline]
    fn is_as_before(&mut self, place: Place, frame: &Frame, base: usize, others: &Others<'_>) -> bool {
        if !self.compared_at.get_or_insert(place).is_alike(&place) {
            return false;
        }
        self.comparisons += 1;
        // SAFETY: the thread's own stack, from its stack pointer to its base.
        let now = unsafe { stack(frame.stack, base) };
        let since = self.compared_after;
        let knew = std::mem::take(&mut self.knew);
        let is_own = |at: usize| {
            let address = frame.stack + at;
            !others.cells.changed(address, since) && !others.foreign.is_news(address, &knew)
        };
        let came_to_know = |knows| others.foreign.came_to_know(frame.stack..base, &knew, knows);
        let same = self.registers == frame.registers
            && !others.knowledge.is_some_and(came_to_know)
            && self.stack.len() == now.len()
            && !self.has_changed(now, is_own)
            // SAFETY: written in this execution, whose memory stays where it is.
            && unsafe { self.written.is_undone() };
        self.written.begin();
        self.compared_after = others.cells.events.len();
        self.knew = knew;
        if let Some(knowledge) = others.knowledge {
            self.knew.copy(knowledge);
        }
        if !same {
            self.stack.clear();
            self.stack.extend_from_slice(now);
            self.registers = frame.registers;
        }
        same
    }

    /// Whether the thread is, or was, in a loop whose rounds are compared.
    #[inline]
    pub(super) fn compares(&self) -> bool {
        self.compared_at.is_some()
    }

    /// Keeps the thread's stack from `start` to `base`.
    pub(super) fn keep(&mut self, start: usize, base: usize) {
        self.away.clear();
        // SAFETY: the thread's own stack, from its stack pointer to its base.
        self.away.extend_from_slice(unsafe { stack(start, base) });
    }

    /// What has changed since then was written by others: it is taken for what was there a round ago.
    pub(super) fn take_foreign_for_own(&mut self, base: usize) {
        // SAFETY: as above; the thread has not run since.
        let now = unsafe { stack(base - self.away.len(), base) };
        for at in differences(&self.away, now) {
            let from_base = now.len() - at;
            if let Some(at) = self.stack.len().checked_sub(from_base) {
                self.stack[at] = now[now.len() - from_base];
            }
        }
    }

    /// Whether its stack, `now`, is not what it was, where it `is_own`.
    fn has_changed(&mut self, now: &[u8], is_own: impl Fn(usize) -> bool) -> bool {
        let known = self.differed_at;
        if self.stack.get(known) != now.get(known) && is_own(known) {
            return true;
        }
        let found = differences(&self.stack, now).find(|&at| is_own(at));
        self.differed_at = found.unwrap_or(known);
        found.is_some()
    }
}

/// For checks: whether a round was found to do what it does, however that was found out.
fn is_the_same(found: Seen, does: Seen) -> bool {
    found == does || matches!((found, does), (Seen::Change(_), Seen::Change(_)))
}

/// The bytes from `start` to `base`.
///
/// # Safety
/// That must be a part of a thread's stack, on which nobody runs meanwhile.
unsafe fn stack<'a>(start: usize, base: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start as *const u8, base.saturating_sub(start)) }
}

/// The positions at which two stacks of the same size differ. Most of their bytes are the same: many at a time.
fn differences(was: &[u8], is: &[u8]) -> impl Iterator<Item = usize> {
    const WIDTH: usize = 32;
    let (was, was_rest) = was.as_chunks::<WIDTH>();
    let (is, is_rest) = is.as_chunks::<WIDTH>();
    let chunks = was.iter().zip(is).enumerate();
    let different = chunks.filter(|(_, (was, is))| was != is);
    let parts = different.map(|(at, (was, is))| (at * WIDTH, was.as_slice(), is.as_slice()));
    parts.chain([(was.len() * WIDTH, was_rest, is_rest)]).flat_map(|(start, was, is)| {
        let bytes = was.iter().zip(is).zip(start..);
        bytes.filter(|((was, is), _)| was != is).map(|(_, at)| at)
    })
}

/// What a thread's own stack has of others.
struct Others<'a> {
    cells: Cells<'a>,
    foreign: &'a ForeignWrites,
    /// What the thread knows of them, if that is known.
    knowledge: Option<&'a VectorClock>,
}

/// Atomics that lie on a thread's own stack.
struct Cells<'a> {
    addresses: &'a AddressTable,
    events: &'a [Event],
    generation: u32,
}

impl Cells<'_> {
    /// Whether the byte at `address` is of a cell that was changed since so many steps.
    fn changed(&self, address: usize, since: usize) -> bool {
        self.addresses.cells_over(address, self.generation).any(|cell| {
            let later = self.events[since..].iter().flat_map(|event| event.accesses);
            later.into_iter().any(|access| access.object == cell && changes(access.mode))
        })
    }
}

/// Whether what a step does shows in the state of its objects.
#[inline]
pub(crate) fn is_known(kind: Kind, alt: Alt, accesses: &[Access; 2]) -> bool {
    if alt.budget().is_some() {
        // It need not go that way again: what failed for no reason is not waiting for anything.
        return false;
    }
    match kind {
        Kind::Load
        | Kind::Store
        | Kind::ReadModifyWrite
        | Kind::CompareExchange
        | Kind::CompareExchangeWeak
        | Kind::Lock
        | Kind::TryLock
        | Kind::Unlock
        | Kind::ReadLock
        | Kind::TryReadLock
        | Kind::ReadUnlock
        | Kind::WriteLock
        | Kind::TryWriteLock
        | Kind::WriteUnlock
        // One that wakes itself up, as futures do that are polled again and again, has its token as before after a round.
        | Kind::Park
        | Kind::Unpark
        | Kind::Yield
        | Kind::Sleep
        | Kind::Spin
        | Kind::Fence => true,
        Kind::Spawn
        | Kind::Begin
        | Kind::Finish
        | Kind::End
        | Kind::Leave
        | Kind::Detach
        | Kind::LetGo
        | Kind::Choose => false,
        // Shared: it was done already.
        Kind::OnceEnter => accesses[0].mode == Mode::AcquireShared,
        _ => accesses.iter().all(|access| !changes(access.mode)),
    }
}

impl World {
    /// The steps so far.
    #[inline]
    pub(crate) fn trail(&self) -> Trail<'_> {
        Trail { notes: &self.notes, events: &self.trace.events }
    }

    /// Gates the running thread if what it is about to do is a round of a loop that waits.
    ///
    /// Whether it does must not depend on where independent steps of others fell: an object counts
    /// as unchanged by the round if it was, after the thread's last access to it, as before its
    /// first, and a change by others since that last access opens the gate, be it before or after
    /// the thread comes here. Accesses to one object have one order in all equivalent schedules.
    #[cold]
    pub(crate) fn consider_loop(&mut self, place: Place, frame: &Frame) -> Round {
        let mut used = std::mem::take(&mut self.used);
        used.clear();
        let round = self.consider_round(place, frame, &mut used);
        self.used = used;
        self.watched.note(self.running, self.spins[self.running].written.is_watching());
        if round == Round::InVain {
            self.close_gate();
        }
        round
    }

    /// The same; `used` is empty at first.
    #[inline(always)]
    fn consider_round(&mut self, place: Place, frame: &Frame, used: &mut Vec<Used>) -> Round {
        let spin = &self.spins[self.running];
        let trail = self.trail();
        let Some(round) = spin.recent.since(place, trail.notes) else { return Round::Useful };
        // Most rounds that change something change the same as the one before.
        if round.uses(spin.changing).is_some_and(|(first, last)| trail.changes_between(first, last)) {
            self.spins[self.running].forget_state();
            return Round::Useful;
        }
        let later = spin.survey.and_then(|survey| survey.next(round, trail));
        debug_assert!(
            later.is_none_or(|later| is_the_same(later, Survey::of(round, trail, &mut Vec::new())))
        );
        let survey = match later.unwrap_or_else(|| Survey::of(round, trail, used)) {
            // It waits for nobody: spin hints in a counting loop, or a loop that never ends.
            Seen::Nothing => return Round::Useful,
            Seen::Change(object) => {
                let spin = &mut self.spins[self.running];
                spin.changing = object;
                spin.forget_state();
                return Round::Useful;
            }
            Seen::NoChange(survey) => survey,
        };
        let is_there = |at: Place| round.steps().any(|step| at.is_alike(&trail.notes[step as usize].place()));
        let same_loop = later.is_some() || spin.compared_at.is_some_and(is_there);
        debug_assert_eq!(same_loop, spin.compared_at.is_some_and(is_there));
        let thread = &self.threads[self.running];
        let (number, base) = (usize::from(thread.id.0), thread.stack_base);
        let spin = &mut self.spins[self.running];
        if !same_loop {
            spin.forget_state();
        }
        spin.survey = Some(survey);
        spin.rounds += 1;
        spin.comes_round = true;
        self.once_more |= self.stacks.compares(number, frame.stack, base);
        let cells =
            Cells { addresses: &self.addresses, events: &self.trace.events, generation: self.generation };
        let knowledge = self.races.as_ref().map(|races| races.knowledge());
        let others = Others { cells, foreign: &self.foreign, knowledge };
        // SAFETY: written in this execution, whose memory stays where it is.
        let works =
            survey.has_effects() && (self.races.is_none() || unsafe { spin.written.left_something() });
        let exact = spin.is_as_before(place, frame, base, &others);
        if works && !exact {
            spin.rounds = 0;
            return Round::Useful;
        }
        let enough = if survey.hints { ROUNDS } else { ROUNDS_WITHOUT_HINT };
        if !exact && (spin.rounds <= enough || spin.comparisons < COMPARISONS) {
            return Round::Useful;
        }
        // What it writes is seen only where races are looked for.
        self.spin_bound_reached |= !exact || self.races.is_none();
        let trail = Trail { notes: &self.notes, events: &self.trace.events };
        let Some(round) = spin.recent.since(place, trail.notes) else { return Round::Useful };
        spin.gate.prepare(round, trail);
        let is_one_step = survey.only_looks && spin.gate.objects().count() <= 2;
        if exact || !survey.hints || !is_one_step || self.script.active {
            return Round::InVain;
        }
        // What follows is another operation.
        spin.comes_round = false;
        Round::Counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_in_every_byte() {
        for length in [0, 1, 31, 32, 33, 64, 100] {
            let was = vec![0_u8; length];
            assert_eq!(differences(&was, &was).count(), 0);
            for at in 0..length {
                let mut is = was.clone();
                (is[at], is[length - 1]) = (1, 2);
                let expected = if at == length - 1 { vec![at] } else { vec![at, length - 1] };
                assert_eq!(differences(&was, &is).collect::<Vec<_>>(), expected);
            }
        }
    }
}
