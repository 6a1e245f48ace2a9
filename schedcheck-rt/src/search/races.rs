//! What could have gone differently in one execution: its races and its untaken alternatives.
//!
//! A race is a pair of dependent steps of different threads, unordered but for their own conflict
//! (algorithm of Flanagan and Godefroid 2005, in the form of Abdulla et al. 2014). Every race and
//! every alternative becomes a [`Reversal`]: "before step `at`, without what depends on it, do this
//! operation". The rules:
//!
//! * A step that never blocks races with the accesses it directly follows.
//! * Taking a lock races with the last exclusive acquisition, and an exclusive one also with the
//!   shared acquisitions since; never with a release, which is what enabled it. It also races with
//!   those who looked at the lock (a failed `try_write` beside readers) since it became free for it. A shared one
//!   races with a release in turn, too: that one ended a share beside which there was room for another.
//! * An awaiting step is ordered after its enabler, so of the others only later conflicts remain.
//!   But one that takes something (an item of a channel, a place in it, a permit) also competes with
//!   whoever took one last, even if the enabler came after that: it could have had that one.
//! * A blocked operation that only names its object ([`Mode::None`]) competes with nobody.
//! * Threads blocked for ever at the end race with their pending operation: without this rule
//!   deadlocks are missed.
//! * The same goes for threads that are blocked when a time-out is forced ([`Trace::waiting`]): it comes before
//!   whatever they do afterwards, which hides what they compete with.
//! * A forced time-out depends on everything before it; reversed, it becomes an ordinary one.
//! * Free alternatives, and costly ones of a step that was not blocked, can be taken in place of
//!   the step. Costly alternatives of a blocked step can be taken before its enabler, at the end of
//!   the execution, and instead of a forced time-out that fired meanwhile.
//!
//! Candidates that happen before another candidate are dropped: reversing the later one first
//! leads to an execution in which the earlier race is found again. Shared holders of a lock wanted
//! exclusively are the exception, since all of them must go.

use super::dependence::{Class, class};
use super::edges::Edge;
use super::history::{History, thread_count};
use super::narrow::{MOST_THREADS, Narrow};
use super::objects::{Found, NO_LINK};
use super::step::*;

/// An operation to be done before step `at` of an execution, after all steps behind `at` that do
/// not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reversal {
    /// The step that must come later or not at all; the number of steps for "at the end".
    pub at: StepIndex,
    /// The operation.
    pub choice: Choice,
    /// Its accesses, predicted.
    pub accesses: [Access; 2],
    /// The step that must stay before it, if any.
    pub enabler: StepIndex,
    /// The executed step it stands for; [`NO_STEP`] if it was never executed.
    pub instead_of: StepIndex,
    /// It takes an object exclusively that was held shared: sharers must have left.
    pub excludes_sharers: bool,
    /// As [`Event::comes_round`].
    pub comes_round: bool,
}

impl Reversal {
    /// The operation as a choice of the tree.
    pub(super) fn edge(&self) -> Edge {
        Edge { comes_round: self.comes_round, ..Edge::new(self.choice, &self.accesses) }
    }
}

/// How an operation stands to those it competes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It ran, or could have.
    Ordinary,
    /// A time-out that depends on everything.
    Forced,
    /// It could not run where it stands.
    Blocked,
}

/// Finds all reversals of one execution. Reused between executions.
///
/// Races of a prefix that an execution shares with the one before are not looked for again, so they must depend on nothing
/// that comes behind it. Its alternatives may: the model may offer one when it knows what followed.
#[derive(Debug, Default)]
pub struct Races {
    candidates: Vec<StepIndex>,
    /// Steps that were just read, and what each of them competes with.
    rivals: Vec<(StepIndex, StepIndex)>,
    /// Races of executed steps in order of the later one, then all others.
    found: Vec<Reversal>,
    /// How many of the former there are up to each step that has any.
    found_until: Vec<(StepIndex, u32)>,
    /// Steps with alternatives.
    optional: Vec<StepIndex>,
    /// Which races of executed steps are known to be covered as long as both steps are kept.
    settled: Vec<bool>,
}

impl Races {
    /// Reads `trace` into `history` and finds what could have gone differently. Its first `kept`
    /// steps are those of the trace that was read last, if there is one.
    pub fn find(&mut self, trace: &Trace, history: &mut History, kept: StepIndex) {
        let mut step = history.keep(kept, waiting_threads(trace));
        let mut known = self.forget_from(step);
        self.note_late_alternatives(&trace.events[..step as usize]);
        while (step as usize) < trace.events.len() {
            if history.is_narrow(trace.events.len()) {
                step = self.read_narrow(trace, history, step);
                history.complete(&trace.events);
                self.take_down_rivals(trace, history);
            }
            let Some(event) = trace.events.get(step as usize) else { break };
            if event.thread.0 as usize >= history.threads() {
                // Clocks must have a place for it, all of them.
                history.start(thread_count(trace));
                step = 0;
                known = self.forget_from(0);
                continue;
            }
            self.read(trace, history, step, event);
            self.note_races(trace, history, step);
            self.note_alternatives(step, event);
            step += 1;
        }
        self.settled.truncate(known);
        self.settled.resize(self.found.len(), false);
        self.pending_operations(trace, history);
        self.alternatives(trace, history);
    }

    /// Forgets what was found at a step or behind it. How many races remain.
    fn forget_from(&mut self, step: StepIndex) -> usize {
        while self.found_until.last().is_some_and(|&(last, _)| last >= step) {
            self.found_until.pop();
        }
        while self.optional.last().is_some_and(|&last| last >= step) {
            self.optional.pop();
        }
        let known = self.found_until.last().map_or(0, |&(_, until)| until as usize);
        self.found.truncate(known);
        known
    }

    /// Takes down what a step that was read competes with.
    fn note_races(&mut self, trace: &Trace, history: &History, step: StepIndex) {
        if !self.candidates.is_empty() {
            self.races_of_step(trace, history, &trace.events[step as usize], step);
            self.found_until.push((step, self.found.len() as u32));
        }
    }

    /// Takes down that there are alternatives to a step.
    #[inline(always)]
    fn note_alternatives(&mut self, step: StepIndex, event: &Event) {
        let chooses = event.free_alts > 1 && event.alt.budget().is_none();
        if chooses || event.costly_alts != BudgetKinds::NONE {
            self.optional.push(step);
        }
    }

    /// Takes down the steps of a known prefix that have alternatives in this execution and had none in the one before.
    fn note_late_alternatives(&mut self, known: &[Event]) {
        for (step, _) in (0..).zip(known).filter(|(_, event)| event.free_alts > 1) {
            if let Err(at) = self.optional.binary_search(&step) {
                self.optional.insert(at, step);
            }
        }
    }

    /// What was found.
    pub fn found(&self) -> &[Reversal] {
        &self.found
    }

    /// Whether the reversal numbered `at` was [`Races::settle`]d in an earlier execution.
    pub(super) fn is_settled(&self, at: usize) -> bool {
        self.settled.get(at).copied().unwrap_or(false)
    }

    /// The number of the first reversal from `at` on that was not [`Races::settle`]d.
    pub(super) fn next_open(&self, at: usize) -> Option<usize> {
        let known = self.settled.get(at..).unwrap_or_default();
        let open = at + known.iter().position(|settled| !settled).unwrap_or(known.len());
        (open < self.found.len()).then_some(open)
    }

    /// The reversal numbered `at` is covered in every execution that shares both its steps.
    pub(super) fn settle(&mut self, at: usize) {
        if let Some(settled) = self.settled.get_mut(at) {
            *settled = true;
        }
    }

    /// Reads a step and gathers its immediate competitors.
    fn read(&mut self, trace: &Trace, history: &mut History, step: StepIndex, event: &Event) {
        if event.forced {
            self.blocked_meanwhile(trace, history, step);
        }
        self.candidates.clear();
        history.begin(event);
        let row = history.open_step();
        let kind = if event.forced { Kind::Forced } else { Kind::Ordinary };
        self.collect(history, &trace.events, event.thread, &event.accesses, kind, row);
        history.finish(event);
    }

    /// Reads steps of few threads as long as they are like most: not forced, and their objects are not one.
    /// Objects are looked up once, and clocks are in registers, of which there are enough for nothing else. The
    /// first step that is different.
    #[inline(never)]
    fn read_narrow(&mut self, trace: &Trace, history: &mut History, from: StepIndex) -> StepIndex {
        let mut last = history.last_clocks();
        let alone_from = alone_from(trace, from);
        for (step, event) in (from..).zip(&trace.events[from as usize..]) {
            let [first, second] = &event.accesses;
            let is_one_object = first.object == second.object && first.object != ObjectId::NONE;
            let thread = event.thread.0 as usize;
            if event.forced || is_one_object || thread >= history.threads() {
                return step;
            }
            let alone = last[thread % MOST_THREADS];
            if step >= alone_from && alone.total() == step {
                self.read_end(trace, history, step, alone);
                break;
            }
            let mut opening = alone.after_step_of(event.thread);
            if event.enabler != NO_STEP {
                opening = opening.join(history.narrow(event.enabler));
            }
            let mut clock = opening;
            for &access in &event.accesses {
                if access.object == ObjectId::NONE || access.mode == Mode::None {
                    continue;
                }
                let found = history.enter(step, access);
                let rivals = &mut self.rivals;
                let mut meet = |met: Met, before: Narrow| {
                    let theirs = history.narrow(met.step);
                    if !before.has(theirs) {
                        if met.competes {
                            rivals.push((step, met.step));
                        }
                        if met.precedes {
                            clock = clock.join(theirs);
                        }
                    }
                };
                competitors(history, (access.mode, Kind::Ordinary), found, |met| meet(met, opening));
                if access.mode == Mode::AwaitWrite && found.exclusive != NO_STEP {
                    meet(Met { step: found.exclusive, competes: true, precedes: false }, alone);
                }
            }
            last[thread % MOST_THREADS] = clock;
            history.close(clock);
            self.note_alternatives(step, event);
        }
        trace.events.len() as StepIndex
    }

    /// Takes down the races of all steps that were just read.
    fn take_down_rivals(&mut self, trace: &Trace, history: &History) {
        let mut at = 0;
        while let Some(&(step, _)) = self.rivals.get(at) {
            self.candidates.clear();
            while let Some(&(_, rival)) = self.rivals.get(at).filter(|(of, _)| *of == step) {
                self.candidates.push(rival);
                at += 1;
            }
            self.note_races(trace, history, step);
        }
        self.rivals.clear();
    }

    /// Reads the last steps of an execution: those of one thread, before which all others have happened and
    /// behind which nothing waits. They compete with nothing, and nobody asks what they did.
    fn read_end(&mut self, trace: &Trace, history: &mut History, from: StepIndex, before: Narrow) {
        let mut clock = before;
        history.begin_end(from);
        for (step, event) in (from..).zip(&trace.events[from as usize..]) {
            clock = clock.after_step_of(event.thread);
            history.close(clock);
            self.note_alternatives(step, event);
        }
    }

    fn pending_operations(&mut self, trace: &Trace, history: &mut History) {
        for pending in &trace.pending {
            // What awaits something, and could go on now, cannot come before whoever it waited for, and who that was is not
            // known. Such executions are stopped because it sleeps: where it ran first, its races are found.
            let awaits = |access: &Access| matches!(access.mode, Mode::Await | Mode::AwaitWrite);
            let is_known_to_race = trace.end != End::Passed && !pending.accesses.iter().any(awaits);
            if !pending.enabled || is_known_to_race {
                let row = history.open_probe(pending.thread, NO_STEP);
                let competing = pending.accesses.map(blocked_access);
                let kind = if pending.enabled { Kind::Ordinary } else { Kind::Blocked };
                self.candidates.clear();
                self.collect(history, &trace.events, pending.thread, &competing, kind, row);
                history.close_probe(row);
                self.drop_dominated(history, &trace.events, &competing);
                self.races_of_blocked(trace, pending.thread, &pending.accesses, pending.comes_round);
            }
        }
    }

    /// When something is forced, all others are blocked, as at the end. What they wait for comes after the
    /// forced step then, and so after all before it; but they could have come first.
    #[cold]
    fn blocked_meanwhile(&mut self, trace: &Trace, history: &mut History, forced: StepIndex) {
        for &Pending { thread, accesses, comes_round, .. } in waiting_at(trace, history.threads(), forced) {
            let row = history.open_probe(thread, NO_STEP);
            let competing = accesses.map(blocked_access);
            self.candidates.clear();
            self.collect(history, &trace.events, thread, &competing, Kind::Blocked, row);
            history.close_probe(row);
            self.drop_dominated(history, &trace.events, &competing);
            self.races_of_blocked(trace, thread, &accesses, comes_round);
        }
        self.candidates.clear();
        self.found_until.push((forced, self.found.len() as u32));
    }

    /// Gathers the competitors of an operation whose clock is the open row.
    fn collect(
        &mut self,
        history: &History,
        events: &[Event],
        thread: ThreadId,
        accesses: &[Access; 2],
        kind: Kind,
        row: usize,
    ) {
        let clock = history.row(row);
        let candidates = &mut self.candidates;
        let mut add = |step: StepIndex| {
            let other = events[step as usize].thread;
            if other != thread && clock[other.0 as usize] < history.index(step) {
                candidates.push(step);
            }
        };
        if kind == Kind::Forced {
            for other in 0..history.threads() {
                history.of_thread(ThreadId(other as u16)).last().copied().into_iter().for_each(&mut add);
            }
        } else {
            for access in accesses {
                if access.mode != Mode::None && access.object != ObjectId::NONE {
                    let found = history.look(*access);
                    let meet = |met: Met| {
                        if met.competes {
                            add(met.step);
                        }
                    };
                    competitors(history, (access.mode, kind), found, meet);
                }
            }
            self.rival_takers(history, events, thread, accesses);
        }
    }

    /// Who took what an awaiting operation could have taken, had it been there first. That its
    /// enabler came later, and after that, is no order between the two.
    fn rival_takers(
        &mut self,
        history: &History,
        events: &[Event],
        thread: ThreadId,
        accesses: &[Access; 2],
    ) {
        for access in accesses.iter().filter(|access| access.mode == Mode::AwaitWrite) {
            let taker = history.look(*access).exclusive;
            if taker != NO_STEP {
                let owner = events[taker as usize].thread;
                if owner != thread && !history.precedes_next(taker, owner, thread) {
                    self.candidates.push(taker);
                }
            }
        }
    }

    /// A sharer stays: if it holds on until after a later one, only going before both will do.
    fn drop_dominated(&mut self, history: &History, events: &[Event], accesses: &[Access; 2]) {
        if self.candidates.len() < 2 {
            return;
        }
        self.candidates.sort_unstable();
        self.candidates.dedup();
        let mut at = 0;
        while at < self.candidates.len() {
            let step = self.candidates[at];
            let event = &events[step as usize];
            let dominated =
                self.candidates[at + 1..].iter().any(|&later| history.before(step, event.thread, later));
            if dominated && !excludes_sharers(accesses, event) {
                self.candidates.remove(at);
            } else {
                at += 1;
            }
        }
    }

    #[inline(never)]
    fn races_of_step(&mut self, trace: &Trace, history: &History, event: &Event, step: StepIndex) {
        self.drop_dominated(history, &trace.events, &event.accesses);
        for &at in &self.candidates {
            let first = &trace.events[at as usize];
            let costly = event.alt.budget().is_some();
            let alt = if costly { event.alt } else { Alt::DEFAULT };
            self.found.push(Reversal {
                at,
                choice: Choice { thread: event.thread, alt },
                accesses: if costly { event.accesses } else { predict(event, first) },
                enabler: event.enabler,
                instead_of: step,
                excludes_sharers: excludes_sharers(&event.accesses, first),
                comes_round: event.comes_round,
            });
        }
    }

    fn races_of_blocked(
        &mut self,
        trace: &Trace,
        thread: ThreadId,
        accesses: &[Access; 2],
        comes_round: bool,
    ) {
        for &at in &self.candidates {
            self.found.push(Reversal {
                at,
                choice: Choice { thread, alt: Alt::DEFAULT },
                accesses: *accesses,
                enabler: NO_STEP,
                instead_of: NO_STEP,
                excludes_sharers: excludes_sharers(accesses, &trace.events[at as usize]),
                comes_round,
            });
        }
    }

    fn alternatives(&mut self, trace: &Trace, history: &History) {
        for at in 0..self.optional.len() {
            let step = self.optional[at];
            let event = &trace.events[step as usize];
            if event.free_alts > 1 && event.alt.budget().is_none() {
                for alt in (0..event.free_alts).map(Alt).filter(|&alt| alt != event.alt) {
                    self.found.push(instead(step, event, alt, event.accesses_of_others()));
                }
            }
            if event.costly_alts == BudgetKinds::NONE {
                continue;
            }
            if event.enabler == NO_STEP {
                for alt in event.costly_alts.alternatives().filter(|&alt| alt != event.alt) {
                    let accesses = costly_accesses(alt, &event.accesses);
                    self.found.push(instead(step, event, alt, accesses));
                }
            } else if waited_for(history, trace, step) {
                let enabler = &trace.events[event.enabler as usize];
                for alt in event.costly_alts.alternatives() {
                    let object = [enabler.accesses[0], Access::NONE];
                    let mut reversal = instead(step, event, alt, costly_accesses(alt, &object));
                    reversal.at = event.enabler;
                    reversal.enabler = NO_STEP;
                    self.found.push(reversal);
                }
            }
        }
        for pending in &trace.pending {
            for alt in pending.costly_alts.alternatives() {
                let accesses = costly_accesses(alt, &pending.accesses);
                let choice = Choice { thread: pending.thread, alt };
                self.found.push(never_executed(trace.events.len() as StepIndex, choice, accesses));
            }
        }
        for &forced in history.forced() {
            self.instead_of_forced(trace, history, forced);
        }
    }

    /// Other waits that could have ended where a time-out was forced.
    fn instead_of_forced(&mut self, trace: &Trace, history: &History, step: StepIndex) {
        for pending in waiting_at(trace, history.threads(), step) {
            for alt in pending.costly_alts.alternatives() {
                let choice = Choice { thread: pending.thread, alt };
                self.found.push(never_executed(step, choice, costly_accesses(alt, &pending.accesses)));
            }
        }
    }
}

/// What so many threads waited for where that step was forced. A thread that the history has no place for yet comes later,
/// and then everything is read again.
fn waiting_at(trace: &Trace, threads: usize, step: StepIndex) -> impl Iterator<Item = &Pending> {
    let first = trace.waiting.partition_point(|(at, _)| *at < step);
    let here = trace.waiting[first..].iter().take_while(move |(at, _)| *at == step);
    here.map(|(_, pending)| pending).filter(move |pending| usize::from(pending.thread.0) < threads)
}

/// One more than the largest number of a thread that waits at the end.
fn waiting_threads(trace: &Trace) -> usize {
    trace.pending.iter().map(|pending| pending.thread.0 as usize + 1).max().unwrap_or(0)
}

/// The step, `from` or behind it, from which on one thread runs alone until the end, and nothing waits or is
/// forced.
fn alone_from(trace: &Trace, from: StepIndex) -> StepIndex {
    let new = &trace.events[from as usize..];
    let last = new.last().filter(|_| trace.pending.is_empty()).map(|event| event.thread);
    let alone = new.iter().rev().take_while(|event| Some(event.thread) == last && !event.forced).count();
    (trace.events.len() - alone) as StepIndex
}

/// A step that an access meets at its object.
#[derive(Clone, Copy)]
struct Met {
    step: StepIndex,
    /// The two may compete.
    competes: bool,
    /// The access directly follows it.
    precedes: bool,
}

/// Names the steps that an access meets, which has `found` this. A blocked one follows nothing.
#[inline(always)]
fn competitors(history: &History, (mode, kind): (Mode, Kind), found: Found, mut meet: impl FnMut(Met)) {
    let takes = matches!(mode, Mode::Acquire | Mode::AcquireShared);
    if takes {
        let holds = |step: StepIndex| Met { step, competes: true, precedes: false };
        if found.exclusive != NO_STEP {
            meet(holds(found.exclusive));
        }
        let mut link = if mode == Mode::Acquire { found.shared } else { NO_LINK };
        while link != NO_LINK {
            let sharer = history.entered(link);
            meet(holds(sharer.step));
            link = history.next_shared(sharer);
        }
        if kind == Kind::Blocked {
            return;
        }
    }
    let mut link = found.predecessors;
    while link != NO_LINK {
        let earlier = history.entered(link);
        // Whoever takes it competes with those who only looked: nothing changed since, so it was as free then
        // as it is now. And it was free for a sharer before another one gave it up.
        let was_free =
            earlier.mode == Mode::Read || mode == Mode::AcquireShared && earlier.mode == Mode::ReleaseInTurn;
        let competes = !takes || was_free;
        meet(Met { step: earlier.step, competes, precedes: true });
        link = earlier.next();
    }
}

/// What blocks an awaiting operation is a change, never somebody else's look at it.
fn blocked_access(access: Access) -> Access {
    match access.mode {
        Mode::AwaitWrite => Access { mode: Mode::Await, ..access },
        _ => access,
    }
}

fn instead(step: StepIndex, event: &Event, alt: Alt, accesses: [Access; 2]) -> Reversal {
    Reversal {
        at: step,
        choice: Choice { thread: event.thread, alt },
        accesses,
        enabler: event.enabler,
        instead_of: step,
        excludes_sharers: false,
        comes_round: event.comes_round,
    }
}

fn never_executed(at: StepIndex, choice: Choice, accesses: [Access; 2]) -> Reversal {
    Reversal {
        at,
        choice,
        accesses,
        enabler: NO_STEP,
        instead_of: NO_STEP,
        excludes_sharers: false,
        comes_round: false,
    }
}

/// Whether the thread of `step` was already waiting when the step's enabler came.
fn waited_for(history: &History, trace: &Trace, step: StepIndex) -> bool {
    let thread = trace.events[step as usize].thread;
    let enabler = trace.events[step as usize].enabler;
    let mine = history.index(step) as usize;
    mine < 2 || {
        let previous = history.of_thread(thread)[mine - 2];
        !history.before(enabler, trace.events[enabler as usize].thread, previous)
    }
}

fn excludes_sharers(accesses: &[Access; 2], first: &Event) -> bool {
    accesses.iter().any(|access| {
        access.mode == Mode::Acquire
            && first
                .accesses
                .iter()
                .any(|other| other.object == access.object && class(other.mode) == Class::Shared)
    })
}

/// The accesses of a costly alternative: a weak failure observes, so does a loop that does not wait, giving up a wait
/// changes the queue.
fn costly_accesses(alt: Alt, accesses: &[Access; 2]) -> [Access; 2] {
    let mode = if matches!(alt, Alt::WEAK_FAILURE | Alt::IMPATIENT) { Mode::Read } else { Mode::Write };
    accesses.map(|access| match access.object {
        ObjectId::NONE => Access::NONE,
        object => Access::new(object, mode),
    })
}

/// The accesses `second` will make when it runs before `first`.
///
/// Whatever runs between them then leaves their object as `first` found it, except that shared
/// holders and marks commute and may come and go; there only "still held by `first`" is known.
fn predict(second: &Event, first: &Event) -> [Access; 2] {
    let mut accesses = second.accesses;
    let object = accesses[0].object;
    let touched = first.accesses.iter().position(|access| access.object == object);
    let (Some(slot), false) = (touched, second.reads_when == ReadsWhen::Never) else {
        return accesses;
    };
    let reads_when = |state| match second.reads_when {
        ReadsWhen::Never => false,
        ReadsWhen::StateIs(reads) => state == reads,
        ReadsWhen::StateIsNot(full) => state != full,
    };
    let reads = match (slot, class(first.accesses[slot].mode)) {
        (0, Class::Read | Class::Total) => reads_when(first.before),
        (0, Class::Shared) => {
            first.accesses[0].mode == Mode::ReleaseShared && second.reads_when == ReadsWhen::StateIsNot(0)
        }
        _ => false,
    };
    accesses[0].mode = if reads { Mode::Read } else { second.full_mode };
    accesses
}

#[cfg(test)]
mod tests {
    use super::super::history::mix;
    use super::*;

    /// Steps of four threads on five objects, some with an enabler or forced.
    fn random(seed: u64) -> Trace {
        let number = |step: u64, which: u64| mix(mix(seed * 1000 + step) + which);
        let events = (0..24).map(|step| {
            let mut event = Event::of(ThreadId(number(step, 0) as u16 % 4));
            event.forced = number(step, 1).is_multiple_of(16);
            event.enabler = (number(step, 2) % 40) as StepIndex;
            event.enabler = if u64::from(event.enabler) < step { event.enabler } else { NO_STEP };
            for slot in 0..2 {
                let used = number(step, 3 + slot);
                let object = if used.is_multiple_of(3) { ObjectId::NONE } else { ObjectId(used as u32 % 5) };
                event.accesses[slot as usize] = Access::new(object, Mode::ALL[(used >> 32) as usize % 12]);
            }
            event
        });
        let mut events: Vec<Event> = events.collect();
        if seed.is_multiple_of(3) {
            // Some end with one thread that has waited for all others.
            for at in 18..24 {
                let other = ThreadId((at as u16 - 18) % 3);
                let last = events[..18].iter().rposition(|event| event.thread == other);
                events[at].thread = ThreadId(3);
                events[at].forced = false;
                events[at].enabler = last.map_or(NO_STEP, |last| last as StepIndex);
            }
        }
        Trace { events, ..Trace::default() }
    }

    #[test]
    fn steps_of_few_threads_are_read_as_those_of_many() {
        let (mut few, mut many) = (History::default(), History::default());
        let (mut found, mut found_by_many) = (Races::default(), Races::default());
        // It never has fewer again.
        many.start(9);
        let (mut count, mut ends, mut last) = (0, 0, random(0));
        for seed in 0..500 {
            let mut trace = random(seed);
            let kept = (seed % 24) as StepIndex;
            trace.events[..kept as usize].copy_from_slice(&last.events[..kept as usize]);
            found.find(&trace, &mut few, kept);
            found_by_many.find(&trace, &mut many, kept);
            assert_eq!(found.found(), found_by_many.found(), "{seed}");
            assert!((0..24).all(|step| few.clock(step) == &many.clock(step)[..few.threads()]), "{seed}");
            assert_eq!(few.signature(), many.signature(), "{seed}");
            assert!(few.is_narrow(24) && !many.is_narrow(24));
            ends += u32::from(few.has_end());
            count += found.found().len();
            last = trace;
        }
        assert!(count > 1000 && ends > 100, "{count} {ends}");
    }
}
