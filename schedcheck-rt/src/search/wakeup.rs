//! Insertion of wakeup sequences: optimal dynamic partial-order reduction in any order.
//!
//! Abdulla, Aronis, Jonsson, Sagonas: *Source Sets* (POPL 2014, JACM 2017), freed from depth-first
//! order by three rules:
//!
//! * **R1** What sleeps below a branch are the siblings *created* earlier, frozen at creation.
//! * **R2** An insertion descends through existing branches; that a sibling covers its first step
//!   is no reason to drop it.
//! * **R3** A free root explores all that follows it by itself; insertions from outside stop there.
//!
//! A reversal of execution E at step `at` gives the sequence w: all steps of E behind `at` that do
//! not depend on it, up to the *end* of E, then the reversed operation. A thread is a *weak
//! initial* of w if its next operation can come first: it is the thread's first in w and nothing
//! in w orders a step before it, or it is not in w and commutes with all of w. At a point of the
//! tree, a sleeper among the weak initials means that w was covered where that sleeper ran first.
//! Otherwise the first child among them takes its step out of w and we go on there. Otherwise w
//! becomes a new branch.
//!
//! **The new branch need not be all of w.** No sleeper and no sibling is a weak initial of w, so
//! each is woken by some step in it. As soon as all are awake the point is a free root: below it
//! everything is explored, the rest of w included, and no two branches can meet since each differs
//! from its earlier siblings by the step that woke them. So the reversed operation comes first,
//! with only the steps ordered before it; other steps follow only while somebody sleeps. Chains
//! stay short, and so do the schedules.
//!
//! **Idle rounds.** A model may refuse to execute one more round of a loop that waits
//! ([`End::Stopped`] before the plan's prefix is done): such a step is blocked until what it waits
//! for changes, but the execution that the reversal came from did not say so. A reversal that puts an
//! operation e' before a step e and stops there is one that is not possible. All steps of w ahead of e' are independent of e,
//! so what follows them without e' also follows e and them, and is found there: the branch can be
//! left as if it had not been made, provided that nobody relied on it. Relying on it means: e' was
//! not in some w', commuted with it, and w' counted as covered. So such steps cover only what they
//! are part of, as soon as it is known who waits for what ([`Source::spinners`]); and when it
//! becomes known, the search starts again. Such steps are those at which a thread comes round
//! ([`Event::comes_round`]): that depends on the thread alone, so it holds for e' wherever it is tried,
//! and all else that the thread does covers as usual. A model that refuses what it did not announce so
//! is believed: from then on nothing that the thread does covers. If steps were appended behind e' for
//! the sake of sleepers and one of those is refused, the branch is executed again without them.
//!
//! Threads that took a step E does not have (a child outside w) are *strangers*: what they do next
//! is known from the tree only. Where the tree names an object by a number that is good for one
//! execution only, it counts as dependent on everything. That can only cost an execution.

use super::dependence::{blocks, dependent};
use super::history::History;
use super::lines::NO_LINE;
use super::options::Options;
use super::points::Points;
use super::quick::{branch_at_once, covered_at_once};
use super::races::Reversal;
use super::sequence::precedes;
use super::step::*;
use super::tree::{Edge, LineId, NewLine, ROOT, Sleeper, Tree};

/// A step of w that stands for the reversed operation.
pub(super) const REVERSED: StepIndex = StepIndex::MAX;

/// A thread that waits in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spinner {
    pub(super) thread: ThreadId,
    /// What it looks at there; [`ObjectId::NONE`] if that has no name.
    pub(super) object: ObjectId,
    /// A round of it was refused that was not known to be one ([`Event::comes_round`]): so may be all that it does.
    pub(super) anywhere: bool,
}

/// The execution that reversals are taken from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) trace: &'a Trace,
    pub(super) history: &'a History,
    /// Lines from the root to the one that was executed.
    pub(super) path: &'a [LineId],
    pub(super) budget: Budget,
    /// Who waits in a loop.
    pub(super) spinners: &'a [Spinner],
}

impl<'a> Source<'a> {
    /// The execution of the line at the end of `path`, of a program in which nobody waits in a loop.
    pub(super) fn new(
        options: &Options,
        trace: &'a Trace,
        history: &'a History,
        path: &'a [LineId],
    ) -> Source<'a> {
        Source { trace, history, path, budget: options.budget, spinners: &[] }
    }

    /// The same where these threads wait in loops.
    pub(super) fn among(self, spinners: &'a [Spinner]) -> Source<'a> {
        Source { spinners, ..self }
    }

    /// Whether `edge` may be an idle round that the model refuses to execute.
    fn may_stop(&self, edge: &Edge) -> bool {
        self.spinners.iter().any(|spinner| {
            let waits_so = spinner.anywhere || edge.comes_round;
            let waits_for = spinner.object == ObjectId::NONE || spinner.object == edge.objects[0];
            spinner.thread == edge.thread && waits_so && waits_for
        })
    }
}

/// A new branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) line: LineId,
    /// Where it leaves its parent.
    pub(super) step: StepIndex,
    /// Its first choice.
    pub(super) first: Choice,
    /// Preemptions of its schedule, as far as it is fixed.
    pub(super) preemptions: u32,
}

/// What becomes of a reversal.
pub(super) enum Insertion {
    /// Nothing: covered, and in every execution that repeats the two steps that race.
    Settled,
    /// Nothing: what it leads to is covered.
    Covered,
    /// A branch.
    New(Branch),
    /// A branch that only the owner of the tree may make, and what stands for the sequence it is made of.
    Outside(u64),
}

/// Scratch memory of insertions.
#[derive(Debug, Default)]
pub(super) struct Inserter {
    /// The sequence w, in order. Steps that were taken out of it are the first of their threads: `taken` tells which.
    pub(super) rest: Vec<StepIndex>,
    /// How many steps of each thread are ahead of w, were taken since, and are ahead of the last one in w, with it.
    pub(super) base: Vec<u32>,
    pub(super) taken: Vec<u32>,
    last: Vec<u32>,
    /// Whether the reversed operation is still in w, and how much is altogether.
    has_reversed: bool,
    left: usize,
    pub(super) stranger: Vec<bool>,
    pub(super) without: Vec<StepIndex>,
    pub(super) needed: Vec<u32>,
    pub(super) chain: Vec<Edge>,
    pub(super) sleepers: Vec<Sleeper>,
    /// Steps in the order they are taken out of w, for those who adopt.
    pub(super) order: Option<Vec<StepIndex>>,
}

/// Where an insertion is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) line: LineId,
    pub(super) step: StepIndex,
    /// What branches off here, the first one that was made; the others follow it.
    pub(super) branch: LineId,
    /// Whether this is in the chain of `line`.
    pub(super) in_chain: bool,
    /// What `line` does here, unless it ends here.
    pub(super) own: Option<Edge>,
    /// The choice being reversed, while it is still ahead and so is the operation that reverses it:
    /// these two depend on each other whatever their objects.
    pub(super) reversed: Option<Choice>,
    pub(super) preemptions: u32,
    pub(super) running: Option<ThreadId>,
    /// `running` is known to be able to go on.
    goes_on: bool,
}

impl Place {
    /// The point before the first step.
    pub(super) fn root() -> Place {
        Place {
            line: ROOT,
            step: 0,
            branch: NO_LINE,
            in_chain: false,
            own: None,
            reversed: None,
            preemptions: 0,
            running: None,
            goes_on: false,
        }
    }

    /// Looks at what is here.
    pub(super) fn look(&mut self, tree: &Tree) {
        self.branch = tree.children_at(self.line, self.step).next().unwrap_or(NO_LINE);
        self.in_chain = self.step < tree.free(self.line);
    }
}

impl Inserter {
    /// Inserts a reversal, unless what it leads to is covered.
    #[inline]
    pub(super) fn reverse(
        &mut self,
        tree: &mut Tree,
        source: Source<'_>,
        points: &Points,
        reversal: &Reversal,
        preemptions: u32,
    ) -> Insertion {
        if !source.affords(reversal) {
            return Insertion::Covered;
        }
        let place = enter(tree, source, points, reversal.at, preemptions);
        if covered_at_once(tree, source, reversal, &place) {
            debug_assert!(self.is_covered(tree, source, points, reversal));
            return Insertion::Settled;
        }
        let (line, leads_out) = (place.line, tree.is_closed && tree.is_outside(place.line, place.step));
        if !leads_out && let Some(branch) = branch_at_once(tree, source, reversal, &place) {
            return Insertion::New(branch);
        }
        self.prepare(source, reversal.at);
        if !self.collect(source, reversal) || !self.fit_budget(source, reversal) {
            return Insertion::Covered;
        }
        let accesses = self.foresee(source, reversal);
        let reversal = Reversal { accesses, ..*reversal };
        match self.find_place(tree, source, &reversal, place) {
            None => Insertion::Covered,
            Some(place) if tree.is_closed && tree.is_outside(place.line, place.step) => {
                Insertion::Outside(self.name(source, &reversal, line))
            }
            Some(place) => Insertion::New(self.branch(tree, source, &reversal, &place)),
        }
    }

    /// Whether what a reversal leads to is covered, for checks. Budgets are not looked at.
    pub(super) fn is_covered(
        &mut self,
        tree: &Tree,
        source: Source<'_>,
        points: &Points,
        reversal: &Reversal,
    ) -> bool {
        let place = enter(tree, source, points, reversal.at, 0);
        self.prepare(source, reversal.at);
        reversal.choice.alt.budget().is_some() || !self.collect(source, reversal) || {
            let reversal = Reversal { accesses: self.foresee(source, reversal), ..*reversal };
            self.find_place(tree, source, &reversal, place).is_none()
        }
    }

    /// Makes all of an execution w, the reversal of nothing.
    pub(super) fn prepare_whole(&mut self, source: Source<'_>, order: &mut Vec<StepIndex>) -> Reversal {
        self.prepare(source, 0);
        self.rest.clear();
        self.rest.extend(0..source.trace.events.len() as StepIndex);
        self.count(source);
        order.clear();
        self.order = Some(std::mem::take(order));
        let nobody = Choice { thread: ThreadId(u16::MAX), alt: Alt::DEFAULT };
        Reversal {
            at: 0,
            choice: nobody,
            accesses: [Access::NONE; 2],
            enabler: NO_STEP,
            instead_of: NO_STEP,
            excludes_sharers: false,
            comes_round: false,
        }
    }

    /// The choices that could begin what a reversal leads to, of the steps up to the reversed one. False if that is blocked or
    /// the budget does not allow it.
    ///
    /// None of them comes behind a costly alternative, even where nothing orders the two. If it came first, that alternative
    /// might be forced, which is another class: the one where it is not would be left to a branch in which the choice
    /// sleeps, and there to the branch that it sleeps for. So costly alternatives wake everybody ([`super::recorder`]).
    pub(super) fn initials(
        &mut self,
        source: Source<'_>,
        reversal: &Reversal,
        found: &mut Vec<Choice>,
    ) -> bool {
        self.prepare(source, reversal.at);
        // What has to give way to the budget begins nothing that the reversed step could follow.
        if !source.affords(reversal) || !self.collect(source, reversal) || !self.fit_budget(source, reversal)
        {
            return false;
        }
        self.rest.retain(|&step| step == REVERSED || step < reversal.instead_of);
        self.count(source);
        for &step in &self.rest {
            let edge = match step {
                REVERSED => reversal.edge(),
                step => Edge::of(&source.trace.events[step as usize]),
            };
            let first = self.first_of(source, reversal, edge.thread) == Some(step);
            if first && self.weak_initial(source, reversal, &edge) {
                found.push(edge.choice());
            }
            if edge.optional() {
                break;
            }
        }
        true
    }

    /// Where w is to become a branch, unless it is covered.
    fn find_place(
        &mut self,
        tree: &Tree,
        source: Source<'_>,
        reversal: &Reversal,
        mut place: Place,
    ) -> Option<Place> {
        self.count(source);
        loop {
            if place.in_chain {
                let mut sleepers = tree.sleepers_at(place.line, place.step);
                if sleepers.any(|edge| self.covers(source, reversal, &place, &edge)) {
                    return None;
                }
            }
            if let Some(own) = place.own
                && self.covers(source, reversal, &place, &own)
            {
                if !place.in_chain {
                    return None;
                }
                let free = tree.free(place.line);
                if !self.descend(source, reversal, &own, &mut place, free) {
                    return None;
                }
            } else {
                let mut edges = tree.alternatives(place.branch, place.step);
                let taken = edges.find(|(_, edge)| self.covers(source, reversal, &place, edge));
                let Some((child, edge)) = taken else {
                    return Some(place);
                };
                if !self.descend(source, reversal, &edge, &mut place, tree.free(child)) {
                    return None;
                }
                place.line = child;
            }
            place.own = Some(tree.chained(place.line, place.step));
            place.look(tree);
        }
    }

    pub(super) fn covers(&self, source: Source<'_>, reversal: &Reversal, place: &Place, edge: &Edge) -> bool {
        place.reversed != Some(edge.choice()) && self.weak_initial(source, reversal, edge)
    }

    /// Takes `edge` out of w. False if nothing remains to be inserted.
    pub(super) fn descend(
        &mut self,
        source: Source<'_>,
        reversal: &Reversal,
        edge: &Edge,
        place: &mut Place,
        free: StepIndex,
    ) -> bool {
        place.preemptions += u32::from(self.preempts(source, place, edge.thread));
        let thread = edge.thread.0 as usize;
        match self.first_of(source, reversal, edge.thread) {
            Some(step) => {
                self.stranger[thread] |= step == REVERSED;
                self.has_reversed &= step != REVERSED;
                self.left -= 1;
                if let Some(order) = &mut self.order {
                    order.push(step);
                }
            }
            // A step outside of an adopted execution would make it another one.
            None if self.order.is_some() => return false,
            None => self.stranger[thread] = true,
        }
        self.taken[thread] += 1;
        place.step += 1;
        let still = |&choice: &Choice| choice.thread != edge.thread && self.has_reversed;
        place.reversed = place.reversed.filter(still);
        place.running = Some(edge.thread);
        place.goes_on = false;
        self.left > 0 && place.step < free
    }

    /// Counts what is in w. Of each thread that is a run of steps, the first of them its first one behind the point: what is
    /// left out is left out with all that follows it.
    fn count(&mut self, source: Source<'_>) {
        self.last.clear();
        self.last.extend_from_slice(&self.base);
        for &step in self.rest.iter().filter(|&&step| step != REVERSED) {
            self.last[source.trace.events[step as usize].thread.0 as usize] += 1;
        }
        self.has_reversed = self.rest.last() == Some(&REVERSED);
        self.left = self.rest.len();
    }

    /// The next step of a thread, if it is in w.
    #[inline]
    fn first_of(&self, source: Source<'_>, reversal: &Reversal, thread: ThreadId) -> Option<StepIndex> {
        let at = thread.0 as usize;
        if let (Some(&base), Some(&last)) = (self.base.get(at), self.last.get(at)) {
            let gone = base + self.taken[at];
            if gone < last {
                return Some(source.history.of_thread(thread)[gone as usize]);
            }
        }
        (self.has_reversed && reversal.choice.thread == thread).then_some(REVERSED)
    }

    /// What is still in w, in order, without the reversed operation.
    #[inline]
    fn others_left<'a>(&'a self, source: Source<'a>) -> impl Iterator<Item = StepIndex> + 'a {
        self.rest.iter().copied().filter(move |&step| step != REVERSED && !self.is_taken(source, step))
    }

    fn is_taken(&self, source: Source<'_>, step: StepIndex) -> bool {
        let thread = source.trace.events[step as usize].thread.0 as usize;
        source.history.index(step) <= self.base[thread] + self.taken[thread]
    }

    /// Takes out of `rest` what is not in w any more.
    pub(super) fn drop_taken(&mut self, source: Source<'_>) {
        if self.left < self.rest.len() {
            let mut rest = std::mem::take(&mut self.rest);
            rest.retain(|&step| match step {
                REVERSED => self.has_reversed,
                step => !self.is_taken(source, step),
            });
            self.rest = rest;
        }
        debug_assert_eq!(self.rest.len(), self.left);
    }

    fn weak_initial(&self, source: Source<'_>, reversal: &Reversal, edge: &Edge) -> bool {
        let thread = edge.thread;
        match self.first_of(source, reversal, thread) {
            Some(REVERSED) => {
                reversal.choice.alt == edge.alt
                    && !self.others_left(source).any(|step| precedes(source, step, reversal))
            }
            Some(step) => {
                source.trace.events[step as usize].alt == edge.alt
                    && source.history.clock(step).iter().enumerate().all(|(other, &count)| {
                        other == thread.0 as usize || count <= self.base[other] + self.taken[other]
                    })
            }
            None => {
                if edge.optional() || edge.barrier || source.may_stop(edge) {
                    return false;
                }
                let Some(accesses) = self.next_accesses(source, edge) else {
                    return false;
                };
                let commutes = |other: &[Access; 2]| !dependent(&accesses, other);
                (!self.has_reversed || commutes(&reversal.accesses))
                    && self
                        .others_left(source)
                        .all(|step| commutes(&source.trace.events[step as usize].accesses))
            }
        }
    }

    /// The accesses of `edge` under the names that E has for the objects, if that can be told.
    ///
    /// A thread that E knows is about to use the objects that E says it uses next. A stranger's
    /// objects are known by name only, which will do if the name is the same in all executions.
    fn next_accesses(&self, source: Source<'_>, edge: &Edge) -> Option<[Access; 2]> {
        let objects = match self.next_operation(source, edge.thread) {
            Some(accesses) => accesses.map(|access| access.object),
            None if edge.objects.iter().all(|object| object.is_stable()) => edge.objects,
            None => return None,
        };
        Some([Access::new(objects[0], edge.modes[0]), Access::new(objects[1], edge.modes[1])])
    }

    fn next_operation(&self, source: Source<'_>, thread: ThreadId) -> Option<[Access; 2]> {
        let at = thread.0 as usize;
        if self.stranger.get(at) != Some(&false) {
            return None;
        }
        let next = (self.base[at] + self.taken[at]) as usize;
        match source.history.of_thread(thread).get(next) {
            Some(&step) => Some(source.trace.events[step as usize].accesses),
            None => {
                let pending = &source.trace.pending;
                pending.iter().find(|pending| pending.thread == thread).map(|p| p.accesses)
            }
        }
    }

    /// Whether running `next` now interrupts a thread that could go on, as far as is known.
    fn preempts(&self, source: Source<'_>, place: &Place, next: ThreadId) -> bool {
        let Some(running) = place.running.filter(|&running| running != next) else {
            return false;
        };
        if place.goes_on {
            return true;
        }
        let known = self.next_operation(source, running);
        let ended = !self.stranger[running.0 as usize] && known.is_none();
        !ended && !known.is_some_and(|accesses| accesses.iter().any(|access| blocks(access.mode)))
    }

    /// Makes the rest of w a branch, as short as it can be.
    pub(super) fn branch(
        &mut self,
        tree: &mut Tree,
        source: Source<'_>,
        reversal: &Reversal,
        place: &Place,
    ) -> Branch {
        self.chain.clear();
        self.sleepers.clear();
        self.drop_taken(source);
        let asleep = tree.sleepers_at(place.line, place.step).filter(|_| place.in_chain);
        let siblings = tree.alternatives(place.branch, place.step).map(|(_, edge)| edge);
        let covers = |edge: &Edge| !edge.optional() && !source.may_stop(edge);
        let base = asleep.chain(place.own).chain(siblings).filter(covers);
        self.sleepers.extend(base.map(|edge| Sleeper { edge, until: StepIndex::MAX }));

        self.find_needed(source, reversal);
        let mut here = Place { own: None, reversed: None, ..*place };
        // The reversed operation and what must precede it; then others while somebody sleeps.
        let mut required = 0;
        for adds_needed in [true, false] {
            for at in 0..self.rest.len() {
                let step = self.rest[at];
                let needed = step == REVERSED || {
                    let thread = source.trace.events[step as usize].thread.0 as usize;
                    self.needed[thread] >= source.history.index(step)
                };
                let asleep = || self.sleepers.iter().any(|s| s.until == StepIndex::MAX);
                if needed == adds_needed && (needed || self.chain.is_empty() || asleep()) {
                    self.append(source, reversal, step, place, &mut here);
                }
            }
            if adds_needed {
                required = self.chain.len();
            }
        }
        let (own, free) = (place.own, here.step);
        let padded = self.chain.len() > required;
        if let Some(order) = &mut self.order {
            // An adopted execution is kept as it is: all of it is the line's chain.
            let kept = (free - place.step) as usize;
            let rest = self.rest[kept..].iter();
            self.chain.extend(rest.map(|&step| Edge::of(&source.trace.events[step as usize])));
            order.extend_from_slice(&self.rest);
        }
        let line = tree.branch(NewLine {
            parent: place.line,
            start: place.step,
            own,
            chain: &self.chain,
            free,
            sleepers: if free > place.step + 1 { &self.sleepers } else { &[] },
            preemptions: here.preemptions,
        });
        tree.set_padded(line, padded);
        Branch { line, step: place.step, first: self.chain[0].choice(), preemptions: here.preemptions }
    }

    fn append(
        &mut self,
        source: Source<'_>,
        reversal: &Reversal,
        step: StepIndex,
        place: &Place,
        here: &mut Place,
    ) {
        let (edge, accesses) = match step {
            REVERSED => (reversal.edge(), reversal.accesses),
            step => {
                let event = &source.trace.events[step as usize];
                (Edge::of(event), event.accesses)
            }
        };
        for at in 0..self.sleepers.len() {
            let sleeper = self.sleepers[at];
            if sleeper.until != StepIndex::MAX {
                continue;
            }
            let reversed = step == REVERSED && place.reversed == Some(sleeper.edge.choice());
            let same = sleeper.edge.thread == edge.thread || sleeper.edge.barrier || edge.barrier;
            let wakes = reversed || same || {
                // Its next operation is the one it had where it fell asleep.
                let next = self.next_accesses(source, &sleeper.edge);
                next.is_none_or(|theirs| dependent(&theirs, &accesses))
            };
            if wakes {
                self.sleepers[at].until = here.step + 1;
            }
        }
        here.preemptions += u32::from(self.preempts(source, here, edge.thread));
        let thread = edge.thread.0 as usize;
        self.stranger[thread] |= step == REVERSED;
        self.taken[thread] += 1;
        self.chain.push(edge);
        here.step += 1;
        here.running = Some(edge.thread);
        here.goes_on = false;
    }
}

/// The point of the tree before step `at` of the executed line.
fn enter(tree: &Tree, source: Source<'_>, points: &Points, at: StepIndex, preemptions: u32) -> Place {
    let point = points.at(at);
    let event = source.trace.events.get(at as usize);
    let own = match point.leaves {
        NO_LINE => event.map(Edge::of),
        _ if point.in_chain => Some(tree.chained(point.line, at)),
        next => tree.own(next),
    };
    let previous = at.checked_sub(1).map(|before| source.trace.events[before as usize].thread);
    let goes_on = event.is_some_and(|event| Some(event.thread) == previous || event.previous_enabled);
    Place {
        line: point.line,
        step: at,
        branch: point.branch,
        in_chain: point.in_chain,
        own,
        reversed: event.map(Event::choice),
        preemptions,
        running: previous.filter(|_| goes_on),
        goes_on,
    }
}
