//! The search over a real body, to the end, in any order.

use super::exhaust::exhaust;
use super::{alone, report, result_of};
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::search::step::{
    Alt, Budget, Choice, Decision, End, Event, Guide, Model, Pending, Plan, StepIndex, ThreadId, Trace,
};
use schedcheck_rt::search::{Options, Reduction, Search, Stats, priority};
use std::collections::BTreeSet;

/// Orders of exploration that must all find the same.
pub(crate) const ORDERS: [&str; 7] = ["dfs", "bfs", "mdpor,pb", "pb", "rand:1", "rand:2", "rand:3"];

/// What a search amounts to.
#[derive(Debug)]
pub(crate) struct Explored {
    /// Every result that was reported, or the word for a failure.
    pub(crate) results: BTreeSet<String>,
    /// Executions that were given up: they showed nothing.
    pub(crate) stopped: u64,
    pub(crate) stats: Stats,
}

/// Options of a search by these priorities.
pub(crate) fn by(priorities: &str, budget: Budget) -> Options {
    let priority = priority::parse(priorities).expect("the test names priorities that exist");
    Options { priority, budget, ..Options::default() }
}

/// Searches to the end, failures or not.
pub(crate) fn explore(body: fn() -> TestResult, options: Options) -> Explored {
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let mut search = Search::new(options);
    let mut trace = Trace::default();
    let (mut results, mut stopped) = (BTreeSet::new(), 0);
    while let Some(order) = search.next() {
        report("nothing");
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        if trace.end == End::Stopped {
            stopped += 1;
            continue;
        }
        results.insert(result_of(&execution));
    }
    Explored { results, stopped, stats: search.stats() }
}

/// Takes the given threads, then always the first; notes who else there was.
#[derive(Default)]
struct Follow {
    threads: Vec<ThreadId>,
    enabled: Vec<Vec<ThreadId>>,
}

impl Guide for Follow {
    fn choose(&mut self, step: StepIndex, _: Option<ThreadId>, pending: &[Pending]) -> Decision {
        let enabled = pending.iter().filter(|op| op.enabled).map(|op| op.thread);
        self.enabled.push(enabled.collect());
        if self.enabled[step as usize].is_empty() {
            // What is forced then is no choice of a thread.
            return Decision::Default;
        }
        match self.threads.get(step as usize).or(self.enabled[step as usize].first()) {
            Some(&thread) => Decision::Take(Choice { thread, alt: Alt::DEFAULT }),
            None => Decision::Default,
        }
    }

    fn executed(&mut self, _: StepIndex, _: &Event) {}
}

/// The results of every order of a body without alternatives, no claim about commuting steps made.
pub(crate) fn every_order(body: fn() -> TestResult) -> BTreeSet<String> {
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let (mut results, mut trace) = (BTreeSet::new(), Trace::default());
    let mut guide = Follow::default();
    loop {
        guide.enabled.clear();
        report("nothing");
        execution.run(&Plan::default(), Some(&mut guide), &mut trace);
        results.insert(result_of(&execution));
        guide.threads = trace.events.iter().map(|event| event.thread).collect();
        loop {
            let Some(last) = guide.threads.pop() else { return results };
            let enabled = &guide.enabled[guide.threads.len()];
            let at = enabled.iter().position(|&thread| thread == last);
            if let Some(&other) = at.and_then(|at| enabled.get(at + 1)) {
                guide.threads.push(other);
                break;
            }
        }
    }
}

/// Compares with a search that leaves nothing out.
pub(crate) fn agree_with_all(name: &str, body: fn() -> TestResult, budget: Budget) {
    let all = Options { reduction: Reduction::None, ..by("dfs", budget) };
    let truth = explore(body, all).results;
    for order in ORDERS {
        for reduction in [Reduction::Optimal, Reduction::Source] {
            let found = explore(body, Options { reduction, ..by(order, budget) });
            assert_eq!(found.results, truth, "{name} by {order}, {reduction:?}: {found:?}");
            assert_eq!(found.stats.diverged, 0, "{name} by {order}, {reduction:?}");
        }
    }
}

/// What all schedules of `body` report, which the search finds as well.
pub(crate) fn outcomes(name: &str, body: fn() -> TestResult, budget: Budget) -> BTreeSet<String> {
    agree_with_all(name, body, budget);
    explore(body, by("mdpor,pb", budget)).results
}

/// What all schedules of a body without alternatives report, which every way to search finds; and in how many executions
/// the default one does.
pub(crate) fn found_by_every_search(name: &str, body: fn() -> TestResult) -> (Vec<String>, u64) {
    agree_with_all(name, body, Budget::NONE);
    let all = exhaust(body).results;
    let found = explore(body, by("mdpor,pb", Budget::NONE));
    assert_eq!(found.results, all, "{name}");
    (all.into_iter().collect(), found.stats.executions)
}

/// Outcomes that are expected.
pub(crate) fn set(expected: &[&str]) -> BTreeSet<String> {
    expected.iter().map(|text| (*text).to_owned()).collect()
}
