//! The simplest schedule of a failure, where the facades make blocked operations more than one step.

use crate::support::explore::by;
use crate::support::{alone, show};
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::{RwLock, mpsc};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::shrink::{minimise, preemptions};
use schedcheck_rt::search::step::{Budget, Model, Trace};
use schedcheck_rt::search::{Options, Search};
use std::sync::atomic::Ordering::SeqCst;

/// A deadlock that needs one preemption, of the holder: behind the writer the other reader is held back, and the holder
/// waits for that one.
fn a_reader_is_held_back() -> TestResult {
    let lock = RwLock::new(());
    let (held, go, seen) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let (tx, rx) = mpsc::channel();
    thread::scope(|scope| {
        let (lock, held, go, seen) = (&lock, &held, &go, &seen);
        scope.spawn(move || {
            let _guard = lock.read().unwrap();
            held.store(1, SeqCst);
            if seen.load(SeqCst) == 1 {
                rx.recv().unwrap();
            }
        });
        scope.spawn(move || drop(lock.write().unwrap()));
        scope.spawn(move || {
            if held.load(SeqCst) == 1 {
                go.store(1, SeqCst);
            }
            let _guard = lock.read().unwrap();
            _ = tx.send(());
        });
        scope.spawn(move || {
            if go.load(SeqCst) == 1 {
                seen.store(1, SeqCst);
            }
        });
    });
    Ok(())
}

#[test]
fn to_leave_a_reader_that_is_held_back_is_no_preemption() {
    let _alone = alone();
    let test = Test { body: a_reader_is_held_back, should_panic: None };
    let mut execution = Execution::new(test, 1_000);
    let mut search = Search::new(Options { bound: Some(2), ..by("pb", Budget::NONE) });
    let (mut trace, mut deadlocks) = (Trace::default(), 0);
    while let Some(order) = search.next() {
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        if execution.outcome().word() != "deadlock" {
            continue;
        }
        deadlocks += 1;
        let found = preemptions(&trace);
        let (plan, thought) = minimise(&trace).expect("it is small");
        execution.run(&plan, None, &mut trace);
        let fewest = (execution.outcome().word(), preemptions(&trace), thought);
        assert_eq!(fewest, ("deadlock", 1, 1), "it had {found}\n{}", show(&trace));
    }
    assert!(deadlocks > 1, "{deadlocks}");
}
