//! The end of a thread as std has it: who drops its result, and who waits for its thread-local values.

use crate::support::explore::found_by_every_search;
use crate::support::{execute, promised, report};
use schedcheck_rt::__schedcheck_thread_local as thread_local;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::exec::outcome::Outcome;
use schedcheck_rt::facade::sync::Mutex;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::sync::mpsc::channel;
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Alt;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// Counts its drops.
struct Noisy(Arc<AtomicUsize>);

impl Drop for Noisy {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

thread_local!(static KEPT: RefCell<Option<Noisy>> = const { RefCell::new(None) });

fn outcomes(body: fn() -> TestResult) -> Vec<String> {
    found_by_every_search("a thread's end", body).0
}

#[test]
fn a_result_that_nobody_asks_for_is_dropped() {
    promised(|| {
        let (sender, receiver) = channel();
        drop(thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        }));
        assert_eq!(receiver.iter().sum::<u32>(), 1, "the receiver is told when the result is gone");
        let drops = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            let drops = &drops;
            scope.spawn(|| Noisy(drops.clone()));
            let kept = scope.spawn(|| Noisy(drops.clone()));
            let asked_for = scope.spawn(|| Noisy(drops.clone())).join().unwrap();
            std::mem::forget(asked_for);
            drop(kept);
        });
        assert_eq!(drops.load(SeqCst), 2);
        Ok(())
    });
}

#[test]
fn the_last_of_thread_and_handle_drops_a_result() {
    struct Named(std::sync::mpsc::Sender<bool>, thread::ThreadId);

    impl Drop for Named {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id() == self.1);
        }
    }

    fn body() -> TestResult {
        let (sender, receiver) = std::sync::mpsc::channel();
        let number = AtomicUsize::new(0);
        thread::scope(|scope| {
            let handle = scope.spawn(|| {
                number.store(1, SeqCst);
                Named(sender, thread::current().id())
            });
            let before = number.load(SeqCst);
            drop(handle);
            report((before, number.load(SeqCst)));
        });
        let by_thread: Vec<bool> = receiver.iter().collect();
        assert_eq!(by_thread.len(), 1);
        report(by_thread[0]);
        Ok(())
    }
    assert_eq!(outcomes(body), ["false", "true"]);
}

#[test]
fn whoever_drops_a_result_may_wait_for_what_the_thread_holds() {
    struct Locks(Arc<Mutex<u32>>);

    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }

    fn body() -> TestResult {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let handle = thread::spawn(move || Locks(other));
        let guard = lock.lock().unwrap();
        drop(handle);
        report(*guard);
        Ok(())
    }
    // If the thread is done by then, its result is dropped by who holds the lock that it needs.
    assert_eq!(outcomes(body), ["0", "deadlock"]);
}

#[test]
fn a_scope_does_not_wait_for_thread_local_values() {
    fn body() -> TestResult {
        let drops = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| KEPT.set(Some(Noisy(drops.clone()))));
        });
        report(drops.load(SeqCst));
        Ok(())
    }
    assert_eq!(outcomes(body), ["0", "1"]);
}

#[test]
fn a_thread_is_finished_before_its_thread_local_values_are_dropped() {
    fn body() -> TestResult {
        let drops = Arc::new(AtomicUsize::new(0));
        let other = drops.clone();
        let handle = thread::spawn(move || KEPT.set(Some(Noisy(other))));
        let seen = (handle.is_finished(), drops.load(SeqCst));
        handle.join().unwrap();
        report((seen, drops.load(SeqCst)));
        Ok(())
    }
    let all = ["((false, 0), 1)", "((false, 1), 1)", "((true, 0), 1)", "((true, 1), 1)"];
    assert_eq!(outcomes(body), all);
}

struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        resume_unwind(Box::new(()));
    }
}

thread_local!(static PANICS: Panics = const { Panics });

/// A plan that asks for a further round of a loop that waits is given up, but what has happened before that has happened.
#[test]
fn a_crash_is_one_whatever_becomes_of_the_plan() {
    fn body() -> TestResult {
        let flag = Arc::new(AtomicUsize::new(0));
        let awaited = flag.clone();
        let waits = thread::spawn(move || {
            while awaited.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        thread::spawn(|| PANICS.with(|_| ())).join().unwrap();
        (0..9).for_each(|_| _ = flag.load(SeqCst));
        flag.store(1, SeqCst);
        waits.join().unwrap();
        Ok(())
    }
    let rounds = [(5, 1, Alt::DEFAULT), (7, 1, Alt::DEFAULT)];
    let further = (15, 1, Alt::DEFAULT);
    for turns in [&[][..], &rounds, &[rounds[0], rounds[1], further]] {
        let (_, outcome) = execute(body, turns);
        assert!(matches!(outcome, Outcome::Crash(_)), "{turns:?}: {outcome:?}");
    }
}
