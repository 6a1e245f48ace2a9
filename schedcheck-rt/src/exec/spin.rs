//! Loops that wait: found while they run, and made to wait without running.
//!
//! A thread that comes back to an operation it did before, with every object it used in between in
//! the same state, with the same contents of its own stack and registers, and with all plain memory
//! that it wrote as it was ([`super::written`]), will do the same again and again until somebody else changes one of those objects. Going on with it alone shows nothing
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
//! A loop whose state differs from round to round (it counts its rounds, or reads the clock) is
//! gated after [`ROUNDS`] rounds without a change, if it yields, sleeps or gives a spin hint: a
//! thread does that when it can do nothing else (the good samaritan of CHESS). One that gives no
//! hint is gated after [`ROUNDS_WITHOUT_HINT`]: by then a fair scheduler would have let others run.
//! These bounds are named in the coverage statement. A gated thread gets its turn again when nothing else can run, so bounded loops
//! come to their end; one that goes on to the step limit is a livelock.
//!
//! Not seen without memory instrumentation: a loop that counts its rounds in plain memory outside
//! its stack counts as one whose state repeats. So the coverage statement names the bound there for every loop.

use super::addresses::AddressTable;
use super::controller::{StepNote, World};
use super::written::Written;
use crate::model::{Kind, Op, Site};
use crate::search::step::{Event, Mode, NO_STEP, ObjectId, StepIndex};
use smallvec::SmallVec;

/// Rounds of a counting loop that are explored without a change from outside.
const ROUNDS: u32 = 4;
/// The same of a loop that gives no hint that it waits.
const ROUNDS_WITHOUT_HINT: u32 = 200;
/// Comparisons of a round with the one before it that a loop gets at least. The first is with nothing, the second with a round
/// that came from elsewhere.
const COMPARISONS: u32 = 3;
/// Steps of its own that a thread remembers.
const MEMORY: usize = 64;

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

/// One step a thread remembers.
#[derive(Clone, Copy)]
struct Remembered {
    kind: Kind,
    object: ObjectId,
    site: Site,
    /// The state of the object before the step, and after it.
    before: u64,
    after: u64,
    /// Its number in the execution.
    step: StepIndex,
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

/// What a thread remembers of its own steps.
pub(crate) struct Spin {
    steps: [Option<Remembered>; MEMORY],
    count: usize,
    /// Sites among them, as a set of hashes: most steps are at a new one.
    sites: u64,
    rounds: u32,
    /// How often its state was compared since something changed.
    comparisons: u32,
    /// The place in the loop at which states are compared, and the state there a round ago.
    compared_at: Option<(Kind, ObjectId, Site)>,
    /// Steps of the execution before that comparison.
    compared_after: usize,
    stack: Vec<u8>,
    registers: [usize; KEPT],
    /// What it changed elsewhere since then.
    pub(super) written: Written,
    pub(crate) gate: Gate,
}

impl Spin {
    pub(crate) fn new() -> Spin {
        Spin {
            steps: [None; MEMORY],
            count: 0,
            sites: 0,
            rounds: 0,
            comparisons: 0,
            compared_at: None,
            compared_after: 0,
            stack: Vec::new(),
            registers: [0; KEPT],
            written: Written::default(),
            gate: Gate::default(),
        }
    }

    /// One of 64, by what is done where.
    #[inline]
    fn bit(kind: Kind, site: Site) -> u64 {
        let place = (std::ptr::from_ref(site).addr() >> 3) ^ (kind as usize) << 40;
        1 << (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
    }

    /// Remembers a step that was executed; `known`: what it did to its object shows in the state.
    #[inline]
    pub(crate) fn remember(&mut self, note: &StepNote, step: StepIndex, states: (u64, u64), known: bool) {
        if !known {
            self.count = 0;
            self.sites = 0;
            return;
        }
        self.sites |= Self::bit(note.kind, note.site);
        let (before, after) = states;
        let step = Remembered { kind: note.kind, object: note.object, site: note.site, before, after, step };
        self.steps[self.count % MEMORY] = Some(step);
        self.count += 1;
    }

    /// The step just remembered found its object in one state and left it in the other.
    #[inline]
    pub(crate) fn found(&mut self, before: u64, after: u64) {
        if let Some(step) = &mut self.steps[self.count.wrapping_sub(1) % MEMORY] {
            step.before = before;
            step.after = after;
        }
    }

    /// Makes it as new, for another thread.
    pub(crate) fn renew(&mut self) {
        self.count = 0;
        self.sites = 0;
        self.forget_state();
        self.gate.closed = false;
    }

    /// Something changed: what the thread was before says nothing any more.
    fn forget_state(&mut self) {
        self.rounds = 0;
        self.comparisons = 0;
        self.compared_at = None;
        self.stack.clear();
        self.written.end();
    }

    /// Whether doing `op` may be a round of a loop that waits: the thread may have done it before,
    /// and not just now with an effect.
    #[inline]
    pub(crate) fn may_repeat(&self, op: &Op) -> bool {
        self.sites & Self::bit(op.kind, op.site) != 0 && !self.goes_round_with_effect(op)
    }

    /// Whether `op` is all that the thread's loop does, and changes its object every time.
    #[inline]
    fn goes_round_with_effect(&self, op: &Op) -> bool {
        let last = self.steps[self.count.wrapping_sub(1) % MEMORY].as_ref();
        self.compared_at.is_none()
            && last.is_some_and(|last| {
                last.before != last.after
                    && (last.kind, last.object) == (op.kind, op.object)
                    && std::ptr::eq(last.site, op.site)
            })
    }

    /// The steps since the thread last did `op`, that one first; `None` if it did not.
    fn round(&self, op: &Op) -> Option<impl Iterator<Item = &Remembered>> {
        let oldest = self.count.saturating_sub(MEMORY);
        let start = (oldest..self.count).rev().find(|at| {
            self.steps[at % MEMORY].as_ref().is_some_and(|step| {
                step.kind == op.kind && step.object == op.object && std::ptr::eq(step.site, op.site)
            })
        })?;
        Some((start..self.count).filter_map(|at| self.steps[at % MEMORY].as_ref()))
    }

    /// Compares the thread with what it was a round ago, and keeps what it is now.
    fn is_as_before(&mut self, op: &Op, frame: &Frame, base: usize, cells: &Cells<'_>) -> bool {
        let place = (op.kind, op.object, op.site);
        if *self.compared_at.get_or_insert(place) != place {
            return false;
        }
        self.comparisons += 1;
        let length = base.saturating_sub(frame.stack);
        // SAFETY: the thread's own stack, from its stack pointer to its base.
        let now = unsafe { std::slice::from_raw_parts(frame.stack as *const u8, length) };
        let own_differs = |(at, (was, is)): (usize, (&u8, &u8))| {
            was != is && !cells.changed(frame.stack + at, self.compared_after)
        };
        let same = self.registers == frame.registers
            && self.stack.len() == length
            && (self.stack == now || !self.stack.iter().zip(now).enumerate().any(own_differs))
            // SAFETY: written in this execution, whose memory stays where it is.
            && unsafe { self.written.is_undone() };
        self.written.begin();
        self.compared_after = cells.events.len();
        if !same {
            self.stack.clear();
            self.stack.extend_from_slice(now);
            self.registers = frame.registers;
        }
        same
    }
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
pub(crate) fn is_known(kind: Kind, event: &Event) -> bool {
    if event.alt.budget().is_some() {
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
        Kind::OnceEnter => event.accesses[0].mode == Mode::AcquireShared,
        _ => event.accesses.iter().all(|access| !changes(access.mode)),
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
    /// Gates the running thread if `op` is a round of a loop that waits.
    ///
    /// Whether it does must not depend on where independent steps of others fell: an object counts
    /// as unchanged by the round if it was, after the thread's last access to it, as before its
    /// first, and a change by others since that last access opens the gate, be it before or after
    /// the thread comes here. Accesses to one object have one order in all equivalent schedules.
    #[cold]
    pub(crate) fn consider_loop(&mut self, op: &Op, frame: &Frame) {
        let spin = &self.threads[self.running].spin;
        let Some(round) = spin.round(op) else { return };
        let mut used: SmallVec<[Used; 8]> = SmallVec::new();
        let mut yields = false;
        let mut same_loop = false;
        for step in round {
            same_loop |= spin.compared_at.is_some_and(|place| place == (step.kind, step.object, step.site));
            yields |= matches!(step.kind, Kind::Yield | Kind::Sleep);
            if step.object == ObjectId::NONE {
                continue;
            }
            match used.iter_mut().find(|used| used.object == step.object) {
                Some(used) => (used.last, used.left) = (step.step, step.after),
                None => used.push(Used {
                    object: step.object,
                    found: step.before,
                    left: step.after,
                    last: step.step,
                }),
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
        let exact = spin.is_as_before(op, frame, base, &cells);
        let enough = if yields { ROUNDS } else { ROUNDS_WITHOUT_HINT };
        if exact || spin.rounds > enough && spin.comparisons >= COMPARISONS {
            // What it writes is seen only where races are looked for.
            self.spin_bound_reached |= !exact || self.races.is_none();
            let objects = used.into_iter().map(|used| used.object).collect();
            spin.gate = Gate { closed: true, objects, opened };
            self.gated += 1;
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
    #[inline]
    pub(crate) fn pass_gate(&mut self) -> StepIndex {
        let spin = &mut self.threads[self.current].spin;
        if !spin.gate.closed {
            return NO_STEP;
        }
        spin.gate.closed = false;
        spin.forget_state();
        self.gated -= 1;
        spin.gate.opened
    }
}
