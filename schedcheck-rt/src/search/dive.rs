//! Dives: executions that go from place to place of a sequence by the shortest way that is known.
//!
//! One dive is one execution: at each step the thread that is at the next place goes on, else the one that
//! is nearest to it ([`super::route`]); equal ones by lot, but for the first dive. This is the greedy
//! search of Rungta's thesis (section 3.3) without its states: nothing has to be tried to know what a
//! thread will do next. Behind the last place the thread goes on as long as it can, then the others.
//!
//! **Refinement** (chapter 2). A place that was not reached although a thread came by the place before it
//! depends on a value. What that thread read last (the *decisive read*) was not yet what it should be, so
//! a place that changes it is put in front, and the dive begins anew; again and again if need be, which is
//! how counters get to their number. The sequence that worked in the end explains what it takes.
//!
//! **Meetings** (`--reach`): threads stop at the places, until all of them are taken by different ones.

use super::predict::decisive;
use super::rng::Rng;
use super::route::{NO_WAY, Route, Wanted};
use super::step::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Dives in a search.
const DIVES: u32 = 60;
/// Dives that came to the end of the sequence and passed.
const ARRIVALS: u32 = 4;
/// Executions before the first one: it needs to know some ways.
const AFTER: u32 = 1;
/// Dives in a row that neither came further nor showed what is missing.
const PATIENCE: u32 = 12;
/// Places that are put in.
const MOST_ADDED: usize = 40;

/// What became of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dived {
    /// Executions that were directed at it.
    pub dives: u32,
    /// Of those: how many came to its end.
    pub arrived: u32,
    /// Most places of it that one came by.
    pub furthest: usize,
}

/// Directs executions along a route.
#[derive(Debug)]
pub(super) struct Diver {
    route: Option<Rc<RefCell<Route>>>,
    rng: Rng,
    pub(super) so_far: Dived,
    learned: u32,
    /// Dives since one of them was of use.
    in_vain: u32,
    current: bool,
    /// The goal that is next, in the dive that is going on.
    goal: usize,
    /// Threads that wait at the place of a meeting, by goal.
    stopped: Vec<Option<ThreadId>>,
    met: bool,
    runner: Option<ThreadId>,
    pending: Vec<Pending>,
}

impl Diver {
    pub(super) fn new(route: Option<Rc<RefCell<Route>>>, seed: u64) -> Self {
        Diver {
            route,
            rng: Rng::new(seed),
            so_far: Dived::default(),
            learned: 0,
            in_vain: 0,
            current: false,
            goal: 0,
            stopped: Vec::new(),
            met: false,
            runner: None,
            pending: Vec::new(),
        }
    }

    /// Whether there will be more dives.
    pub(super) fn is_active(&self) -> bool {
        let more = self.so_far.dives < DIVES && self.so_far.arrived < ARRIVALS && self.in_vain < PATIENCE;
        self.route.is_some() && more
    }

    pub(super) fn is_diving(&self) -> bool {
        self.current
    }

    /// Whether the next execution is a dive.
    pub(super) fn choose(&mut self) -> bool {
        let Some(route) = self.route.as_ref().filter(|_| self.is_active() && self.learned >= AFTER) else {
            return false;
        };
        let goals = route.borrow().goals().len();
        self.so_far.dives += 1;
        self.current = true;
        self.goal = 0;
        self.stopped = vec![None; goals];
        self.met = false;
        self.runner = None;
        true
    }

    /// Looks at an execution.
    pub(super) fn learn(&mut self, trace: &Trace) {
        if !std::mem::take(&mut self.current) {
            self.learned += 1;
            return;
        }
        let Some(route) = self.route.clone() else { return };
        let meeting = matches!(route.borrow().wanted(), Wanted::Meeting(_));
        let all = route.borrow().goals().len();
        let reached = if meeting { self.stopped.iter().flatten().count() } else { self.goal };
        let mut was_useful = reached > self.so_far.furthest;
        self.so_far.furthest = self.so_far.furthest.max(reached);
        if self.met || !meeting && reached == all {
            self.so_far.arrived += 1;
            was_useful = true;
        } else if !meeting && all < MOST_ADDED {
            was_useful |= refine(&mut route.borrow_mut(), self.goal, trace, &mut self.rng);
        }
        self.in_vain = if was_useful { 0 } else { self.in_vain + 1 };
    }

    /// How many places the dive that is going on has come by.
    pub(super) fn furthest_now(&self) -> usize {
        self.goal
    }

    fn nearest(
        &mut self,
        route: &mut Route,
        pending: &[Pending],
        running: Option<ThreadId>,
    ) -> Option<ThreadId> {
        let meeting = matches!(route.wanted(), Wanted::Meeting(_));
        let mut best: Option<(u32, bool, u64, ThreadId)> = None;
        for one in pending.iter().filter(|one| one.enabled && !one.yields) {
            if self.stopped.contains(&Some(one.thread)) {
                continue;
            }
            let distance = if meeting {
                let open = (0..self.stopped.len()).filter(|&goal| self.stopped[goal].is_none());
                open.map(|goal| route.distance(goal, one.site)).min().unwrap_or(NO_WAY)
            } else {
                route.distance(self.goal, one.site)
            };
            // By lot among equals, but for the first dive: whoever runs goes on.
            let lot = if self.so_far.dives == 1 { u64::from(one.thread.0) } else { self.rng.number() };
            let rank = (distance, Some(one.thread) != running, lot, one.thread);
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
            }
        }
        best.map(|best| best.3)
    }

    /// Stops threads that are at a free place of the meeting.
    fn meet(&mut self, route: &Route, pending: &[Pending]) {
        for one in pending {
            if self.stopped.contains(&Some(one.thread)) {
                continue;
            }
            let free = (0..self.stopped.len())
                .find(|&goal| self.stopped[goal].is_none() && route.matches(goal, one.site));
            if let Some(goal) = free {
                self.stopped[goal] = Some(one.thread);
            }
        }
        if self.stopped.iter().all(Option::is_some) {
            // They go on in the given order, or in the other one.
            self.met = true;
            let first = if self.so_far.dives % 2 == 1 { self.stopped.first() } else { self.stopped.last() };
            self.runner = first.copied().flatten();
        }
    }
}

impl Guide for Diver {
    fn is_fair(&self) -> bool {
        false
    }

    fn choose(&mut self, _step: StepIndex, running: Option<ThreadId>, pending: &[Pending]) -> Decision {
        let Some(route) = self.route.clone() else { return Decision::Default };
        let route = &mut *route.borrow_mut();
        self.pending.clear();
        self.pending.extend_from_slice(pending);
        let meeting = matches!(route.wanted(), Wanted::Meeting(_));
        if meeting && !self.met {
            self.meet(route, pending);
        }
        if self.met || !meeting && self.goal == route.goals().len() {
            // Arrived: whoever came last goes on.
            let can =
                |thread: &ThreadId| pending.iter().any(|p| p.thread == *thread && p.enabled && !p.yields);
            return match self.runner.filter(can) {
                Some(thread) => Decision::Take(Choice { thread, alt: Alt::DEFAULT }),
                None => Decision::Default,
            };
        }
        match self.nearest(route, pending, running) {
            Some(thread) => Decision::Take(Choice { thread, alt: Alt::DEFAULT }),
            None => {
                // Nobody else can go on: somebody at a place has to.
                self.stopped.iter_mut().for_each(|stopped| *stopped = None);
                Decision::Default
            }
        }
    }

    fn executed(&mut self, _step: StepIndex, event: &Event) {
        let Some(route) = &self.route else { return };
        let route = route.borrow();
        if matches!(route.wanted(), Wanted::Meeting(_)) {
            return;
        }
        let site = self.pending.iter().find(|one| one.thread == event.thread).map_or(0, |one| one.site);
        if route.matches(self.goal, site) {
            self.goal += 1;
            self.runner = Some(event.thread);
        }
    }
}

/// Puts a place in front of a goal that depends on a value; whether there is one.
fn refine(route: &mut Route, goal: usize, trace: &Trace, rng: &mut Rng) -> bool {
    let passed = route.before(goal);
    let mut writers = Vec::new();
    for object in decisive(trace, &passed) {
        let theirs = route.writers(object).iter().copied();
        writers.extend(theirs.filter(|&site| !route.matches(goal, site)));
    }
    writers.dedup();
    if !writers.is_empty() {
        route.insert(goal, writers[rng.below(writers.len())]);
    }
    !writers.is_empty()
}
