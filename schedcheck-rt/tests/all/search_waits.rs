//! What waits could have come before the step that made it wait.
//!
//! What a thread waits for may have been there before, and gone again. That the step which brought it back comes
//! after the one that took it away does not mean that the thread could not have come before both. And what looks at
//! an object does not take it: nobody has to wait for it.

use crate::support::explore::{agree_with_all, by, every_order, explore};
use crate::support::report;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::sync::mpsc::sync_channel;
use schedcheck_rt::facade::sync::{Mutex, Once, OnceLock, RwLock};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::SeqCst;

/// A receiver that fills its own channel, beside another sender.
fn fills(bound: usize, takes: bool) -> TestResult {
    let (sender, receiver) = sync_channel(bound);
    let other = sender.clone();
    thread::scope(|scope| {
        let sent = scope.spawn(move || other.send(9).is_ok());
        (0..bound).for_each(|item| sender.send(item).unwrap());
        let first = takes.then(|| receiver.recv().unwrap());
        drop(receiver);
        report((first, sent.join().unwrap()));
    });
    Ok(())
}

#[test]
fn a_receiver_that_goes() {
    agree_with_all("room for one", || fills(1, false), Budget::NONE);
    agree_with_all("room for two", || fills(2, false), Budget::NONE);
}

#[test]
fn a_receiver_that_takes() {
    agree_with_all("room for one", || fills(1, true), Budget::NONE);
    agree_with_all("room for two", || fills(2, true), Budget::NONE);
}

#[test]
fn a_receiver_that_does_not_wait_for_room() {
    fn fills(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        let other = sender.clone();
        thread::scope(|scope| {
            let sent = scope.spawn(move || other.send(9).is_ok());
            let refused = (0..bound).filter(|&item| sender.try_send(item).is_err()).count();
            drop(receiver);
            report((refused, sent.join().unwrap()));
        });
        Ok(())
    }
    agree_with_all("room for one", || fills(1), Budget::NONE);
    agree_with_all("room for two", || fills(2), Budget::NONE);
}

#[test]
fn several_that_are_told_at_once() {
    fn fills(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        thread::scope(|scope| {
            let others = [1, 2].map(|item| {
                let sender = sender.clone();
                scope.spawn(move || sender.send(item).is_ok())
            });
            sender.send(0).unwrap();
            drop(receiver);
            report(others.map(|other| other.join().unwrap()));
        });
        Ok(())
    }
    agree_with_all("room for one", || fills(1), Budget::NONE);
    agree_with_all("room for two", || fills(2), Budget::NONE);
}

#[test]
fn one_that_would_be_told_of_a_panic() {
    fn panics(once: &Once) {
        _ = catch_unwind(AssertUnwindSafe(|| once.call_once(|| resume_unwind(Box::new(())))));
    }
    fn is_told(once: &Once) -> bool {
        catch_unwind(AssertUnwindSafe(|| once.wait())).is_err()
    }
    let by_one_thread = || {
        let once = Once::new();
        thread::scope(|scope| {
            let waits = scope.spawn(|| is_told(&once));
            panics(&once);
            once.call_once_force(|_| {});
            report(waits.join().unwrap());
        });
        Ok(())
    };
    let by_two_threads = || {
        let (once, overrides) = (Once::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            let waits = scope.spawn(|| is_told(&once));
            scope.spawn(|| panics(&once));
            once.call_once_force(|state| overrides.store(1 + usize::from(state.is_poisoned()), SeqCst));
            report((overrides.load(SeqCst), waits.join().unwrap()));
        });
        Ok(())
    };
    let entries = || {
        let once = Once::new();
        panics(&once);
        thread::scope(|scope| {
            let enters = || catch_unwind(AssertUnwindSafe(|| once.call_once(|| {}))).is_err();
            let told = [scope.spawn(enters), scope.spawn(enters)];
            once.call_once_force(|_| {});
            report(told.map(|thread| thread.join().unwrap()));
        });
        Ok(())
    };
    agree_with_all("a panic and a second try by one thread", by_one_thread, Budget::NONE);
    agree_with_all("by two threads", by_two_threads, Budget::NONE);
    agree_with_all("those who enter", entries, Budget::NONE);
}

/// Clearing the poison flag of a lock does not take the lock: somebody may hold it meanwhile.
#[test]
fn a_poison_flag_is_cleared_while_others_lock() {
    fn poison(lock: &Mutex<Vec<u32>>) {
        let panics = || {
            let _guard = lock.lock();
            resume_unwind(Box::new(()));
        };
        _ = catch_unwind(AssertUnwindSafe(panics));
    }
    let mutex = || {
        let lock = Mutex::new(Vec::new());
        poison(&lock);
        thread::scope(|scope| {
            let other = scope.spawn(|| lock.lock().is_err());
            scope.spawn(|| lock.clear_poison());
            let own = lock.lock().is_err();
            report((own, other.join().unwrap()));
        });
        Ok(())
    };
    let tried = || {
        let lock = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let other = scope.spawn(|| lock.try_lock().is_ok());
            scope.spawn(|| poison(&lock));
            lock.clear_poison();
            report((lock.is_poisoned(), other.join().unwrap()));
        });
        Ok(())
    };
    let rwlock = || {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() += 1);
            scope.spawn(|| lock.clear_poison());
            report(*lock.read().unwrap());
        });
        Ok(())
    };
    agree_with_all("a mutex", mutex, Budget::NONE);
    agree_with_all("a mutex that is tried", tried, Budget::NONE);
    agree_with_all("a reader-writer lock", rwlock, Budget::NONE);
}

#[test]
fn a_wait_for_a_value_that_an_initialiser_failed_to_make() {
    fn body() -> TestResult {
        let value = OnceLock::new();
        thread::scope(|scope| {
            scope.spawn(|| report(value.wait()));
            let made = catch_unwind(AssertUnwindSafe(|| *value.get_or_init(|| resume_unwind(Box::new(())))));
            made.unwrap_or(0)
        });
        Ok(())
    }
    // It was never possible: not before the initialiser failed either.
    agree_with_all("nobody else", body, Budget::NONE);
}

#[test]
fn an_unlock_that_poisons() {
    fn body() -> TestResult {
        let (lock, table) = (Mutex::new(()), RwLock::new(()));
        thread::scope(|scope| {
            scope.spawn(|| {
                let panics = || {
                    let _held = (lock.lock(), table.write());
                    resume_unwind(Box::new(()))
                };
                catch_unwind(AssertUnwindSafe(panics)).unwrap_or(());
            });
            report((lock.is_poisoned(), table.is_poisoned(), lock.is_poisoned()));
        });
        Ok(())
    }
    agree_with_all("seen from outside", body, Budget::NONE);
}

/// Two loops wait for each other, and one of them gives up after some rounds.
#[test]
fn loops_that_wait_for_each_other() {
    fn wait(patience: usize) -> TestResult {
        let flag = AtomicUsize::new(0);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut rounds = 0;
                while flag.load(SeqCst) == 0 && rounds < patience {
                    rounds += 1;
                    thread::yield_now();
                }
                flag.swap(2, SeqCst)
            });
            let mut rounds = 0;
            while flag.load(SeqCst) == 0 {
                rounds += 1;
                thread::yield_now();
            }
            report((rounds, other.join().unwrap()));
        });
        Ok(())
    }
    agree_with_all("five rounds", || wait(5), Budget::NONE);
    agree_with_all("six rounds", || wait(6), Budget::NONE);
}

/// A loop that wakes somebody in each round, who is woken by another thread as well: the two orders of that are one schedule,
/// so it must not matter to how far the loop is followed.
#[test]
fn what_commutes_with_a_loop_is_nothing_to_go_on_for() {
    fn body() -> TestResult {
        let flag = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (woken, main) = (thread::current(), thread::current());
            let flag = &flag;
            scope.spawn(move || {
                woken.unpark();
                flag.store(1, SeqCst);
            });
            let mut rounds = 0;
            loop {
                main.unpark();
                if flag.load(SeqCst) == 1 || rounds == 7 {
                    break;
                }
                rounds += 1;
                thread::yield_now();
            }
            thread::park();
            report(rounds);
        });
        Ok(())
    }
    assert_eq!(every_order(body), explore(body, by("mdpor,pb", Budget::NONE)).results);
    agree_with_all("by every way to search", body, Budget::NONE);
}
