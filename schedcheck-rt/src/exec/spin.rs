//! Loops that wait: found while they run, and made to wait without running.
//!
//! A thread that comes back to an operation it did before, with every object it used in between in
//! the same state and with the same contents of its own stack and registers, will do the same again
//! and again until somebody else changes one of those objects. Going on with it alone shows nothing
//! new, so it is *gated*: it can run again only after such a change. This is the await reduction of
//! GenMC and Nidhugg, decided by comparing states instead of by analysing code.
//!
//! What is left out: executions in which the loop goes round more often than once without a change.
//! They differ from those that remain only by repetitions of a cycle of states, so they reach no
//! state that the others do not.
//!
//! Atomics may lie on that stack, too, and others change them there. They are no part of what the thread is: those of the
//! round are compared as objects, and the others do not matter to it. If they counted, the gate would close a round later
//! in those schedules of a class in which the change falls into the round. What others change there without atomics, behind a
//! lock, still does that: a round more is then explored, which repeats states.
//!
//! Only rounds of operations whose effect on their objects is known count: reads, yields, and
//! operations on atomics, mutexes and reader-writer locks, whose states are compared. Anything else
//! (a spawn, a message, a notification that woke somebody) is progress.
//!
//! A loop whose stack differs from round to round (it counts its rounds, or reads the clock) is
//! gated after [`ROUNDS`] rounds without a change, if it yields, sleeps or gives a spin hint: a
//! thread does that when it can do nothing else (the good samaritan of CHESS). One that gives no
//! hint is gated after [`ROUNDS_WITHOUT_HINT`]: by then a fair scheduler would have let others run.
//! These bounds are named in the coverage statement. A gated thread gets its turn again when nothing else can run, so bounded loops
//! come to their end; one that goes on to the step limit is a livelock.
//!
//! Not seen without memory instrumentation: a loop that counts its rounds in plain memory outside
//! its stack counts as one whose state repeats.

use super::addresses::AddressTable;
use super::controller::{StepNote, World};
use crate::model::{Kind, Site};
use crate::search::step::{Access, Alt, Event, Mode, NO_STEP, ObjectId, StepIndex};
use smallvec::SmallVec;

/// Rounds of a counting loop that are explored without a change from outside.
const ROUNDS: u32 = 4;
/// The same of a loop that gives no hint that it waits.
const ROUNDS_WITHOUT_HINT: u32 = 200;
/// Comparisons of a round with the one before it that a loop gets at least. The first is with nothing, the second with a round
/// that came from elsewhere, the third with one that found residue of the engine ([`super::residue`]).
const COMPARISONS: u32 = 4;
/// Steps of its own that a thread remembers.
const MEMORY: usize = 64;

/// The stack and the registers of a thread at the moment it calls a facade.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    stack: usize,
    registers: [usize; 6],
}

impl Frame {
    /// Captures the caller. Inlined, so that nothing of the engine lies above the stack pointer
    /// but the facade's own frame, which is the same in every round.
    #[inline(always)]
    pub(crate) fn capture() -> Frame {
        let mut registers = [0; 6];
        let stack: usize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: copies registers into an array.
        unsafe {
            std::arch::asm!(
                "mov [{into}], rbx", "mov [{into} + 8], rbp", "mov [{into} + 16], r12",
                "mov [{into} + 24], r13", "mov [{into} + 32], r14", "mov [{into} + 40], r15",
                "mov {stack}, rsp",
                into = in(reg) &raw mut registers, stack = out(reg) stack, options(nostack)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: copies registers into an array. The others are saved in the facade's own frame.
        unsafe {
            std::arch::asm!(
                "stp x19, x20, [{into}]", "stp x21, x22, [{into}, 16]", "stp x23, x24, [{into}, 32]",
                "mov {stack}, sp",
                into = in(reg) &raw mut registers, stack = out(reg) stack, options(nostack)
            );
        }
        Frame { stack, registers }
    }
}

/// What is done, with which object, and where.
pub(crate) type Place = (Kind, ObjectId, Site);

/// The steps of the execution so far: what threads remember of their own are numbers of these.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    pub(crate) notes: &'a [StepNote],
    pub(crate) events: &'a [Event],
}

impl Trail<'_> {
    /// Whether the step is just this operation.
    #[inline]
    fn is(&self, step: StepIndex, (kind, object, site): Place) -> bool {
        let note = &self.notes[step as usize];
        note.kind == kind && note.object == object && std::ptr::eq(note.site, site)
    }

    /// Whether the step left its object in another state than it found it in.
    #[inline]
    fn has_effect(&self, step: StepIndex) -> bool {
        self.events[step as usize].before != self.notes[step as usize].after
    }
}

/// What a thread can run again only after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    closed: bool,
    /// A change to one of these opens it.
    objects: Vec<ObjectId>,
    /// The step that opened it.
    opened: StepIndex,
}

/// A set of operations at places, which may seem to contain one that it does not: two hashes of each.
#[derive(Clone, Copy, Default)]
struct Places(u64, u64);

impl Places {
    #[inline]
    fn bits(kind: Kind, site: Site) -> (u64, u64) {
        let place = (std::ptr::from_ref(site).addr() >> 3) ^ (kind as usize) << 40;
        let hash = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (1 << (hash >> 58), 1 << (hash >> 52 & 63))
    }

    #[inline]
    fn insert(&mut self, kind: Kind, site: Site) {
        let (first, second) = Self::bits(kind, site);
        self.0 |= first;
        self.1 |= second;
    }

    #[inline]
    fn may_contain(self, kind: Kind, site: Site) -> bool {
        let (first, second) = Self::bits(kind, site);
        self.0 & first != 0 && self.1 & second != 0
    }
}

/// What a thread remembers of its own steps.
pub(crate) struct Spin {
    /// Numbers of the last ones, in a ring.
    steps: [StepIndex; MEMORY],
    count: usize,
    /// What they did where, as a set of hashes: most steps are at a new place.
    sites: Places,
    rounds: u32,
    /// How often its state was compared since something changed.
    comparisons: u32,
    /// The place in the loop at which states are compared, and the state there a round ago.
    compared_at: Option<Place>,
    /// Steps of the execution before that comparison.
    compared_after: usize,
    stack: Vec<u8>,
    registers: [usize; 6],
    pub(crate) gate: Gate,
}

impl Spin {
    pub(crate) fn new() -> Spin {
        Spin {
            steps: [NO_STEP; MEMORY],
            count: 0,
            sites: Places::default(),
            rounds: 0,
            comparisons: 0,
            compared_at: None,
            compared_after: 0,
            stack: Vec::new(),
            registers: [0; 6],
            gate: Gate::default(),
        }
    }

    /// Remembers a step that was executed; `known`: what it did to its object shows in the state.
    #[inline]
    pub(crate) fn remember(&mut self, kind: Kind, site: Site, step: StepIndex, known: bool) {
        if !known {
            self.count = 0;
            self.sites = Places::default();
            return;
        }
        self.sites.insert(kind, site);
        self.steps[self.count % MEMORY] = step;
        self.count += 1;
    }

    /// Makes it as new, for another thread.
    pub(crate) fn renew(&mut self) {
        self.count = 0;
        self.sites = Places::default();
        self.forget_state();
        self.gate.closed = false;
    }

    /// Something changed: what the thread was before says nothing any more.
    fn forget_state(&mut self) {
        self.rounds = 0;
        self.comparisons = 0;
        self.compared_at = None;
        self.stack.clear();
    }

    /// The steps since the thread last did that, that one first; `None` if it did not.
    fn round(&self, place: Place, trail: Trail<'_>) -> Option<impl Iterator<Item = StepIndex>> {
        let oldest = self.count.saturating_sub(MEMORY);
        let start = (oldest..self.count).rev().find(|at| trail.is(self.steps[at % MEMORY], place))?;
        Some((start..self.count).map(|at| self.steps[at % MEMORY]))
    }

    /// Compares the thread with what it was a round ago, and keeps what it is now.
    fn is_as_before(&mut self, place: Place, frame: &Frame, base: usize, cells: &Cells<'_>) -> bool {
        if !is_same_place(*self.compared_at.get_or_insert(place), place) {
            return false;
        }
        self.comparisons += 1;
        let length = base.saturating_sub(frame.stack);
        // SAFETY: the thread's own stack, from its stack pointer to its base.
        let now = unsafe { std::slice::from_raw_parts(frame.stack as *const u8, length) };
        let is_own = |at: usize| !cells.changed(frame.stack + at, self.compared_after);
        let same = self.registers == frame.registers
            && self.stack.len() == length
            && !differences(&self.stack, now).any(is_own);
        self.compared_after = cells.events.len();
        if !same {
            self.stack.clear();
            self.stack.extend_from_slice(now);
            self.registers = frame.registers;
        }
        same
    }
}

/// Whether two places are the same, which the compiler may have put down more than once.
#[inline]
fn is_same_place(a: Place, b: Place) -> bool {
    (a.0, a.1) == (b.0, b.1) && (std::ptr::eq(a.2, b.2) || a.2 == b.2)
}

/// Where two stacks of the same length differ. Most of it is the same: it is compared many bytes at a time.
fn differences(was: &[u8], is: &[u8]) -> impl Iterator<Item = usize> {
    const WIDTH: usize = 32;
    let ((was, was_rest), (is, is_rest)) = (was.as_chunks::<WIDTH>(), is.as_chunks::<WIDTH>());
    let chunks = was.iter().zip(is).enumerate().filter(|(_, (was, is))| was != is);
    let chunks = chunks.map(|(at, (was, is))| (at * WIDTH, &was[..], &is[..]));
    chunks.chain([(was.len() * WIDTH, was_rest, is_rest)]).flat_map(|(start, was, is)| {
        let bytes = was.iter().zip(is).zip(start..);
        bytes.filter(|((was, is), _)| was != is).map(|(_, at)| at)
    })
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
pub(crate) fn is_known(kind: Kind, alt: Alt, accesses: [Access; 2]) -> bool {
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
        | Kind::Yield
        | Kind::Sleep
        | Kind::Fence => true,
        Kind::Spawn | Kind::Begin | Kind::Finish | Kind::End | Kind::Leave | Kind::Detach | Kind::Choose => {
            false
        }
        // Shared: it was done already.
        Kind::OnceEnter => accesses[0].mode == Mode::AcquireShared,
        _ => accesses.iter().all(|access| !changes(access.mode)),
    }
}

/// An object that a round used.
struct Used {
    object: ObjectId,
    /// Its state before the round's first access, and after its last one.
    found: u64,
    left: u64,
    /// That last access.
    last: StepIndex,
}

/// Whether an access can change what others see.
pub(crate) fn changes(mode: Mode) -> bool {
    !matches!(mode, Mode::None | Mode::Read | Mode::Await)
}

impl World {
    /// Whether doing that may be a round of a loop that waits: the running thread may have done it
    /// before, and not just now with an effect.
    #[inline(always)]
    pub(crate) fn may_repeat(&self, kind: Kind, object: ObjectId, site: Site) -> bool {
        let spin = &self.threads[self.current].spin;
        spin.sites.may_contain(kind, site) && !self.goes_round_with_effect(spin, (kind, object, site))
    }

    /// Whether that is all that the thread's loop does, and changes its object every time.
    #[inline(always)]
    fn goes_round_with_effect(&self, spin: &Spin, place: Place) -> bool {
        let trail = Trail { notes: &self.notes, events: &self.trace.events };
        // There is one: it is in the set that led here.
        let last = spin.steps[spin.count.wrapping_sub(1) % MEMORY];
        spin.compared_at.is_none() && trail.is(last, place) && trail.has_effect(last)
    }

    /// Gates the running thread if what it is about to do is a round of a loop that waits.
    ///
    /// Whether it does must not depend on where independent steps of others fell: an object counts
    /// as unchanged by the round if it was, after the thread's last access to it, as before its
    /// first, and a change by others since that last access opens the gate, be it before or after
    /// the thread comes here. Accesses to one object have one order in all equivalent schedules.
    #[cold]
    pub(crate) fn consider_loop(&mut self, place: Place, frame: &Frame) {
        let spin = &self.threads[self.running].spin;
        let trail = Trail { notes: &self.notes, events: &self.trace.events };
        let Some(round) = spin.round(place, trail) else { return };
        let mut used: SmallVec<[Used; 8]> = SmallVec::new();
        let mut yields = false;
        let mut same_loop = false;
        for step in round {
            let StepNote { kind, object, site, after: left, .. } = trail.notes[step as usize];
            same_loop |= spin.compared_at.is_some_and(|at| is_same_place(at, (kind, object, site)));
            yields |= matches!(kind, Kind::Yield | Kind::Sleep);
            if object == ObjectId::NONE {
                continue;
            }
            match used.iter_mut().find(|used| used.object == object) {
                Some(used) => (used.last, used.left) = (step, left),
                None => {
                    let found = trail.events[step as usize].before;
                    used.push(Used { object, found, left, last: step });
                }
            }
        }
        if used.is_empty() {
            // It waits for nobody: spin hints in a counting loop, or a loop that never ends.
            return;
        }
        if used.iter().any(|used| used.left != used.found) {
            self.threads[self.running].spin.forget_state();
            return;
        }
        let changes = used.iter().filter_map(|used| self.first_change(used.object, used.last));
        let opened = changes.min().unwrap_or(NO_STEP);
        let base = self.threads[self.running].stack_base;
        let spin = &mut self.threads[self.running].spin;
        if !same_loop {
            spin.forget_state();
        }
        spin.rounds += 1;
        let number = usize::from(self.threads[self.running].id.0);
        self.once_more |= self.stacks.compares(number, frame.stack, base);
        let cells =
            Cells { addresses: &self.addresses, events: &self.trace.events, generation: self.generation };
        let spin = &mut self.threads[self.running].spin;
        let exact = spin.is_as_before(place, frame, base, &cells);
        let enough = if yields { ROUNDS } else { ROUNDS_WITHOUT_HINT };
        if exact || spin.rounds > enough && spin.comparisons >= COMPARISONS {
            self.spin_bound_reached |= !exact;
            let objects = used.into_iter().map(|used| used.object).collect();
            spin.gate = Gate { closed: true, objects, opened };
            self.gated += 1;
            self.find_next_special();
        }
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
        if self.gated > 0 {
            self.announce_to_gated(step);
        }
    }

    #[cold]
    fn announce_to_gated(&mut self, step: StepIndex) {
        for access in self.trace.events[step as usize].accesses {
            if changes(access.mode) {
                self.open_gates(access.object, step);
            }
        }
    }

    /// Tells gated threads that `object` was changed by `step`.
    fn open_gates(&mut self, object: ObjectId, step: StepIndex) {
        if object == ObjectId::NONE {
            return;
        }
        for thread in &mut self.threads {
            let gate = &mut thread.spin.gate;
            if gate.closed && gate.opened == NO_STEP && gate.objects.contains(&object) {
                gate.opened = step;
            }
        }
    }

    /// Whether the thread in `slot` waits behind a gate that nobody has opened.
    #[inline]
    pub(crate) fn is_gated(&self, slot: usize) -> bool {
        let gate = &self.threads[slot].spin.gate;
        gate.closed && gate.opened == NO_STEP
    }

    /// The thread whose turn it is goes through its gate, if it has one; the step that opened it.
    #[cold]
    pub(crate) fn pass_gate(&mut self) -> StepIndex {
        let spin = &mut self.threads[self.current].spin;
        if !spin.gate.closed {
            return NO_STEP;
        }
        spin.gate.closed = false;
        spin.forget_state();
        let opened = spin.gate.opened;
        self.gated -= 1;
        self.find_next_special();
        opened
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
