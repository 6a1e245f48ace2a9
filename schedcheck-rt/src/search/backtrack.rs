//! Source and classic reduction, best-first.
//!
//! *Classic* (Flanagan, Godefroid 2005; GAMBIT Figure 4): for a race, run the second thread before
//! the first one, or everybody if it is not enabled there. *Source sets* (Abdulla et al. 2014): of
//! the threads that could begin the reversed part, one is enough, and none is needed if one of
//! them is already a branch. Both keep sleep sets ([`super::recorder`]), frozen when a branch is
//! created (rule R1), which makes them sound in any order of exploration. Executions in which only
//! sleepers remain are stopped; these are the ones the optimal search avoids.
//!
//! The classic algorithm knows no alternatives that need not happen, and what it adds may not begin a reversed part whose
//! first step is one of them. There the rule of source sets applies as well. So the classic search always has more branches
//! than one by source sets needs, which is why it misses nothing.

use super::fringe::{Fringe, Rank};
use super::history::History;
use super::invariants::check;
use super::optimal::count_preemptions;
use super::options::{Options, Reduction};
use super::priority::{Candidate, rank};
use super::races::{Races, Reversal};
use super::recorder::Recorder;
use super::share::Shares;
use super::step::*;
use super::tree::{Edge, LineId, ROOT, Tree};
use super::wakeup::{Inserter, Source};

/// Whether that is possible where these operations are pending: no execution begins there with anything else.
fn could_begin(pending: &[Pending], choice: Choice) -> bool {
    let its = pending.iter().find(|pending| pending.thread == choice.thread);
    its.is_some_and(|its| match choice.alt.budget() {
        Some(kind) => its.costly_alts.contains(kind),
        None => its.enabled,
    })
}

/// The state of the search.
#[derive(Debug)]
pub(super) struct Backtrack {
    tree: Tree,
    fringe: Fringe,
    current: LineId,
    path: Vec<LineId>,
    plan: Plan,
    recorder: Recorder,
    pub(super) history: History,
    races: Races,
    inserter: Inserter,
    preemptions: Vec<u32>,
    /// The most preemptions that an execution had.
    pub(super) dearest: Option<u32>,
    initials: Vec<Choice>,
    wanted: Vec<Choice>,
}

impl Backtrack {
    pub(super) fn new() -> Self {
        let mut fringe = Fringe::new();
        fringe.push(Rank::default(), ROOT);
        Backtrack {
            tree: Tree::new(),
            fringe,
            current: ROOT,
            path: Vec::new(),
            plan: Plan::default(),
            recorder: Recorder::default(),
            history: History::default(),
            races: Races::default(),
            inserter: Inserter::default(),
            preemptions: Vec::new(),
            dearest: None,
            initials: Vec::new(),
            wanted: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<(&Plan, &mut dyn Guide)> {
        self.tree.lines.drop_unused_ways();
        self.current = self.fringe.pop()?;
        self.tree.path(self.current, &mut self.path);
        self.tree.plan(&self.path, 0, 0, &mut self.plan);
        // The recorder wants to see every step.
        self.plan.prefix = 0;
        self.recorder.follow(&self.tree, &self.path, true);
        Some((&self.plan, &mut self.recorder))
    }

    pub(super) fn learn(&mut self, options: &mut Options, trace: &Trace) {
        self.tree.executed(self.current, &trace.events);
        self.preemptions.clear();
        count_preemptions(&trace.events, &mut self.preemptions);
        self.dearest = self.dearest.max(self.preemptions.last().copied());
        let mut races = std::mem::take(&mut self.races);
        races.find(trace, &mut self.history, 0);
        for reversal in races.found() {
            let source = Source::new(options, trace, &self.history, &self.path);
            self.initials.clear();
            if !self.inserter.initials(source, reversal, &mut self.initials) {
                continue;
            }
            // A poll that goes on although something came reads of what another thread does that is blocked by a third.
            let pending = self.recorder.pending(reversal.at);
            self.initials.retain(|choice| pending.is_empty() || could_begin(pending, *choice));
            if self.initials.is_empty() {
                continue;
            }
            let point = Point::at(&self.tree, source, reversal.at);
            let known = |choice: Choice| {
                let optional = choice.alt.budget().is_some();
                !optional && self.recorder.asleep(reversal.at, choice.thread)
                    || point.own.is_some_and(|own| own.choice() == choice)
                    || self
                        .tree
                        .children_at(point.line, reversal.at)
                        .any(|child| self.tree.chained(child, reversal.at).choice() == choice)
            };
            self.wanted.clear();
            if options.reduction == Reduction::Classic {
                classic(&self.recorder, reversal, &self.initials, &mut self.wanted);
                self.wanted.retain(|&choice| !known(choice));
            }
            if !self.initials.iter().any(|choice| self.wanted.contains(choice) || known(*choice)) {
                // Of several that would do, the reversing thread itself says most.
                let thread = reversal.choice.thread;
                let best = self.initials.iter().find(|choice| choice.thread == thread);
                self.wanted.extend(best.or(self.initials.first()));
            }
            for at in 0..self.wanted.len() {
                let choice = self.wanted[at];
                self.add(options, trace, reversal, choice);
            }
        }
        self.races = races;
        self.tree.settle(self.current);
        debug_assert_eq!(check(&self.tree, self.fringe.len(), &Shares::default()), Ok(()));
    }

    fn add(&mut self, options: &mut Options, trace: &Trace, reversal: &Reversal, choice: Choice) {
        let step = reversal.at;
        let source = Source::new(options, trace, &self.history, &self.path);
        let point = Point::at(&self.tree, source, step);
        let pending = self.recorder.pending(step);
        let pending = if pending.is_empty() { &trace.pending } else { pending };
        let preempts = preempts(trace, step, pending, choice.thread);
        let preemptions = self.preemptions[step as usize] + u32::from(preempts);
        let edge = Edge::new(choice, &accesses_of(choice.thread, pending));
        let line = self.tree.twig((point.line, step), point.own, edge, preemptions);
        let candidate = Candidate {
            trace,
            step,
            choice,
            preemptions,
            redundant: false,
            conservative: choice != reversal.choice,
            asleep: false,
        };
        let rank = rank(options, &candidate);
        self.fringe.push(rank, line);
    }

    pub(super) fn blocked(&self) -> bool {
        self.recorder.blocked
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn pending(&self) -> usize {
        self.fringe.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + self.fringe.bytes()
    }
}

/// The second thread of the race if it can run there, else everybody.
///
/// Everybody also if it sleeps there without being one that could begin: then its branch elsewhere does not cover this
/// reversal, and no execution below here would find who has to come before it.
///
/// A costly alternative of the second thread is taken only where it could begin: it may have other steps to do before.
fn classic(recorder: &Recorder, reversal: &Reversal, initials: &[Choice], wanted: &mut Vec<Choice>) {
    let pending = recorder.pending(reversal.at);
    let thread = reversal.choice.thread;
    let at_the_end = pending.is_empty();
    let covered =
        !recorder.asleep(reversal.at, thread) || initials.iter().any(|choice| choice.thread == thread);
    let possible = pending.iter().any(|p| p.thread == thread && p.enabled);
    let elsewhere = reversal.choice.alt.budget().is_some() && !initials.contains(&reversal.choice);
    if at_the_end || possible && covered {
        let alt = if elsewhere { Alt::DEFAULT } else { reversal.choice.alt };
        wanted.push(Choice { thread, alt });
    } else {
        let enabled = pending.iter().filter(|pending| pending.enabled);
        wanted.extend(enabled.map(|p| Choice { thread: p.thread, alt: Alt::DEFAULT }));
    }
}

/// Whether choosing `thread` at `step` interrupts one that could go on and wants to.
pub(super) fn preempts(trace: &Trace, step: StepIndex, pending: &[Pending], thread: ThreadId) -> bool {
    let running = step.checked_sub(1).map(|before| trace.events[before as usize].thread);
    running.is_some_and(|running| {
        let goes_on = |p: &Pending| p.thread == running && p.enabled && !p.yields;
        running != thread && pending.iter().any(goes_on)
    })
}

/// What `thread` is about to access.
pub(super) fn accesses_of(thread: ThreadId, pending: &[Pending]) -> [Access; 2] {
    let next = pending.iter().find(|pending| pending.thread == thread);
    next.map_or([Access::NONE; 2], |pending| pending.accesses)
}

/// A point of the tree on the path of the last execution.
pub(super) struct Point {
    pub(super) line: LineId,
    /// What the line itself does there.
    pub(super) own: Option<Edge>,
}

impl Point {
    pub(super) fn at(tree: &Tree, source: Source<'_>, step: StepIndex) -> Point {
        let depth = source.path[1..].partition_point(|&line| tree.start(line) < step);
        let leaves = source.path.get(depth + 1).filter(|&&next| tree.start(next) == step);
        let own = match leaves {
            Some(&next) => tree.own(next),
            None => source.trace.events.get(step as usize).map(Edge::of),
        };
        Point { line: source.path[depth], own }
    }
}
