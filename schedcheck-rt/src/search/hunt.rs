//! Hunting: executions that are steered to where a prediction would show.
//!
//! A [`Script`] names threads, not steps: this one stops where it is about to do that, the other one goes
//! on until it has done this. What is needed on the way is run (a thread that is still to be started
//! needs its ancestors), everything else waits. So the cost of reaching a place does not grow with the
//! threads that have nothing to do with it (Rungta's thesis, chapter 3: guidance by places and by who can
//! come nearer to them). Three ways to go on from there are tried, the one that finds most first:
//!
//! * *last*: whoever was stopped goes on when nobody else can;
//! * *together*: everybody who comes to that place stops there, until nobody else can go on;
//! * *at once*: whoever was stopped goes on as soon as the other one has passed.
//!
//! Hunting decides what is executed earlier than otherwise, never what is left out: the executions enter
//! the tree like all others ([`super::adopt`]).

use super::predict::{Kind, Point, Prediction, predict};
use super::step::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Executions that were not steered and are looked at.
const PLAIN: u32 = 3;
/// Executions before the first hunt.
const AFTER: u32 = 1;
/// With fewer pending executions a test is about to be done, and nothing is hunted in it.
const FEWEST: usize = 8;
/// Hunts for each execution that is not steered.
const IN_A_ROW: u32 = 2;
/// Executions after which nothing is hunted any more.
const GIVE_UP: u32 = 400;
/// Predictions that are kept.
const MOST: usize = 64;
/// Longer executions are not hunted in: finding a place in the tree would take longer than they do.
const LONGEST: usize = 3000;

/// How to go on once everybody is in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Last,
    Together,
    AtOnce,
}

/// In turn.
const WAYS: [Way; 3] = [Way::Last, Way::Together, Way::AtOnce];

/// What became of a prediction.
#[derive(Clone, Debug)]
pub struct Hunted {
    /// What was predicted.
    pub prediction: Prediction,
    /// Executions that were steered to it.
    pub hunts: u32,
}

/// Predicts from executions, and has them hunted.
#[derive(Debug)]
pub(super) struct Hunter {
    known: Vec<Hunted>,
    keys: FxHashSet<(Kind, Vec<u32>)>,
    /// What is still to be tried, by way: a prediction each.
    queues: [VecDeque<usize>; 3],
    /// Places at which everybody was stopped already.
    stopped_at: FxHashSet<u32>,
    /// Executions that it may still have, and had.
    left: u32,
    pub(super) done: u32,
    learned: u32,
    /// Hunts in a row, and those that showed nothing new.
    streak: u32,
    repeats: u32,
    /// Executions before the next one.
    next_at: u32,
    /// What the last order was to hunt.
    current: Option<usize>,
    script: Script,
}

impl Hunter {
    /// With so many executions at most.
    pub(super) fn new(hunts: u32) -> Self {
        Hunter {
            known: Vec::new(),
            keys: FxHashSet::default(),
            queues: Default::default(),
            stopped_at: FxHashSet::default(),
            left: hunts,
            done: 0,
            learned: 0,
            streak: 0,
            repeats: 0,
            next_at: AFTER,
            current: None,
            script: Script::default(),
        }
    }

    /// Whether there is something to hunt, or may be.
    pub(super) fn is_active(&self) -> bool {
        let more = self.learned < PLAIN || self.queues.iter().any(|queue| !queue.is_empty());
        self.left > 0 && self.learned < GIVE_UP && more
    }

    /// Whether it will look at an execution that it does not steer, and wants to know its places.
    pub(super) fn is_looking(&self) -> bool {
        self.left > 0 && self.learned < PLAIN
    }

    /// The last hunt ended as an earlier execution did. In a small test most of them do, so they become
    /// rare, and it is done before they add up.
    pub(super) fn repeated(&mut self) {
        self.repeats += 1;
        self.next_at = self.learned + (2 << (2 * self.repeats.min(8)));
    }

    /// Everything predicted so far.
    pub(super) fn known(&self) -> &[Hunted] {
        &self.known
    }

    /// What the execution in progress is to show.
    pub(super) fn current(&self) -> Option<usize> {
        self.current
    }

    /// Steers the execution that [`Hunter::choose`] chose.
    pub(super) fn guide(&mut self) -> &mut dyn Guide {
        &mut self.script
    }

    /// Chooses what the next execution is steered to while so many are pending; false if nothing is hunted.
    pub(super) fn choose(&mut self, pending: usize) -> bool {
        self.current = None;
        if self.left == 0 || self.learned < self.next_at || pending < FEWEST {
            return false;
        }
        for turn in 0..WAYS.len() {
            let way = WAYS[(self.done as usize + turn) % WAYS.len()];
            while let Some(at) = self.queues[way as usize].pop_front() {
                let prediction = &self.known[at].prediction;
                let place = prediction.hold[0].site;
                if way == Way::Together && !self.stopped_at.insert(place) {
                    continue;
                }
                self.script.begin(prediction, way);
                self.known[at].hunts += 1;
                self.left -= 1;
                self.done += 1;
                self.current = Some(at);
                self.streak = (self.streak + 1) % IN_A_ROW;
                if self.streak == 0 {
                    self.next_at = self.learned + 1;
                }
                return true;
            }
        }
        false
    }

    /// Looks at an execution.
    pub(super) fn learn(&mut self, trace: &Trace) {
        let hunted = self.current.take().is_some();
        self.learned += u32::from(!hunted);
        if trace.events.len() > LONGEST {
            self.left = 0;
        }
        if trace.end == End::Stopped || self.learned > PLAIN && !hunted || self.left == 0 {
            return;
        }
        let predicted = predict(trace);
        for (child, parent) in predicted.parents {
            self.script.parents.insert(child, parent);
        }
        for prediction in predicted.predictions {
            if self.known.len() < MOST && self.keys.insert(prediction.key()) {
                let at = self.known.len();
                self.known.push(Hunted { prediction: prediction.clone(), hunts: 0 });
                if !predicted.is_entangled {
                    // All orders of the uses of one object are what the search begins with anyway.
                    continue;
                }
                self.queues[Way::Last as usize].push_back(at);
                if prediction.hold.len() == 1 {
                    self.queues[Way::Together as usize].push_back(at);
                    self.queues[Way::AtOnce as usize].push_back(at);
                }
            }
        }
    }
}

/// Who is to be where, and how to go on.
#[derive(Debug, Default)]
struct Script {
    hold: Vec<Point>,
    meanwhile: Option<Point>,
    way: Option<Way>,
    /// How many of `hold` are in place.
    placed: usize,
    /// How often each of `hold`, then `meanwhile`, was done.
    counts: Vec<u32>,
    passed: bool,
    /// Who is stopped, in this order, and who was.
    stopped: Vec<ThreadId>,
    released: Vec<ThreadId>,
    parents: FxHashMap<ThreadId, ThreadId>,
    /// What everybody was about to do when the last choice was made.
    pending: Vec<Pending>,
}

impl Script {
    fn begin(&mut self, prediction: &Prediction, way: Way) {
        self.hold.clone_from(&prediction.hold);
        self.meanwhile = prediction.meanwhile;
        self.way = Some(way);
        self.placed = 0;
        self.counts.clear();
        self.counts.resize(self.hold.len() + 1, 0);
        self.passed = self.meanwhile.is_none();
        self.stopped.clear();
        self.released.clear();
    }

    fn is_about(&self, which: usize, pending: &Pending) -> bool {
        let point = self.hold[which];
        pending.thread == point.thread
            && pending.site == point.site
            && pending.accesses[0].object == point.object
            && self.counts[which] + 1 >= point.nth
    }

    /// Stops whoever has arrived.
    fn look(&mut self, pending: &[Pending]) {
        if self.way == Some(Way::Together) {
            let place = self.hold[0].site;
            for one in pending.iter().filter(|one| one.site == place) {
                if !self.stopped.contains(&one.thread) && !self.released.contains(&one.thread) {
                    self.stopped.push(one.thread);
                }
            }
            return;
        }
        while self.placed < self.hold.len()
            && let Some(one) = pending.iter().find(|one| self.is_about(self.placed, one))
        {
            self.stopped.push(one.thread);
            self.placed += 1;
        }
        let ready = self.placed == self.hold.len() && self.passed;
        if ready && (self.way == Some(Way::AtOnce) || self.meanwhile.is_none()) {
            self.release();
        }
    }

    fn release(&mut self) {
        self.released.append(&mut self.stopped);
        self.placed = self.hold.len();
        self.passed = true;
    }

    /// The thread that is to come nearer to its place.
    fn wanted(&self) -> Option<ThreadId> {
        if self.way == Some(Way::Together) {
            return None;
        }
        match self.hold.get(self.placed) {
            Some(point) => Some(point.thread),
            None => self.meanwhile.map(|point| point.thread),
        }
    }

    /// The first that can run of: `wanted`, those it needs to exist, who was stopped, who runs, the rest.
    fn pick(&self, running: Option<ThreadId>, pending: &[Pending]) -> Option<ThreadId> {
        let free = |thread: ThreadId| {
            let one = pending.iter().find(|one| one.thread == thread)?;
            (one.enabled && !one.yields && !self.stopped.contains(&thread)).then_some(thread)
        };
        let mut next = self.wanted();
        while let Some(thread) = next {
            if let Some(thread) = free(thread) {
                return Some(thread);
            }
            let exists = pending.iter().any(|one| one.thread == thread);
            next = if exists { None } else { self.parents.get(&thread).copied() };
        }
        let first = self.released.iter().copied().find_map(free);
        first.or_else(|| running.and_then(free)).or_else(|| pending.iter().find_map(|one| free(one.thread)))
    }
}

impl Guide for Script {
    fn is_fair(&self) -> bool {
        false
    }

    fn choose(&mut self, _step: StepIndex, running: Option<ThreadId>, pending: &[Pending]) -> Decision {
        self.pending.clear();
        self.pending.extend_from_slice(pending);
        self.look(pending);
        let mut chosen = self.pick(running, pending);
        if chosen.is_none() && !self.stopped.is_empty() {
            self.release();
            chosen = self.pick(running, pending);
        }
        match chosen {
            Some(thread) => Decision::Take(Choice { thread, alt: Alt::DEFAULT }),
            // Only threads that yield, or nobody.
            None => Decision::Default,
        }
    }

    fn executed(&mut self, _step: StepIndex, event: &Event) {
        // The model may number places only after the execution.
        let site = self.pending.iter().find(|one| one.thread == event.thread).map(|one| one.site);
        let did = |point: &Point| {
            event.thread == point.thread
                && event.accesses[0].object == point.object
                && site == Some(point.site)
        };
        for (count, point) in self.counts.iter_mut().zip(&self.hold) {
            *count += u32::from(did(point));
        }
        if let Some(point) = self.meanwhile
            && did(&point)
        {
            let last = self.hold.len();
            self.counts[last] += 1;
            self.passed |= self.placed == last && self.counts[last] >= point.nth;
        }
    }
}
