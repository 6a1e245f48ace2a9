//! The search as its caller sees it: ask for an order, execute it, report the trace.

use super::optimal::Optimal;
use super::options::Options;
use super::step::*;
use rustc_hash::FxHashSet;

/// What to execute next.
pub struct Order<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Who decides after the plan's prefix, if default behaviour is not wanted.
    pub guide: Option<&'a mut dyn Guide>,
}

/// What an execution added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// Signature of its happens-before class.
    pub signature: u64,
    /// No earlier execution was of this class.
    pub new_trace: bool,
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
    /// Most bytes the pending executions took at any time.
    pub peak_bytes: usize,
    /// Nothing is left to do.
    pub complete: bool,
}

/// A search over the schedules of one test.
#[derive(Debug)]
pub struct Search {
    options: Options,
    optimal: Optimal,
    stats: Stats,
    seen: FxHashSet<u64>,
}

impl Search {
    /// A search that has run nothing yet.
    pub fn new(options: Options) -> Self {
        Search { options, optimal: Optimal::new(), stats: Stats::default(), seen: FxHashSet::default() }
    }

    /// What to execute next; `None` when everything asked for is covered.
    #[expect(
        clippy::should_implement_trait,
        reason = "an order borrows from the search"
    )]
    pub fn next(&mut self) -> Option<Order<'_>> {
        let plan = self.optimal.next()?;
        Some(Order { plan, guide: None })
    }

    /// Takes in the execution of the last order.
    pub fn learn(&mut self, trace: &Trace) -> Learned {
        self.optimal.learn(&mut self.options, trace);
        self.stats.executions += 1;
        self.stats.diverged += u64::from(matches!(trace.end, End::Diverged(_)));
        let signature = self.optimal.history.signature();
        let new_trace = self.seen.insert(signature);
        self.stats.traces += u64::from(new_trace);
        Learned {
            signature,
            new_trace,
        }
    }

    /// Where the search stands.
    pub fn stats(&self) -> Stats {
        Stats {
            pending: self.optimal.pending(),
            peak_pending: self.optimal.peak_pending,
            peak_bytes: self.optimal.peak_bytes,
            complete: self.optimal.pending() == 0,
            ..self.stats.clone()
        }
    }
}
