//! Steps commute as their modes claim: small bodies in all their orders, for every primitive.

use crate::support::exhaust::{Summary, exhaust, exhaust_within};
use crate::support::report;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::sync::mpsc::{channel, sync_channel};
use schedcheck_rt::facade::sync::{Condvar, Mutex, Once, RwLock};
use schedcheck_rt::facade::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

fn outcomes(summary: &Summary) -> Vec<&str> {
    summary.results.iter().map(String::as_str).collect()
}

#[test]
fn mutex_and_try_lock() {
    let summary = exhaust(|| {
        let lock = Mutex::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.lock().unwrap() += 1);
            report(lock.try_lock().map(|value| *value).ok());
        });
        Ok(())
    });
    assert_eq!(outcomes(&summary), ["None", "Some(0)", "Some(1)"]);
}

#[test]
fn two_threads_with_two_locks_each() {
    let summary = exhaust(|| {
        let lock = Mutex::new(());
        thread::scope(|scope| {
            let lock_twice = || (0..2).for_each(|_| drop(lock.lock()));
            scope.spawn(lock_twice);
            lock_twice();
        });
        Ok(())
    });
    assert_eq!(summary.classes, 6, "{summary:?}");
}

#[test]
fn notifications_and_spurious_wake_ups() {
    fn body() -> TestResult {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *ready.lock().unwrap() = true;
                changed.notify_one();
            });
            let mut guard = ready.lock().unwrap();
            if !*guard {
                guard = changed.wait(guard).unwrap();
            }
            report(*guard);
        });
        Ok(())
    }
    assert_eq!(outcomes(&exhaust(body)), ["true"]);
    assert_eq!(outcomes(&exhaust_within(body, 1)), ["false", "true"]);
}

#[test]
fn timed_waits() {
    fn body() -> TestResult {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| changed.notify_all());
            let waited = changed.wait_timeout(lock.lock().unwrap(), Duration::from_secs(1));
            report(waited.unwrap().1.timed_out());
        });
        Ok(())
    }
    assert_eq!(outcomes(&exhaust(body)), ["false", "true"]);
    assert_eq!(outcomes(&exhaust_within(body, 1)), ["false", "true"]);
}

#[test]
fn park_and_unpark() {
    fn body() -> TestResult {
        let me = thread::current();
        let woken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    woken.fetch_add(1, SeqCst);
                    me.unpark();
                });
            }
            thread::park();
            report(woken.load(SeqCst));
        });
        Ok(())
    }
    assert_eq!(outcomes(&exhaust(body)), ["1", "2"]);
    assert_eq!(outcomes(&exhaust_within(body, 1)), ["0", "1", "2"]);
}

#[test]
fn weak_failures_and_finished_threads() {
    fn body() -> TestResult {
        let value = AtomicUsize::new(0);
        thread::scope(|scope| {
            let other = scope.spawn(|| value.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok());
            let finished = other.is_finished();
            report((finished, value.load(SeqCst), other.join().unwrap()));
        });
        Ok(())
    }
    assert_eq!(exhaust(body).results.len(), 3);
    assert_eq!(exhaust_within(body, 1).results.len(), 5);
}

#[test]
fn timed_receives() {
    fn unbounded() -> TestResult {
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(move || sender.send(1));
            let second = Duration::from_secs(1);
            report([receiver.recv_timeout(second), receiver.recv_timeout(second)]);
        });
        Ok(())
    }
    fn rendezvous() -> TestResult {
        let (sender, receiver) = sync_channel(0);
        thread::scope(|scope| {
            scope.spawn(move || sender.try_send(1).is_ok());
            report(receiver.recv_timeout(Duration::from_secs(1)));
        });
        Ok(())
    }
    assert_eq!(outcomes(&exhaust(unbounded)), ["[Ok(1), Err(Disconnected)]"]);
    let all = ["[Err(Timeout), Ok(1)]", "[Ok(1), Err(Disconnected)]", "[Ok(1), Err(Timeout)]"];
    assert_eq!(outcomes(&exhaust_within(unbounded, 1)), all);
    assert_eq!(outcomes(&exhaust(rendezvous)), ["Err(Disconnected)", "Ok(1)"]);
    assert_eq!(outcomes(&exhaust_within(rendezvous, 1)), ["Err(Disconnected)", "Err(Timeout)", "Ok(1)"]);
}

#[test]
fn channels_with_everything_at_once() {
    fn crowded(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        let other = sender.clone();
        thread::scope(|scope| {
            let tries = scope.spawn(move || other.try_send(1).is_ok());
            let sends = scope.spawn(move || sender.send(2).is_ok());
            let first = receiver.try_recv();
            let second = receiver.recv();
            drop(receiver);
            report((first, second, tries.join().unwrap(), sends.join().unwrap()));
        });
        Ok(())
    }
    let bodies: [fn() -> TestResult; 3] = [|| crowded(0), || crowded(1), || crowded(2)];
    for body in bodies {
        assert!(exhaust(body).results.len() > 3);
    }
}

#[test]
fn once_with_waiters() {
    let summary = exhaust(|| {
        let (once, ran) = (Once::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| once.call_once(|| ran.store(1, SeqCst)));
            scope.spawn(|| once.call_once(|| ran.store(2, SeqCst)));
            once.wait();
            report((ran.load(SeqCst), once.is_completed()));
        });
        Ok(())
    });
    assert_eq!(outcomes(&summary), ["(1, true)", "(2, true)"]);
}

#[test]
fn readers_writers_and_nesting() {
    let summary = exhaust(|| {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() += 1);
            scope.spawn(|| lock.try_write().map(|mut value| *value += 1).is_ok());
            let outer = lock.read().unwrap();
            let inner = lock.read().unwrap();
            report((*outer, *inner));
        });
        Ok(())
    });
    assert_eq!(outcomes(&summary), ["(0, 0)", "(1, 1)", "(2, 2)", "deadlock"]);
}

#[test]
fn poison_is_seen_and_cleared_in_every_order() {
    let summary = exhaust(|| {
        let locks = (Mutex::new(()), RwLock::new(()));
        thread::scope(|scope| {
            let poisons = scope.spawn(|| {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = locks.1.write();
                    resume_unwind(Box::new(()));
                }));
            });
            let seen = locks.1.is_poisoned();
            poisons.join().unwrap();
            scope.spawn(|| locks.1.clear_poison());
            assert!(locks.0.lock().is_ok());
            report((seen, locks.1.read().is_err(), locks.1.is_poisoned()));
        });
        Ok(())
    });
    assert_eq!(summary.results.len(), 6, "{summary:?}");
}

/// A guard beside one that the thread has already takes nothing, but it is told of the poison.
#[test]
fn poison_is_cleared_between_two_guards_of_one_reader() {
    let summary = exhaust(|| {
        let lock = RwLock::new(());
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.write();
            resume_unwind(Box::new(()));
        }));
        thread::scope(|scope| {
            scope.spawn(|| lock.clear_poison());
            let outer = lock.read();
            let inner = lock.read();
            let tried = lock.try_read();
            report((outer.is_err(), inner.is_err(), tried.is_err()));
        });
        Ok(())
    });
    let expected =
        ["(false, false, false)", "(true, false, false)", "(true, true, false)", "(true, true, true)"];
    assert_eq!(outcomes(&summary), expected);
}
