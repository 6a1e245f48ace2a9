//! Several processes on one search at the same time, simulated: the owner and others execute, give and take
//! in any order, and together they execute each class once.

use super::engine::{Search, Strategy};
use super::models::brute::truth;
use super::models::random::{Family, program};
use super::models::toy::{Program, Toy};
use super::options::Options;
use super::records::Renaming;
use super::rng::Rng;
use super::soak::{by, explore};
use super::step::{Budget, End, Model, Trace};
use super::together::Share;
use rustc_hash::FxHashMap;

/// Programs with more points than this are left out.
const LARGEST: usize = 3000;
/// Most processes beside the owner.
const MOST: usize = 4;

/// What a comparison covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crowded {
    /// Shares that came back.
    pub(crate) shares: u64,
    /// Executions that shares kept for the owner.
    pub(crate) kept: u64,
}

/// A process of its own with the same search.
fn fork(search: &Search, options: Options) -> Search {
    let mut copy = Search::new(options);
    copy.seen.clone_from(&search.seen);
    match (&search.strategy, &mut copy.strategy) {
        (Strategy::Optimal(from), Strategy::Optimal(into)) => {
            into.tree = from.tree.clone();
            into.fringe = from.fringe.clone();
            into.shares = from.shares.clone();
            into.progress = from.progress.clone();
            into.spinners = from.spinners.clone();
            (into.root, into.length, into.epoch) = (from.root, from.length, from.epoch);
        }
        (Strategy::Enumerate(from), Strategy::Enumerate(into)) => {
            into.tree = from.tree.clone();
            into.fringe = from.fringe.clone();
            into.shares = from.shares.clone();
            into.progress = from.progress.clone();
            into.visited = from.visited.clone();
            into.cut = from.cut;
        }
        _ => unreachable!("the options are the same"),
    }
    copy
}

/// Executes up to `most` orders of a search, and tells the class of each execution.
pub(super) fn execute(search: &mut Search, toy: &mut Toy, most: usize, mut tell: impl FnMut(u64)) {
    let mut trace = Trace::default();
    for _ in 0..most {
        let Some(order) = search.next() else { return };
        toy.run(order.plan, order.guide, &mut trace);
        let learned = search.learn(&trace);
        if trace.end != End::Stopped {
            tell(learned.signature);
        }
    }
}

struct Crowd {
    toy: Toy,
    owner: Search,
    others: Vec<(Search, Share)>,
    /// How often each class was executed.
    classes: FxHashMap<u64, u64>,
    figures: Crowded,
}

impl Crowd {
    /// Executions of the owner, or of another one.
    fn run(&mut self, who: Option<usize>, most: usize) {
        let search = who.map_or(&mut self.owner, |who| &mut self.others[who].0);
        execute(search, &mut self.toy, most, |class| *self.classes.entry(class).or_default() += 1);
    }

    /// What one of the others has done comes back; or it is lost.
    fn take_back(&mut self, who: usize, is_lost: bool) -> Result<(), String> {
        let (search, share) = self.others.swap_remove(who);
        if is_lost {
            self.owner.reclaim(&share);
            return Ok(());
        }
        if let Strategy::Optimal(search) = &search.strategy {
            self.figures.kept += search.shares.outside.len() as u64;
        }
        self.figures.shares += 1;
        let taken = self.owner.take_back(&search.give_back(), &Renaming::default());
        taken.map_err(|damaged| damaged.to_string())
    }

    /// One of the others cannot come back, and has kept as much as it may.
    fn fill(&mut self, who: usize) {
        if let Strategy::Optimal(search) = &mut self.others[who].0.strategy {
            search.tree.is_closed = false;
        }
    }

    /// What was written down last is needed again.
    fn bring_in(&mut self, stored: &[Vec<u8>]) -> Result<(), String> {
        let Some(number) = self.owner.spilled() else { return Ok(()) };
        let back = self.owner.unspill(number, &stored[number as usize]);
        back.map_err(|damaged| damaged.to_string())
    }

    /// Does something, until nothing is left to do. With `losses`, some shares do not come back, and others
    /// find too much.
    fn go_on(&mut self, rng: &mut Rng, options: &dyn Fn() -> Options, losses: bool) -> Result<(), String> {
        let mut stored: Vec<Vec<u8>> = Vec::new();
        loop {
            let one = if self.others.is_empty() { None } else { Some(rng.below(self.others.len())) };
            match (rng.below(8), one) {
                (0 | 1, _) => self.run(None, 1 + rng.below(4)),
                (2 | 3, _) if self.others.len() < MOST => {
                    let share = self.owner.give(1 + rng.below(6));
                    if !share.is_empty() {
                        let mut other = fork(&self.owner, options());
                        other.become_share(share.clone());
                        self.others.push((other, share));
                    }
                }
                (4 | 5, Some(one)) => self.run(Some(one), 1 + rng.below(12)),
                (6, Some(one)) => self.take_back(one, losses && rng.below(4) == 0)?,
                (7, Some(one)) if losses && rng.below(4) == 0 => self.fill(one),
                (7, _) if rng.below(4) == 0 => {
                    stored.extend(self.owner.spill(stored.len() as u32));
                }
                (7, _) if self.owner.at_hand() == 0 => self.bring_in(&stored)?,
                _ => {}
            }
            let nothing = self.owner.stats().pending == 0 || self.owner.spilled().is_some();
            if nothing && self.others.is_empty() {
                match self.owner.spilled() {
                    Some(_) if rng.below(2) == 0 => self.bring_in(&stored)?,
                    Some(_) => self.run(None, 1),
                    None => return Ok(()),
                }
            }
        }
    }
}

fn explore_crowded(
    program: &Program,
    options: &dyn Fn() -> Options,
    rng: &mut Rng,
    losses: bool,
) -> Result<Crowd, String> {
    let mut crowd = Crowd {
        toy: Toy::new(program.clone()),
        owner: Search::new(options()),
        others: Vec::new(),
        classes: FxHashMap::default(),
        figures: Crowded::default(),
    };
    crowd.go_on(rng, options, losses)?;
    Ok(crowd)
}

/// Compares a search by several with brute force: every class, and without a bound and costly alternatives each of them
/// once.
pub(crate) fn crowded(
    seed: u64,
    family: Family,
    order: &str,
    budget: Budget,
    bound: Option<u32>,
) -> Result<Crowded, String> {
    let program = program(seed, family);
    let Some(truth) = truth(&program, budget, LARGEST) else { return Ok(Crowded::default()) };
    let wanted =
        |class: &u64| truth.classes.get(class).is_some_and(|&least| bound.is_none_or(|most| least <= most));
    let options = || Options { bound, budget, ..by(order) };
    let rng = &mut Rng::new(seed);
    let mut figures = Crowded::default();
    for losses in [false, true] {
        let said =
            |what: String| format!("{family:?} {seed} by several, by {order}, {bound:?}, {budget:?}: {what}");
        let crowd = explore_crowded(&program, &options, rng, losses).map_err(said)?;
        let all = truth.classes.keys().filter(|class| wanted(class));
        let missing = all.filter(|class| !crowd.classes.contains_key(class)).count();
        let invented = crowd.classes.keys().filter(|class| !wanted(class)).count();
        let executions: u64 = crowd.classes.values().sum();
        let surplus = executions - crowd.classes.len() as u64;
        let counted = crowd.owner.stats();
        if (missing, invented, counted.complete) != (0, 0, true) {
            let all = truth.classes.len();
            return Err(said(format!("of {all} classes {missing} are missing, {invented} are invented")));
        }
        if losses {
            continue;
        }
        // A loop that waits starts the search again when it is first met.
        let starts_again = matches!(&crowd.owner.strategy, Strategy::Optimal(optimal) if optimal.epoch > 0);
        let once = bound.is_none() && budget == Budget::NONE && !starts_again;
        if once && (surplus, counted.twice) != (0, 0) {
            let alone = explore(&program, options());
            if alone.executions == alone.traces {
                return Err(said(format!(
                    "{surplus} executions too many, {} of them noticed",
                    counted.twice
                )));
            }
        }
        figures = crowd.figures;
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::super::models::random::FAMILIES;
    use super::super::soak::ORDERS;
    use super::*;

    /// Shares that came back, and executions kept, of so many programs.
    fn check(programs: u64, budget: Budget, bounds: &[Option<u32>]) -> (u64, u64) {
        let (mut shares, mut kept) = (0, 0);
        for number in 0..programs {
            let family = FAMILIES[number as usize % FAMILIES.len()];
            let order = ORDERS[number as usize / FAMILIES.len() % ORDERS.len()];
            let bound = bounds[number as usize / FAMILIES.len() % bounds.len()];
            let figures = crowded(number, family, order, budget, bound).unwrap();
            shares += figures.shares;
            kept += figures.kept;
        }
        (shares, kept)
    }

    #[test]
    fn several_at_once_execute_every_class_once() {
        let (shares, kept) = check(2000, Budget::NONE, &[None]);
        assert!(shares > 3000 && kept > 500, "{shares} shares, {kept} executions kept");
    }

    #[test]
    fn several_at_once_execute_every_class_within_a_bound_and_a_budget() {
        let (shares, kept) = check(600, Budget::default(), &[None, Some(0), Some(1), Some(2)]);
        assert!(shares > 1000 && kept > 50, "{shares} shares, {kept} executions kept");
    }
}
