//! Beside an unbounded search: all schedules with no preemption, then with one, and so on.
//!
//! The unbounded search cannot tell what it has covered before it is done ([`super::optimal`] says
//! why). A bounded search can, exactly. So a small share of the executions belongs to one: it covers
//! all classes that have a schedule with at most 0 preemptions, then begins anew with 1, and so on.
//! The number that it has finished last is `bound_done`, by the argument in [`super::enumerate`],
//! whatever the unbounded search does meanwhile. Classes that both execute are executed twice; that
//! is the price, and the share bounds it. Starting anew for each number keeps what is pending small:
//! there are many more schedules with k + 1 preemptions than with k, so it costs little.

use super::engine::Order;
use super::enumerate::Enumerate;
use super::options::Options;
use super::priority::Priority;
use super::step::Trace;

/// Pending executions beyond which it gives up: the memory is better spent on the search it goes
/// along with.
const MOST: usize = 100_000;

/// The bounded search that goes along.
#[derive(Debug)]
pub(super) struct Levels {
    options: Options,
    search: Enumerate,
    /// Schedules with at most so many preemptions are covered.
    pub(super) done: Option<u32>,
    pub(super) executions: u32,
    /// The order given out last was of this search.
    pub(super) running: bool,
    /// The program has no schedule with more preemptions than the level that is done, or there are
    /// too many of the next one.
    pub(super) over: bool,
}

impl Levels {
    /// For the same program as a search with `options`.
    pub(super) fn beside(options: &Options) -> Levels {
        let (budget, bound) = (options.budget, Some(0));
        let priority = vec![Priority::Dpor];
        Levels {
            options: Options { priority, budget, bound, ..Options::default() },
            search: Enumerate::new(),
            done: None,
            executions: 0,
            running: false,
            over: false,
        }
    }

    /// Goes on where another one, of which this is known, was.
    pub(super) fn resume(&mut self, done: Option<u32>, executions: u32, over: bool) {
        (self.done, self.executions, self.over) = (done, executions, over);
        self.options.bound = Some(done.map_or(0, |done| done + 1));
    }

    /// Whether it is its turn, after so many executions of the other search.
    pub(super) fn is_due(&self, others: u64, options: &Options) -> bool {
        let share = u64::from(options.level_every);
        let after = u64::from(options.level_after);
        share > 0 && !self.over && others.saturating_sub(after) / share > u64::from(self.executions)
    }

    /// Goes on to the next level if one is finished; false if there is nothing left to do.
    pub(super) fn advance(&mut self) -> bool {
        if self.search.pending() == 0 {
            self.done = self.options.bound;
            self.over = !self.search.cut;
            self.options.bound = self.options.bound.map(|bound| bound + 1);
            self.search = Enumerate::new();
        } else if self.search.pending() > MOST {
            self.over = true;
            self.search = Enumerate::new();
        }
        !self.over
    }

    /// The next execution.
    pub(super) fn next(&mut self) -> Option<Order<'_>> {
        self.executions += 1;
        self.running = true;
        let (plan, guide) = self.search.next()?;
        Some(Order { plan, guide: Some(guide), places: false })
    }

    /// Takes in the execution of its last order; the signature of its class.
    pub(super) fn learn(&mut self, trace: &Trace) -> u64 {
        self.running = false;
        self.search.learn(&mut self.options, trace);
        self.search.history.signature()
    }
}
