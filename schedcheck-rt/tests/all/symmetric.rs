//! Threads that are declared interchangeable: the same results, up to who is who, from fewer executions.

use crate::support::explore::by;
use schedcheck_rt::exec::{Execution, Test, TestResult, outside};
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::{Condvar, Mutex};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::{Budget, End, Model, Trace};
use schedcheck_rt::search::{Options, Reduction, Search};
use schedcheck_rt::symmetric;
use std::collections::BTreeSet;
use std::sync::Mutex as SystemMutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::SeqCst;

static SEEN: SystemMutex<Vec<String>> = SystemMutex::new(Vec::new());

/// Called by a body first: an execution may be repeated before the search hears of it.
fn begin() {
    outside(|| SEEN.lock().unwrap_or_else(PoisonError::into_inner).clear());
}

/// Called by a thread or by the test: what it saw. Who saw it does not count.
fn saw(what: impl std::fmt::Debug) {
    let text = format!("{what:?}");
    outside(|| SEEN.lock().unwrap_or_else(PoisonError::into_inner).push(text.as_str().to_owned()));
}

/// Every set of things seen in one execution, and how many executions there were.
fn explore(body: fn() -> TestResult, symmetry: bool, options: Options) -> (BTreeSet<String>, u64) {
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    if !symmetry {
        execution.ignore_symmetry();
    }
    let mut search = Search::new(options);
    let mut trace = Trace::default();
    let mut all = BTreeSet::new();
    while let Some(order) = search.next() {
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        assert!(!matches!(trace.end, End::Diverged(_)), "{:?}", execution.outcome());
        if trace.end != End::Stopped {
            let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
            seen.sort();
            all.insert(format!("{} {seen:?}", execution.outcome().word()));
        }
    }
    (all, search.stats().executions)
}

/// Compares both ways in several orders and with several reductions; how many executions each takes.
fn compare(body: fn() -> TestResult) -> (u64, u64) {
    let _alone = crate::support::alone();
    let mut counts = (0, 0);
    for reduction in [Reduction::Optimal, Reduction::Source] {
        for order in ["dfs", "mdpor,pb", "rand:1"] {
            let options = || Options { reduction, ..by(order, Budget::NONE) };
            let (with, fewer) = explore(body, true, options());
            let (without, all) = explore(body, false, options());
            assert_eq!(with, without, "{reduction:?} by {order}");
            assert!(fewer <= all, "{reduction:?} by {order}: {fewer} instead of {all}");
            if reduction == Reduction::Optimal && order == "dfs" {
                counts = (fewer, all);
            }
        }
    }
    counts
}

/// Raises a number in two steps.
fn lost_updates() -> TestResult {
    begin();
    let number = AtomicU32::new(0);
    symmetric(3, || {
        let before = number.load(SeqCst);
        number.store(before + 1, SeqCst);
        saw(before);
    });
    saw(("end", number.load(SeqCst)));
    Ok(())
}

fn counting() -> TestResult {
    begin();
    let number = AtomicU32::new(0);
    symmetric(4, || saw(number.fetch_add(1, SeqCst)));
    Ok(())
}

fn two_locks() -> TestResult {
    begin();
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    symmetric(3, || {
        let mine = {
            let mut a = a.lock().unwrap();
            *a += 1;
            *a
        };
        let mut b = b.lock().unwrap();
        saw((mine, *b));
        *b = mine;
    });
    Ok(())
}

/// Beside somebody who is not one of them, and first operations that block.
fn with_another() -> TestResult {
    begin();
    let gate = Mutex::new(0);
    let number = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut open = gate.lock().unwrap();
            *open = number.load(SeqCst);
        });
        symmetric(2, || {
            let open = *gate.lock().unwrap();
            saw((open, number.fetch_add(1, SeqCst)));
        });
    });
    Ok(())
}

/// One of them may wait for ever.
fn deadlock() -> TestResult {
    begin();
    let place = Mutex::new(1);
    let freed = Condvar::new();
    symmetric(3, || {
        let mut left = place.lock().unwrap();
        while *left == 0 {
            left = freed.wait(left).unwrap();
        }
        *left -= 1;
        saw(*left);
    });
    Ok(())
}

/// First operations of a kind that is not ordered.
fn yield_first() -> TestResult {
    begin();
    let number = AtomicU32::new(0);
    symmetric(2, || {
        thread::yield_now();
        saw(number.fetch_add(1, SeqCst));
    });
    Ok(())
}

#[test]
fn interchangeable_threads_show_the_same_from_fewer_executions() {
    assert_eq!(compare(counting), (1, 24));
    let (fewer, all) = compare(lost_updates);
    assert!(all == 36 && fewer <= 18, "{fewer} of {all}");
    for body in [two_locks, with_another, deadlock] {
        let (fewer, all) = compare(body);
        assert!(fewer < all, "{fewer} of {all}");
    }
    compare(yield_first);
}

/// What the threads of [`random`] do.
static PROGRAM: SystemMutex<Vec<u64>> = SystemMutex::new(Vec::new());

/// A few operations on two numbers and two mutexes, the same for all threads, with branches on values.
fn random() -> TestResult {
    begin();
    let program = outside(|| PROGRAM.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let numbers = [AtomicU32::new(0), AtomicU32::new(0)];
    let locks = [Mutex::new(0), Mutex::new(0)];
    let work = || {
        let mut last = 0;
        for op in &program {
            let (kind, which, value) = (op % 6, (op / 6 % 2) as usize, (op / 12 % 3) as u32);
            match kind {
                0 => last = numbers[which].load(SeqCst),
                1 => numbers[which].store(value, SeqCst),
                2 => last = numbers[which].fetch_add(1, SeqCst),
                3 => {
                    let mut number = locks[which].lock().unwrap();
                    last = *number;
                    *number += value;
                }
                4 if last == value => return saw(("left", last)),
                _ => last = last.wrapping_add(numbers[which].swap(value, SeqCst)),
            }
            saw(last);
        }
    };
    thread::scope(|scope| {
        if program.len() % 2 == 0 {
            scope.spawn(|| numbers[0].store(2, SeqCst));
        }
        symmetric(2, work);
    });
    saw(("end", numbers[0].load(SeqCst), numbers[1].load(SeqCst)));
    Ok(())
}

#[test]
fn random_bodies_show_the_same_whoever_runs_them() {
    let mut rng = schedcheck_rt::search::rng::Rng::new(11);
    let (mut fewer, mut all) = (0, 0);
    for _ in 0..150 {
        let length = 2 + rng.below(3);
        *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) =
            (0..length).map(|_| rng.below(36) as u64).collect();
        let (with, without) = compare(random);
        fewer += with;
        all += without;
    }
    assert!(fewer * 3 < all * 2, "{fewer} of {all}");
}
