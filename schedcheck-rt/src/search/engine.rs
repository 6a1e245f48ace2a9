//! The search as its caller sees it: ask for an order, execute it, report the trace.

use super::backtrack::Backtrack;
use super::dive::Dived;
use super::enumerate::Enumerate;
use super::history::mix;
use super::hunt::{Hunted, Hunter};
use super::levels::Levels;
use super::optimal::Optimal;
use super::options::{Options, Reduction};
use super::progress::{Estimate, Level};
use super::step::*;
use rustc_hash::FxHashSet;
use std::fmt;

/// What to execute next.
pub struct Order<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Who decides after the plan's prefix, if default behaviour is not wanted.
    pub guide: Option<&'a mut dyn Guide>,
    /// Whether the places of steps are to be numbered ([`Event::site`]): something is being predicted.
    pub places: bool,
}

impl fmt::Debug for Order<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order").field("plan", self.plan).finish_non_exhaustive()
    }
}

/// What an execution added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// Signature of its happens-before class.
    pub signature: u64,
    /// No earlier execution was of this class.
    pub new_trace: bool,
    /// The first step that is not as in an earlier execution that had to begin in the same way:
    /// something decides what the model does that is not in its plans.
    pub differs_at: Option<StepIndex>,
}

/// Where the search stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Executions so far.
    pub executions: u64,
    /// Different happens-before classes among them.
    pub traces: u64,
    /// Executions that could not follow their plan.
    pub diverged: u64,
    /// Known executions still to be done.
    pub pending: usize,
    /// Most of them at any time.
    pub peak_pending: usize,
    /// Bytes that the tree of pending executions takes now.
    pub bytes: usize,
    /// Most bytes that the tree of pending executions took at any time. To count classes takes 9 more
    /// for each class.
    pub peak_bytes: usize,
    /// Random runs among the executions.
    pub random: u64,
    /// Executions that were steered to what was predicted.
    pub hunts: u64,
    /// Classes that two processes executed, because neither could know of the other: in a bounded search, or
    /// in parts of one on several machines.
    pub twice: u64,
    /// Executions stopped because only sleeping threads were left.
    pub blocked: u64,
    /// All schedules with at most so many preemptions are covered. In a share: were when it was given.
    pub bound_done: Option<u32>,
    /// How many executions there will have been in the end, roughly; `None` while the search
    /// grows too fast to tell.
    pub estimate: Option<Estimate>,
    /// Executions by number of preemptions of their schedule.
    pub levels: Vec<Level>,
    /// Nothing is left to do.
    pub complete: bool,
}

/// A search over the schedules of one test.
#[derive(Debug)]
pub struct Search {
    pub(super) options: Options,
    pub(super) strategy: Strategy,
    pub(super) levels: Levels,
    pub(super) stats: Stats,
    pub(super) seen: FxHashSet<u64>,
    /// Every execution counts as a class of its own: they are no longer told apart.
    pub(super) counts_all: bool,
    /// Stands for the set of classes, whatever their order.
    pub(super) trace_set: u64,
    /// In a share: classes that nobody had seen before.
    pub(super) newly_seen: Option<Vec<u64>>,
    /// In a share: up to how many preemptions everything was covered when it was given. It cannot tell more: others
    /// have the rest.
    pub(super) done_before: Option<u32>,
    /// An order was given out, and its execution is not known yet.
    pub(super) under_way: bool,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub(super) enum Strategy {
    Optimal(Optimal),
    Backtrack(Backtrack),
    Enumerate(Enumerate),
}

impl Search {
    /// A search that has run nothing yet.
    pub fn new(options: Options) -> Self {
        let strategy = match (options.bound, options.reduction) {
            _ if options.scoped => Strategy::Enumerate(Enumerate::new()),
            (Some(_), _) | (None, Reduction::None) => Strategy::Enumerate(Enumerate::new()),
            (None, Reduction::Optimal) => Strategy::Optimal(Optimal::new(&options)),
            (None, Reduction::Source | Reduction::Classic) => Strategy::Backtrack(Backtrack::new()),
        };
        let levels = Levels::beside(&options);
        Search {
            options,
            strategy,
            levels,
            stats: Stats::default(),
            seen: FxHashSet::default(),
            newly_seen: None,
            done_before: None,
            under_way: false,
            counts_all: false,
            trace_set: 0,
        }
    }

    /// What to execute next; `None` when everything asked for is covered.
    #[expect(clippy::should_implement_trait, reason = "an order borrows from the search")]
    pub fn next(&mut self) -> Option<Order<'_>> {
        if self.wants_level() && self.levels.advance() {
            let order = self.levels.next();
            self.under_way = order.is_some();
            return order;
        }
        let order = match &mut self.strategy {
            Strategy::Optimal(optimal) => optimal.next(&self.options),
            Strategy::Backtrack(backtrack) => {
                backtrack.next().map(|(plan, guide)| Order { plan, guide: Some(guide), places: false })
            }
            Strategy::Enumerate(enumerate) => {
                enumerate.next().map(|(plan, guide)| Order { plan, guide: Some(guide), places: false })
            }
        };
        self.under_way = order.is_some();
        order
    }

    fn wants_level(&self) -> bool {
        if self.newly_seen.is_some() {
            // A share counts its own executions only, and levels are for the owner to do.
            return false;
        }
        let others = self.stats.executions - u64::from(self.levels.executions);
        let unbounded = matches!(&self.strategy, Strategy::Optimal(optimal) if optimal.pending() > 0);
        unbounded && self.levels.is_due(others, &self.options)
    }

    /// Takes in the execution of the last order.
    pub fn learn(&mut self, trace: &Trace) -> Learned {
        let options = &mut self.options;
        if let Some(route) = &options.route {
            route.borrow_mut().learn(trace);
        }
        let mut differs_at = None;
        let (signature, blocked) = match &mut self.strategy {
            _ if self.levels.running => (self.levels.learn(trace), false),
            Strategy::Optimal(optimal) => {
                differs_at = optimal.learn(options, trace);
                (optimal.history.signature(), false)
            }
            Strategy::Backtrack(backtrack) => {
                backtrack.learn(options, trace);
                (backtrack.history.signature(), backtrack.blocked())
            }
            Strategy::Enumerate(enumerate) => {
                enumerate.learn(options, trace);
                (enumerate.history.signature(), false)
            }
        };
        self.under_way = false;
        self.stats.executions += 1;
        self.stats.diverged += u64::from(matches!(trace.end, End::Diverged(_)));
        self.stats.blocked += u64::from(blocked);
        let whole = !blocked && trace.end != End::Stopped;
        let new_trace = whole && (self.counts_all || self.seen.insert(signature));
        self.stats.traces += u64::from(new_trace);
        if new_trace {
            self.trace_set = self.trace_set.wrapping_add(mix(signature));
        }
        if new_trace && let Some(newly_seen) = &mut self.newly_seen {
            newly_seen.push(signature);
        }
        let (pending, bytes) = self.size();
        self.stats.peak_pending = self.stats.peak_pending.max(pending);
        self.stats.peak_bytes = self.stats.peak_bytes.max(bytes);
        Learned { signature, new_trace, differs_at }
    }

    fn hunter(&self) -> Option<&Hunter> {
        match &self.strategy {
            Strategy::Optimal(optimal) => Some(&optimal.hunter),
            Strategy::Backtrack(_) | Strategy::Enumerate(_) => None,
        }
    }

    /// What became of the sequence that was asked for.
    pub fn dived(&self) -> Dived {
        match &self.strategy {
            Strategy::Optimal(optimal) => optimal.diver.so_far,
            Strategy::Backtrack(_) | Strategy::Enumerate(_) => Dived::default(),
        }
    }

    /// How many places of it the execution of the last order has come by, if that was to follow it and has not been
    /// learnt from yet.
    pub fn diving(&self) -> Option<usize> {
        match &self.strategy {
            Strategy::Optimal(optimal) if optimal.diver.is_diving() => Some(optimal.diver.furthest_now()),
            _ => None,
        }
    }

    /// What was predicted, and how often it was hunted.
    pub fn predictions(&self) -> &[Hunted] {
        self.hunter().map_or(&[], Hunter::known)
    }

    /// Which of [`Search::predictions`] the last order was to show.
    pub fn hunted(&self) -> Option<usize> {
        self.hunter().and_then(Hunter::current)
    }

    pub(super) fn size(&self) -> (usize, usize) {
        match &self.strategy {
            Strategy::Optimal(optimal) => (optimal.pending(), optimal.bytes()),
            Strategy::Backtrack(backtrack) => (backtrack.pending(), backtrack.bytes()),
            Strategy::Enumerate(enumerate) => (enumerate.pending(), enumerate.bytes()),
        }
    }

    /// Bytes of [`Stats::bytes`] that are no part of the execution tree: the points that a bounded search remembers.
    pub fn remembered_bytes(&self) -> usize {
        match &self.strategy {
            Strategy::Enumerate(enumerate) => enumerate.visited.bytes(),
            Strategy::Optimal(_) | Strategy::Backtrack(_) => 0,
        }
    }

    /// How many nodes a tree of the same pending executions would have with one node for each step.
    pub fn step_nodes(&self) -> usize {
        match &self.strategy {
            Strategy::Optimal(optimal) => optimal.tree().step_nodes(),
            Strategy::Backtrack(backtrack) => backtrack.tree().step_nodes(),
            Strategy::Enumerate(enumerate) => enumerate.tree().step_nodes(),
        }
    }

    /// What [`Stats::bound_done`] is; `complete`: nothing is left to do.
    fn bound_done(&self, complete: bool) -> Option<u32> {
        if self.newly_seen.is_some() {
            return self.done_before;
        }
        let (so_far, dearest) = match &self.strategy {
            Strategy::Optimal(optimal) => (self.levels.done, optimal.progress.dearest()),
            Strategy::Backtrack(backtrack) => (None, backtrack.dearest),
            Strategy::Enumerate(enumerate) => {
                // Where points are expanded only once, the first schedule to a point need not be the
                // one with the fewest preemptions.
                let counts = self.options.bound.is_some() || !self.options.scoped;
                let so_far = enumerate.bound_done(self.under_way).filter(|_| counts);
                (so_far, enumerate.progress.dearest())
            }
        };
        // There need not be schedules with as many preemptions as the bound allows.
        if complete { self.options.bound.or(so_far.max(dearest)) } else { so_far }
    }

    /// Where the search stands.
    pub fn stats(&self) -> Stats {
        let (pending, bytes) = self.size();
        let pending = pending + self.spilled_count();
        let progress = match &self.strategy {
            Strategy::Optimal(optimal) => Some(&optimal.progress),
            Strategy::Backtrack(_) => None,
            Strategy::Enumerate(enumerate) => Some(&enumerate.progress),
        };
        let random = match &self.strategy {
            Strategy::Optimal(optimal) => u64::from(optimal.seeds_run),
            Strategy::Backtrack(_) | Strategy::Enumerate(_) => 0,
        };
        let hunts = self.hunter().map_or(0, |hunter| u64::from(hunter.done));
        let complete = pending == 0 && !self.is_shared() && !self.under_way;
        Stats {
            random,
            hunts,
            pending,
            bytes,
            complete,
            bound_done: self.bound_done(complete),
            estimate: progress.and_then(|progress| progress.estimate(pending)),
            levels: progress.map(|progress| progress.levels.clone()).unwrap_or_default(),
            ..self.stats.clone()
        }
    }
}
