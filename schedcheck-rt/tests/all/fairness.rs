//! Every thread gets its turn in the end: work that others stop, and loops that wait for each other.

use crate::one_execution::run;
use crate::support::alone;
use schedcheck_rt::exec::outcome::Outcome;
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::sync::mpsc::channel;
use schedcheck_rt::facade::sync::{Condvar, Mutex};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::{End, Model, Plan, Trace};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// So many work, instead of waiting, until somebody says that it is enough.
fn work_until_they_are_stopped(workers: usize) -> TestResult {
    let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let works = |shared: Arc<(AtomicUsize, AtomicUsize)>| {
        move || {
            while shared.0.load(SeqCst) == 0 {
                shared.1.fetch_add(1, SeqCst);
            }
        }
    };
    let workers: Vec<_> = (0..workers).map(|_| thread::spawn(works(shared.clone()))).collect();
    let stops = thread::spawn(move || shared.0.store(1, SeqCst));
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    stops.join().unwrap();
    Ok(())
}

fn works_until_it_is_stopped() -> TestResult {
    work_until_they_are_stopped(1)
}

#[test]
fn nobody_works_for_ever_while_others_could_run() {
    let (trace, outcome) = run(works_until_it_is_stopped, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!((1_000..2_100).contains(&trace.events.len()), "one long turn: {}", trace.events.len());
}

/// A plan stops it right before the limit, or behind it; that there are many steps before that says nothing.
#[test]
fn who_is_stopped_late_is_not_endless() {
    for late in [9_995, 10_500] {
        let mut turns: Vec<(u32, u16)> = (1_000..late).map(|step| (step, 1)).collect();
        turns.push((late, 2));
        let (trace, outcome) = run(works_until_it_is_stopped, &turns);
        assert!(matches!(outcome, Outcome::Passed), "{late}: {outcome:?}");
        let steps = trace.events.len();
        assert!((5..105).contains(&(steps - late as usize)), "{late}: {steps}");
        // Repeated step by step it is the same.
        let _alone = alone();
        let test = Test { body: works_until_it_is_stopped, should_panic: None };
        let mut again = Trace::default();
        Execution::new(test, 10_000).run(&Plan::repeating(&trace), None, &mut again);
        assert_eq!((again.events.len(), again.end), (steps, End::Passed));
    }
}

/// What is kept from running for ever is given up: nobody can tell.
#[test]
fn who_is_never_let_run_is_no_livelock() {
    let turns: Vec<(u32, u16)> = (1_000..40_000).map(|step| (step, 1)).collect();
    let (trace, outcome) = run(works_until_it_is_stopped, &turns);
    assert!(matches!(outcome, Outcome::Abandoned), "{outcome:?}");
    assert!((30_000..31_100).contains(&trace.events.len()), "{}", trace.events.len());
}

/// One thread takes a lock again and again until another one, which needs the lock for that, says that it is enough. In each
/// round, of nine steps, it is free between two of them. `EARLY` is the number of steps before the first.
fn takes_the_lock_until_it_is_stopped<const EARLY: usize>() -> TestResult {
    let shared = Arc::new((Mutex::new(false), AtomicUsize::new(0)));
    let (worker, stopper) = (shared.clone(), shared.clone());
    let works = thread::spawn(move || {
        let work = |steps| (0..steps).for_each(|_| _ = worker.1.fetch_add(1, SeqCst));
        work(EARLY);
        let is_stopped = || {
            let stopped = worker.0.lock().unwrap();
            work(7);
            *stopped
        };
        while !is_stopped() {}
    });
    let stops = thread::spawn(move || *stopper.0.lock().unwrap() = true);
    works.join().unwrap();
    stops.join().unwrap();
    Ok(())
}

/// Whoever looks whether it could run finds it waiting every time, if rounds and looks keep time.
#[test]
fn nobody_is_kept_from_a_lock_that_is_free_now_and_then() {
    let bodies: [fn() -> TestResult; 3] = [
        takes_the_lock_until_it_is_stopped::<0>,
        takes_the_lock_until_it_is_stopped::<1>,
        takes_the_lock_until_it_is_stopped::<2>,
    ];
    let _alone = alone();
    for body in bodies {
        // So many that turns do not come more often before the end.
        let mut execution = Execution::new(Test { body, should_panic: None }, 100_000);
        let mut trace = Trace::default();
        execution.run(&Plan::default(), None, &mut trace);
        assert!(trace.end == End::Passed && trace.events.len() < 4_000, "{}", trace.events.len());
    }
}

#[test]
fn every_one_of_many_threads_gets_its_turn() {
    let (trace, outcome) = run(|| work_until_they_are_stopped(24), &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!(trace.events.len() < 5_000, "{}", trace.events.len());
}

/// A thread in the background works for ever; the test ends.
fn leaves_somebody_at_work() -> TestResult {
    let count = Arc::new(AtomicUsize::new(0));
    let shared = count.clone();
    thread::spawn(move || {
        loop {
            shared.fetch_add(1, SeqCst);
        }
    });
    count.load(SeqCst);
    Ok(())
}

#[test]
fn what_goes_on_in_the_background_after_the_test_is_no_livelock() {
    let (_, outcome) = run(leaves_somebody_at_work, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
}

fn leaves_somebody_asleep(times: u32) -> TestResult {
    thread::spawn(move || (0..times).for_each(|_| thread::sleep(WHILE)));
    Ok(())
}

/// Who sleeps again and again then is left asleep, which is said: it may have had something to do.
#[test]
fn who_is_left_asleep_after_the_test_has_not_been_followed_to_its_end() {
    let bodies: [(fn() -> TestResult, bool); 2] =
        [(|| leaves_somebody_asleep(2), false), (|| leaves_somebody_asleep(3), true)];
    let _alone = alone();
    for (body, is_left) in bodies {
        let mut execution = Execution::new(Test { body, should_panic: None }, 10_000);
        execution.run(&Plan::default(), None, &mut Trace::default());
        assert!(matches!(execution.outcome(), Outcome::Passed));
        assert_eq!(execution.spin_bound_reached(), is_left);
    }
}

/// Two threads wait for a third by trying to take what they cannot get.
fn waiters_that_wake_each_other() -> TestResult {
    let shared = Arc::new((AtomicUsize::new(1), AtomicUsize::new(0)));
    let [first, second, third] = [shared.clone(), shared.clone(), shared];
    let waits = |lock: Arc<(AtomicUsize, AtomicUsize)>| {
        move || {
            while lock.0.swap(1, SeqCst) != 0 {}
            lock.0.store(0, SeqCst);
        }
    };
    let waiters = [thread::spawn(waits(first)), thread::spawn(waits(second))];
    let frees = thread::spawn(move || third.0.store(0, SeqCst));
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    frees.join().unwrap();
    Ok(())
}

#[test]
fn nobody_is_kept_from_running_by_others_who_wait() {
    let (trace, outcome) = run(waiters_that_wake_each_other, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!(trace.events.len() < 2_500, "{}", trace.events.len());
}

/// The same with an exchange that fails, and so changes nothing.
fn waiters_that_change_nothing() -> TestResult {
    let shared = Arc::new(AtomicUsize::new(1));
    let [first, second, third] = [shared.clone(), shared.clone(), shared];
    let waits = |lock: Arc<AtomicUsize>| {
        move || {
            while lock.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
            lock.store(0, SeqCst);
        }
    };
    let waiters = [thread::spawn(waits(first)), thread::spawn(waits(second))];
    let frees = thread::spawn(move || third.store(0, SeqCst));
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    frees.join().unwrap();
    Ok(())
}

#[test]
fn an_exchange_that_fails_lets_nobody_go_on() {
    let (trace, outcome) = run(waiters_that_change_nothing, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!(trace.events.len() < 60, "{}", trace.events.len());
}

/// Gives up after so many rounds as nobody follows one by one.
fn polls_in_vain(rest: impl Fn()) {
    let never = AtomicUsize::new(0);
    for _ in 0..20 {
        if never.load(SeqCst) != 0 {
            break;
        }
        rest();
    }
}

const WHILE: Duration = Duration::from_millis(1);

/// Waits for that with a time-out, again and again.
fn waits_with_a_condvar() -> TestResult {
    let (done, notified) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            polls_in_vain(thread::yield_now);
            *done.lock().unwrap() = true;
        });
        let mut guard = done.lock().unwrap();
        while !*guard {
            guard = notified.wait_timeout(guard, WHILE).unwrap().0;
        }
    });
    Ok(())
}

fn waits_parked() -> TestResult {
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            polls_in_vain(|| thread::sleep(WHILE));
            done.store(1, SeqCst);
        });
        while done.load(SeqCst) == 0 {
            thread::park_timeout(WHILE);
        }
    });
    Ok(())
}

fn waits_for_a_message() -> TestResult {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        polls_in_vain(thread::yield_now);
        sender.send(()).unwrap();
    });
    while receiver.recv_timeout(WHILE).is_err() {}
    Ok(())
}

/// That time passes for one thread must not keep another one from counting its rounds.
#[test]
fn who_waits_with_time_outs_does_not_wait_for_ever_for_a_loop_that_gives_up() {
    let bodies: [fn() -> TestResult; 3] = [waits_with_a_condvar, waits_parked, waits_for_a_message];
    for body in bodies {
        let (trace, outcome) = run(body, &[]);
        assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
        assert!(trace.events.len() < 600, "{}", trace.events.len());
    }
}
