//! The search finds through the real facades what executing every order finds.

use crate::support::exhaust::exhaust_within;
use crate::support::explore::{ORDERS, agree_with_all, by, every_order, explore};
use crate::support::report;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::hint::spin_loop;
use schedcheck_rt::facade::sync::atomic::{AtomicBool, AtomicUsize};
use schedcheck_rt::facade::sync::mpsc::{channel, sync_channel};
use schedcheck_rt::facade::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::Options;
use schedcheck_rt::search::step::Budget;
use std::sync::atomic::Ordering::SeqCst;

/// What is claimed about the numbers of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// Every class once.
    Exact,
    /// Every class, some more than once: alternatives that cost budget, and `try_read`.
    EveryClass,
    /// Every class that matters, once: alternatives are offered only where they make a difference
    /// (readers that let a waiting writer go first, weak CAS that would have succeeded).
    EveryOffer,
}

fn agree_within(name: &str, body: fn() -> TestResult, budget: u16, claim: Claim) {
    let truth = exhaust_within(body, budget.into());
    let budget = Budget { spurious: budget, timeouts: budget, weak_failures: budget };
    for order in ORDERS {
        let found = explore(body, by(order, budget));
        assert_eq!(found.results, truth.results, "{name} by {order}: {found:?}");
        assert_eq!((found.stats.diverged, found.stopped), (0, 0), "{name} by {order}");
        let traces = found.stats.traces as usize;
        let classes = if claim == Claim::EveryOffer { truth.classes.min(traces) } else { truth.classes };
        assert_eq!(traces, classes, "{name} by {order}: classes, {found:?}");
        let more = found.stats.executions as usize - classes;
        assert!(claim == Claim::EveryClass || more == 0, "{name} by {order}: {more} executions more");
    }
}

fn agree(name: &str, body: fn() -> TestResult) {
    agree_within(name, body, 0, Claim::Exact);
}

/// Loops that wait are cut in more than one way, so no number of executions is claimed.
fn agree_on_results(name: &str, body: fn() -> TestResult) {
    let truth = every_order(body);
    for order in ORDERS {
        let found = explore(body, by(order, Budget::NONE));
        assert_eq!(found.results, truth, "{name} by {order}: {found:?}");
        assert_eq!(found.stats.diverged, 0, "{name} by {order}");
    }
}

#[test]
fn mutexes() {
    agree("lock against try_lock", || {
        let lock = Mutex::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.lock().unwrap() += 1);
            scope.spawn(|| lock.try_lock().map(|mut value| *value += 2).is_ok());
            report(lock.try_lock().map(|value| *value).ok());
        });
        Ok(())
    });
    agree("locks in opposite orders", || {
        let (a, b) = (Mutex::new(0), Mutex::new(0));
        thread::scope(|scope| {
            scope.spawn(|| *a.lock().unwrap() += *b.lock().unwrap() + 1);
            let mut b = b.lock().unwrap();
            *b += *a.lock().unwrap() + 1;
            report(*b);
        });
        Ok(())
    });
    agree("locks under a gate lock", || {
        let (gate, a, b) = (Mutex::new(()), Mutex::new(0), Mutex::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _gate = gate.lock().unwrap();
                *a.lock().unwrap() += *b.lock().unwrap() + 1;
            });
            let _gate = gate.lock().unwrap();
            let mut b = b.lock().unwrap();
            *b += *a.lock().unwrap() + 1;
            report(*b);
        });
        Ok(())
    });
    agree("three threads at one lock", || {
        let lock = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..2 {
                let lock = &lock;
                scope.spawn(move || lock.lock().unwrap().push(number));
            }
            lock.lock().unwrap().push(2);
        });
        report(lock.into_inner().unwrap());
        Ok(())
    });
    agree("a poisoned lock", || {
        let lock = Mutex::new(());
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _guard = lock.lock();
                std::panic::resume_unwind(Box::new(()));
            });
            let poisoned = lock.lock().is_err();
            report((poisoned, other.join().is_err()));
        });
        Ok(())
    });
}

#[test]
fn reader_writer_locks() {
    agree("a writer and two readers", || {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() += 1);
            let other = scope.spawn(|| *lock.read().unwrap());
            let mine = *lock.read().unwrap();
            report((mine, other.join().unwrap()));
        });
        Ok(())
    });
    agree_within(
        "nested reads beside a writer",
        || {
            let lock = RwLock::new(0);
            thread::scope(|scope| {
                scope.spawn(|| *lock.write().unwrap() += 1);
                let outer = lock.read().unwrap();
                let inner = lock.read().unwrap();
                report((*outer, *inner));
            });
            Ok(())
        },
        0,
        Claim::EveryOffer,
    );
    agree_within(
        "nested reads beside two writers",
        || {
            let lock = RwLock::new(0);
            thread::scope(|scope| {
                scope.spawn(|| *lock.write().unwrap() += 1);
                scope.spawn(|| *lock.write().unwrap() += 2);
                let outer = lock.read().unwrap();
                let inner = lock.read().unwrap();
                report((*outer, *inner));
            });
            Ok(())
        },
        0,
        Claim::EveryOffer,
    );
    agree_within(
        "reads and writes that do not wait",
        || {
            let lock = RwLock::new(0);
            thread::scope(|scope| {
                let writes = scope.spawn(|| lock.try_write().map(|mut value| *value += 1).is_ok());
                let reads = scope.spawn(|| lock.try_read().map(|value| *value).ok());
                let value = lock.read().map(|value| *value).ok();
                report((value, writes.join().unwrap(), reads.join().unwrap()));
            });
            Ok(())
        },
        0,
        Claim::EveryOffer,
    );
}

#[test]
fn condition_variables() {
    fn slot() -> TestResult {
        let (slot, changed) = (Mutex::new(None), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                for item in 0..2 {
                    let mut slot = changed.wait_while(slot.lock().unwrap(), |slot| slot.is_some()).unwrap();
                    *slot = Some(item);
                    changed.notify_one();
                }
            });
            let mut taken = Vec::new();
            for _ in 0..2 {
                let mut slot = changed.wait_while(slot.lock().unwrap(), |slot| slot.is_none()).unwrap();
                taken.extend(slot.take());
                changed.notify_one();
            }
            report(taken);
        });
        Ok(())
    }
    fn lost_wake_up() -> TestResult {
        let (ready, lock, changed) = (AtomicBool::new(false), Mutex::new(()), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                ready.store(true, SeqCst);
                changed.notify_one();
            });
            let guard = lock.lock().unwrap();
            if !ready.load(SeqCst) {
                drop(changed.wait(guard).unwrap());
            }
            report("woken");
        });
        Ok(())
    }
    fn two_waiters() -> TestResult {
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            let wait = || {
                let mut turn = changed.wait_while(turn.lock().unwrap(), |turn| *turn == 0).unwrap();
                *turn -= 1;
            };
            scope.spawn(wait);
            scope.spawn(wait);
            *turn.lock().unwrap() = 2;
            changed.notify_one();
            changed.notify_one();
        });
        report("both");
        Ok(())
    }
    agree("a slot for one item", slot);
    agree("a lost wake-up", lost_wake_up);
    agree("two waiters", two_waiters);
    agree_within("a slot, woken without a cause", slot, 1, Claim::EveryClass);
    agree_within("a lost wake-up, woken without a cause", lost_wake_up, 1, Claim::EveryClass);
}

#[test]
fn barriers_and_once() {
    agree("a barrier", || {
        let (barrier, count) = (Barrier::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                count.fetch_add(1, SeqCst);
                barrier.wait();
            });
            let leads = barrier.wait().is_leader();
            report((leads, count.load(SeqCst)));
        });
        Ok(())
    });
    agree("a barrier where pairs meet twice", || {
        let (barrier, count) = (Barrier::new(2), AtomicUsize::new(0));
        let leads = || barrier.wait().is_leader();
        thread::scope(|scope| {
            let plain = [scope.spawn(leads), scope.spawn(leads)];
            let adds = scope.spawn(|| (leads(), count.fetch_add(1, SeqCst)).0);
            let before = count.load(SeqCst);
            let mine = (before, leads());
            report((mine, plain.map(|thread| thread.join().unwrap()), adds.join().unwrap()));
        });
        Ok(())
    });
    agree("once", || {
        let (once, ran) = (Once::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| once.call_once(|| ran.store(1, SeqCst)));
            once.call_once(|| ran.store(2, SeqCst));
            report((ran.load(SeqCst), once.is_completed()));
        });
        Ok(())
    });
    agree("a cell that is set once", || {
        let cell = OnceLock::new();
        thread::scope(|scope| {
            scope.spawn(|| cell.set(1).is_ok());
            report((cell.get().copied(), *cell.get_or_init(|| 2)));
        });
        Ok(())
    });
}

#[test]
fn channels() {
    agree("one sender of three", || {
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(move || (0..3).for_each(|item| sender.send(item).unwrap()));
            report(receiver.iter().collect::<Vec<_>>());
        });
        Ok(())
    });
    fn two_senders(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        let other = sender.clone();
        thread::scope(|scope| {
            scope.spawn(move || other.send(1));
            scope.spawn(move || sender.send(2));
            report([receiver.recv(), receiver.recv()]);
        });
        Ok(())
    }
    agree("two senders and a rendezvous", || two_senders(0));
    agree("two senders and room for one", || two_senders(1));
    agree("two senders and room for two", || two_senders(2));
    fn gone(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        thread::scope(|scope| {
            let sends = scope.spawn(move || [sender.send(1).is_ok(), sender.try_send(2).is_ok()]);
            let first = receiver.try_recv().ok();
            drop(receiver);
            report((first, sends.join().unwrap()));
        });
        Ok(())
    }
    agree("a receiver that goes, rendezvous", || gone(0));
    agree("a receiver that goes, room for one", || gone(1));
    fn tries(bound: usize) -> TestResult {
        let (sender, receiver) = sync_channel(bound);
        let other = sender.clone();
        thread::scope(|scope| {
            let others = scope.spawn(move || (other.try_send(1).is_ok(), other.send(2).is_ok()));
            let own = [3, 4].map(|item| sender.try_send(item).is_ok());
            let taken = [(); 2].map(|()| receiver.try_recv().ok());
            drop(receiver);
            report((others.join().unwrap(), own, taken));
        });
        Ok(())
    }
    agree_with_all("sends and receives that do not wait, rendezvous", || tries(0), Budget::NONE);
    agree_with_all("the same, room for one", || tries(1), Budget::NONE);
    agree_with_all("the same, room for two", || tries(2), Budget::NONE);
}

#[test]
fn parking() {
    fn body() -> TestResult {
        let (me, flag) = (thread::current(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    flag.fetch_add(1, SeqCst);
                    me.unpark();
                });
            }
            thread::park();
            report(flag.load(SeqCst));
        });
        Ok(())
    }
    agree("two that unpark", body);
    agree_within("two that unpark, woken without a cause", body, 1, Claim::EveryClass);
}

#[test]
fn atomics() {
    agree("a CAS of each", || {
        let value = AtomicUsize::new(0);
        thread::scope(|scope| {
            let a = scope.spawn(|| value.compare_exchange(0, 1, SeqCst, SeqCst).is_ok());
            let b = scope.spawn(|| value.compare_exchange(1, 2, SeqCst, SeqCst).is_ok());
            let mine = value.compare_exchange(0, 2, SeqCst, SeqCst).is_ok();
            report((a.join().unwrap(), b.join().unwrap(), mine, value.load(SeqCst)));
        });
        Ok(())
    });
    agree("stores and loads of two", || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                x.store(1, SeqCst);
                y.load(SeqCst)
            });
            y.store(1, SeqCst);
            let mine = x.load(SeqCst);
            report((mine, other.join().unwrap()));
        });
        Ok(())
    });
    fn weak() -> TestResult {
        let value = AtomicUsize::new(0);
        thread::scope(|scope| {
            let add = || {
                let mut tries = 0;
                while value.compare_exchange_weak(tries, tries + 1, SeqCst, SeqCst).is_err() && tries < 2 {
                    tries += 1;
                }
                tries
            };
            let other = scope.spawn(add);
            let mine = add();
            report((mine, other.join().unwrap(), value.load(SeqCst)));
        });
        Ok(())
    }
    agree("weak CAS that do not fail without a cause", weak);
    agree_within("weak CAS that may fail once", weak, 1, Claim::EveryOffer);
}

#[test]
fn loops_that_wait() {
    fn flag() -> TestResult {
        let (flag, value) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                value.store(1, SeqCst);
                flag.store(true, SeqCst);
                value.store(2, SeqCst);
            });
            while !flag.load(SeqCst) {
                spin_loop();
            }
            report(value.load(SeqCst));
        });
        Ok(())
    }
    fn spin_lock() -> TestResult {
        let (held, value) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let add = || {
                while held.swap(true, SeqCst) {
                    thread::yield_now();
                }
                let seen = value.load(SeqCst);
                value.store(seen + 1, SeqCst);
                held.store(false, SeqCst);
                seen
            };
            let other = scope.spawn(add);
            let mine = add();
            report((mine, other.join().unwrap()));
        });
        Ok(())
    }
    agree_on_results("a loop at a flag", flag);
    agree_on_results("a spin lock", spin_lock);
}

/// A time-out that fires because nothing else can happen comes before whatever others do afterwards. That
/// they were blocked before it, and could have come first, must not be lost with it.
#[test]
fn what_is_blocked_when_a_time_out_is_forced_could_have_come_first() {
    use std::time::Duration;
    fn patient(lock: &Mutex<Vec<u32>>, me: u32, rounds: u32) {
        let mut guard = lock.lock().unwrap();
        for _ in 0..rounds {
            thread::park_timeout(Duration::from_millis(1));
        }
        guard.push(me);
    }
    let one = || {
        let lock = Mutex::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| patient(&lock, 1, 2));
            scope.spawn(|| patient(&lock, 2, 0));
        });
        report(lock.into_inner().unwrap());
        Ok(())
    };
    agree_with_all("one waits with the lock", one, Budget::NONE);
    let readers = || {
        let lock = RwLock::new(0);
        let seen = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let value = lock.read().unwrap();
                    thread::park_timeout(Duration::from_millis(1));
                    let value = *value;
                    seen.lock().unwrap().push(value);
                });
            }
            scope.spawn(|| *lock.write().unwrap() = 7);
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        report(seen);
        Ok(())
    };
    agree_with_all("readers and a writer", readers, Budget::NONE);
    let late = || {
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        let got = AtomicUsize::new(0);
        sender.send(5).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let first = receiver.lock().unwrap();
                got.fetch_add(first.recv().unwrap(), SeqCst);
                thread::park_timeout(Duration::from_millis(1));
            });
            scope.spawn(|| {
                if let Ok(item) = receiver.lock().unwrap().try_recv() {
                    got.fetch_add(100 * item, SeqCst);
                }
                drop(sender);
            });
        });
        report(got.into_inner());
        Ok(())
    };
    agree_with_all("a receiver that comes too late", late, Budget::NONE);
}

/// Where a wait ends by its time-out because nothing else can happen, it could have ended without a cause.
#[test]
fn a_wait_with_a_time_out_is_also_woken_without_a_cause() {
    use std::time::Duration;
    const MOMENT: Duration = Duration::from_millis(1);
    let waits = || {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let (guard, waited) = changed.wait_timeout(lock.lock().unwrap(), MOMENT).unwrap();
        drop(guard);
        report(waited.timed_out());
        Ok(())
    };
    let parks = || {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::park_timeout(MOMENT);
                report(flag.load(SeqCst));
            });
            flag.store(true, SeqCst);
        });
        Ok(())
    };
    let budget = Budget { spurious: 1, ..Budget::NONE };
    agree_with_all("a condition variable", waits, budget);
    agree_with_all("a parked thread", parks, budget);
}

/// Passed by the last of two threads, by polling. It lies on the stack of one of them, where the other changes it.
#[derive(Default)]
struct SpinBarrier {
    arrived: AtomicUsize,
    phase: AtomicUsize,
}

impl SpinBarrier {
    fn wait(&self) {
        let phase = self.phase.load(SeqCst);
        if self.arrived.fetch_add(1, SeqCst) == 1 {
            self.arrived.store(0, SeqCst);
            self.phase.fetch_add(1, SeqCst);
        }
        while self.phase.load(SeqCst) == phase {
            thread::yield_now();
        }
    }
}

#[test]
fn whether_a_loop_waits_does_not_depend_on_independent_steps_of_others() {
    let body = || {
        let (barrier, done) = (SpinBarrier::default(), AtomicUsize::new(0));
        let rounds = || {
            for _ in 0..2 {
                done.fetch_add(1, SeqCst);
                barrier.wait();
            }
            done.load(SeqCst)
        };
        thread::scope(|scope| {
            let other = scope.spawn(rounds);
            let own = rounds();
            report((own, other.join().unwrap()));
        });
        Ok(())
    };
    for bound in [0, 1, 2] {
        let mut all = ORDERS.map(|order| {
            let found = explore(body, Options { bound: Some(bound), ..by(order, Budget::NONE) });
            (found.stats.traces, found.results)
        });
        all.sort();
        assert_eq!(all.first(), all.last(), "classes with at most {bound} preemptions");
    }
}
