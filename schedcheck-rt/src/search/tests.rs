//! The engine against published counts and against brute force.

use super::engine::Search;
use super::history::History;
use super::models::brute::{classes_of_schedules, truth};
use super::models::programs::*;
use super::models::random::{FAMILIES, Family, program};
use super::models::toy::{Op, Program, Script, Toy, straight};
use super::options::{Options, Reduction};
use super::shrink::minimise;
use super::soak::{
    Figures, Hunts, ORDERS, Trusted, bounded, by, compare, explore, hunting, reduced, soak, trusted,
};
use super::step::{Access, Budget, End, Model, ObjectId, Trace};
use rustc_hash::FxHashSet;

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
    assert_eq!(counts(readers, 2, 9), [4, 8, 16, 32, 64, 128, 256, 512]);
    assert_eq!(counts(lastzero, 2, 8), [5, 12, 28, 64, 144, 320, 704]);
    assert_eq!(counts(casrot, 2, 7), [2, 5, 14, 43, 144, 523]);
    assert_eq!(counts(inc, 2, 4), [4, 36, 576]);
    assert_eq!(counts(|n| fetch_add(n, 1), 2, 6), [2, 6, 24, 120, 720]);
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
    assert_eq!(counts(|n| lockinc(n, 1), 2, 6), [2, 6, 24, 120, 720]);
    assert_eq!(count(&lockinc(3, 2)), 90);
    assert_eq!(counts(filesystem, 13, 18), [1, 2, 4, 8, 16, 32]);
    assert_eq!(counts(|n| philosophers(n as u32), 2, 6), [3, 7, 15, 31, 63]);
}

/// Adds up what the programs of these families and seeds give.
fn compare_all(seeds: std::ops::Range<u64>, families: &[Family], budget: Budget) -> Figures {
    let mut total = Figures::default();
    for &family in families {
        for seed in seeds.clone() {
            if let Some(figures) = compare(seed, family, budget).unwrap() {
                total.add(figures);
            }
        }
    }
    total
}

#[test]
fn random_programs_agree_with_brute_force() {
    let total = compare_all(0..60, &FAMILIES, Budget::NONE);
    assert_eq!(total.surplus, 0);
    assert!(total.programs > 300, "{total:?}");
}

/// Programs that were wrong once.
#[test]
fn programs_that_were_wrong_once() {
    for (seed, family) in
        [(1_001_728, Family::Channels), (1_015_286, Family::RwLocks), (5_027_174, Family::RwLocks)]
    {
        let compared = compare(seed, family, Budget::NONE).unwrap();
        assert!(compared.is_some(), "{family:?} {seed} is small enough for brute force");
    }
}

#[test]
fn costly_alternatives_agree_with_brute_force() {
    for limit in 1..3 {
        let budget = Budget { spurious: limit, timeouts: limit, weak_failures: limit };
        let total = compare_all(0..60, &[Family::Condvars, Family::Channels], budget);
        assert!(total.surplus * 10 < total.executions, "{total:?}");
    }
}

#[test]
fn other_reductions_agree_with_brute_force() {
    let mut compared = 0;
    // In the last one a receiver that could go on slept at the end, and was to come before who had sent to it.
    for (budget, seeds) in
        [(Budget::NONE, 0..60), (Budget::default(), 60..100), (Budget::default(), 433..434)]
    {
        for family in FAMILIES {
            for seed in seeds.clone() {
                compared += reduced(seed, family, budget, 600).unwrap();
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

/// One thread gives up early, while another one that has nothing to do with it could still run: where that one has run, the
/// first is forced to give up. Source sets left the first to a branch in which the other sleeps, and that one to the branch it
/// sleeps for.
#[test]
fn who_sleeps_covers_nothing_behind_a_wait_that_is_given_up() {
    let (x, y, lock, condvar) = (0, 1, 2, 3);
    let wait = |timed| {
        let sleep = Op::Sleep { condvar, timed };
        [Op::Lock(lock), Op::Enqueue(condvar), Op::Unlock(lock), sleep, Op::Lock(lock), Op::Unlock(lock)]
    };
    let notifies = [&wait(false)[..], &[Op::NotifyOne(condvar)]].concat();
    let gives_up = [&[Op::Load(x)], &wait(true)[..]].concat();
    let program = Program::new([notifies, vec![Op::Store(y, 1)], gives_up].map(straight).to_vec(), 4);
    let truth = truth(&program, Budget::default(), 1000).expect("it is small");
    for reduction in [Reduction::Source, Reduction::Classic] {
        for order in ORDERS {
            let found = explore(&program, Options { reduction, ..by(order) });
            let missing = truth.classes.keys().filter(|class| !found.classes.contains(class)).count();
            assert_eq!((missing, found.diverged), (0, 0), "{reduction:?} by {order}");
        }
    }
}

#[test]
fn steering_changes_the_order_only() {
    for (budget, seeds) in [(Budget::NONE, 0..50), (Budget::default(), 50..80)] {
        let mut total = Hunts::default();
        for family in FAMILIES {
            for seed in seeds.clone() {
                let more = hunting(seed, family, budget).unwrap();
                total.programs += more.programs;
                total.executions += more.executions;
                total.hunts += more.hunts;
                total.surplus += more.surplus;
                total.dives += more.dives;
            }
        }
        assert!(total.programs > 150 && total.hunts > 50 && total.dives > 1000, "{total:?}");
        // What is hunted in a small program was often seen before: the price is one execution in ten.
        assert!(budget != Budget::NONE || total.surplus * 10 < total.executions, "{total:?}");
    }
}

/// A branch that leaves the chain of another line, behind the end of the execution that asks for it, has a rank as well.
#[test]
fn a_sequence_ranks_what_is_behind_the_end_of_an_execution() {
    assert_eq!(soak(1_049_763, 1).unwrap().programs, 1);
}

#[test]
fn bounded_search_reaches_every_class_within_the_bound() {
    let mut compared = 0;
    for family in FAMILIES {
        for seed in 0..25 {
            compared += u32::from(bounded(seed, family).unwrap());
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Brute force that takes no two points for equal, so that a wrong idea of equality shows.
#[test]
fn bounded_search_agrees_with_all_schedules_one_by_one() {
    let mut compared = 0;
    for family in FAMILIES {
        for seed in 0..30 {
            let program = program(seed, family);
            for bound in 0..3 {
                let Some(allowed) = classes_of_schedules(&program, Budget::NONE, bound, 1500) else {
                    continue;
                };
                for order in ["dfs", "rand:4", "mdpor,pb"] {
                    let options = Options { bound: Some(bound), budget: Budget::NONE, ..by(order) };
                    let found = explore(&program, options);
                    assert_eq!(found.classes, allowed, "{family:?} {seed} bound {bound} by {order}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1500, "{compared}");
}

#[test]
fn trusted_code_is_not_preempted_and_everything_else_is() {
    let mut total = Trusted::default();
    for family in FAMILIES {
        for seed in 0..60 {
            let more = trusted(seed, family).unwrap();
            total.compared += more.compared;
            total.smaller += more.smaller;
        }
    }
    assert!(total.compared > 300 && total.smaller > 100, "{total:?}");
}

/// The same steps, once with a thread last that must not be preempted and once with one that may be: the first
/// is no reason to leave out what can follow the second.
#[test]
fn a_point_where_one_may_run_does_not_stand_for_one_where_all_may() {
    let (x, y, z, lock) = (0, 1, 2, 3);
    let (take, give) = (Op::Lock(lock), Op::Unlock(lock));
    // Between its two locks the first thread wants to see both others, who see what it did before.
    let often = vec![take, give, Op::Load(x), Op::Store(z, 1), Op::Load(y), take, give];
    let once = vec![Op::Store(x, 1), take, give];
    let never = vec![Op::Load(z), Op::Store(y, 1)];
    for bodies in [[often.clone(), once.clone(), never.clone()], [never, once, often]] {
        let mut program = Program::new(bodies.map(straight).to_vec(), 4);
        let stores_first = |script: &Script| script(&[]) == Some(Op::Store(x, 1));
        program.trusted =
            program.threads.iter().map(|script| if stores_first(script) { 7 } else { 0 }).collect();
        let allowed = classes_of_schedules(&program, Budget::NONE, u32::MAX, 10_000).unwrap();
        for order in ORDERS {
            let options = Options { scoped: true, budget: Budget::NONE, ..by(order) };
            assert_eq!(explore(&program, options).classes, allowed, "by {order}");
        }
    }
}

/// Nothing is executed twice for the sake of random runs: what they find is theirs, its races are reversed, and
/// only a random run may repeat what was there.
#[test]
fn random_runs_find_their_place_in_the_tree() {
    let (mut random, mut adopted) = (0, 0);
    for family in FAMILIES {
        for seed in 0..60 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::NONE, 1000) else {
                continue;
            };
            for order in ["pb,rand:1", "dfs", "bfs"] {
                let options = Options {
                    budget: Budget::NONE,
                    seed,
                    seed_runs: 9,
                    seed_after: 1,
                    seed_every: 2,
                    ..by(order)
                };
                let mut toy = Toy::new(program.clone());
                let mut search = Search::new(options);
                let mut trace = Trace::default();
                while let Some(order) = search.next() {
                    let is_random = order.guide.is_some();
                    toy.run(order.plan, order.guide, &mut trace);
                    let learned = search.learn(&trace);
                    random += u64::from(is_random);
                    adopted += u64::from(is_random && learned.new_trace);
                    // A loop that waits starts the search again when it is first met.
                    let twice = !is_random && !learned.new_trace && family != Family::Spins;
                    assert!(!twice, "{family:?} {seed}: executed twice");
                }
                let stats = search.stats();
                let all = truth.classes.len() as u64;
                assert_eq!((stats.traces, stats.diverged), (all, 0), "{family:?} {seed}: classes, diverged");
            }
        }
    }
    assert!(random > 2000 && adopted * 5 > random, "{adopted} of {random} random runs were new");
}

#[test]
fn small_tests_are_executed_without_random_runs() {
    let options = Options { seed_runs: 200, ..Options::default() };
    let found = explore(&readers(6), options);
    assert_eq!((found.executions, found.random), (64, 0));
}

#[test]
fn the_minimal_schedule_has_the_fewest_preemptions_of_its_class() {
    let mut minimised = 0;
    for family in FAMILIES {
        for seed in 0..50 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::NONE, 1000) else {
                continue;
            };
            let mut toy = Toy::new(program.clone());
            let mut search = Search::new(Options { budget: Budget::NONE, ..by("rand:1") });
            let (mut trace, mut again) = (Trace::default(), Trace::default());
            let mut history = History::default();
            while let Some(order) = search.next() {
                toy.run(order.plan, order.guide, &mut trace);
                let learned = search.learn(&trace);
                if trace.end == End::Stopped {
                    continue;
                }
                minimised += 1;
                let (plan, preemptions) = minimise(&trace).unwrap();
                toy.run(&plan, None, &mut again);
                history.read(&again);
                assert_eq!(history.signature(), learned.signature, "{family:?} {seed}: other class");
                let least = truth.classes[&learned.signature];
                assert_eq!((toy.preemptions, preemptions), (least, least), "{family:?} {seed}");
            }
        }
    }
    assert!(minimised > 2000, "{minimised}");
}

/// Classes with at most 0, 1, 2, ... preemptions.
fn by_preemptions(program: Program) -> Vec<usize> {
    let mut toy = Toy::new(program);
    let mut search = Search::new(Options::default());
    let mut trace = Trace::default();
    let mut counts = Vec::new();
    while let Some(order) = search.next() {
        toy.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        let (_, preemptions) = minimise(&trace).unwrap();
        counts.resize(counts.len().max(preemptions as usize + 1), 0);
        counts[preemptions as usize] += 1;
    }
    counts
        .iter()
        .scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
        .collect()
}

#[test]
fn counts_by_preemptions() {
    assert_eq!(by_preemptions(inc(2)), [2, 4]);
    assert_eq!(by_preemptions(inc(3)), [6, 24, 36]);
    assert_eq!(by_preemptions(store_buffers(4)), [14, 15]);
    assert_eq!(by_preemptions(fib_bench(2)), [6, 33, 98, 137, 140]);
    assert_eq!(by_preemptions(philosophers(3)), [6, 7]);
    assert_eq!(by_preemptions(readers(4)), [16]);
    assert_eq!(by_preemptions(lockinc(3, 1)), [6]);
}

/// Numbers the objects of an execution by first use, as a model without stable names would.
fn rename_by_first_use(trace: &mut Trace) {
    let mut names: Vec<ObjectId> = Vec::new();
    let mut rename = |access: &mut Access| {
        if access.object != ObjectId::NONE {
            let known = names.iter().position(|&name| name == access.object);
            let number = known.unwrap_or_else(|| {
                names.push(access.object);
                names.len() - 1
            });
            access.object = ObjectId(ObjectId::FIRST_LOCAL.0 + number as u32);
        }
    };
    trace.events.iter_mut().flat_map(|event| &mut event.accesses).for_each(&mut rename);
    let waiting = trace.waiting.iter_mut().map(|(_, pending)| pending);
    trace.pending.iter_mut().chain(waiting).flat_map(|pending| &mut pending.accesses).for_each(rename);
}

#[test]
fn names_that_change_between_executions_cost_little_and_lose_nothing() {
    let (mut executions, mut classes) = (0, 0);
    for family in FAMILIES {
        for seed in 0..60 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::NONE, 1000) else {
                continue;
            };
            let mut toy = Toy::new(program);
            let mut search = Search::new(Options { budget: Budget::NONE, ..by("rand:9") });
            let mut trace = Trace::default();
            while let Some(order) = search.next() {
                toy.run(order.plan, order.guide, &mut trace);
                rename_by_first_use(&mut trace);
                search.learn(&trace);
            }
            assert_eq!(search.stats().traces, truth.classes.len() as u64, "{family:?} {seed}");
            executions += search.stats().executions;
            classes += search.stats().traces;
        }
    }
    assert!(executions * 100 < classes * 102, "{executions} executions of {classes} classes");
}

#[test]
fn loops_that_wait_agree_with_brute_force() {
    let total = compare_all(100..700, &[Family::Spins], Budget::NONE);
    assert!(total.stopped > 0 && total.surplus * 10 < total.executions, "{total:?}");
}

#[test]
fn large_counts() {
    assert_eq!(count(&indexer(15)), 4096);
    assert_eq!(count(&readers(13)), 8192);
    assert_eq!(count(&lastzero(10)), 3328);
    assert_eq!(count(&casrot(8)), 2048);
    assert_eq!(count(&casrot(9)), 8597);
    assert_eq!(count(&filesystem(20)), 128);
    assert_eq!(count(&indexer(14)), 512);
}

/// Estimates given every twentieth part of a search: how many, and of how many the range holds the
/// true total.
fn estimates(program: &Program, order: &str) -> (u32, u32) {
    let total = explore(program, by(order)).executions;
    let mut toy = Toy::new(program.clone());
    let mut search = Search::new(by(order));
    let mut trace = Trace::default();
    let (mut given, mut right) = (0, 0);
    while let Some(order) = search.next() {
        toy.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        let stats = search.stats();
        if stats.executions.is_multiple_of((total / 20).max(1))
            && stats.pending > 0
            && let Some(estimate) = stats.estimate
        {
            let range = estimate.low..=estimate.high;
            given += 1;
            right += u32::from(range.contains(&(total as f64)));
            assert!(range.contains(&estimate.total) && estimate.low <= total as f64, "{estimate:?}");
        }
    }
    (given, right)
}

#[test]
fn estimates_are_honest() {
    let programs = [
        readers(12),
        lastzero(9),
        indexer(14),
        casrot(7),
        fetch_add(6, 1),
        fetch_add(2, 7),
        lockinc(3, 3),
        inc(4),
    ];
    let (mut given, mut right) = (0, 0);
    for program in programs {
        for order in ["dfs", "bfs", "mdpor,pb", "rand:1"] {
            let (more, held) = estimates(&program, order);
            given += more;
            right += held;
        }
    }
    assert!(given > 150 && right * 20 >= given * 19, "{right} of {given} hold the true total");
}

/// What is hunted may have been executed before, but not often.
#[test]
fn hunting_costs_few_executions_in_programs_of_some_size() {
    for program in [lastzero(6), fib_bench(2), indexer(13), philosophers(6), lockinc(3, 2), store_buffers(5)]
    {
        let found = explore(&program, Options { hunts: 48, ..Options::default() });
        assert!(found.executions <= found.traces + 4, "{} for {}", found.executions, found.traces);
    }
    assert_eq!(explore(&readers(8), Options { hunts: 48, ..Options::default() }).executions, 256);
}

#[test]
fn a_model_that_refuses_what_it_has_done_before_differs() {
    let mut toy = Toy::new(fetch_add(2, 3));
    let mut search = Search::new(Options::default());
    let mut trace = Trace::default();
    loop {
        let order = search.next().expect("some execution leaves another one behind its first step");
        let leaves = order.plan.deltas.last().map_or(0, |last| last.step);
        toy.run(order.plan, order.guide, &mut trace);
        if leaves > 1 {
            trace.events.truncate(1);
            trace.end = End::Stopped;
            assert_eq!(search.learn(&trace).differs_at, Some(1));
            return;
        }
        assert_eq!(search.learn(&trace).differs_at, None);
    }
}

/// A model that does not say where its loops come round ([`Event::comes_round`]) is searched longer, but no less.
#[test]
fn idle_rounds_that_come_unexpected_cost_executions_and_no_class() {
    let (mut executions, mut refused) = ([0; 2], 0);
    for seed in 0..1000 {
        let program = program(seed, Family::Spins);
        let Some(truth) = truth(&program, Budget::default(), 3000) else {
            continue;
        };
        for says_so in [true, false] {
            let mut toy = Toy::new(program.clone());
            let mut search = Search::new(by("rand:4"));
            let (mut trace, mut found) = (Trace::default(), FxHashSet::default());
            while let Some(order) = search.next() {
                toy.run(order.plan, order.guide, &mut trace);
                trace.events.iter_mut().for_each(|event| event.comes_round &= says_so);
                let waiting = trace.waiting.iter_mut().map(|(_, pending)| pending);
                trace.pending.iter_mut().chain(waiting).for_each(|pending| pending.comes_round &= says_so);
                let learned = search.learn(&trace);
                executions[usize::from(says_so)] += 1;
                if trace.end == End::Stopped {
                    refused += 1;
                } else {
                    found.insert(learned.signature);
                }
            }
            let missing = truth.classes.keys().filter(|class| !found.contains(class)).count();
            assert_eq!((missing, found.len()), (0, truth.classes.len()), "{seed}, says so: {says_so}");
        }
    }
    assert!(refused > 100 && executions[0] > executions[1], "{refused} refused of {executions:?}");
}
