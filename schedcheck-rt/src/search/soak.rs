//! Random programs against brute force, as many as one likes.

use super::crowd::crowded;
use super::engine::{Search, Stats};
use super::models::brute::{Truth, classes_of_schedules, truth};
use super::models::random::{FAMILIES, Family, program};
use super::models::toy::{Program, Toy};
use super::options::{Options, Reduction};
use super::priority;
use super::rng::Rng;
use super::route::{Route, Wanted};
use super::step::{Budget, End, Model, ObjectId, Places, Plan, Trace};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::rc::Rc;

/// Orders of exploration that are compared.
pub(crate) const ORDERS: [&str; 7] = ["dfs", "bfs", "pb", "rand:1", "rand:2", "ss,pb,rand:3", DEFAULT];

const DEFAULT: &str = "mdpor,pb";

/// Programs with more points than this are left out.
const LARGEST: usize = 3000;

/// What a comparison covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Programs compared.
    pub programs: u64,
    /// Their happens-before classes.
    pub classes: u64,
    /// Executions of all searches.
    pub executions: u64,
    /// Executions of the optimal search beyond one per class; costly alternatives have some,
    /// and rarely a `try_write` beside several readers.
    pub surplus: u64,
    /// Executions of idle rounds, given up.
    pub stopped: u64,
}

impl Figures {
    /// Adds what another comparison covered.
    pub fn add(&mut self, more: Figures) {
        self.programs += more.programs;
        self.classes += more.classes;
        self.executions += more.executions;
        self.surplus += more.surplus;
        self.stopped += more.stopped;
    }
}

/// All that a search found.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "the tests of the search look at more than the soak does"))]
pub(crate) struct Found {
    pub(crate) executions: u64,
    pub(crate) traces: u64,
    pub(crate) diverged: u64,
    pub(crate) stopped: u64,
    /// Random runs among the executions.
    pub(crate) random: u64,
    /// Steered ones.
    pub(crate) hunts: u64,
    /// Along a sequence.
    pub(crate) dives: u32,
    pub(crate) classes: FxHashSet<u64>,
    pub(crate) finals: FxHashSet<u64>,
}

/// Searches to the end.
pub(crate) fn explore(program: &Program, options: Options) -> Found {
    let mut toy = Toy::new(program.clone());
    let mut search = Search::new(options);
    let mut trace = Trace::default();
    let (mut classes, mut finals, mut stopped) = (FxHashSet::default(), FxHashSet::default(), 0);
    while let Some(order) = search.next() {
        toy.run(order.plan, order.guide, &mut trace);
        let learned = search.learn(&trace);
        if trace.end == End::Stopped {
            stopped += 1;
            continue;
        }
        classes.insert(learned.signature);
        finals.insert(toy.final_state);
    }
    let Stats { executions, traces, diverged, random, hunts, .. } = search.stats();
    let (executions, dives) = (executions - stopped, search.dived().dives);
    Found { executions, traces, diverged, stopped, random, hunts, dives, classes, finals }
}

/// The default options with other priorities.
pub(crate) fn by(priorities: &str) -> Options {
    let priority = priority::parse(priorities).unwrap_or_default();
    Options { priority, ..Options::default() }
}

/// Compares the optimal search in all orders with brute force.
#[cfg(test)]
pub(crate) fn compare(seed: u64, family: Family, budget: Budget) -> Result<Option<Figures>, String> {
    compare_by(&ORDERS, seed, family, budget)
}

/// Compares the optimal search in these orders with brute force.
fn compare_by(orders: &[&str], seed: u64, family: Family, budget: Budget) -> Result<Option<Figures>, String> {
    let program = program(seed, family);
    let Some(truth) = truth(&program, budget, LARGEST) else {
        return Ok(None);
    };
    if truth.finals != truth.finals_by_state {
        return Err(format!("{family:?} {seed}: dependence loses states"));
    }
    let mut figures = Figures { programs: 1, classes: truth.classes.len() as u64, ..Figures::default() };
    for order in orders {
        let found = explore(&program, Options { budget, ..by(order) });
        verdict(&truth, &found).map_err(|what| format!("{family:?} {seed} by {order}: {what}"))?;
        figures.executions += found.executions;
        figures.surplus += found.executions - found.classes.len() as u64;
        figures.stopped += found.stopped;
    }
    if budget == Budget::NONE && family != Family::Spins && figures.surplus > 0 {
        return Err(format!("{family:?} {seed}: {} executions too many", figures.surplus));
    }
    Ok(Some(figures))
}

/// What is wrong with an exploration that should have found everything.
pub(crate) fn verdict(truth: &Truth, found: &Found) -> Result<(), String> {
    let missing = truth.classes.keys().filter(|class| !found.classes.contains(class)).count();
    let invented = found.classes.iter().filter(|class| !truth.classes.contains_key(class)).count();
    if (missing, invented, found.diverged) != (0, 0, 0) || found.finals != truth.finals {
        return Err(format!(
            "of {} classes {missing} are missing, {invented} are invented; {} plans diverged",
            truth.classes.len(),
            found.diverged
        ));
    }
    Ok(())
}

/// Compares `programs` random programs from number `seed` on, in all families, with and without
/// costly alternatives; every tenth also with a bound, every tenth with hunts and along a sequence,
/// every tenth with trusted operations, every tenth with the other reductions, and every tenth by several
/// processes. Each is searched in the default order and in one other, in turn: many programs say more than
/// many orders of few.
///
/// # Errors
/// Says which program the search gets wrong.
pub fn soak(seed: u64, programs: u64) -> Result<Figures, String> {
    let mut total = Figures::default();
    for number in seed..seed + programs {
        let family = FAMILIES[(number % FAMILIES.len() as u64) as usize];
        let budget = if number % 3 == 0 { Budget::default() } else { Budget::NONE };
        let other = ORDERS[(number / FAMILIES.len() as u64) as usize % (ORDERS.len() - 1)];
        if let Some(figures) = compare_by(&[DEFAULT, other], number, family, budget)? {
            total.add(figures);
        }
        match number % 10 {
            0 => _ = bounded(number, family)?,
            3 => _ = hunting(number, family, budget)?,
            5 => _ = trusted(number, family)?,
            7 => _ = reduced(number, family, budget, LARGEST / 2)?,
            _ => {}
        }
        let round = number / FAMILIES.len() as u64;
        if round.is_multiple_of(10) {
            let bound = (round / 10 % 3).checked_sub(1).map(|bound| bound as u32);
            crowded(number, family, other, budget, bound)?;
        }
    }
    Ok(total)
}

/// Compares bounded search with brute force; false if the program is too large for that.
pub(crate) fn bounded(seed: u64, family: Family) -> Result<bool, String> {
    let program = program(seed, family);
    let Some(truth) = truth(&program, Budget::default(), LARGEST / 2) else {
        return Ok(false);
    };
    for bound in 0..3 {
        for order in ["dfs", "ss,dpor", "rand:4", "mdpor,pb"] {
            let options = Options { bound: Some(bound), reduction: Reduction::Optimal, ..by(order) };
            let found = explore(&program, options);
            let within = truth.classes.iter().filter(|&(_, &least)| least <= bound);
            let missing = within.filter(|(class, _)| !found.classes.contains(class)).count();
            let beyond = found.classes.iter().filter(|class| truth.classes[class] > bound).count();
            if (missing, beyond, found.diverged) != (0, 0, 0) {
                return Err(format!(
                    "{family:?} {seed} bound {bound} by {order}: {missing} classes missing, \
                     {beyond} beyond the bound, {} plans diverged",
                    found.diverged
                ));
            }
        }
    }
    Ok(true)
}

/// Compares the other reductions, and none, with brute force, if that needs no more points than `largest`; says how many
/// searches that were.
pub(crate) fn reduced(seed: u64, family: Family, budget: Budget, largest: usize) -> Result<u32, String> {
    let program = program(seed, family);
    let Some(truth) = truth(&program, budget, largest) else {
        return Ok(0);
    };
    let mut compared = 0;
    for reduction in [Reduction::Source, Reduction::Classic, Reduction::None] {
        // All schedules of a program are many more than its classes.
        if reduction == Reduction::None && truth.points > 60 {
            continue;
        }
        for order in ["dfs", "rand:5", "pb"] {
            let found = explore(&program, Options { budget, reduction, ..by(order) });
            let missing = truth.classes.keys().filter(|class| !found.classes.contains(class)).count();
            if (missing, found.diverged) != (0, 0) {
                return Err(format!(
                    "{family:?} {seed}, {budget:?}, {reduction:?} by {order}: of {} classes {missing} are missing; \
                     {} plans diverged",
                    truth.classes.len(),
                    found.diverged
                ));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// What comparing with trusted operations covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trusted {
    pub(crate) compared: u32,
    /// Of those: with fewer classes than without trust.
    pub(crate) smaller: u32,
}

/// Compares the search that does not preempt trusted code with all schedules that do not, one by one.
pub(crate) fn trusted(seed: u64, family: Family) -> Result<Trusted, String> {
    let mut figures = Trusted::default();
    let mut program = program(seed, family);
    let Some(all) = truth(&program, Budget::default(), LARGEST / 5) else {
        return Ok(figures);
    };
    trust_some(&mut program, seed);
    for bound in [None, Some(1)] {
        let most = bound.unwrap_or(u32::MAX);
        let Some(allowed) = classes_of_schedules(&program, Budget::default(), most, LARGEST) else {
            continue;
        };
        for (reduction, order) in
            [(Reduction::Optimal, "mdpor,pb"), (Reduction::Source, "rand:2"), (Reduction::None, "dfs")]
        {
            let options = Options { bound, reduction, scoped: true, ..by(order) };
            let found = explore(&program, options);
            if found.classes != allowed || found.diverged > 0 {
                return Err(format!(
                    "{family:?} {seed} with trusted operations, bound {bound:?}, by {order}: {} classes \
                     instead of {}, {} plans diverged",
                    found.classes.len(),
                    allowed.len(),
                    found.diverged
                ));
            }
        }
        figures.compared += 1;
        figures.smaller += u32::from(allowed.len() < all.classes.len());
    }
    Ok(figures)
}

/// What comparing with hunts covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunts {
    pub(crate) programs: u64,
    pub(crate) executions: u64,
    /// Executions that were steered.
    pub(crate) hunts: u64,
    /// Executions beyond one per class.
    pub(crate) surplus: u64,
    /// Executions along a sequence.
    pub(crate) dives: u64,
}

/// Places of a toy program, by number.
struct Elements(Vec<u32>);

impl Places for Elements {
    fn in_method(&self, _site: u32) -> bool {
        false
    }

    fn is_named(&self, _object: ObjectId) -> bool {
        false
    }

    fn is_changed(&self, _site: u32) -> bool {
        false
    }

    fn is_element(&self, site: u32, number: u32) -> bool {
        self.0[number as usize] == site
    }
}

/// A sequence of, or a meeting at, places that the first execution came by.
fn some_route(program: &Program, seed: u64) -> Route {
    let mut trace = Trace::default();
    Toy::new(program.clone()).run(&Plan::default(), None, &mut trace);
    let mut rng = Rng::new(seed);
    let sites = (0..2 + rng.below(2))
        .map(|_| trace.events.get(rng.below(trace.events.len().max(1))).map_or(0, |event| event.site));
    let places = Elements(sites.collect());
    let count = places.0.len() as u32;
    let wanted = if rng.below(3) == 0 { Wanted::Meeting(count) } else { Wanted::Sequence(count) };
    Route::new(wanted, Rc::new(places))
}

/// Compares a search that hunts predictions, and one that follows a sequence, with brute force: the same
/// classes, whatever comes first.
pub(crate) fn hunting(seed: u64, family: Family, budget: Budget) -> Result<Hunts, String> {
    let program = program(seed, family);
    let mut figures = Hunts::default();
    let Some(truth) = truth(&program, budget, LARGEST) else {
        return Ok(figures);
    };
    figures.programs = 1;
    let route = Some(Rc::new(RefCell::new(some_route(&program, seed))));
    let found = explore(&program, Options { budget, route, ..by("seq,distance,pb") });
    verdict(&truth, &found).map_err(|what| format!("{family:?} {seed} along a sequence: {what}"))?;
    figures.dives += u64::from(found.dives);
    for order in ["mdpor,pb", "rand:6"] {
        let found = explore(&program, Options { budget, hunts: 30, ..by(order) });
        verdict(&truth, &found).map_err(|what| format!("{family:?} {seed} hunting, by {order}: {what}"))?;
        figures.executions += found.executions;
        figures.hunts += found.hunts;
        figures.surplus += found.executions - found.classes.len() as u64;
    }
    Ok(figures)
}

/// Trusts about half of the operations, in stretches.
fn trust_some(program: &mut Program, seed: u64) {
    let mut rng = Rng::new(seed);
    program.trusted = vec![0; program.threads.len()];
    for trusted in &mut program.trusted {
        let mut on = false;
        for at in 0..64 {
            on ^= rng.below(5) < 2;
            *trusted |= u64::from(on) << at;
        }
    }
}
