//! What std promises about `Barrier`, as plain std and under control.

use crate::support::exhaust::exhaust;
use crate::support::{promised, report};
use schedcheck_rt::facade::sync::Barrier;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::thread;
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn nobody_passes_before_all_have_arrived_and_one_leads() {
    promised(|| {
        let (barrier, arrived, leaders) = (Barrier::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=2 {
                        arrived.fetch_add(1, SeqCst);
                        if barrier.wait().is_leader() {
                            leaders.fetch_add(1, SeqCst);
                        }
                        assert!(arrived.load(SeqCst) >= 3 * round);
                        barrier.wait();
                    }
                });
            }
        });
        assert_eq!(leaders.load(SeqCst), 2);
        Ok(())
    });
}

#[test]
fn a_barrier_for_one_or_none_lets_everyone_lead() {
    promised(|| {
        assert!(Barrier::new(0).wait().is_leader());
        let alone = Barrier::new(1);
        assert!(alone.wait().is_leader() && alone.wait().is_leader());
        assert_eq!(
            format!("{alone:?} {:?}", alone.wait()),
            "Barrier { .. } BarrierWaitResult { is_leader: true }"
        );
        Ok(())
    });
}

#[test]
fn somebody_leads_whoever_it_is() {
    let summary = exhaust(|| {
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            let waits = || barrier.wait().is_leader();
            let threads = [scope.spawn(waits), scope.spawn(waits)];
            let mine = barrier.wait().is_leader();
            let theirs = threads.map(|thread| thread.join().unwrap());
            report((mine, theirs));
        });
        Ok(())
    });
    assert_eq!((summary.classes, summary.results.len()), (6, 3), "{summary:?}");
}

#[test]
fn a_missing_thread_is_a_deadlock() {
    let summary = exhaust(|| {
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            scope.spawn(|| barrier.wait());
            barrier.wait();
        });
        Ok(())
    });
    assert!(summary.results.contains("deadlock") && summary.results.len() == 1, "{summary:?}");
}
