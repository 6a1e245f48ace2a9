//! Accesses that another thread may come between, and pairs whose order is open.
//!
//! *One variable*: a thread uses it twice, another thread uses it in between, and no serial order gives
//! the same result (the four unserialisable cases of S. Lu et al., AVIO, ASPLOS 2006; two sections of
//! one lock count as such, since what happens inside them is not known). *Two variables*: a thread uses
//! one and then the other, another thread uses both (S. Lu et al., MUVI, SOSP 2007, for neighbours in
//! the program instead of learnt correlations). A lock that is held from the first access to the second
//! and that the other thread needs rules it out, and so do spawns and joins.

use super::super::dependence::commute;
use super::super::step::Mode;
use super::facts::{Facts, Held, Use, exclude};
use super::{Kind, MOST, Prediction};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// Accesses that are looked at, after those that do the same are left out.
const MOST_ROLES: usize = 300;

/// Lets the first two threads through that do the same.
struct Roles<K> {
    seen: FxHashMap<K, Vec<super::ThreadId>>,
}

impl<K: Hash + Eq> Roles<K> {
    fn new() -> Self {
        Roles { seen: FxHashMap::default() }
    }

    fn admits(&mut self, key: K, one: &Use) -> bool {
        let threads = self.seen.entry(key).or_default();
        let new = threads.len() < 2 && !threads.contains(&one.thread);
        if new {
            threads.push(one.thread);
        }
        new
    }
}

fn lock_set(one: &Use) -> Vec<u32> {
    let mut locks: Vec<u32> = one.held.iter().map(|lock| lock.object.0).collect();
    locks.sort_unstable();
    locks
}

/// One access of each kind, by two threads.
fn roles(facts: &Facts) -> Vec<&Use> {
    let mut roles = Roles::new();
    let new = |one: &&Use| roles.admits((one.site, one.object, lock_set(one)), one);
    facts.uses.iter().filter(new).take(MOST_ROLES).collect()
}

/// Accesses of one thread that belong together: neighbours, and neighbours among those to one object.
fn pairs(facts: &Facts) -> Vec<(&Use, &Use)> {
    let mut last: FxHashMap<_, &Use> = FxHashMap::default();
    let mut last_on: FxHashMap<_, &Use> = FxHashMap::default();
    let mut roles = Roles::new();
    let mut pairs = Vec::new();
    for second in &facts.uses {
        let neighbour = last.insert(second.thread, second);
        let same = last_on.insert((second.thread, second.object), second);
        let different = neighbour.filter(|first| first.object != second.object);
        for first in same.into_iter().chain(different) {
            let key = (first.site, first.object, second.site, second.object, lock_set(second));
            if roles.admits(key, second) && pairs.len() < MOST_ROLES {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

/// Where another thread may come between two accesses.
pub(super) fn intrusions(facts: &Facts) -> Vec<Prediction> {
    let roles = roles(facts);
    let mut found = Found::default();
    for (first, second) in pairs(facts) {
        let over: Vec<Held> = second.held.iter().filter(|lock| lock.since <= first.step).copied().collect();
        for &other in &roles {
            if other.thread == first.thread
                || facts.always_before(other, first)
                || facts.always_before(second, other)
                || exclude(other.while_done(), &over)
            {
                continue;
            }
            let kind = if first.object == second.object {
                (other.object == first.object && unserialisable(first, other, second))
                    .then_some(Kind::Atomicity)
            } else {
                uses_both(&roles, first, other, second).then_some(Kind::AtomicityOfTwo)
            };
            if let Some(kind) = kind {
                found.add(Prediction {
                    kind,
                    places: vec![first.point(), other.point(), second.point()],
                    hold: vec![second.point()],
                    meanwhile: Some(other.point()),
                });
            }
        }
    }
    found.all
}

/// Whether `other` between `first` and `second`, all on one object, is like no serial order.
fn unserialisable(first: &Use, other: &Use, second: &Use) -> bool {
    if first.locks() && second.locks() && other.locks() {
        return !commute(first.mode, other.mode);
    }
    match (first.reads(), other.reads(), second.reads()) {
        (true, false, _) | (false, false, true) | (false, true, false) => true,
        (false, false, false) => other.mode == Mode::Write && first.mode == Mode::Write,
        _ => false,
    }
}

/// Whether `other` matters to the second of two objects, and somebody to the first. It need not be the
/// same thread: one that does the same stands for all.
fn uses_both(roles: &[&Use], first: &Use, other: &Use, second: &Use) -> bool {
    let rival = |mine: &Use, theirs: &Use| {
        theirs.thread != mine.thread && theirs.object == mine.object && !commute(theirs.mode, mine.mode)
    };
    rival(second, other) && roles.iter().any(|one| rival(first, one))
}

/// Accesses of two threads whose order is open, and wake-ups that may come too early.
pub(super) fn reversals(facts: &Facts) -> Vec<Prediction> {
    let roles = roles(facts);
    let mut found = Found::default();
    for first in &roles {
        for second in roles.iter().filter(|second| second.step > first.step) {
            let open = first.object == second.object
                && !commute(first.mode, second.mode)
                && facts.concurrent(first, second)
                && !exclude(first.held.iter().copied(), &second.held);
            if !open {
                continue;
            }
            let kind = if facts.slept_on.contains(&first.object) { Kind::LostWakeup } else { Kind::Conflict };
            found.add(Prediction {
                kind,
                places: vec![second.point(), first.point()],
                hold: vec![first.point()],
                meanwhile: Some(second.point()),
            });
        }
    }
    found.all
}

/// Predictions, each once.
#[derive(Default)]
struct Found {
    keys: FxHashSet<(Kind, Vec<u32>)>,
    all: Vec<Prediction>,
}

impl Found {
    fn add(&mut self, prediction: Prediction) {
        let of_kind = self.all.iter().filter(|one| one.kind == prediction.kind).count();
        if of_kind < MOST && self.keys.insert(prediction.key()) {
            self.all.push(prediction);
        }
    }
}
