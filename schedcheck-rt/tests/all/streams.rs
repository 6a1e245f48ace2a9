//! What std promises about the locks of its streams, as plain std and under control.

use crate::support::explore::{outcomes, set};
use crate::support::{promised, report};
use schedcheck_rt::facade::io::{IsTerminal, stderr, stdin, stdout};
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use std::io::Write;
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn who_holds_the_lock_takes_it_again() {
    promised(|| {
        let first = stderr().lock();
        let mut second = stderr().lock();
        second.flush().unwrap();
        (&stderr()).flush().unwrap();
        drop(first);
        drop(second);
        thread::spawn(|| stderr().lock().flush()).join().unwrap().unwrap();
        Ok(())
    });
}

#[test]
fn streams_are_what_they_are_in_std() {
    promised(|| {
        assert_eq!(stdout().is_terminal(), std::io::IsTerminal::is_terminal(&std::io::stdout()));
        assert_eq!(stdin().lock().is_terminal(), std::io::IsTerminal::is_terminal(&std::io::stdin()));
        let erased: [&dyn IsTerminal; 2] = [&stdout(), &stderr().lock()];
        assert_eq!(erased.map(IsTerminal::is_terminal), [stdout().is_terminal(), stderr().is_terminal()]);
        let names = format!("{:?} {:?} {:?}", stdout(), stderr().lock(), stdin());
        assert_eq!(names, "Stdout { .. } StderrLock { .. } Stdin { .. }");
        Ok(())
    });
}

#[test]
fn nobody_else_is_between_locking_and_unlocking() {
    let found = outcomes(
        "exclusion",
        || {
            let (count, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let _lock = stdout().lock();
                        let before = count.load(SeqCst);
                        count.store(before + 1, SeqCst);
                        seen.fetch_add(before, SeqCst);
                    });
                }
            });
            report((count.into_inner(), seen.into_inner()));
            Ok(())
        },
        Budget::NONE,
    );
    assert_eq!(found, set(&["(2, 1)"]));
}

#[test]
fn streams_have_different_locks() {
    let found = outcomes(
        "two streams",
        || {
            let _lock = stdout().lock();
            thread::spawn(|| stderr().lock().flush()).join().unwrap().unwrap();
            report(1);
            Ok(())
        },
        Budget::NONE,
    );
    assert_eq!(found, set(&["1"]));
}

#[test]
fn who_waits_for_somebody_who_waits_for_the_lock_waits_for_ever() {
    let found = outcomes(
        "for a moment",
        || {
            let _lock = stderr().lock();
            thread::spawn(|| stderr().flush()).join().unwrap().unwrap();
            Ok(())
        },
        Budget::NONE,
    );
    assert_eq!(found, set(&["deadlock"]));
}
