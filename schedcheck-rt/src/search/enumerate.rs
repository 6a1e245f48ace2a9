//! Every schedule, or every schedule with at most k preemptions.
//!
//! A bounded search must not drop what partial-order reduction would drop: the schedule that is
//! kept instead may need more preemptions (GAMBIT 3.3; the ScatterGather lesson of its section 5).
//! So this is GAMBIT's `FindBacktrackingPoints`: at every new step, everybody who is enabled and
//! within the bound. `dpor`, `mdpor` and `ss` only decide the order.
//!
//! **What is left out in a bounded search, and why that is safe.** A point is not expanded if one that
//! was expanded before stands for it ([`super::visited`] says when, and why; only points at which
//! something can branch off are remembered): every class that has a
//! schedule with at most k preemptions is executed (up to collisions of 64-bit hashes), whatever the
//! order. Budgets of costly alternatives are part of the class: taking one is a step of it.
//!
//! **Trusted code** (CHESS 4.4.1) is a bound of another kind: a thread that stands between two
//! operations of it is not preempted. Whether it stands there depends on nothing but what the
//! thread itself has done ([`Pending::held`]), which is the same in all schedules of a class; so
//! the same moves are allowed from equal points. Reduction is left out for the same reason as with a
//! bound: the schedule it would keep may be one of those that are not allowed.
//!
//! `bound_done` is exact: no schedule costs less than the point it continues, so when the cheapest
//! pending one has k preemptions, all with fewer are covered.

use super::backtrack::{Point, accesses_of, preempts};
use super::fringe::{Fringe, Rank};
use super::history::History;
use super::invariants::check;
use super::optimal::count_preemptions;
use super::options::Options;
use super::priority::{Candidate, rank};
use super::progress::Progress;
use super::races::Races;
use super::recorder::Recorder;
use super::share::Shares;
use super::step::*;
use super::tree::{Edge, LineId, ROOT, Tree};
use super::visited::{self, Visited};
use super::wakeup::Source;

/// The state of the search.
#[derive(Debug)]
pub(super) struct Enumerate {
    pub(super) tree: Tree,
    pub(super) fringe: Fringe,
    current: LineId,
    path: Vec<LineId>,
    plan: Plan,
    recorder: Recorder,
    pub(super) history: History,
    races: Races,
    preemptions: Vec<u32>,
    pub(super) progress: Progress,
    /// Points that were expanded.
    pub(super) visited: Visited,
    /// Something was left out because of the bound.
    pub(super) cut: bool,
    /// Where reduction would have branched: step and thread.
    asked_for: Vec<(StepIndex, ThreadId)>,
    pub(super) shares: Shares,
}

impl Enumerate {
    pub(super) fn new() -> Self {
        let mut fringe = Fringe::new();
        fringe.push(Rank::default(), ROOT);
        let mut progress = Progress::default();
        progress.queue(0);
        Enumerate {
            tree: Tree::new(),
            fringe,
            current: ROOT,
            path: Vec::new(),
            plan: Plan::default(),
            recorder: Recorder::default(),
            history: History::default(),
            races: Races::default(),
            preemptions: Vec::new(),
            progress,
            visited: Visited::default(),
            cut: false,
            asked_for: Vec::new(),
            shares: Shares::default(),
        }
    }

    pub(super) fn next(&mut self) -> Option<(&Plan, &mut dyn Guide)> {
        self.tree.lines.drop_unused_ways();
        let line = self.fringe.pop()?;
        self.current = line;
        self.progress.start(self.tree.preemptions(line));
        self.tree.path(line, &mut self.path);
        self.tree.plan(&self.path, 0, 0, &mut self.plan);
        // The recorder wants to see every step.
        self.plan.prefix = 0;
        self.recorder.follow(&self.tree, &self.path, false);
        Some((&self.plan, &mut self.recorder))
    }

    pub(super) fn learn(&mut self, options: &mut Options, trace: &Trace) {
        self.tree.executed(self.current, &trace.events);
        self.preemptions.clear();
        count_preemptions(&trace.events, &mut self.preemptions);
        self.races.find(trace, &mut self.history, 0);
        let reversals = self.races.found();
        self.asked_for.clear();
        self.asked_for.extend(reversals.iter().map(|r| (r.at, r.choice.thread)));
        self.asked_for.sort_unstable();
        self.expand(options, trace);
        self.progress.finish();
        self.tree.settle(self.current);
        debug_assert_eq!(check(&self.tree, self.fringe.len(), &self.shares), Ok(()));
    }

    /// The execution of the plan given out last is not to be learnt from: the owner has to do it.
    pub(super) fn leave_last(&mut self) {
        self.progress.put_back(self.tree.preemptions(self.current));
        self.shares.left.push(self.current);
    }

    /// Branches at every new point.
    fn expand(&mut self, options: &mut Options, trace: &Trace) {
        let first_new = if self.current == ROOT {
            0
        } else {
            let start = self.tree.start(self.current);
            self.free_alternatives(options, trace, start);
            start + 1
        };
        for step in first_new..=trace.events.len() as StepIndex {
            if options.bound.is_some() || options.scoped {
                let point = self.point(options, trace, step);
                if self.may_branch(options, trace, &point, step)
                    && !self.visited.expand(&point, options.bound.is_some())
                {
                    return;
                }
            }
            self.free_alternatives(options, trace, step);
            self.others(options, trace, step);
        }
    }

    fn point(&self, options: &Options, trace: &Trace, step: StepIndex) -> visited::Point {
        let last = step.checked_sub(1).map(|before| trace.events[before as usize].thread);
        let pending = self.pending_at(trace, step).iter();
        let goes_on = pending.clone().find(|p| Some(p.thread) == last && p.enabled && !p.yields);
        visited::Point {
            class: self.history.signature_before(step),
            last,
            free: goes_on.is_none(),
            held: options.scoped && goes_on.is_some_and(|pending| pending.held),
            spent: options.bound.map_or(0, |_| self.preemptions[step as usize]),
        }
    }

    /// Whether something may branch off at a point. If not, it need not be remembered: to expand it again adds
    /// nothing. That is so where the last thread can go on and no preemption is left, if that thread has no choice.
    fn may_branch(&self, options: &Options, trace: &Trace, point: &visited::Point, step: StepIndex) -> bool {
        let Some(event) = trace.events.get(step as usize) else { return true };
        let goes_on = !point.free && point.last == Some(event.thread);
        let own = || self.pending_at(trace, step).iter().find(|pending| pending.thread == event.thread);
        !goes_on
            || options.bound.is_none_or(|bound| point.spent < bound)
            || alternatives(event) > 1
            || own().is_none_or(|own| own.costly_alts != BudgetKinds::NONE)
    }

    /// The other free alternatives of an executed step; asked for by its default one.
    fn free_alternatives(&mut self, options: &mut Options, trace: &Trace, step: StepIndex) {
        let Some(event) = trace.events.get(step as usize) else {
            return;
        };
        if event.alt == Alt::DEFAULT {
            for alt in (1..alternatives(event)).map(Alt) {
                self.add(options, trace, step, Choice { thread: event.thread, alt });
            }
        }
    }

    /// Everybody else who could have run, and everybody's costly alternatives.
    fn others(&mut self, options: &mut Options, trace: &Trace, step: StepIndex) {
        let done = trace.events.get(step as usize);
        let spent = spent(&trace.events[..step as usize]);
        let running = step.checked_sub(1).map(|before| trace.events[before as usize].thread);
        let all = self.pending_at(trace, step);
        let held = all.iter().find(|p| Some(p.thread) == running && p.enabled && !p.yields && p.held);
        let held = held.filter(|_| options.scoped).map(|held| held.thread);
        let count = all.len();
        for at in 0..count {
            let pending = self.pending_at(trace, step)[at];
            let thread = pending.thread;
            if held.is_some_and(|held| held != thread) {
                continue;
            }
            if pending.enabled && done.is_some_and(|event| event.thread != thread) {
                self.add(options, trace, step, Choice { thread, alt: Alt::DEFAULT });
            }
            for alt in pending.costly_alts.alternatives() {
                let choice = Choice { thread, alt };
                let affordable = alt.budget().is_none_or(|kind| options.budget.allows(kind, spent));
                if affordable && done.is_none_or(|event| event.choice() != choice) {
                    self.add(options, trace, step, choice);
                }
            }
        }
    }

    fn pending_at<'a>(&'a self, trace: &'a Trace, step: StepIndex) -> &'a [Pending] {
        if (step as usize) < trace.events.len() { self.recorder.pending(step) } else { &trace.pending }
    }

    fn add(&mut self, options: &mut Options, trace: &Trace, step: StepIndex, choice: Choice) {
        let pending = self.pending_at(trace, step);
        let preempts = preempts(trace, step, pending, choice.thread);
        let preemptions = self.preemptions[step as usize] + u32::from(preempts);
        if options.bound.is_some_and(|bound| preemptions > bound) {
            self.cut = true;
            return;
        }
        let edge = Edge::new(choice, &accesses_of(choice.thread, pending));
        let source = Source::new(options, trace, &self.history, &self.path);
        let point = Point::at(&self.tree, source, step);
        let line = self.tree.twig((point.line, step), point.own, edge, preemptions);
        let candidate = Candidate {
            trace,
            step,
            choice,
            preemptions,
            redundant: self.asked_for.binary_search(&(step, choice.thread)).is_err(),
            conservative: false,
            asleep: preempts && self.recorder.asleep(step, choice.thread),
        };
        let rank = rank(options, &candidate);
        if self.shares.takes(&mut self.tree, line, rank) {
            self.fringe.push(rank, line);
            self.progress.queue(preemptions);
        }
    }

    /// All schedules with at most so many preemptions are done; `under_way`: what was given out last is not.
    pub(super) fn bound_done(&self, under_way: bool) -> Option<u32> {
        let under_way = under_way.then(|| self.tree.preemptions(self.current));
        match self.progress.cheapest().into_iter().chain(under_way).min() {
            Some(cheapest) => cheapest.checked_sub(1),
            None => self.progress.dearest(),
        }
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn pending(&self) -> usize {
        self.fringe.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + self.fringe.bytes() + self.visited.bytes()
    }
}

/// Free alternatives of a step. Here those count that a reduced search does without: they depend on the state at the step
/// alone, as all that is done at a point must, and they may spare a preemption.
fn alternatives(event: &Event) -> u16 {
    event.free_alts.max(if event.could_wait { 2 } else { 0 })
}

/// Costly alternatives taken, by kind.
fn spent(events: &[Event]) -> [u16; BudgetKinds::COUNT] {
    let mut spent = [0; BudgetKinds::COUNT];
    for kind in events.iter().filter_map(Event::cost) {
        spent[kind as usize] += 1;
    }
    spent
}
