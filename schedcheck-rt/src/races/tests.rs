//! The detector against the oracle, on random traces.

use super::oracle::{ATOMICS, Action, first_race, place};
use super::{Atomic, Detector, HeapLayout, Order, Touch};
use crate::model::{Applied, Kind, Moment, Op};
use crate::search::step::{Alt, Mode, ObjectId, ThreadId};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::panic::Location;

const BASE: usize = 0x5000;
const MEMORY: usize = 64;
const LOCKS: usize = 2;
const THREADS: usize = 4;

/// What a thread would like to do; what is possible then, is done.
#[derive(Clone, Copy, Debug)]
struct Wish {
    thread: usize,
    what: u8,
    order: Order,
    at: usize,
    size: usize,
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let order = prop_oneof![
        Just(Order::RELAXED),
        Just(Order { acquires: true, releases: false }),
        Just(Order { acquires: false, releases: true }),
        Just(Order { acquires: true, releases: true }),
    ];
    let size = prop_oneof![Just(1_usize), Just(2), Just(4), Just(8), Just(16), Just(24)];
    let wish = (0..THREADS, 0..26_u8, order, 0..MEMORY, size)
        .prop_map(|(thread, what, order, at, size)| Wish { thread, what, order, at, size });
    prop::collection::vec(wish, 1..60)
}

/// The state that says which wishes can be granted.
struct Possible {
    started: [bool; THREADS],
    ended: [bool; THREADS],
    holders: [Option<usize>; LOCKS],
}

impl Possible {
    /// The action that comes nearest to a wish.
    fn grant(&mut self, wish: Wish) -> Option<(usize, Action)> {
        let Wish { thread, what, order, at, size } = wish;
        if !self.started[thread] || self.ended[thread] {
            return None;
        }
        let atomic = if at % 16 == 15 { ATOMICS } else { at % ATOMICS };
        let lock = at % LOCKS;
        let other = at % THREADS;
        let action = match what {
            // Few bytes for many accesses, or there would be no second one to race with.
            0..=2 => Action::Plain { touch: Touch::Read, at: ATOMICS * 8 + at % 12, size },
            3..=4 => Action::Plain { touch: Touch::Write, at: ATOMICS * 8 + at % 12, size },
            // Initialisation and plain reads of what is otherwise atomic.
            5 => Action::Plain { touch: Touch::Write, at: at % ATOMICS * 8, size: 8 },
            6 => Action::Plain { touch: Touch::Read, at: at % ATOMICS * 8, size: 4 },
            7..=9 => Action::Load { atomic, order },
            10..=11 => Action::Store { atomic, order },
            12..=13 => Action::Rmw { atomic, order },
            14..=15 => Action::Fence { order },
            16..=18 if self.holders[lock].is_none() => {
                self.holders[lock] = Some(thread);
                Action::Lock { lock }
            }
            19..=21 if self.holders[lock] == Some(thread) => {
                self.holders[lock] = None;
                Action::Unlock { lock }
            }
            22..=23 if !self.started[other] => {
                self.started[other] = true;
                Action::Spawn { child: other }
            }
            24..=25 if other != thread && self.started[other] && other != 0 => {
                self.ended[other] = true;
                Action::Join { child: other }
            }
            _ => return None,
        };
        Some((thread, action))
    }
}

fn trace_of(wishes: &[Wish]) -> Vec<(usize, Action)> {
    let mut possible =
        Possible { started: [true, false, false, false], ended: [false; THREADS], holders: [None; LOCKS] };
    let spawns = (1..THREADS).map(|at| Wish { thread: 0, what: 22, order: Order::RELAXED, at, size: 1 });
    // Most traces should have several threads from the beginning.
    let early = wishes.first().map_or(0, |wish| wish.at % THREADS);
    spawns.take(early).chain(wishes.iter().copied()).filter_map(|wish| possible.grant(wish)).collect()
}

struct Bench {
    detector: Detector,
    steps: u32,
    generation: u32,
    /// The thread whose stack the memory is.
    owner: Option<usize>,
    /// Executions can be made again.
    again: bool,
}

impl Bench {
    fn new() -> Bench {
        let mut bench = Bench::on_stack_of(None, true);
        bench.detector.watch(BASE, MEMORY);
        bench
    }

    fn on_stack_of(owner: Option<usize>, again: bool) -> Bench {
        let detector = Detector::new(HeapLayout { start: 1 << 44, region: 1 << 20, regions: 1 });
        Bench { detector, steps: 0, generation: 0, owner, again }
    }

    fn begin(&mut self, generation: u32) {
        self.detector.begin(generation, !self.again);
        (self.steps, self.generation) = (0, generation);
        if let Some(owner) = self.owner {
            self.detector.run_on(owner, BASE, MEMORY);
        }
    }

    fn step(&mut self, thread: usize, kind: Kind, object: ObjectId) {
        let moment = Moment { thread: ThreadId(thread as u16), step: self.steps, alt: Alt::DEFAULT };
        self.steps += 1;
        let op = Op::new(kind, object, Location::caller());
        self.detector.step(thread, moment, &op, &Applied::access(object, Mode::Write));
    }

    /// Whether an action races.
    fn act(&mut self, thread: usize, action: Action) -> bool {
        let atomic = |number: usize| ObjectId(number as u32);
        let lock = |number: usize| ObjectId((100 + number) as u32);
        let life = |thread: usize| ObjectId((200 + thread) as u32);
        let place = |number: usize| {
            let (at, size) = place(number);
            (BASE + at, size)
        };
        match action {
            Action::Plain { touch, at, size } => {
                // A thread accesses memory only when it has its turn.
                self.step(thread, Kind::Yield, ObjectId::NONE);
                let (private, length) = self.detector.private();
                let (private, at) = ((private..private + length).contains(&(BASE + at)), BASE + at);
                return !private && self.detector.touch(at, size, touch, 0).is_some();
            }
            Action::Load { atomic: number, order } => {
                self.step(thread, Kind::Load, atomic(number));
                return self.detector.atomic(atomic(number), place(number), Atomic::Load, order).is_some();
            }
            Action::Store { atomic: number, order } => {
                self.step(thread, Kind::Store, atomic(number));
                return self.detector.atomic(atomic(number), place(number), Atomic::Store, order).is_some();
            }
            Action::Rmw { atomic: number, order } => {
                self.step(thread, Kind::ReadModifyWrite, atomic(number));
                let atomically = Atomic::ReadModifyWrite;
                return self.detector.atomic(atomic(number), place(number), atomically, order).is_some();
            }
            Action::Fence { order } => {
                self.step(thread, Kind::Fence, ObjectId::NONE);
                self.detector.fence(order);
            }
            Action::Lock { lock: number } => self.step(thread, Kind::Lock, lock(number)),
            Action::Unlock { lock: number } => self.step(thread, Kind::Unlock, lock(number)),
            Action::Spawn { child } => {
                self.step(thread, Kind::Spawn, ObjectId::NONE);
                self.detector.spawned(thread, child);
            }
            Action::Join { child } => {
                self.step(child, Kind::End, life(child));
                self.step(thread, Kind::Join, life(child));
            }
        }
        false
    }

    /// As an execution does it: it ends where it is blind, and is made again.
    fn first_race(&mut self, trace: &[(usize, Action)]) -> Option<usize> {
        self.begin(self.generation + 1);
        let mut actions = trace.iter();
        let found =
            actions.position(|(thread, action)| self.act(*thread, *action) || self.detector.is_blind());
        if !self.detector.is_blind() {
            return found;
        }
        assert!(self.again, "nothing may be missing where there is no other time");
        self.begin(self.generation + 1);
        let found = trace.iter().position(|(thread, action)| self.act(*thread, *action));
        assert!(!self.detector.is_blind(), "it is known now who uses the stack");
        found
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_first_race_of_every_trace_is_the_one_by_definition(all in prop::collection::vec(wishes(), 2)) {
        // The second execution must not be disturbed by what the first one left.
        let mut bench = Bench::new();
        for wishes in &all {
            let trace = trace_of(wishes);
            prop_assert_eq!(bench.first_race(&trace), first_race(&trace), "{:#?}", trace);
        }
    }

    #[test]
    fn races_on_the_stack_of_a_thread_are_the_same(
        all in prop::collection::vec(wishes(), 2),
        owner in 0..THREADS,
        again in any::<bool>(),
    ) {
        let mut bench = Bench::on_stack_of(Some(owner), again);
        for wishes in &all {
            let trace = trace_of(wishes);
            prop_assert_eq!(bench.first_race(&trace), first_race(&trace), "{:#?}", trace);
        }
    }
}

#[test]
fn random_traces_have_races_and_also_have_none() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut racy, mut long_and_clean) = (0, 0);
    for _ in 0..2000 {
        let wishes = wishes().new_tree(&mut runner).expect("a strategy without filters").current();
        let trace = trace_of(&wishes);
        match first_race(&trace) {
            Some(_) => racy += 1,
            None => long_and_clean += usize::from(trace.len() > 15),
        }
    }
    assert!(racy > 400 && long_and_clean > 50, "{racy} racy, {long_and_clean} long and clean");
}

#[test]
fn atomics_of_different_sizes_race_unless_both_are_read() {
    let atomics = [Touch::AtomicRead, Touch::AtomicWrite];
    for (earlier, later) in atomics.into_iter().flat_map(|one| atomics.map(|other| (one, other))) {
        let mut bench = Bench::new();
        bench.begin(1);
        bench.act(0, Action::Spawn { child: 1 });
        assert_eq!(bench.detector.touch(BASE, 8, earlier, 0), None);
        // What its thread does with a half hides nothing of that.
        assert_eq!(bench.detector.touch(BASE + 4, 4, later, 0), None);
        bench.step(1, Kind::Begin, ObjectId::NONE);
        assert_eq!(bench.detector.touch(BASE, 8, Touch::AtomicRead, 0).is_some(), later.writes());
        let race = bench.detector.touch(BASE + 4, 4, later, 0);
        assert_eq!(race.is_some(), earlier.writes() || later.writes(), "{earlier:?} {later:?}");
    }
}

#[test]
fn the_sides_of_a_race_are_named_with_their_steps() {
    let mut bench = Bench::new();
    bench.begin(1);
    bench.act(0, Action::Spawn { child: 1 });
    bench.step(1, Kind::Begin, ObjectId::NONE);
    assert_eq!(bench.detector.touch(BASE + 4, 2, Touch::Write, 70), None);
    bench.step(0, Kind::Yield, ObjectId::NONE);
    let race = bench.detector.touch(BASE, 8, Touch::Read, 71).expect("a race");
    assert_eq!(race.address, BASE + 4);
    let side = |side: super::Side| (side.thread, side.step, side.touch, side.size, side.place);
    assert_eq!(side(race.earlier), (1, Some(1), Touch::Write, 2, 70));
    assert_eq!(side(race.later), (0, Some(2), Touch::Read, 8, 71));
}

#[test]
fn the_side_that_is_sought_is_met_in_the_same_execution_again() {
    let mut bench = Bench::new();
    let mut met = Vec::new();
    let mut race = None;
    for generation in 1..3 {
        bench.begin(generation);
        bench.detector.seek(race);
        bench.act(0, Action::Spawn { child: 1 });
        bench.step(1, Kind::Begin, ObjectId::NONE);
        for (at, place) in [(0, 1), (8, 2)] {
            met.push(bench.detector.seeks(BASE + at, 8, Touch::Write, place));
            assert_eq!(bench.detector.touch(BASE + at, 8, Touch::Write, place), None);
        }
        bench.step(0, Kind::Yield, ObjectId::NONE);
        race = bench.detector.touch(BASE + 8, 1, Touch::Read, 3);
    }
    assert_eq!(met, [false, false, false, true]);
}

#[test]
fn the_end_of_memory_that_others_used_in_part_is_noted_once() {
    let mut bench = Bench::new();
    bench.begin(1);
    bench.act(0, Action::Spawn { child: 1 });
    assert_eq!(bench.detector.touch(BASE, 32, Touch::Write, 0), None);
    bench.step(1, Kind::Begin, ObjectId::NONE);
    assert_eq!(
        bench.detector.touch(BASE + 24, 8, Touch::AtomicRead, 0).map(|race| race.earlier.thread),
        Some(0)
    );
    bench.begin(2);
    bench.act(0, Action::Spawn { child: 1 });
    bench.step(1, Kind::Begin, ObjectId::NONE);
    assert_eq!(bench.detector.touch(BASE + 24, 8, Touch::Write, 0), None);
    bench.act(0, Action::Join { child: 1 });
    assert_eq!(bench.detector.touch(BASE, 16, Touch::Write, 0), None);
    assert_eq!(bench.detector.touch(BASE, 32, Touch::Free, 0), None);
}

#[test]
fn memory_that_is_allocated_again_has_no_past() {
    let mut bench = Bench::new();
    bench.begin(1);
    bench.act(0, Action::Spawn { child: 1 });
    assert_eq!(bench.detector.touch(BASE, 16, Touch::Write, 0), None);
    assert_eq!(bench.detector.touch(BASE, 16, Touch::Free, 0), None);
    bench.step(1, Kind::Begin, ObjectId::NONE);
    let gone = bench.detector.touch(BASE + 8, 1, Touch::Read, 0).expect("it is gone");
    assert_eq!(gone.earlier.touch, Touch::Free);
    assert_eq!(bench.detector.glance(BASE + 3, 9, 0).map(|race| race.earlier.touch), Some(Touch::Free));
    assert_eq!(bench.detector.glance(BASE + 16, 9, 0), None);
    let again = bench.detector.touch(BASE, 16, Touch::Free, 0).expect("it is freed twice");
    assert_eq!(again.earlier.touch, Touch::Free);
    bench.detector.allocated(BASE, 16);
    assert_eq!(bench.detector.touch(BASE + 8, 1, Touch::Read, 0), None);
}
