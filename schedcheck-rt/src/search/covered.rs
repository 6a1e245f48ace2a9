//! What a search says is covered: at every moment, in parts of it, and in the end.

use super::crowd::execute;
use super::engine::{Search, Strategy};
use super::models::brute::{Truth, truth};
use super::models::programs::{fetch_add, inc};
use super::models::random::{FAMILIES, program};
use super::models::toy::{Program, Toy};
use super::options::{Options, Reduction};
use super::records::Renaming;
use super::soak::by;
use super::step::{Budget, End, Model, Trace};
use rustc_hash::FxHashSet;

/// How many classes that have a schedule with at most so many preemptions were not found.
fn missing(truth: &Truth, found: &FxHashSet<u64>, most: Option<u32>) -> usize {
    let within = truth.classes.iter().filter(|(_, least)| Some(**least) <= most);
    within.filter(|(class, _)| !found.contains(class)).count()
}

/// The search that is bounded, or the bounded one that goes along, says at every moment what is covered, and only
/// that: also while an execution is under way, for that may be the last thing that a search does.
#[test]
fn the_bound_that_is_done_rises_and_is_right() {
    let mut rises = 0;
    for family in FAMILIES {
        for seed in 0..60 {
            let program = program(seed, family);
            let Some(truth) = truth(&program, Budget::default(), 1000) else {
                continue;
            };
            let beside = Options { level_every: 1, level_after: 0, ..by("rand:3") };
            let within = |order| Options { bound: Some(2), ..by(order) };
            for (options, bound) in [(beside, u32::MAX), (within("pb"), 2), (within("rand:3"), 2)] {
                let mut toy = Toy::new(program.clone());
                let mut search = Search::new(options);
                let (mut trace, mut found) = (Trace::default(), FxHashSet::default());
                let mut claimed = None;
                let mut check = |search: &Search, found: &FxHashSet<u64>| {
                    let done = search.stats().bound_done;
                    if done != claimed {
                        rises += 1;
                        claimed = done;
                        let missing = missing(&truth, found, done);
                        assert_eq!(missing, 0, "{family:?} {seed}: not all with {done:?} preemptions");
                    }
                };
                while let Some(order) = search.next() {
                    toy.run(order.plan, order.guide, &mut trace);
                    check(&search, &found);
                    let learned = search.learn(&trace);
                    if trace.end != End::Stopped {
                        found.insert(learned.signature);
                    }
                    check(&search, &found);
                }
                let missing = missing(&truth, &found, Some(bound));
                assert_eq!((missing, search.stats().diverged), (0, 0), "{family:?} {seed}");
            }
        }
    }
    assert!(rises > 1000, "{rises}");
}

fn complete(program: &Program, options: Options) -> Option<u32> {
    let mut search = Search::new(options);
    execute(&mut search, &mut Toy::new(program.clone()), usize::MAX, |_| {});
    assert!(search.stats().complete);
    search.stats().bound_done
}

#[test]
fn a_complete_search_has_done_its_bound_even_if_no_schedule_has_so_many_preemptions() {
    // With one thread there is nobody to be preempted by.
    assert_eq!(complete(&fetch_add(1, 2), Options { bound: Some(5), ..by("pb") }), Some(5));
    assert_eq!(complete(&inc(2), Options { bound: Some(1), ..by("pb") }), Some(1));
}

#[test]
fn a_complete_search_without_a_bound_has_done_all_that_matter() {
    let program = fetch_add(2, 3);
    let truth = truth(&program, Budget::NONE, 10_000).expect("it is small");
    let most = truth.classes.values().max().copied();
    assert!(most > Some(1));
    for reduction in [Reduction::Optimal, Reduction::Source, Reduction::Classic, Reduction::None] {
        for (scoped, level_every) in [(false, 0), (false, 50), (true, 0)] {
            let options = Options { reduction, scoped, level_every, budget: Budget::NONE, ..by("pb") };
            let done = complete(&program, options);
            assert!(done >= most, "{reduction:?}, scoped: {scoped}: {done:?} of {most:?}");
        }
    }
}

/// Neither a part nor the owner counts as done what somebody else still has.
#[test]
fn a_part_claims_no_more_than_the_whole_did_when_it_was_dealt_out() {
    for (bound, dealt) in [(Some(2), Some(0)), (None, None)] {
        let options = || Options { bound, budget: Budget::NONE, ..by("pb") };
        let (mut toy, names) = (Toy::new(fetch_add(3, 2)), Renaming::default());
        let mut owner = Search::new(options());
        while owner.stats().bound_done < dealt || owner.stats().pending < 12 {
            execute(&mut owner, &mut toy, 1, |_| {});
        }
        assert_eq!(owner.stats().bound_done, dealt);
        let base = owner.save();
        let load = || Search::load(options(), &base, &names).unwrap();
        owner = load();
        for lines in &owner.deal(3) {
            let mut part = load();
            part.deal(3);
            part.become_share(lines.clone());
            assert_eq!(part.stats().bound_done, dealt);
            execute(&mut part, &mut toy, usize::MAX, |_| {});
            assert_eq!((part.stats().bound_done, part.stats().pending), (dealt, 0));
            assert_eq!(owner.stats().bound_done, dealt, "some are still away");
            owner.take_back(&part.give_back(), &names).unwrap();
        }
        if let Strategy::Enumerate(_) = &owner.strategy {
            assert_eq!((owner.stats().complete, owner.stats().bound_done), (true, Some(2)));
        }
    }
}
