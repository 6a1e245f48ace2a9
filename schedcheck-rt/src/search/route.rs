//! Where an execution is to go: a sequence of places, and how far it is to the next one.
//!
//! After N. Rungta's thesis (*Guided Testing for Automatic Error Discovery in Concurrent Software*, 2009):
//! a sequence names places, not threads; whichever thread comes to a place will do. The distance to a
//! place is the length of a shortest path in a graph of places *learnt from executions*: an edge from
//! each operation of a thread to its next one, and from each operation to what it made possible (a spawn
//! to the first operation of the thread, an unlock to who waited for it, a notification to who slept, a
//! send to who receives). Where the thesis analyses the program, this graph grows with every execution.

use super::step::{Choice, NO_STEP, ObjectId, Places, StepIndex, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

/// From a place that no execution has been to.
const UNKNOWN: u32 = 20;
/// There is no way that is known.
pub(super) const NO_WAY: u32 = 10_000;
/// From the last place before one that nobody has been to.
const NEXT_LINE: u32 = 2;

/// A place on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The n-th one that the user gave.
    Given(u32),
    /// One that was put in because another one could not be reached without.
    Added(u32),
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The places one after the other.
    Sequence(u32),
    /// As many threads about to do these at the same time.
    Meeting(u32),
}

/// A sequence of places and what is known about the ways to them.
pub struct Route {
    places: Rc<dyn Places>,
    wanted: Wanted,
    goals: Vec<Goal>,
    /// What leads to a place.
    before: FxHashMap<u32, Vec<u32>>,
    known: FxHashSet<u32>,
    /// Places at which an object was changed.
    writers: FxHashMap<ObjectId, Vec<u32>>,
    /// Distances to each goal, computed when needed.
    distances: FxHashMap<usize, FxHashMap<u32, u32>>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route").field("goals", &self.goals).finish_non_exhaustive()
    }
}

impl Route {
    /// The way to what is `wanted`, of whose places `places` knows.
    pub fn new(wanted: Wanted, places: Rc<dyn Places>) -> Route {
        let count = match wanted {
            Wanted::Sequence(count) | Wanted::Meeting(count) => count,
        };
        Route {
            places,
            wanted,
            goals: (0..count).map(Goal::Given).collect(),
            before: FxHashMap::default(),
            known: FxHashSet::default(),
            writers: FxHashMap::default(),
            distances: FxHashMap::default(),
        }
    }

    /// The sequence as it is now, with what was put in.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// What was asked for.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Whether `site` is the place of a goal.
    pub(super) fn matches(&self, goal: usize, site: u32) -> bool {
        match self.goals.get(goal) {
            Some(&Goal::Given(number)) => self.places.is_element(site, number),
            Some(&Goal::Added(place)) => self.places.same_line(site, place),
            None => false,
        }
    }

    /// How many goals, in order, the first `steps` steps of an execution come by.
    fn matched(&self, trace: &Trace, steps: usize) -> usize {
        let mut goal = 0;
        for event in &trace.events[..steps] {
            goal += usize::from(self.matches(goal, event.site));
        }
        goal
    }

    /// For the priority `seq`: how many goals are left once `choice` is made at `step`.
    pub(super) fn left_after(&self, trace: &Trace, step: StepIndex, choice: Choice) -> usize {
        let (goal, site) = self.at(trace, step, choice.thread);
        self.goals.len() - goal - usize::from(self.matches(goal, site))
    }

    /// For the priority `distance`: how far the chosen thread is from the next goal.
    pub(super) fn distance_after(&mut self, trace: &Trace, step: StepIndex, choice: Choice) -> u32 {
        let (goal, site) = self.at(trace, step, choice.thread);
        self.distance(goal, site)
    }

    /// The next goal before `step`, and where `thread` goes on from there.
    fn at(&self, trace: &Trace, step: StepIndex, thread: ThreadId) -> (usize, u32) {
        // A branch may leave another line, one that goes on behind the end of this execution.
        let step = (step as usize).min(trace.events.len());
        let next = trace.events[step..].iter().find(|event| event.thread == thread);
        let waits = || trace.pending.iter().find(|pending| pending.thread == thread);
        let site = next.map(|event| event.site).or_else(|| Some(waits()?.site));
        (self.matched(trace, step), site.unwrap_or(0))
    }

    /// How far it is from a place to a goal.
    pub(super) fn distance(&mut self, goal: usize, site: u32) -> u32 {
        if self.matches(goal, site) {
            return 0;
        }
        if goal >= self.goals.len() {
            return NO_WAY;
        }
        if !self.known.contains(&site) {
            return UNKNOWN;
        }
        if !self.distances.contains_key(&goal) {
            let distances = self.measure(goal);
            self.distances.insert(goal, distances);
        }
        self.distances[&goal].get(&site).copied().unwrap_or(NO_WAY)
    }

    /// Shortest ways to a goal, backwards from it.
    fn measure(&self, goal: usize) -> FxHashMap<u32, u32> {
        let mut open: VecDeque<(u32, u32)> =
            self.known.iter().filter(|&&site| self.matches(goal, site)).map(|&site| (site, 0)).collect();
        if open.is_empty() {
            open.extend(self.near(goal).into_iter().map(|site| (site, NEXT_LINE)));
        }
        let mut found = FxHashMap::default();
        while let Some((site, distance)) = open.pop_front() {
            if found.contains_key(&site) {
                continue;
            }
            found.insert(site, distance);
            let before = self.before.get(&site).into_iter().flatten();
            open.extend(before.map(|&before| (before, distance + 1)));
        }
        found
    }

    /// Known places from which a goal that nobody has been to may be the next one: those of the last line
    /// before it.
    pub(super) fn near(&self, goal: usize) -> Vec<u32> {
        let Some(&Goal::Given(number)) = self.goals.get(goal) else { return Vec::new() };
        let line = |site: u32| self.places.lines_before(site, number);
        let nearest = self.known.iter().filter_map(|&site| line(site)).min();
        let mut near: Vec<u32> =
            self.known.iter().copied().filter(|&site| nearest.is_some() && line(site) == nearest).collect();
        near.sort_unstable();
        near
    }

    /// Places from which a goal was reached, or could be.
    pub(super) fn before(&self, goal: usize) -> Vec<u32> {
        let there = self.known.iter().filter(|&&site| self.matches(goal, site));
        let mut before: Vec<u32> =
            there.filter_map(|site| self.before.get(site)).flatten().copied().collect();
        if before.is_empty() {
            before = self.near(goal);
        }
        before.sort_unstable();
        before.dedup();
        before
    }

    /// Where an object was changed.
    pub(super) fn writers(&self, object: ObjectId) -> &[u32] {
        self.writers.get(&object).map_or(&[], Vec::as_slice)
    }

    /// Puts a place in before a goal.
    pub(super) fn insert(&mut self, goal: usize, place: u32) {
        self.goals.insert(goal, Goal::Added(place));
        self.distances.clear();
    }

    /// Takes in the places of an execution.
    pub(super) fn learn(&mut self, trace: &Trace) {
        let mut last: FxHashMap<ThreadId, u32> = FxHashMap::default();
        for event in &trace.events {
            let site = event.site;
            if site == 0 {
                continue;
            }
            self.known.insert(site);
            let own = last.insert(event.thread, site);
            let cause = match event.enabler {
                NO_STEP => None,
                step => Some(trace.events[step as usize].site).filter(|&site| site != 0),
            };
            for from in own.into_iter().chain(cause) {
                let before = self.before.entry(site).or_default();
                if !before.contains(&from) {
                    before.push(from);
                }
            }
            let changed = super::predict::changed(event);
            if let Some(object) = changed {
                let writers = self.writers.entry(object).or_default();
                if !writers.contains(&site) {
                    writers.push(site);
                }
            }
        }
        self.distances.clear();
    }
}
