//! What std promises about `RwLock`, as plain std and under control.

use crate::support::exhaust::exhaust;
use crate::support::explore::{ORDERS, by, explore, outcomes};
use crate::support::{alone, passes, promised, report};
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::{Mutex, RwLock, RwLockWriteGuard, mpsc};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use schedcheck_rt::search::{Options, Reduction};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, TryLockError};

#[test]
fn readers_share_and_a_writer_is_alone() {
    promised(|| {
        let lock = RwLock::new(5);
        {
            let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
            assert_eq!((*first, *second), (5, 5));
            assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        }
        *lock.write().unwrap() += 1;
        {
            let _writer = lock.write().unwrap();
            assert!(lock.try_read().is_err());
            assert!(lock.try_write().is_err());
        }
        assert_eq!(lock.into_inner().unwrap(), 6);
        Ok(())
    });
}

#[test]
fn only_a_panicking_writer_poisons() {
    promised(|| {
        let lock = RwLock::new(1);
        let panicking_reader = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.read().unwrap();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicking_reader.is_err() && !lock.is_poisoned());
        let panicking_writer = catch_unwind(AssertUnwindSafe(|| {
            *lock.write().unwrap() = 2;
            let _guard = lock.write().unwrap();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicking_writer.is_err() && lock.is_poisoned());
        assert_eq!(*lock.read().unwrap_err().into_inner(), 2);
        assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
        lock.clear_poison();
        assert_eq!(*lock.read().unwrap(), 2);
        Ok(())
    });
}

#[test]
fn a_poisoned_static_is_clean_in_the_next_execution() {
    let _alone = alone();
    static LOCK: RwLock<()> = RwLock::new(());
    static MUTEX: Mutex<()> = Mutex::new(());
    for _ in 0..2 {
        passes(
            || {
                assert!(!LOCK.is_poisoned() && !MUTEX.is_poisoned());
                let _ = catch_unwind(|| {
                    let _guards = (LOCK.write(), MUTEX.lock());
                    std::panic::resume_unwind(Box::new(()));
                });
                assert!(LOCK.is_poisoned() && MUTEX.is_poisoned());
                Ok(())
            },
            &[],
        );
    }
    assert!(!LOCK.is_poisoned() && !MUTEX.is_poisoned());
}

#[test]
fn a_downgraded_writer_lets_no_other_writer_in_between() {
    promised(|| {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() += 10);
            let mut guard = lock.write().unwrap();
            *guard += 1;
            let written = *guard;
            let guard = RwLockWriteGuard::downgrade(guard);
            assert_eq!(*guard, written);
            assert!(lock.try_write().is_err());
        });
        assert_eq!(lock.into_inner().unwrap(), 11);
        Ok(())
    });
}

/// What it reports, found by every reduction.
fn found_by_all(name: &str, body: fn() -> TestResult) -> Vec<String> {
    for order in ORDERS {
        let all = explore(body, Options { reduction: Reduction::None, ..by("dfs", Budget::NONE) }).results;
        let classic = Options { reduction: Reduction::Classic, ..by(order, Budget::NONE) };
        assert_eq!(explore(body, classic).results, all, "{name} by {order}");
    }
    outcomes(name, body, Budget::NONE).into_iter().collect()
}

#[test]
fn a_downgraded_writer_keeps_writers_out_until_it_gives_up_its_guard() {
    /// A writer beside one that goes on as a reader, who tries to write once more, and a reader.
    fn tries_to_write(forgets: bool) -> TestResult {
        let lock = Arc::new(RwLock::new(1));
        let (for_reader, for_writer) = (lock.clone(), lock.clone());
        let downgrades = thread::spawn(move || {
            let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
            assert!(lock.try_write().is_err());
            if forgets {
                std::mem::forget(guard);
            }
        });
        let reader = thread::spawn(move || *for_reader.read().unwrap());
        *for_writer.write().unwrap() += 1;
        downgrades.join().unwrap();
        report(reader.join().unwrap());
        Ok(())
    }
    assert_eq!(found_by_all("given up", || tries_to_write(false)), ["1", "2"]);
    assert_eq!(found_by_all("forgotten", || tries_to_write(true)), ["1", "2", "deadlock"]);
}

/// A reader that holds the lock keeps a writer waiting, which goes on as a reader then and does something.
fn after_a_downgrade(does: fn(&RwLock<u32>, thread::JoinHandle<u32>)) -> TestResult {
    let lock = Arc::new(RwLock::new(1));
    let theirs = lock.clone();
    let reader = thread::spawn(move || {
        drop(theirs.read());
        *theirs.read().unwrap()
    });
    let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
    does(&lock, reader);
    drop(guard);
    Ok(())
}

#[test]
fn the_mark_of_a_writer_that_waited_may_hold_readers_back_after_its_downgrade() {
    let waits_for_a_reader = || {
        after_a_downgrade(|_, reader| {
            reader.join().unwrap();
            report("done");
        })
    };
    let reads_again = || {
        after_a_downgrade(|lock, _| {
            drop(lock.read());
            report("done");
        })
    };
    let tries_to_read = || after_a_downgrade(|lock, _| report(lock.try_read().is_ok()));
    assert_eq!(found_by_all("a reader is waited for", waits_for_a_reader), ["\"done\"", "deadlock"]);
    assert_eq!(found_by_all("a nested read", reads_again), ["\"done\"", "deadlock"]);
    assert_eq!(found_by_all("an attempt", tries_to_read), ["false", "true"]);
    for body in [waits_for_a_reader as fn() -> TestResult, reads_again, tries_to_read] {
        assert_eq!(exhaust(body).results.len(), 2);
    }
}

#[test]
fn the_mark_stays_until_the_last_reader_has_gone() {
    /// A reader that waited for the writer keeps its guard longer than that one, and waits for another reader.
    fn body() -> TestResult {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let sharer = thread::spawn(move || {
            drop(theirs.read());
            let guard = theirs.read().unwrap();
            let found = *guard;
            let guard = Some(guard).filter(|_| found == 1);
            let for_reader = theirs.clone();
            thread::spawn(move || drop(for_reader.read())).join().unwrap();
            drop(guard);
            found
        });
        let mut guard = lock.write().unwrap();
        *guard = 1;
        drop(RwLockWriteGuard::downgrade(guard));
        report(sharer.join().unwrap());
        Ok(())
    }
    assert_eq!(found_by_all("the last reader", body), ["0", "1", "deadlock"]);
}

#[test]
fn nobody_is_held_back_after_the_downgrade_of_a_writer_that_did_not_wait() {
    let alone = || {
        let lock = RwLock::new(1);
        let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
        report(*lock.read().unwrap() + *lock.try_read().unwrap());
        drop(guard);
        Ok(())
    };
    let all_have_gone = || {
        let lock = Arc::new(RwLock::new(1));
        let theirs = lock.clone();
        thread::spawn(move || drop((theirs.read(), *theirs.read().unwrap()))).join().unwrap();
        let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
        let theirs = lock.clone();
        let reader = thread::spawn(move || drop(theirs.read()));
        report(*lock.read().unwrap() + *lock.try_read().unwrap());
        reader.join().unwrap();
        drop(guard);
        Ok(())
    };
    let only_attempts = || {
        let lock = Arc::new(RwLock::new(1));
        let theirs = lock.clone();
        let reader = thread::spawn(move || drop(theirs.read()));
        if let Ok(guard) = lock.try_write() {
            let guard = RwLockWriteGuard::downgrade(guard);
            drop(lock.read());
            reader.join().unwrap();
            drop(guard);
        }
        report(2);
        Ok(())
    };
    for body in [alone as fn() -> TestResult, all_have_gone, only_attempts] {
        assert_eq!(found_by_all("nobody waited", body), ["2"]);
    }
}

#[test]
fn debug_shows_what_std_shows() {
    let _alone = alone();
    let (ours, std) = (RwLock::new(7), std::sync::RwLock::new(7));
    assert_eq!(format!("{ours:?} {:?}", ours.read()), format!("{std:?} {:?}", std.read()));
    let (our_guard, std_guard) = (ours.write().unwrap(), std.write().unwrap());
    assert_eq!(format!("{ours:?} {our_guard} {our_guard:?}"), format!("{std:?} {std_guard} {std_guard:?}"));
}

fn nested_reads_around_a_write() -> Result<(), String> {
    let lock = Arc::new(RwLock::new(0));
    let theirs = lock.clone();
    let writer = thread::spawn(move || *theirs.write().unwrap() += 1);
    let outer = lock.read().unwrap();
    let inner = lock.read().unwrap();
    drop((outer, inner));
    writer.join().unwrap();
    Ok(())
}

#[test]
fn a_nested_read_behind_a_waiting_writer_may_deadlock() {
    let trace = passes(nested_reads_around_a_write, &[]);
    let offers: Vec<_> = trace.events.iter().map(|event| event.free_alts).filter(|alts| *alts > 0).collect();
    assert_eq!(offers, [2], "the inner read may stand in line");
    let results = exhaust(nested_reads_around_a_write).results;
    assert!(results.contains("deadlock") && results.len() == 2, "{results:?}");
}

#[test]
fn readers_that_neither_nest_nor_wait_have_no_further_orders() {
    let summary = exhaust(|| {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() += 1);
            scope.spawn(|| drop(lock.read().unwrap()));
            drop(lock.read().unwrap());
        });
        Ok(())
    });
    assert_eq!(summary.classes, 4, "each reader before or after the writer: {summary:?}");
}

#[test]
fn a_reader_for_whom_a_holder_waits_may_deadlock_behind_a_writer() {
    let summary = exhaust(|| {
        let lock = Arc::new(RwLock::new(0));
        let (for_reader, for_writer) = (lock.clone(), lock.clone());
        let held = lock.read().unwrap();
        thread::spawn(move || drop(for_writer.write()));
        let reader = thread::spawn(move || drop(for_reader.read()));
        reader.join().unwrap();
        drop(held);
        report("done");
        Ok(())
    });
    let results: Vec<_> = summary.results.iter().map(String::as_str).collect();
    assert_eq!(results, ["\"done\"", "deadlock"]);
}

/// A reader keeps its guard until `wait` returns, which another reader tells it to with `tell`.
fn held_until_another_reader_came(wait: fn(&AtomicU32), tell: fn(&AtomicU32)) -> TestResult {
    let shared = Arc::new((RwLock::new(0), AtomicU32::new(0)));
    let (for_reader, for_writer) = (shared.clone(), shared.clone());
    let held = shared.0.read().unwrap();
    thread::spawn(move || drop(for_writer.0.write()));
    thread::spawn(move || {
        drop(for_reader.0.read());
        tell(&for_reader.1);
    });
    wait(&shared.1);
    drop(held);
    report("done");
    Ok(())
}

#[test]
fn a_holder_may_wait_in_the_kernel_or_in_a_loop() {
    unsafe extern "C" {
        fn syscall(number: libc::c_long, ...) -> libc::c_long;
    }
    fn futex(word: &AtomicU32, operation: i32, value: u32) {
        let no_time: *const libc::timespec = std::ptr::null();
        // SAFETY: a word that lives as long as the call.
        unsafe { syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_time) };
    }
    fn set(word: &AtomicU32) {
        word.store(1, SeqCst);
    }
    let in_the_kernel = || {
        let wait = |word: &AtomicU32| {
            while word.load(SeqCst) == 0 {
                futex(word, libc::FUTEX_WAIT, 0);
            }
        };
        let tell = |word: &AtomicU32| {
            set(word);
            futex(word, libc::FUTEX_WAKE, 1);
        };
        held_until_another_reader_came(wait, tell)
    };
    let in_a_loop = || held_until_another_reader_came(|word| while word.load(SeqCst) == 0 {}, set);
    for (body, stuck) in [(in_the_kernel as fn() -> TestResult, "deadlock"), (in_a_loop, "livelock")] {
        for order in ORDERS {
            let results = explore(body, by(order, Budget::NONE)).results;
            let results: Vec<_> = results.iter().map(String::as_str).collect();
            assert_eq!(results, ["\"done\"", stuck], "by {order}");
        }
    }
}

#[test]
fn a_guard_may_never_be_given_up() {
    /// A reader that is waited for, beside a writer that is not.
    fn reads_beside_a_writer(lock: &Arc<RwLock<u32>>) -> TestResult {
        let (for_reader, for_writer) = (lock.clone(), lock.clone());
        thread::spawn(move || drop(for_writer.write()));
        thread::spawn(move || drop(for_reader.read())).join().unwrap();
        report("done");
        Ok(())
    }
    let forgotten = || {
        let lock = Arc::new(RwLock::new(0));
        let forgets = lock.clone();
        thread::spawn(move || std::mem::forget(forgets.read())).join().unwrap();
        reads_beside_a_writer(&lock)
    };
    let kept = || {
        let lock = Arc::new(RwLock::new(0));
        let keeps = lock.clone();
        thread::spawn(move || {
            let _held = keeps.read().unwrap();
            loop {
                thread::park();
            }
        });
        reads_beside_a_writer(&lock)
    };
    for body in [forgotten as fn() -> TestResult, kept] {
        for order in ORDERS {
            let results = explore(body, by(order, Budget::NONE)).results;
            assert!(results.contains("deadlock") && results.len() == 2, "by {order}: {results:?}");
        }
    }
}

#[test]
fn a_holder_that_waits_for_others_only_delays_readers() {
    let summary = exhaust(|| {
        let lock = Arc::new((RwLock::new(0), Mutex::new(())));
        let (for_reader, for_writer) = (lock.clone(), lock.clone());
        thread::spawn(move || drop(for_writer.0.write()));
        let reader = thread::spawn(move || drop(for_reader.0.read()));
        let held = lock.0.read().unwrap();
        drop(lock.1.lock());
        drop(held);
        reader.join().unwrap();
        report("done");
        Ok(())
    });
    assert_eq!(summary.results.len(), 1, "{summary:?}");
}

#[test]
fn try_read_sees_the_lock_free_and_held() {
    let summary = exhaust(|| {
        let lock = RwLock::new(());
        thread::scope(|scope| {
            scope.spawn(|| drop(lock.write().unwrap()));
            report(lock.try_read().is_ok());
        });
        Ok(())
    });
    assert_eq!(summary.results.len(), 2, "{summary:?}");
}

#[test]
fn a_waiting_writer_may_hold_back_try_read() {
    let summary = exhaust(|| {
        let lock = RwLock::new(());
        let (told, hears) = mpsc::channel();
        thread::scope(|scope| {
            let held = lock.read().unwrap();
            scope.spawn(|| drop(lock.write().unwrap()));
            let lock = &lock;
            scope.spawn(move || told.send(lock.try_read().is_ok()).unwrap());
            report(hears.recv().unwrap());
            drop(held);
        });
        Ok(())
    });
    assert_eq!(summary.results.len(), 2, "{summary:?}");
}

#[test]
fn try_read_may_fail_where_a_writer_is_on_its_way_to_a_free_lock() {
    let beside_a_reader = || {
        let lock = RwLock::new(1);
        let found = thread::scope(|scope| {
            let guard = lock.write().unwrap();
            scope.spawn(|| *lock.write().unwrap() += 1);
            scope.spawn(|| drop(lock.read()));
            drop(guard);
            let shared = lock.try_read().is_ok();
            (shared, lock.try_write().map_or(0, |guard| *guard))
        });
        report(found);
        Ok(())
    };
    let found = found_by_all("a writer on its way", beside_a_reader);
    assert!(found.contains(&"(false, 1)".to_owned()), "the writer had not come yet: {found:?}");
    assert_eq!(exhaust(beside_a_reader).results.into_iter().collect::<Vec<_>>(), found);
    let without_a_writer = || {
        let lock = RwLock::new(1);
        thread::scope(|scope| {
            let guard = lock.write().unwrap();
            scope.spawn(|| drop(lock.read()));
            drop(guard);
            report(lock.try_read().is_ok());
        });
        Ok(())
    };
    assert_eq!(found_by_all("nobody wants to write", without_a_writer), ["true"]);
}

/// A deadlock with one preemption, of the holder: the rest is waiting, of the writer, of the reader behind it, and of the
/// holder for that one.
pub(crate) fn held_back_for_ever() -> TestResult {
    let (lock, held, go, seen) = (RwLock::new(()), AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let (lock, held, go, seen) = (&lock, &held, &go, &seen);
        scope.spawn(move || {
            let _guard = lock.read().unwrap();
            held.store(1, SeqCst);
            if seen.load(SeqCst) == 1 {
                receiver.recv().unwrap();
            }
        });
        scope.spawn(move || drop(lock.write().unwrap()));
        scope.spawn(move || {
            if held.load(SeqCst) == 1 {
                go.store(1, SeqCst);
            }
            let _guard = lock.read().unwrap();
            let _ = sender.send(());
        });
        scope.spawn(move || {
            if go.load(SeqCst) == 1 {
                seen.store(1, SeqCst);
            }
        });
    });
    report("done");
    Ok(())
}

/// The same without a deadlock: the holder sees what the reader did before it was held back behind the writer.
fn held_back_for_a_while() -> TestResult {
    let (lock, held, came) = (RwLock::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let result = thread::scope(|scope| {
        let (lock, held, came) = (&lock, &held, &came);
        let holder = scope.spawn(move || {
            let guard = lock.read().unwrap();
            held.store(1, SeqCst);
            (*guard, came.load(SeqCst))
        });
        scope.spawn(move || *lock.write().unwrap() = 7);
        let reader = scope.spawn(move || {
            if held.load(SeqCst) == 1 {
                came.store(1, SeqCst);
            }
            *lock.read().unwrap()
        });
        (holder.join().unwrap(), reader.join().unwrap())
    });
    report(result);
    Ok(())
}

#[test]
fn to_be_held_back_is_no_preemption() {
    let bounded = |body, bound| {
        let found = explore(body, Options { bound: Some(bound), ..by("pb", Budget::NONE) });
        assert!(found.stats.complete);
        found.results
    };
    let one = bounded(held_back_for_ever, 1);
    assert!(one.contains("deadlock"), "{one:?}");
    assert!(!bounded(held_back_for_ever, 0).contains("deadlock"));
    let one = bounded(held_back_for_a_while, 1);
    assert!(one.contains("((0, 1), 7)"), "{one:?}");
}
