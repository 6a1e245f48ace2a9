//! What the caller may ask of a search.

use super::priority::Priority;
use super::route::Route;
use super::seeds::Way;
use super::step::{Budget, Places};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// How executions that cannot show anything new are avoided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// One execution per happens-before class.
    #[default]
    Optimal,
    /// Source sets and sleep sets.
    Source,
    /// Backtracking points as in Flanagan and Godefroid 2005, and sleep sets.
    Classic,
    /// Every schedule.
    None,
}

/// What to search and how.
pub struct Options {
    /// Priority functions, most important first. None of them: depth-first.
    pub priority: Vec<Priority>,
    /// Only schedules with at most so many preemptions.
    pub bound: Option<u32>,
    /// How to avoid repetition; a bounded search has its own way.
    pub reduction: Reduction,
    /// How many costly alternatives one execution may take.
    pub budget: Budget,
    /// Seed of the random runs.
    pub seed: u64,
    /// How many random runs to mix in at most.
    pub seed_runs: u32,
    /// Executions before the first of them.
    pub seed_after: u32,
    /// Other executions for each of them.
    pub seed_every: u32,
    /// Nothing but random runs of this kind, after the first execution: covers nothing, for comparison.
    pub sample: Option<Way>,
    /// How many executions of an unbounded search may be steered to what was predicted (`hunt.rs`).
    pub hunts: u32,
    /// Nothing is steered: what is predicted is all that is wanted.
    pub predict_only: bool,
    /// Executions of an unbounded search for each one that covers the schedules with few preemptions
    /// first (`levels.rs`); 0: none of those.
    pub level_every: u32,
    /// Executions before the first of them.
    pub level_after: u32,
    /// Threads are not to be preempted where the model says so ([`super::step::Pending::held`]).
    pub scoped: bool,
    /// What `method`, `var` and `changed` need to know.
    pub places: Option<Rc<dyn Places>>,
    /// Where executions are to go first; what `seq` and `distance` need to know.
    pub route: Option<Rc<RefCell<Route>>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            priority: vec![Priority::ModifiedDpor, Priority::Preemptions],
            bound: None,
            reduction: Reduction::Optimal,
            budget: Budget::default(),
            seed: 0,
            seed_runs: 0,
            seed_after: 500,
            seed_every: 19,
            sample: None,
            hunts: 0,
            predict_only: false,
            level_every: 0,
            level_after: 1000,
            scoped: false,
            places: None,
            route: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("priority", &self.priority)
            .field("bound", &self.bound)
            .field("reduction", &self.reduction)
            .field("budget", &self.budget)
            .field("seed", &self.seed)
            .field("seed_runs", &self.seed_runs)
            .finish_non_exhaustive()
    }
}
