//! Virtual time: who knows of something that took time knows that the time has passed.
#![cfg(target_os = "linux")]

use crate::support::explore::{by, every_order, explore, outcomes, set};
use crate::support::report;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::{AtomicBool, AtomicUsize};
use schedcheck_rt::facade::sync::{Mutex, OnceLock, RwLock, mpsc};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

const WHILE: Duration = Duration::from_millis(10);

/// One thread lets time pass and then tells, another one looks and says whether it knows and whether time has passed.
fn told(tell: impl FnOnce() + Send, knows: impl FnOnce() -> bool) -> TestResult {
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(WHILE);
            tell();
        });
        let knows = knows();
        report((knows, start.elapsed() >= WHILE));
    });
    Ok(())
}

#[test]
fn who_is_told_knows_that_time_has_passed() {
    fn by_flag() -> TestResult {
        let flag = AtomicBool::new(false);
        told(|| flag.store(true, SeqCst), || flag.load(SeqCst))
    }
    fn by_swap() -> TestResult {
        let flag = AtomicBool::new(false);
        told(|| _ = flag.swap(true, SeqCst), || flag.compare_exchange(true, false, SeqCst, SeqCst).is_ok())
    }
    fn under_lock() -> TestResult {
        let flag = Mutex::new(false);
        told(|| *flag.lock().unwrap() = true, || *flag.lock().unwrap())
    }
    fn under_shared_lock() -> TestResult {
        let flag = RwLock::new(false);
        told(|| *flag.write().unwrap() = true, || *flag.read().unwrap())
    }
    fn by_message() -> TestResult {
        let (sender, receiver) = mpsc::channel();
        told(move || sender.send(()).unwrap(), || receiver.try_recv().is_ok())
    }
    fn once() -> TestResult {
        let cell = OnceLock::new();
        told(|| cell.set(()).unwrap(), || cell.get().is_some())
    }
    let bodies = [by_flag, by_swap, under_lock, under_shared_lock, by_message, once];
    for (number, body) in bodies.into_iter().enumerate() {
        let found = outcomes(&format!("told in way {number}"), body, Budget::NONE);
        assert_eq!(found, set(&["(false, false)", "(true, true)"]), "told in way {number}");
    }
}

/// Timers wait in several goes (tokio's wheel): one of them ends early, and its thread is too late for all others at once.
#[test]
fn one_early_time_out_is_enough_for_whoever_looks_at_the_clock() {
    fn body() -> TestResult {
        let flag = AtomicBool::new(false);
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| flag.store(true, SeqCst));
            let mut goes = 0;
            while start.elapsed() < WHILE + WHILE / 2 {
                thread::park_timeout(WHILE);
                goes += 1;
            }
            report((goes, flag.load(SeqCst)));
        });
        Ok(())
    }
    let once = Budget { timeouts: 1, ..Budget::NONE };
    let found = outcomes("a timer in two goes", body, once);
    assert_eq!(found, set(&["(1, false)", "(1, true)", "(2, true)"]));
    let never = outcomes("the same without time-outs", body, Budget::NONE);
    assert_eq!(never, set(&["(2, true)"]));
}

#[test]
fn who_waits_in_a_loop_knows_as_well() {
    fn body() -> TestResult {
        let flag = AtomicBool::new(false);
        told(
            || flag.store(true, SeqCst),
            || {
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
                true
            },
        )
    }
    assert_eq!(explore(body, by("mdpor,pb", Budget::NONE)).results, set(&["(true, true)"]));
}

#[test]
fn readings_under_one_lock_are_in_order() {
    fn body() -> TestResult {
        let readings = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..2 {
                let readings = &readings;
                scope.spawn(move || {
                    thread::sleep(WHILE * number);
                    let mut readings = readings.lock().unwrap();
                    let now = Instant::now();
                    readings.push(now);
                });
            }
        });
        report(readings.lock().unwrap().is_sorted());
        Ok(())
    }
    assert_eq!(outcomes("readings", body, Budget::NONE), set(&["true"]));
}

/// Their order cannot be told, so neither can it by their clocks.
#[test]
fn those_who_share_a_lock_know_nothing_of_each_other() {
    fn body() -> TestResult {
        let lock = RwLock::new(());
        told(|| drop(lock.read().unwrap()), || lock.read().is_ok())
    }
    assert_eq!(outcomes("sharers", body, Budget::NONE), set(&["(true, false)"]));
}

/// A timer that is a descriptor.
struct Timer(OwnedFd);

impl Timer {
    fn new(flags: i32) -> Timer {
        // SAFETY: a new descriptor, owned by nobody else.
        unsafe { Timer(OwnedFd::from_raw_fd(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))) }
    }

    /// Lets it expire after `first`, and then every `interval`.
    fn set(&self, first: Duration, interval: Duration) {
        let time = |duration: Duration| libc::timespec {
            tv_sec: duration.as_secs() as i64,
            tv_nsec: duration.subsec_nanos().into(),
        };
        let new = libc::itimerspec { it_interval: time(interval), it_value: time(first) };
        // SAFETY: it is read.
        let answer =
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const new, std::ptr::null_mut()) };
        assert_eq!(answer, 0);
    }

    /// How often it has expired; `None` if it has not, and nobody wants to wait.
    fn read(&self) -> Option<u64> {
        let mut count = 0_u64;
        // SAFETY: there is room for eight bytes.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
        (read == 8).then_some(count)
    }

    /// Whether it expires within so many milliseconds.
    fn wait(&self, milliseconds: i32) -> bool {
        let mut wanted = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry.
        unsafe { libc::poll(&raw mut wanted, 1, milliseconds) == 1 }
    }
}

#[test]
fn a_timer_expires_when_its_time_has_come() {
    fn body() -> TestResult {
        let start = Instant::now();
        let timer = Timer::new(0);
        timer.set(WHILE, Duration::ZERO);
        let times = timer.read();
        report((times, start.elapsed() >= WHILE));
        Ok(())
    }
    assert_eq!(outcomes("a timer", body, Budget::NONE), set(&["(Some(1), true)"]));
}

#[test]
fn a_timer_that_is_waited_for_too_short_does_not_expire() {
    fn body() -> TestResult {
        let timer = Timer::new(libc::TFD_NONBLOCK);
        let unset = timer.wait(50);
        timer.set(WHILE, WHILE);
        let early = (timer.wait(5), timer.read());
        let late = (timer.wait(50), timer.read());
        let again = timer.wait(50);
        // Set anew, it has not expired.
        timer.set(WHILE, Duration::ZERO);
        report((unset, early, late, again, timer.read()));
        Ok(())
    }
    let expected = "(false, (false, None), (true, Some(1)), true, None)";
    assert_eq!(outcomes("a timer in time", body, Budget::NONE), set(&[expected]));
}

#[test]
fn a_timer_that_another_thread_sets_wakes_who_waits_for_it() {
    fn body() -> TestResult {
        let start = Instant::now();
        let timer = Timer::new(libc::TFD_NONBLOCK);
        timer.set(WHILE * 100, Duration::ZERO);
        thread::scope(|scope| {
            scope.spawn(|| timer.set(WHILE, Duration::ZERO));
            let expired = timer.wait(-1);
            report((expired, start.elapsed() >= WHILE * 100));
        });
        Ok(())
    }
    assert_eq!(outcomes("a timer set again", body, Budget::NONE), set(&["(true, false)"]));
    let timeout = Budget { timeouts: 1, ..Budget::NONE };
    let found = outcomes("a timer set too late", body, timeout);
    assert_eq!(found, set(&["(true, false)", "(true, true)"]));
}

/// Two threads wait equally long; which of them was started first is no part of a schedule, as others start them.
#[test]
fn who_gives_up_first_of_two_does_not_depend_on_who_was_started_first() {
    fn body() -> TestResult {
        let order = AtomicUsize::new(0);
        thread::scope(|scope| {
            for number in [1, 2] {
                let order = &order;
                scope.spawn(move || {
                    scope.spawn(move || {
                        thread::park_timeout(WHILE);
                        let _ = order.fetch_update(SeqCst, SeqCst, |order| Some(order * 10 + number));
                    });
                });
            }
        });
        report(order.into_inner());
        Ok(())
    }
    assert_eq!(every_order(body), explore(body, by("dfs", Budget::NONE)).results);
}
