//! Scenarios: all executions that realise them, and no others, whatever the search leaves out.

mod random;

use crate::support::explore::by;
use crate::support::{report, result_of};
use schedcheck_rt::exec::{Execution, Fate, Test, TestResult};
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::mpsc::channel;
use schedcheck_rt::facade::sync::{Condvar, Mutex};
use schedcheck_rt::facade::thread;
use schedcheck_rt::label;
use schedcheck_rt::scenario::{self, any, any_of, any_point, blocked, end, next, step, when};
use schedcheck_rt::search::step::{Budget, End, Model, Trace};
use schedcheck_rt::search::{Options, Reduction, Search};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::SeqCst;

/// What exploring a scenario amounts to.
#[derive(Debug, Default, PartialEq)]
struct Explored {
    /// How often each result was reported, or the word for a failure.
    results: BTreeMap<String, u64>,
    executions: u64,
    met: u64,
    unmet: Option<String>,
}

fn explore(body: fn() -> TestResult, options: Options) -> Explored {
    explore_within(body, options, u64::MAX).expect("there is no limit")
}

/// The same, unless it takes more executions than that.
fn explore_within(body: fn() -> TestResult, options: Options, limit: u64) -> Option<Explored> {
    search(&mut Execution::new(Test { body, should_panic: None }, 2_000), options, limit)
}

/// Switches threads only at labels and where they block.
fn cooperate(body: fn() -> TestResult) -> Explored {
    let mut execution = Execution::new(Test { body, should_panic: None }, 2_000);
    execution.cooperate();
    let options = Options { scoped: true, budget: Budget::NONE, ..options("dfs", Reduction::Optimal) };
    search(&mut execution, options, u64::MAX).expect("there is no limit")
}

fn search(execution: &mut Execution, options: Options, limit: u64) -> Option<Explored> {
    let _alone = crate::support::alone();
    let mut search = Search::new(options);
    let mut trace = Trace::default();
    let mut explored = Explored::default();
    while let Some(order) = search.next() {
        if explored.executions == limit {
            return None;
        }
        report("nothing");
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        explored.executions += 1;
        assert!(
            !matches!(trace.end, End::Diverged(_)),
            "{:?}\n{}",
            execution.outcome(),
            crate::support::show(&trace)
        );
        explored.met += u64::from(execution.fate() == Fate::Met);
        if trace.end != End::Stopped {
            *explored.results.entry(result_of(execution)).or_default() += 1;
        }
    }
    explored.unmet = execution.unmet().map(|unmet| format!("{}: {}", unmet.statement, unmet.reason));
    Some(explored)
}

fn options(order: &str, reduction: Reduction) -> Options {
    Options { reduction, ..by(order, Budget::default()) }
}

/// Explores by every reduction and in several orders. All must find the same results, and those with
/// one thread at a time the same number of times.
fn agree(body: fn() -> TestResult) -> Explored {
    let truth = explore(body, options("dfs", Reduction::None));
    for order in ["dfs", "bfs", "mdpor,pb", "rand:1", "rand:2"] {
        for reduction in [Reduction::Optimal, Reduction::Source] {
            let found = explore(body, options(order, reduction));
            let names = |explored: &Explored| explored.results.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&found), names(&truth), "{reduction:?} by {order}");
            assert_eq!(found.met > 0, truth.met > 0, "{reduction:?} by {order}");
        }
    }
    explore(body, options("mdpor,pb", Reduction::Optimal))
}

/// The same for scenarios that leave nothing to the scheduler: the executions are the same, too.
fn agree_exactly(body: fn() -> TestResult) -> Explored {
    let found = agree(body);
    let truth = explore(body, options("dfs", Reduction::None));
    assert_eq!((&found.results, found.executions), (&truth.results, truth.executions));
    let bounded = explore(body, Options { bound: Some(0), ..options("dfs", Reduction::None) });
    assert_eq!(bounded, truth, "a scenario preempts nobody");
    found
}

/// A bounded buffer, with labels where the paper's has yield points.
#[derive(Default)]
struct Buffer {
    items: Mutex<VecDeque<u32>>,
    filled: Condvar,
    emptied: Condvar,
}

impl Buffer {
    fn put(&self, item: u32) {
        label("Produce");
        let mut items = self.items.lock().unwrap();
        while items.len() == 2 {
            items = self.emptied.wait(items).unwrap();
        }
        items.push_back(item);
        self.filled.notify_one();
    }

    fn consume(&self) {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            drop(items);
            label("Await");
            items = self.items.lock().unwrap();
            if items.is_empty() {
                items = self.filled.wait(items).unwrap();
            }
        }
        items.pop_front().unwrap();
        self.emptied.notify_one();
    }

    fn size(&self) -> usize {
        self.items.lock().unwrap().len()
    }
}

/// The first test of the paper (figure 1): all interleavings of two producers and two consumers.
fn producers_and_consumers_1() -> TestResult {
    let buffer = Buffer::default();
    scenario::check(|s| {
        s.thread("P1", || buffer.put(1));
        s.thread("P2", || buffer.put(2));
        s.thread("C1", || buffer.consume());
        s.thread("C2", || buffer.consume());
        while !s.all_ended() {
            s.transfer(any()).until(next());
            assert!(buffer.size() <= 2);
        }
        assert_eq!(buffer.size(), 0);
    });
    Ok(())
}

/// The second test of the paper: a consumer waits, the other one and the producers overtake it.
fn producers_and_consumers_2() -> TestResult {
    let buffer = Buffer::default();
    scenario::check(|s| {
        let p1 = s.thread("P1", || buffer.put(1));
        let p2 = s.thread("P2", || buffer.put(2));
        let c1 = s.thread("C1", || buffer.consume());
        let c2 = s.thread("C2", || buffer.consume());
        s.transfer(c1).until("Await");
        s.with([p1, p2, c2], || {
            while !s.ended(c2) {
                s.transfer(any()).until(next());
            }
        });
        assert!(buffer.size() <= 1);
        while !s.all_ended() {
            s.transfer(any()).until(end());
        }
        assert_eq!(buffer.size(), 0);
    });
    Ok(())
}

/// Both numbers were also counted with a model of a few lines that knows only who can run.
#[test]
fn the_producers_and_consumers_of_the_paper() {
    let first = explore(producers_and_consumers_1, options("mdpor,pb", Reduction::Optimal));
    assert_eq!((first.executions, first.met), (6512, 6512));
    let second = agree_exactly(producers_and_consumers_2);
    assert_eq!((second.executions, second.met), (180, 116));
}

/// A thread that takes so many steps, each behind a label.
fn walk(place: &Mutex<Vec<u32>>, me: u32, steps: u32) {
    for at in 0..steps {
        place.lock().unwrap().push(me * 10 + at);
        label("step");
    }
}

#[test]
fn every_order_of_turns_is_one_execution() {
    let found = agree_exactly(|| {
        let order = Mutex::new(Vec::new());
        scenario::check(|s| {
            s.thread("a", || walk(&order, 1, 2));
            s.thread("b", || walk(&order, 2, 2));
            while !s.all_ended() {
                s.transfer(any()).until(next());
            }
        });
        report(order.into_inner().unwrap());
        Ok(())
    });
    // Three turns each: the last one leads from the second label to the end. Four pushes: 6 orders.
    assert_eq!((found.executions, found.results.len()), (20, 6));
}

#[test]
fn labels_are_counted_and_named() {
    let found = agree_exactly(|| {
        let order = Mutex::new(Vec::new());
        scenario::check(|s| {
            let a = s.thread("a", || walk(&order, 1, 3));
            let b = s.thread("b", || walk(&order, 2, 1));
            s.transfer(a).until(scenario::label("step").count(2));
            assert_eq!(order.lock().unwrap().len(), 2);
            assert_eq!(s.transfer(any().except([a])).until(end()), b);
            s.transfer([a, b]).until(end());
            assert!(s.all_ended());
        });
        report(order.into_inner().unwrap());
        Ok(())
    });
    assert_eq!((found.executions, found.results.len()), (1, 1));
    assert!(found.results.contains_key("[10, 11, 20, 12]"));
}

#[test]
fn any_point_is_every_point() {
    let found = agree_exactly(|| {
        let order = Mutex::new(Vec::new());
        scenario::check(|s| {
            let a = s.thread("a", || walk(&order, 1, 3));
            let b = s.thread("b", || walk(&order, 2, 1));
            s.transfer(a).until(any_point());
            s.transfer(b).until(end());
            if !s.ended(a) {
                s.transfer(a).until(end());
            }
        });
        report(order.into_inner().unwrap());
        Ok(())
    });
    // Behind the first, second or third step, or at the end, which comes after the same three.
    assert_eq!((found.executions, found.results.len()), (4, 3));
}

#[test]
fn a_condition_is_asked_at_every_point() {
    let found = agree_exactly(|| {
        let order = Mutex::new(Vec::new());
        scenario::check(|s| {
            let a = s.thread("a", || walk(&order, 1, 3));
            let count = || order.lock().unwrap().len();
            s.transfer(a).until(when(|| count() == 2));
            assert_eq!(count(), 2);
            s.transfer(any_of([a])).until(when(|| count() == 3).count(2));
            assert!(s.ended(a));
        });
        Ok(())
    });
    assert_eq!((found.executions, found.met), (1, 1));
}

/// Without any label: operation by operation, all orders of two increments of two operations each.
#[test]
fn steps_need_no_labels() {
    let found = agree_exactly(|| {
        let number = AtomicU32::new(0);
        let raise = || {
            let before = number.load(SeqCst);
            number.store(before + 1, SeqCst);
        };
        scenario::check(|s| {
            s.thread("a", raise);
            s.thread("b", raise);
            while !s.all_ended() {
                s.transfer(any()).until(step());
            }
        });
        report(number.load(SeqCst));
        Ok(())
    });
    // Begin, load, store, end: eight steps, four each.
    assert_eq!(found.executions, 70);
    assert_eq!(found.results.keys().collect::<Vec<_>>(), ["1", "2"]);
}

#[test]
fn a_thread_that_is_blocked_goes_on_when_it_can() {
    let found = agree_exactly(|| {
        let (lock, seen) = (Mutex::new(0), AtomicU32::new(0));
        scenario::check(|s| {
            let holder = s.thread("holder", || {
                let mut guard = lock.lock().unwrap();
                label("inside");
                *guard = 1;
            });
            let other = s.thread("other", || seen.store(*lock.lock().unwrap() + 1, SeqCst));
            s.transfer(holder).until("inside");
            s.transfer(other).until(blocked());
            // It cannot be chosen as long as it is.
            assert_eq!(s.transfer(any()).until(end()), holder);
            assert_eq!(s.transfer(any()).until(end()), other);
        });
        report(seen.load(SeqCst));
        Ok(())
    });
    assert_eq!((found.executions, found.results.len()), (1, 1));
    assert!(found.results.contains_key("2"));
}

/// A loop that asks again and again counts as blocked, and goes on when somebody has done something.
#[test]
fn a_loop_that_waits_is_blocked() {
    let found = agree(|| {
        let ready = AtomicU32::new(0);
        scenario::check(|s| {
            let waiter = s.thread("waiter", || {
                while ready.load(SeqCst) == 0 {
                    schedcheck_rt::facade::hint::spin_loop();
                }
            });
            let setter = s.thread("setter", || ready.store(1, SeqCst));
            s.transfer(waiter).until(blocked());
            s.transfer(setter).until(end());
            s.transfer(waiter).until(end());
        });
        report(ready.load(SeqCst));
        Ok(())
    });
    assert_eq!((found.executions, found.met), (1, 1));
}

#[test]
fn what_is_left_runs_freely_when_the_scenario_is_over() {
    let found = agree(|| {
        let number = AtomicU32::new(0);
        let raise = || {
            label("before");
            let before = number.load(SeqCst);
            number.store(before + 1, SeqCst);
        };
        scenario::check(|s| {
            let a = s.thread("a", raise);
            s.thread("b", raise);
            s.transfer(a).until("before");
        });
        report(number.load(SeqCst));
        Ok(())
    });
    assert_eq!(found.results.keys().collect::<Vec<_>>(), ["1", "2"]);
    // Two loads and two stores: the classes of a lost update, no more.
    assert_eq!(found.executions, 4);
}

/// Threads beside the scenario: their steps are explored in every order with those of the scenario.
#[test]
fn other_threads_run_in_every_order() {
    let found = agree(|| {
        let (number, lock) = (AtomicU32::new(0), Mutex::new(0));
        let seen = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                *lock.lock().unwrap() += 1;
                number.store(1, SeqCst);
            });
            scenario::check(|s| {
                let a = s.thread("a", || {
                    *lock.lock().unwrap() *= 2;
                    label("between");
                    seen.store(number.load(SeqCst), SeqCst);
                });
                s.transfer(a).until("between");
                s.transfer(a).until(end());
            });
        });
        report((seen.load(SeqCst), lock.into_inner().unwrap()));
        Ok(())
    });
    // The lock first or last, the number early enough or not.
    assert_eq!(found.results.len(), 4, "{found:?}");
    assert_eq!(found.executions, found.met);
}

/// Beside the scenario somebody holds the lock: then the scenario cannot be met.
#[test]
fn being_blocked_by_others_discards_an_execution() {
    let found = agree(|| {
        let lock = Mutex::new(0);
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            let lock = &lock;
            scope.spawn(move || {
                let _guard = lock.lock().unwrap();
                receiver.recv().unwrap();
            });
            scenario::check(|s| {
                let a = s.thread("a", || {
                    *lock.lock().unwrap() += 1;
                    label("after");
                });
                let b = s.thread("b", || sender.send(()).unwrap());
                s.transfer(a).until("after");
                s.transfer(b).until(end());
            });
        });
        report(lock.into_inner().unwrap());
        Ok(())
    });
    assert_eq!(found.results.keys().collect::<Vec<_>>(), ["1"]);
    assert!(found.executions > found.met && found.met > 0, "{found:?}");
}

#[test]
fn a_deadlock_of_all_is_one_and_waiting_for_those_held_back_is_not() {
    fn take(first: &Mutex<u32>, second: &Mutex<u32>) {
        let one = first.lock().unwrap();
        label("one");
        drop(second.lock().unwrap());
        drop(one);
    }
    fn embrace(until_label: bool) -> TestResult {
        let (left, right) = (Mutex::new(0), Mutex::new(0));
        scenario::check(|s| {
            let a = s.thread("a", || take(&left, &right));
            let b = s.thread("b", || take(&right, &left));
            if until_label {
                s.transfer(a).until("one");
                s.transfer(b).until("one");
                s.transfer(a).until(end());
            } else {
                while !s.all_ended() {
                    s.transfer(any()).until(next());
                }
            }
        });
        report("fine");
        Ok(())
    }
    let found = agree_exactly(|| embrace(false));
    assert_eq!(found.results.keys().collect::<Vec<_>>(), ["\"fine\"", "deadlock"]);
    // `b` is held back at its label and could go on: that `a` waits for it is the scenario's doing.
    let found = agree_exactly(|| embrace(true));
    assert_eq!((found.results.len(), found.met), (0, 0));
    let unmet = found.unmet.expect("it was not met");
    assert!(unmet.starts_with("transfer(a).until(end()): thread 'a' is blocked at `lock`"), "{unmet}");
}

#[test]
fn a_scenario_that_nobody_can_meet_says_why() {
    let found = agree_exactly(|| {
        scenario::check(|s| {
            let a = s.thread("a", || label("here"));
            s.transfer(a).until("here");
            s.transfer(a).until("there");
        });
        Ok(())
    });
    assert_eq!((found.results.len(), found.met), (0, 0));
    let unmet = found.unmet.expect("it was not met");
    assert_eq!(unmet, "transfer(a).until(label(\"there\")): thread 'a' ended before that");
}

#[test]
fn assumptions_drop_executions() {
    let found = agree_exactly(|| {
        let order = Mutex::new(Vec::new());
        scenario::check(|s| {
            s.thread("a", || walk(&order, 1, 1));
            s.thread("b", || walk(&order, 2, 1));
            s.transfer(any()).until(end());
            s.assume(order.lock().unwrap()[0] == 20);
            s.transfer(any()).until(end());
        });
        report(order.into_inner().unwrap());
        Ok(())
    });
    assert_eq!((found.executions, found.met), (2, 1));
    assert_eq!(found.unmet.as_deref(), Some("assume(..): it never held"));
}

#[test]
fn a_panic_fails_at_once_wherever_it_comes_from() {
    let in_thread = agree_exactly(|| {
        scenario::check(|s| {
            let a = s.thread("a", || panic!("of a thread"));
            s.transfer(a).until("never");
        });
        Ok(())
    });
    assert_eq!(in_thread.results.keys().collect::<Vec<_>>(), ["panic"]);
    let in_script = agree_exactly(|| {
        scenario::check(|s| {
            let a = s.thread("a", || label("here"));
            s.transfer(a).until("here");
            panic!("of the script");
        });
        Ok(())
    });
    assert_eq!(in_script.results.keys().collect::<Vec<_>>(), ["panic"]);
    let out_of_scope = agree_exactly(|| {
        scenario::check(|s| {
            let a = s.thread("a", || ());
            s.without([a], || s.transfer(a).until(end()));
        });
        Ok(())
    });
    assert_eq!(out_of_scope.results.keys().collect::<Vec<_>>(), ["panic"]);
}

#[test]
fn outside_of_an_exploration_nothing_happens() {
    let _alone = crate::support::alone();
    scenario::check(|_| unreachable!("nobody could stop a thread at a label"));
    scenario::exists(|_| unreachable!("nobody could stop a thread at a label"));
    label("nowhere");
}
