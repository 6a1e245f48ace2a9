//! One search by several: the same classes, each once, whoever executes what, and when.

use super::engine::Search;
use super::models::random::{FAMILIES, Family, program};
use super::models::toy::{Program, Toy};
use super::options::Options;
use super::records::Renaming;
use super::rng::Rng;
use super::soak::{by, explore};
use super::step::Budget;
use rustc_hash::FxHashSet;

/// All who execute parts of one search, and the classes that they have met.
struct Crew {
    toy: Toy,
    classes: FxHashSet<u64>,
}

impl Crew {
    /// Up to `most` executions.
    fn run(&mut self, search: &mut Search, most: usize) {
        super::crowd::execute(search, &mut self.toy, most, |class| _ = self.classes.insert(class));
    }
}

/// Searches in rounds: some executions by the owner, then shares in processes of their own, of
/// which some are interrupted and go on, and with `losses` some never come back. Parts that nobody needs
/// are written down now and then; also returns how many.
fn explore_in_parts(
    program: &Program,
    options: impl Fn() -> Options,
    seed: u64,
    losses: bool,
) -> (u64, FxHashSet<u64>, usize) {
    let rng = &mut Rng::new(seed);
    let mut crew = Crew { toy: Toy::new(program.clone()), classes: FxHashSet::default() };
    let names = Renaming::default();
    let mut owner = Search::new(options());
    let mut stored: Vec<Vec<u8>> = Vec::new();
    loop {
        crew.run(&mut owner, 1 + rng.below(6));
        if rng.below(3) == 0
            && let Some(bytes) = owner.spill(stored.len() as u32)
        {
            stored.push(bytes);
        }
        if let Some(number) = owner.spilled().filter(|_| rng.below(3) == 0) {
            owner.unspill(number, &stored[number as usize]).unwrap();
        }
        let base = owner.save();
        let reload = || Search::load(options(), &base, &names).expect("it was written a moment ago");
        owner = reload();
        if owner.stats().complete {
            return (owner.stats().executions, crew.classes, stored.len());
        }
        let count = 1 + rng.below(4);
        let shares = owner.deal(count);
        for (at, lines) in shares.iter().enumerate() {
            let mut share = reload();
            assert_eq!(share.deal(count)[at], *lines);
            share.become_share(lines.clone());
            crew.run(&mut share, rng.below(12));
            if rng.below(3) == 0 {
                let noted = share.give_back();
                share = reload();
                share.deal(count);
                share.become_share(lines.clone());
                share.take_back(&noted, &names).unwrap();
                crew.run(&mut share, rng.below(12));
            }
            if losses && rng.below(4) == 0 {
                continue;
            }
            let back = share.give_back();
            for cut in [0, 1, back.len() / 2, back.len() - 1] {
                // Whatever a damaged message does to a search, it does not end the process.
                let mut other = reload();
                other.deal(count);
                let _ = other.take_back(&back[..cut], &names);
            }
            owner.take_back(&back, &names).unwrap();
        }
        owner.reclaim_all();
    }
}

/// Executions of searches in parts, and how many of them a single search does not need.
fn check(seeds: std::ops::Range<u64>, families: &[Family], order: &str, bound: Option<u32>) -> (u64, u64) {
    let (mut total, mut surplus, mut spilled) = (0, 0, 0);
    for &family in families {
        for seed in seeds.clone() {
            let program = program(seed, family);
            // Levels cost executions of their own.
            let level_every = u32::from(seed % 4 == 3);
            let options =
                || Options { bound, budget: Budget::NONE, level_every, level_after: 0, ..by(order) };
            let whole = explore(&program, options());
            if whole.executions > 3000 {
                continue;
            }
            for losses in [false, true] {
                let (executions, classes, spills) = explore_in_parts(&program, options, seed, losses);
                spilled += spills;
                assert_eq!(classes, whole.classes, "{family:?} {seed} {order} {bound:?}");
                if !losses && whole.stopped == 0 && level_every == 0 {
                    surplus += executions - whole.executions;
                    total += executions;
                }
            }
        }
    }
    assert!(spilled > 10, "{spilled} parts were written down");
    (total, surplus)
}

/// What came back cannot be read, and of what was read before that was noticed some may have been taken in: whatever
/// becomes of it, nothing is lost.
#[test]
fn what_comes_back_damaged_costs_executions_and_no_class() {
    let mut cuts = 0;
    for (seed, bound) in (0..12).flat_map(|seed| [(seed, None), (seed, Some(1))]) {
        for family in [Family::Memory, Family::Locks, Family::Spins] {
            let program = program(seed, family);
            let options = || Options { bound, budget: Budget::NONE, ..by("mdpor,pb") };
            let whole = explore(&program, options());
            let names = Renaming::default();
            let mut crew = Crew { toy: Toy::new(program), classes: FxHashSet::default() };
            let mut owner = Search::new(options());
            crew.run(&mut owner, 3);
            let (base, begun) = (owner.save(), crew.classes.clone());
            let load = || Search::load(options(), &base, &names).unwrap();
            let mut other = load();
            let share = other.deal(1).swap_remove(0);
            other.become_share(share);
            crew.run(&mut other, 5);
            let back = other.give_back();
            for cut in (0..back.len()).step_by(1 + back.len() / 12) {
                let mut owner = load();
                owner.deal(1);
                assert!(owner.take_back(&back[..cut], &names).is_err());
                owner.reclaim_all();
                crew.classes.clone_from(&begun);
                crew.run(&mut owner, usize::MAX);
                assert!(owner.stats().complete);
                assert_eq!(crew.classes, whole.classes, "{family:?} {seed} {bound:?}, cut at {cut}");
                assert_eq!(owner.stats().traces, whole.traces, "{family:?} {seed} {bound:?}, cut at {cut}");
                cuts += 1;
            }
        }
    }
    assert!(cuts > 500, "{cuts}");
}

#[test]
fn what_is_cut_off_is_refused() {
    let program = program(1, Family::Locks);
    let mut crew = Crew { toy: Toy::new(program), classes: FxHashSet::default() };
    let names = Renaming::default();
    let mut search = Search::new(by("mdpor,pb"));
    crew.run(&mut search, 3);
    let whole = search.save();
    for cut in 0..whole.len() {
        assert!(Search::load(by("mdpor,pb"), &whole[..cut], &names).is_err(), "cut at {cut}");
    }
    assert!(Search::load(by("mdpor,pb"), &whole, &names).is_ok());
}

#[test]
fn what_a_disk_changed_is_refused() {
    for bound in [None, Some(2)] {
        let options = || Options { bound, budget: Budget::NONE, ..by("pb") };
        let begun = (0..50).find_map(|seed| {
            let toy = Toy::new(program(seed, Family::Memory));
            let mut search = Search::new(options());
            Crew { toy, classes: FxHashSet::default() }.run(&mut search, 100);
            search.spill(7).map(|spilled| (search, spilled))
        });
        let (search, spilled) = begun.expect("a search with a part that nobody needs now");
        let state = search.save();
        for bit in 0..spilled.len() * 8 {
            let mut changed = spilled.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let mut loaded = Search::load(options(), &state, &Renaming::default()).unwrap();
            assert!(loaded.unspill(7, &changed).is_err(), "bit {bit}");
            assert!(!loaded.stats().complete);
            loaded.unspill(7, &spilled).unwrap();
        }
    }
}

#[test]
fn parts_of_an_unbounded_search_execute_every_class_once() {
    for order in ["mdpor,pb", "dfs", "rand:5"] {
        let (total, surplus) = check(0..40, &FAMILIES, order, None);
        assert!(surplus == 0 && total > 1000, "{surplus} of {total} by {order}");
    }
}

#[test]
fn parts_of_a_bounded_search_execute_every_class_within_the_bound() {
    for bound in [0, 2] {
        let (total, _) = check(0..20, &FAMILIES, "pb", Some(bound));
        assert!(total > 500, "{total} executions with at most {bound} preemptions");
    }
}
