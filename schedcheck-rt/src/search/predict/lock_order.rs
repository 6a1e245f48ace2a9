//! Locks taken in a cyclic order: Goodlock (K. Havelund, SPIN 2000), with gate locks and happens-before
//! (R. Agarwal, S. Bensalem et al., 2005 to 2010).
//!
//! A *dependency* is a thread that asks for a lock while it holds others. A cycle of them, each asking
//! for what the next one holds, can be a deadlock if different threads do it, if no common lock (a *gate*)
//! keeps two of them apart, and if no spawn or join orders two of them. Shared holders do not exclude
//! each other. A `try_lock` does not wait, so it can hold a lock of a cycle but not ask for one.

use super::super::step::Mode;
use super::facts::{Facts, Held, Use, exclude};
use super::{Kind, MOST, Prediction};
use rustc_hash::{FxHashMap, FxHashSet};

/// Longest cycle.
const LONGEST: usize = 5;
/// Dependencies that are looked at.
const MOST_DEPENDENCIES: usize = 96;

/// The possible deadlocks that `facts` show.
pub(super) fn cycles(facts: &Facts) -> Vec<Prediction> {
    let mut search = Cycles { facts, all: dependencies(facts), path: Vec::new(), found: Vec::new() };
    for first in 0..search.all.len() {
        search.path.push(first);
        search.extend();
        search.path.pop();
    }
    search.found
}

/// Requests for a lock while others are held; of threads that do the same, the first two.
fn dependencies(facts: &Facts) -> Vec<&Use> {
    let mut seen: FxHashMap<_, Vec<_>> = FxHashMap::default();
    let mut all: Vec<&Use> = Vec::new();
    for one in facts.uses.iter().filter(|one| one.locks() && !one.held.is_empty()) {
        let held: Vec<_> = one.held.iter().map(|lock| (lock.object, lock.site)).collect();
        let threads = seen.entry((one.object, one.site, held)).or_default();
        if threads.len() < 2 && !threads.contains(&one.thread) && all.len() < MOST_DEPENDENCIES {
            threads.push(one.thread);
            all.push(one);
        }
    }
    all
}

struct Cycles<'f> {
    facts: &'f Facts,
    all: Vec<&'f Use>,
    path: Vec<usize>,
    found: Vec<Prediction>,
}

impl Cycles<'_> {
    /// Goes on from the last dependency of the path: to one that holds what it asks for.
    fn extend(&mut self) {
        let (first, last) = (self.path[0], self.path[self.path.len() - 1]);
        if self.path.len() > 1 && waits_for(self.all[last], self.all[first]).is_some() {
            self.note();
            return;
        }
        if self.path.len() == LONGEST {
            return;
        }
        // A cycle is found once: from its first dependency on.
        for next in first + 1..self.all.len() {
            if waits_for(self.all[last], self.all[next]).is_some() && self.fits(next) {
                self.path.push(next);
                self.extend();
                self.path.pop();
            }
        }
    }

    /// Whether `next` can be waiting while all of the path are.
    fn fits(&self, next: usize) -> bool {
        let next = self.all[next];
        self.path.iter().all(|&one| {
            let one = self.all[one];
            self.facts.concurrent(one, next) && !exclude(one.held.iter().copied(), &next.held)
        })
    }

    fn note(&mut self) {
        if self.found.len() == MOST {
            return;
        }
        let cycle: Vec<&Use> = self.path.iter().map(|&at| self.all[at]).collect();
        // Each asks for what the next one holds; shown as: taken here, then asked for there.
        let mut places = Vec::new();
        for (at, one) in cycle.iter().enumerate() {
            let before = cycle[(at + cycle.len() - 1) % cycle.len()];
            if let Some(held) = waits_for(before, one) {
                let taken = self.facts.uses.iter().find(|earlier| earlier.step == held.since);
                places.extend(taken.map(Use::point));
            }
            places.push(one.point());
        }
        let hold: Vec<_> = cycle.iter().map(|one| one.point()).collect();
        let prediction = Prediction { kind: Kind::LockOrder, places, hold, meanwhile: None };
        let known: FxHashSet<_> = self.found.iter().map(Prediction::key).collect();
        if !known.contains(&prediction.key()) {
            self.found.push(prediction);
        }
    }
}

/// The lock of `holder` that `asker` would wait for.
fn waits_for(asker: &Use, holder: &Use) -> Option<Held> {
    let shared = asker.mode == Mode::AcquireShared;
    holder.held.iter().find(|held| held.object == asker.object && !(held.shared && shared)).copied()
}
