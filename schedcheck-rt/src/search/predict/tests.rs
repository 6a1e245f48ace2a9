//! Predictions against programs of which everything is known.

use super::super::engine::Search;
use super::super::models::toy::{Op, Program, Script, Toy, straight};
use super::super::options::Options;
use super::super::rng::Rng;
use super::super::step::{Mode, Model, Plan, Trace};
use super::{Kind, Prediction, predict};
use Op::*;

const A: u32 = 0;
const B: u32 = 1;
const GATE: u32 = 2;
const X: u32 = 3;
const Y: u32 = 4;
const CONDVAR: u32 = 5;

/// What the first execution of these threads lets one expect.
fn predictions(threads: Vec<Script>, running: usize) -> Vec<Prediction> {
    let program = Program { running, ..Program::new(threads, 6) };
    let mut trace = Trace::default();
    Toy::new(program).run(&Plan::default(), None, &mut trace);
    assert!(trace.pending.is_empty(), "the first execution runs to its end");
    predict(&trace).predictions
}

fn kinds(threads: &[&[Op]]) -> Vec<Kind> {
    let threads: Vec<_> = threads.iter().map(|ops| straight(ops.to_vec())).collect();
    let running = threads.len();
    let mut kinds: Vec<_> = predictions(threads, running).iter().map(|one| one.kind).collect();
    kinds.dedup();
    kinds
}

fn in_order(first: u32, second: u32) -> Vec<Op> {
    vec![Lock(first), Lock(second), Unlock(second), Unlock(first)]
}

/// The same while holding the gate.
fn gated(ops: Vec<Op>) -> Vec<Op> {
    [vec![Lock(GATE)], ops, vec![Unlock(GATE)]].concat()
}

#[test]
fn a_cyclic_lock_order_is_predicted_and_a_common_one_is_not() {
    assert!(kinds(&[&in_order(A, B), &in_order(B, A)]).contains(&Kind::LockOrder));
    assert!(!kinds(&[&in_order(A, B), &in_order(A, B)]).contains(&Kind::LockOrder));
}

#[test]
fn a_gate_lock_rules_a_cycle_out() {
    let (there, back) = (gated(in_order(A, B)), gated(in_order(B, A)));
    assert!(!kinds(&[&there, &back]).contains(&Kind::LockOrder));
    // A gate that only one of them passes is none.
    assert!(kinds(&[&there, &in_order(B, A)]).contains(&Kind::LockOrder));
}

#[test]
fn readers_do_not_keep_each_other_out() {
    let shared =
        |first, second| vec![ReadLock(first), ReadLock(second), UnlockShared(second), UnlockShared(first)];
    assert!(!kinds(&[&shared(A, B), &shared(B, A)]).contains(&Kind::LockOrder));
    let mixed = vec![ReadLock(B), Lock(A), Unlock(A), UnlockShared(B)];
    assert!(kinds(&[&in_order(A, B), &mixed]).contains(&Kind::LockOrder));
}

#[test]
fn what_is_spawned_afterwards_or_joined_before_is_not_in_a_cycle() {
    let orders = |main: Vec<Op>, child: Vec<Op>| {
        let threads = vec![straight(main), straight([vec![Start], child, vec![Finish]].concat())];
        let found = predictions(threads, 1);
        found.iter().any(|one| one.kind == Kind::LockOrder)
    };
    let child = in_order(B, A);
    assert!(orders([vec![Spawn(1)], in_order(A, B)].concat(), child.clone()));
    assert!(!orders([in_order(A, B), vec![Spawn(1)]].concat(), child.clone()));
    assert!(!orders([vec![Spawn(1), Join(1)], in_order(A, B)].concat(), child));
}

#[test]
fn an_update_in_two_steps_is_predicted_unless_a_lock_protects_it() {
    let update = [Load(X), Store(X, 1)];
    assert!(kinds(&[&update, &update]).contains(&Kind::Atomicity));
    let under = |lock| vec![Lock(lock), Load(X), Store(X, 1), Unlock(lock)];
    assert!(!kinds(&[&under(A), &under(A)]).contains(&Kind::Atomicity));
    assert!(kinds(&[&under(A), &under(B)]).contains(&Kind::Atomicity), "the wrong lock");
}

#[test]
fn two_variables_that_are_used_one_after_the_other_are_predicted_unless_a_lock_protects_them() {
    let (set, get) = ([Store(X, 1), Store(Y, 1)], [Load(X), Load(Y)]);
    assert!(kinds(&[&set, &get]).contains(&Kind::AtomicityOfTwo));
    let under = |ops: &[Op]| [&[Lock(A)], ops, &[Unlock(A)]].concat();
    assert!(!kinds(&[&under(&set), &under(&get)]).contains(&Kind::AtomicityOfTwo));
    // Two stages: each under its own lock, but not both under one.
    let stages = [Lock(A), Unlock(A), Lock(B), Unlock(B)];
    assert!(kinds(&[&stages, &stages]).contains(&Kind::AtomicityOfTwo));
    assert!(!kinds(&[&in_order(A, B), &in_order(A, B)]).contains(&Kind::AtomicityOfTwo));
}

#[test]
fn a_wake_up_that_no_lock_orders_may_come_too_early() {
    let waits = |lock: Option<u32>| {
        let (before, after): (Vec<_>, Vec<_>) =
            (lock.map(Lock).into_iter().collect(), lock.map(Unlock).into_iter().collect());
        let sleep = Sleep { condvar: CONDVAR, timed: false };
        [before, vec![Enqueue(CONDVAR)], after, vec![sleep]].concat()
    };
    let notify = |lock: Option<u32>| {
        let (before, after): (Vec<_>, Vec<_>) =
            (lock.map(Lock).into_iter().collect(), lock.map(Unlock).into_iter().collect());
        [before, vec![NotifyOne(CONDVAR)], after].concat()
    };
    assert!(kinds(&[&waits(None), &notify(None)]).contains(&Kind::LostWakeup));
    assert!(kinds(&[&waits(Some(A)), &notify(None)]).contains(&Kind::LostWakeup));
    assert!(!kinds(&[&waits(Some(A)), &notify(Some(A))]).contains(&Kind::LostWakeup));
}

/// Locks and unlocks in nested order, up to three deep.
fn nested(rng: &mut Rng) -> Vec<Op> {
    let (mut ops, mut held) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let lock = rng.below(3) as u32;
        if held.contains(&lock) || held.len() == 3 {
            ops.extend(held.pop().map(Unlock));
        } else {
            held.push(lock);
            ops.push(Lock(lock));
        }
    }
    ops.extend(held.into_iter().rev().map(Unlock));
    ops
}

/// Whether some execution ends with threads that wait for locks.
fn deadlocks(program: &Program) -> bool {
    let mut toy = Toy::new(program.clone());
    let mut search = Search::new(Options::default());
    let mut trace = Trace::default();
    let mut found = false;
    while let Some(order) = search.next() {
        toy.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        found |= trace.pending.iter().any(|pending| pending.accesses[0].mode == Mode::Acquire);
    }
    found
}

/// Threads that do nothing but lock: a deadlock is possible just if a cycle is predicted, for two
/// threads; for three, if it is possible it is predicted.
#[test]
fn lock_orders_agree_with_all_executions_of_random_programs() {
    let mut rng = Rng::new(5);
    let (mut predicted, mut possible) = (0, 0);
    for round in 0..400 {
        let count = 2 + round % 2;
        let threads: Vec<Script> = (0..count).map(|_| straight(nested(&mut rng))).collect();
        let program = Program::new(threads, 6);
        let mut trace = Trace::default();
        Toy::new(program.clone()).run(&Plan::default(), None, &mut trace);
        let cycle = predict(&trace).predictions.iter().any(|one| one.kind == Kind::LockOrder);
        let deadlock = deadlocks(&program);
        predicted += u32::from(cycle);
        possible += u32::from(deadlock);
        if count == 2 {
            assert_eq!(cycle, deadlock, "round {round}: {:?}", trace.events);
        } else {
            assert!(cycle || !deadlock, "round {round}: {:?}", trace.events);
        }
    }
    assert!(possible > 50 && possible < 350 && predicted >= possible, "{predicted} {possible}");
}
