//! The engine against published counts and against brute force.

use super::engine::Search;
use super::history::History;
use super::models::brute::truth;
use super::models::programs::*;
use super::models::random::{FAMILIES, Family, program};
use super::models::toy::{Program, Toy};
use super::options::{Options, Reduction};
use super::priority;
use super::shrink::minimise;
use super::step::{Budget, Model, Trace};
use rustc_hash::FxHashSet;

struct Found {
    executions: u64,
    traces: u64,
    diverged: u64,
    classes: FxHashSet<u64>,
    finals: FxHashSet<u64>,
}

fn explore(program: &Program, options: Options) -> Found {
    let mut toy = Toy::new(program.clone());
    let mut search = Search::new(options);
    let mut trace = Trace::default();
    let (mut classes, mut finals) = (FxHashSet::default(), FxHashSet::default());
    while let Some(order) = search.next() {
        toy.run(order.plan, order.guide, &mut trace);
        let learned = search.learn(&trace);
        classes.insert(learned.signature);
        finals.insert(toy.final_state);
    }
    let stats = search.stats();
    assert!(stats.complete);
    Found {
        executions: stats.executions,
        traces: stats.traces,
        diverged: stats.diverged,
        classes,
        finals,
    }
}

fn by(priorities: &str) -> Options {
    Options {
        priority: priority::parse(priorities).unwrap(),
        ..Options::default()
    }
}

/// Executions of the optimal search, which must be as many as classes.
fn count(program: &Program) -> u64 {
    let found = explore(program, Options::default());
    assert_eq!(found.executions, found.traces, "a class was executed twice");
    found.executions
}

#[test]
fn counts_of_memory_programs() {
    let counts = |f: fn(u64) -> Program, from: u64, to: u64| -> Vec<u64> {
        (from..=to).map(|n| count(&f(n))).collect()
    };
    assert_eq!(counts(readers, 2, 8), [4, 8, 16, 32, 64, 128, 256]);
    assert_eq!(counts(lastzero, 2, 7), [5, 12, 28, 64, 144, 320]);
    assert_eq!(counts(casrot, 2, 7), [2, 5, 14, 43, 144, 523]);
    assert_eq!(counts(inc, 2, 3), [4, 36]);
    assert_eq!(counts(|n| fetch_add(n, 1), 2, 5), [2, 6, 24, 120]);
    assert_eq!(counts(|n| store_buffers(n as u32), 2, 5), [3, 7, 15, 31]);
    assert_eq!(counts(|n| fib_bench(n as usize), 1, 2), [11, 140]);
    assert_eq!(count(&fetch_add(2, 3)), 20);
    assert_eq!(counts(indexer, 11, 13), [1, 8, 64]);
}

#[test]
fn counts_of_lock_programs() {
    let counts = |f: fn(u64) -> Program, from: u64, to: u64| -> Vec<u64> {
        (from..=to).map(|n| count(&f(n))).collect()
    };
    assert_eq!(counts(|n| lockinc(n, 1), 2, 5), [2, 6, 24, 120]);
    assert_eq!(count(&lockinc(3, 2)), 90);
    assert_eq!(counts(filesystem, 13, 18), [1, 2, 4, 8, 16, 32]);
    assert_eq!(counts(|n| philosophers(n as u32), 2, 6), [3, 7, 15, 31, 63]);
}

const ORDERS: [&str; 7] = [
    "dfs",
    "bfs",
    "pb",
    "rand:1",
    "rand:2",
    "mdpor,pb",
    "ss,pb,rand:3",
];

/// Compares all orders with brute force. Returns classes and executions beyond one per class.
fn compare(seed: u64, family: Family, budget: Budget) -> Option<(u64, u64)> {
    let program = program(seed, family);
    let truth = truth(&program, budget, 3000)?;
    assert_eq!(
        truth.finals, truth.finals_by_state,
        "{family:?} {seed}: dependence loses states"
    );
    let classes: FxHashSet<u64> = truth.classes.keys().copied().collect();
    let mut surplus = 0;
    for order in ORDERS {
        let found = explore(
            &program,
            Options {
                budget,
                ..by(order)
            },
        );
        let missing = classes.difference(&found.classes).count();
        let invented = found.classes.difference(&classes).count();
        assert_eq!(
            (missing, invented, found.diverged),
            (0, 0, 0),
            "{family:?} {seed} by {order}: missing, invented, diverged of {}",
            classes.len()
        );
        assert_eq!(
            found.finals, truth.finals,
            "{family:?} {seed} by {order}: final states"
        );
        surplus += found.executions - found.traces;
    }
    Some((classes.len() as u64, surplus))
}

#[test]
fn random_programs_agree_with_brute_force() {
    let none = Budget {
        spurious: 0,
        timeouts: 0,
        weak_failures: 0,
    };
    for family in FAMILIES {
        let (mut programs, mut classes, mut surplus) = (0, 0, 0);
        for seed in 0..150 {
            if let Some((found, twice)) = compare(seed, family, Budget::NONE) {
                programs += 1;
                classes += found;
                surplus += twice;
            }
        }
        eprintln!("{family:?}: {programs} programs, {classes} classes, {surplus} surplus");
    }
}

#[test]
fn costly_alternatives_agree_with_brute_force() {
    for limit in 1..3 {
        let budget = Budget {
            spurious: limit,
            timeouts: limit,
            weak_failures: limit,
        };
        for family in [Family::Condvars, Family::Channels] {
            let (mut programs, mut classes, mut surplus) = (0, 0, 0);
            for seed in 0..150 {
                if let Some((found, twice)) = compare(seed, family, budget) {
                    programs += 1;
                    classes += found;
                    surplus += twice;
                }
            }
            eprintln!(
                "{family:?} {limit}: {programs} programs, {classes} classes, {surplus} surplus"
            );
        }
    }
}

#[test]
fn other_reductions_agree_with_brute_force() {
    let none = Budget {
        spurious: 0,
        timeouts: 0,
        weak_failures: 0,
    };
    for (budget, seeds) in [(Budget::NONE, 0..60), (Budget::default(), 60..100)] {
        for family in FAMILIES {
            for seed in seeds.clone() {
                let program = program(seed, family);
                let Some(truth) = truth(&program, budget, 600) else {
                    continue;
                };
                for reduction in [Reduction::Source, Reduction::Classic, Reduction::None] {
                    // All schedules of a program are many more than its classes.
                    let many = reduction == Reduction::None && truth.points > 60;
                    if many || reduction == Reduction::Classic && budget != Budget::NONE {
                        continue;
                    }
                    for order in ["dfs", "rand:5", "pb"] {
                        let options = Options {
                            budget,
                            reduction,
                            ..by(order)
                        };
                        let found = explore(&program, options);
                        let missing = truth
                            .classes
                            .keys()
                            .filter(|c| !found.classes.contains(c))
                            .count();
                        assert_eq!(
                            (missing, found.diverged),
                            (0, 0),
                            "{family:?} {seed} {reduction:?} by {order}: missing, diverged of {}",
                            truth.classes.len()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn bounded_search_reaches_every_class_within_the_bound() {
    for family in FAMILIES {
        for seed in 0..60 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::default(), 1500) else {
                continue;
            };
            for bound in 0..3 {
                for order in ["dfs", "ss,dpor", "rand:4", "mdpor,pb"] {
                    let options = Options {
                        bound: Some(bound),
                        ..by(order)
                    };
                    let found = explore(&program, options);
                    let within = truth.classes.iter().filter(|&(_, &least)| least <= bound);
                    let missing = within.filter(|(c, _)| !found.classes.contains(c)).count();
                    assert_eq!(
                        (missing, found.diverged),
                        (0, 0),
                        "{family:?} {seed} bound {bound}"
                    );
                    assert!(found.classes.iter().all(|c| truth.classes[c] <= bound));
                }
            }
        }
    }
}

#[test]
fn random_runs_find_their_place_in_the_tree() {
    for family in FAMILIES {
        for seed in 0..60 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::NONE, 1000) else {
                continue;
            };
            let options = || Options {
                budget: Budget::NONE,
                seed,
                ..by("pb,rand:1")
            };
            let plain = explore(&program, options());
            let found = explore(
                &program,
                Options {
                    seed_runs: 9,
                    ..options()
                },
            );
            let missing = truth
                .classes
                .keys()
                .filter(|c| !found.classes.contains(c))
                .count();
            assert_eq!(
                (missing, found.diverged),
                (0, 0),
                "{family:?} {seed}: missing, diverged"
            );
            assert!(
                found.executions <= plain.executions + 9,
                "{family:?} {seed}: adopted runs repeat"
            );
        }
    }
}

#[test]
fn the_minimal_schedule_has_the_fewest_preemptions_of_its_class() {
    for family in FAMILIES {
        for seed in 0..40 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::NONE, 1000) else {
                continue;
            };
            let mut toy = Toy::new(program.clone());
            let mut search = Search::new(Options {
                budget: Budget::NONE,
                ..by("rand:1")
            });
            let (mut trace, mut again) = (Trace::default(), Trace::default());
            let mut history = History::default();
            while let Some(order) = search.next() {
                toy.run(order.plan, order.guide, &mut trace);
                let learned = search.learn(&trace);
                let (plan, preemptions) = minimise(&trace).unwrap();
                toy.run(&plan, None, &mut again);
                history.read(&again);
                assert_eq!(
                    history.signature(),
                    learned.signature,
                    "{family:?} {seed}: other class"
                );
                let least = truth.classes[&learned.signature];
                assert_eq!(
                    (toy.preemptions, preemptions),
                    (least, least),
                    "{family:?} {seed}"
                );
            }
        }
    }
}
