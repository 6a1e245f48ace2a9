//! Random programs over the real facades: every reduction and every bound finds what all schedules show.
//!
//! The property tests of the search (`search/tests.rs`) draw programs for a toy model. Here the operations, what
//! they depend on, and who enables whom, are those of the primitives that users call.

mod draw;
mod lives;
mod notes;
mod polls;
mod program;
mod shares;

use crate::support::explore::by;
use crate::support::{alone, show};
use draw::{choose, chosen};
use notes::notes;
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::search::step::{Budget, End, Model, Trace};
use schedcheck_rt::search::{Options, Reduction, Search};
use std::collections::BTreeMap;
use std::ops::Range;

/// A sort of programs, by seeds.
#[derive(Clone, Copy)]
struct Programs {
    body: fn() -> TestResult,
    describe: fn(u64) -> String,
    /// Programs with more schedules than that are not looked at.
    most: u64,
}

const WORKING: Programs = Programs { body: program::body, describe: program::describe, most: 1_000 };
const ENDING: Programs = Programs { body: lives::body, describe: lives::describe, most: 1_000 };
const POLLING: Programs = Programs { body: polls::body, describe: polls::describe, most: 4_000 };
const HASTY: Programs = Programs { body: polls::hasty, ..POLLING };
const SHARING: Programs = Programs { body: shares::body, describe: shares::describe, most: 4_000 };

/// Every end that a search met, and the fewest preemptions that led there.
type Ends = BTreeMap<String, u32>;

/// `None` if it takes too many executions.
fn ends(programs: Programs, options: Options) -> Option<Ends> {
    let mut execution = Execution::new(Test { body: programs.body, should_panic: None }, 1_000);
    let (mut search, mut trace, mut ends) = (Search::new(options), Trace::default(), Ends::new());
    while let Some(order) = search.next() {
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        let told =
            || format!("{}: {:?}\n{}", (programs.describe)(chosen()), execution.outcome(), show(&trace));
        assert!(!matches!(trace.end, End::Diverged(_)), "{}", told());
        if trace.end != End::Stopped {
            let preemptions = preemptions(&trace);
            let fewest =
                ends.entry(format!("{} {}", execution.outcome().word(), notes())).or_insert(preemptions);
            *fewest = preemptions.min(*fewest);
        }
        if search.stats().executions > programs.most {
            return None;
        }
    }
    Some(ends)
}

fn preemptions(trace: &Trace) -> u32 {
    let switches = trace.events.windows(2).filter(|pair| pair[0].thread != pair[1].thread);
    switches.filter(|pair| pair[1].previous_enabled).count() as u32
}

/// Says whether the program was small enough to be compared.
fn compare(programs: Programs, seed: u64, budget: u16) -> bool {
    let describe = programs.describe;
    let _alone = alone();
    choose(seed);
    let budget = Budget { spurious: budget, timeouts: budget, weak_failures: budget };
    let Some(truth) = ends(programs, Options { reduction: Reduction::None, ..by("dfs", budget) }) else {
        return false;
    };
    for (reduction, orders) in [
        (Reduction::Optimal, &["dfs", "bfs", "mdpor,pb", "rand:1", "rand:2"][..]),
        (Reduction::Source, &["dfs", "mdpor,pb", "rand:3"]),
        (Reduction::Classic, &["dfs", "rand:4"]),
    ] {
        for order in orders {
            let told = || format!("program {seed}, {reduction:?} by {order}, {budget:?}: {}", describe(seed));
            let found = ends(programs, Options { reduction, ..by(order, budget) });
            let found = found.unwrap_or_else(|| panic!("more than without a reduction: {}", told()));
            let found: Vec<_> = found.keys().collect();
            assert_eq!(found, truth.keys().collect::<Vec<_>>(), "{}", told());
        }
    }
    // As the command does it: random runs, hunts and the levels of preemptions go along.
    let mixed = Options { seed_runs: 20, seed_after: 3, seed_every: 3, hunts: 8, ..by("mdpor,pb", budget) };
    let mixed =
        ends(programs, Options { level_every: 4, level_after: 2, ..mixed }).expect("a reduction, not more");
    assert_eq!(
        mixed.keys().collect::<Vec<_>>(),
        truth.keys().collect::<Vec<_>>(),
        "mixed: {}",
        describe(seed)
    );
    for bound in 0..3 {
        let found = ends(programs, Options { bound: Some(bound), ..by("mdpor,pb", budget) })
            .expect("a bound, not more");
        for (end, _) in truth.iter().filter(|(_, fewest)| **fewest <= bound) {
            let told = || format!("program {seed}, bound {bound}, {budget:?}: {}", describe(seed));
            assert!(found.contains_key(end), "{}: {end} in {found:?}", told());
        }
    }
    true
}

/// `SCHEDCHECK_RANDOM=FROM..TO` compares other programs, and more.
fn seeds() -> Range<u64> {
    seeds_up_to(25)
}

/// The same, more of them where each takes little time.
fn seeds_up_to(end: u64) -> Range<u64> {
    let asked = std::env::var("SCHEDCHECK_RANDOM").ok();
    let parse = |text: &str| text.parse().expect("SCHEDCHECK_RANDOM is FROM..TO");
    asked.and_then(|text| text.split_once("..").map(|(from, to)| parse(from)..parse(to))).unwrap_or(0..end)
}

#[test]
fn programs_that_were_wrong_once() {
    // A send that waits for room while a time-out is forced, and then finds that the receiver has gone.
    assert!(compare(WORKING, 343, 0), "it is small enough");
    // A reader is held back behind a writer that waits for a guard of its own, which shows when the execution ends.
    assert!(compare(SHARING, 1, 0), "it is small enough");
}

/// Compares so many programs, of which enough must be small.
fn compare_all(programs: Programs, budget: u16) {
    let compared = seeds().filter(|&seed| compare(programs, seed, budget)).count();
    assert!(4 * compared > seeds().count(), "many programs are small enough, not {compared}");
}

#[test]
fn every_end_is_found_without_costly_alternatives() {
    compare_all(WORKING, 0);
}

#[test]
fn every_end_is_found_with_one_of_each_costly_alternative() {
    compare_all(WORKING, 1);
}

#[test]
fn every_end_of_programs_that_end_badly_is_found() {
    compare_all(ENDING, 0);
}

#[test]
fn every_end_of_programs_that_end_badly_is_found_with_one_of_each_costly_alternative() {
    compare_all(ENDING, 1);
}

#[test]
fn every_end_of_programs_that_share_a_lock_is_found() {
    compare_all(SHARING, 0);
}

/// Whoever tries several times succeeds or gives up at a moment at which one attempt would do so, and the other way
/// round: the ends are the same. But only one thread in an execution gives up while others could still run, and a loop
/// right behind another one at the same place is one loop with it.
#[test]
fn to_poll_ends_as_to_try_once_at_any_moment() {
    let once = |times: u16| Budget { spurious: 0, timeouts: times, weak_failures: 0 };
    let gave_up = polls::GAVE_UP.to_string();
    // In the last one a sender was to come where it is blocked.
    let (seeds, mut compared) = (seeds_up_to(500), 0);
    for seed in seeds.clone() {
        let _alone = alone();
        choose(seed);
        if polls::has_loops_in_a_row(seed) {
            continue;
        }
        let Some(truth) = ends(HASTY, by("dfs", once(0))) else { continue };
        for (reduction, order) in
            [(Reduction::Optimal, "mdpor,pb"), (Reduction::Source, "dfs"), (Reduction::Classic, "rand:1")]
        {
            let Some(found) = ends(POLLING, Options { reduction, ..by(order, once(1)) }) else { continue };
            let told = || format!("program {seed}, {reduction:?} by {order}: {}", polls::describe(seed));
            for end in found.keys() {
                assert!(truth.contains_key(end), "{}: {end} not in {truth:?}", told());
            }
            for end in truth.keys().filter(|end| end.matches(&gave_up).count() <= 1) {
                assert!(found.contains_key(end), "{}: {end} not in {found:?}", told());
            }
            compared += 1;
        }
    }
    assert!(compared > seeds.count(), "many programs are small enough, not {compared}");
}
