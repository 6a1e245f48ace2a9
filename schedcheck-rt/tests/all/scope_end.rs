//! The end of a scope as std has it: it comes when every thread is done and every handle is gone, and only then is it
//! decided whether somebody has heard of a panic.

use crate::support::explore::{by, explore, found_by_every_search};
use crate::support::{Random, alone, execute, report};
use schedcheck_rt::__schedcheck_thread_local as thread_local;
use schedcheck_rt::exec::outcome::Outcome;
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::facade::sync::Mutex;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::sync::mpsc::channel;
use schedcheck_rt::facade::thread::{self, Scope, ScopedJoinHandle};
use schedcheck_rt::search::step::{Budget, Model, Trace};
use schedcheck_rt::search::{Options, Reduction, Search};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicUsize as Raw};

fn outcomes(body: fn() -> TestResult) -> Vec<String> {
    found_by_every_search("a scope's end", body).0
}

/// A panic that does not go through the hook.
fn panic() -> ! {
    resume_unwind(Box::new(()))
}

/// Whether a scope panics.
fn panics<F>(within: F) -> bool
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, '_>),
{
    catch_unwind(AssertUnwindSafe(|| thread::scope(within))).is_err()
}

/// Counts its drops.
struct Noisy<'a>(&'a AtomicUsize);

impl Drop for Noisy<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_forgotten_handle_keeps_its_scope_waiting() {
    fn at_once() -> TestResult {
        thread::scope(|scope| std::mem::forget(scope.spawn(|| ())));
        Ok(())
    }
    fn by_a_sibling() -> TestResult {
        thread::scope(|scope| {
            let handle = scope.spawn(|| ());
            scope.spawn(|| std::mem::forget(handle));
        });
        Ok(())
    }
    fn with_a_result() -> TestResult {
        let drops = AtomicUsize::new(0);
        thread::scope(|scope| std::mem::forget(scope.spawn(|| Noisy(&drops))));
        Ok(())
    }
    fn in_what_is_forgotten() -> TestResult {
        thread::scope(|scope| {
            let first = scope.spawn(|| ());
            std::mem::forget(scope.spawn(move || first));
        });
        Ok(())
    }
    fn after_a_panic() -> TestResult {
        report(panics(|scope| std::mem::forget(scope.spawn(|| panic()))));
        Ok(())
    }
    fn in_its_own_result() -> TestResult {
        thread::scope(|scope| {
            let (sender, receiver) = channel::<ScopedJoinHandle<'_, Box<dyn Send>>>();
            let handle = scope.spawn(move || -> Box<dyn Send> { Box::new(receiver.recv().unwrap()) });
            sender.send(handle).unwrap();
        });
        Ok(())
    }
    for body in [at_once, by_a_sibling, with_a_result, in_what_is_forgotten, after_a_panic, in_its_own_result]
    {
        assert_eq!(outcomes(body), ["deadlock"]);
    }
}

#[test]
fn whoever_has_the_handle_may_hear_of_a_panic_until_its_own_end() {
    fn joined() -> TestResult {
        report(panics(|scope| {
            let first = scope.spawn(|| panic());
            scope.spawn(move || assert!(first.join().is_err()));
        }));
        Ok(())
    }
    fn handed_on() -> TestResult {
        report(panics(|scope| {
            let first = scope.spawn(|| panic());
            let second = scope.spawn(move || first);
            scope.spawn(move || assert!(second.join().unwrap().join().is_err()));
        }));
        Ok(())
    }
    fn joined_inside() -> TestResult {
        report(panics(|scope| {
            let first = scope.spawn(|| panic());
            scope.spawn(|| thread::scope(|inside| drop(inside.spawn(|| assert!(first.join().is_err())))));
        }));
        Ok(())
    }
    for body in [joined, handed_on, joined_inside] {
        assert_eq!(outcomes(body), ["false"]);
    }
}

#[test]
fn a_panic_that_nobody_hears_of_is_that_of_the_scope() {
    fn dropped() -> TestResult {
        report(panics(|scope| drop(scope.spawn(|| panic()))));
        Ok(())
    }
    fn dropped_by_a_sibling() -> TestResult {
        report(panics(|scope| {
            let first = scope.spawn(|| panic());
            scope.spawn(|| drop(first));
        }));
        Ok(())
    }
    fn dropped_inside() -> TestResult {
        report(panics(|scope| {
            let first = scope.spawn(|| panic());
            scope.spawn(|| thread::scope(|inside| drop(inside.spawn(|| drop(first)))));
        }));
        Ok(())
    }
    fn dropped_by_itself() -> TestResult {
        report(panics(|scope| {
            let (sender, receiver) = channel::<ScopedJoinHandle<'_, ()>>();
            let handle = scope.spawn(move || {
                drop(receiver.recv());
                panic()
            });
            sender.send(handle).unwrap();
        }));
        Ok(())
    }
    for body in [dropped, dropped_by_a_sibling, dropped_inside, dropped_by_itself] {
        assert_eq!(outcomes(body), ["true"]);
    }
}

#[test]
fn who_takes_the_handle_decides_what_becomes_of_a_panic() {
    fn body() -> TestResult {
        let panicked = panics(|scope| {
            let first = Arc::new(Mutex::new(Some(scope.spawn(|| panic()))));
            let other = first.clone();
            scope.spawn(move || drop(other.lock().unwrap().take()));
            scope.spawn(move || {
                let handle = first.lock().unwrap().take();
                handle.map(|handle| assert!(handle.join().is_err()))
            });
        });
        report(panicked);
        Ok(())
    }
    assert_eq!(outcomes(body), ["false", "true"]);
}

/// A handle that its lifetime does not keep in the scope.
struct Smuggled(*mut (dyn Any + Send));

// SAFETY: as the handle.
unsafe impl Send for Smuggled {}

impl Smuggled {
    fn new(handle: ScopedJoinHandle<'_, ()>) -> Smuggled {
        // SAFETY: only the lifetime changes; the scope waits for the handle.
        let handle =
            unsafe { std::mem::transmute::<ScopedJoinHandle<'_, ()>, ScopedJoinHandle<'static, ()>>(handle) };
        Smuggled(Box::into_raw(Box::new(handle)))
    }

    fn handle(self) -> ScopedJoinHandle<'static, ()> {
        // SAFETY: made above, and taken once.
        let handle = unsafe { Box::from_raw(self.0) };
        *handle.downcast().unwrap()
    }
}

#[test]
fn a_scope_waits_for_a_thread_outside_that_has_a_handle() {
    fn dropped() -> TestResult {
        let number = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = channel::<Smuggled>();
        let theirs = number.clone();
        let outside = thread::spawn(move || {
            let handle = receiver.recv().unwrap().handle();
            theirs.fetch_add(1, SeqCst);
            drop(handle);
            theirs.fetch_add(1, SeqCst);
        });
        thread::scope(|scope| {
            let handle = scope.spawn(|| number.fetch_add(10, SeqCst));
            sender.send(Smuggled::new(scope.spawn(|| ()))).unwrap();
            drop(handle);
        });
        report(number.load(SeqCst));
        outside.join().unwrap();
        Ok(())
    }
    assert_eq!(outcomes(dropped), ["11", "12"]);

    fn joined() -> TestResult {
        let (sender, receiver) = channel::<Smuggled>();
        let outside = thread::spawn(move || receiver.recv().unwrap().handle().join().is_err());
        let panicked = panics(|scope| sender.send(Smuggled::new(scope.spawn(|| panic()))).unwrap());
        report((panicked, outside.join().unwrap()));
        Ok(())
    }
    assert_eq!(outcomes(joined), ["(false, true)"]);
}

thread_local!(static STASH: RefCell<Option<ScopedJoinHandle<'static, ()>>> = const { RefCell::new(None) });

#[test]
fn a_scope_waits_for_a_thread_local_value_that_has_a_handle() {
    fn body() -> TestResult {
        thread::scope(|scope| {
            let first = Smuggled::new(scope.spawn(|| ()));
            scope.spawn(move || STASH.set(Some(first.handle())));
        });
        report("ended");
        Ok(())
    }
    assert_eq!(outcomes(body), ["\"ended\""]);
}

#[test]
fn results_are_gone_when_the_scope_is() {
    fn body() -> TestResult {
        let drops = AtomicUsize::new(0);
        thread::scope(|scope| {
            let first = scope.spawn(|| Noisy(&drops));
            scope.spawn(|| thread::scope(|inside| drop(inside.spawn(|| drop(first)))));
        });
        report(drops.load(SeqCst));
        Ok(())
    }
    assert_eq!(outcomes(body), ["1"]);
}

#[test]
fn handles_that_stay_among_the_threads_of_a_scope_cost_nothing() {
    fn dropped() -> TestResult {
        thread::scope(|scope| {
            scope.spawn(|| drop(scope.spawn(|| ())));
            scope.spawn(|| ());
        });
        report(());
        Ok(())
    }
    fn moved() -> TestResult {
        thread::scope(|scope| {
            let first = scope.spawn(|| ());
            let second = scope.spawn(move || drop(first));
            scope.spawn(move || second.join().unwrap());
        });
        report(());
        Ok(())
    }
    fn moved_inside() -> TestResult {
        thread::scope(|scope| {
            let first = scope.spawn(|| ());
            scope.spawn(|| thread::scope(|inside| drop(inside.spawn(|| drop(first)))));
        });
        report(());
        Ok(())
    }
    // Three times start, begin, end and the wait for it; begin and end of the body. One of them joins.
    for (body, steps) in
        [(dropped as fn() -> TestResult, 3 * 4 + 2), (moved, 3 * 4 + 3), (moved_inside, 3 * 4 + 2)]
    {
        assert_eq!(found_by_every_search("independent ends", body).1, 1);
        let (trace, outcome) = execute(body, &[]);
        assert!(matches!(outcome, Outcome::Passed));
        assert_eq!(trace.events.len(), steps);
    }
}

#[test]
fn a_scope_that_panics_says_which_thread_did() {
    fn body() -> TestResult {
        thread::scope(|scope| {
            let heard = scope.spawn(|| panic!("heard"));
            assert!(heard.join().is_err());
            let named = thread::Builder::new().name("worker".to_owned());
            named.spawn_scoped(scope, || panic_any(1)).unwrap();
        });
        Ok(())
    }
    let (_, outcome) = execute(body, &[]);
    let Outcome::Panicked(report) = outcome else { panic!("{outcome:?}") };
    assert_eq!(report.message, "a scoped thread panicked: 'worker', with a value that is not text");
}

/// Which program [`random`] is.
static SEED: AtomicU64 = AtomicU64::new(0);
/// Results that need a drop.
static MADE: Raw = Raw::new(0);
static FORGOTTEN: Raw = Raw::new(0);
/// Threads that panicked, and those that somebody joined, as bits.
static PANICKED: Raw = Raw::new(0);
static JOINED: Raw = Raw::new(0);

/// A handle, and the bit of its thread.
type Handle<'scope, 'a> = (usize, ScopedJoinHandle<'scope, Option<Noisy<'a>>>);

/// What a thread does, which has these handles.
fn act<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    mut handles: Vec<Handle<'scope, 'env>>,
    drops: &'env AtomicUsize,
    (me, random): (usize, &mut Random),
) {
    for _ in 0..random.below(4) {
        let what = random.below(12);
        match what {
            0 => {
                PANICKED.fetch_or(me, SeqCst);
                panic();
            }
            1 | 2 => {
                let number = me << 3;
                let handle = scope.spawn(move || {
                    drops.fetch_add(100, SeqCst);
                    (what == 1).then(|| noisy(drops))
                });
                handles.push((number, handle));
            }
            3 => drop(drops.fetch_add(100, SeqCst)),
            _ => {
                let Some((thread, handle)) = handles.pop() else { continue };
                let join = move || {
                    drop(handle.join());
                    JOINED.fetch_or(thread, SeqCst);
                };
                match what {
                    4 | 5 => join(),
                    6 | 7 => drop(join),
                    8 => thread::scope(|inside| drop(inside.spawn(join))),
                    9 => thread::scope(|inside| drop(inside.spawn(|| drop(join)))),
                    10 => {
                        scope.spawn(|| {
                            drop(join);
                            None::<Noisy<'_>>
                        });
                    }
                    _ => {
                        FORGOTTEN.fetch_add(1, SeqCst);
                        std::mem::forget(join);
                    }
                }
            }
        }
    }
}

fn noisy(drops: &AtomicUsize) -> Noisy<'_> {
    MADE.fetch_add(1, SeqCst);
    Noisy(drops)
}

/// Threads that give handles to one another and do all that can be done with one.
fn random() -> TestResult {
    [&FORGOTTEN, &PANICKED, &JOINED, &MADE].iter().for_each(|seen| seen.store(0, SeqCst));
    let mut all = Random(SEED.load(SeqCst).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let drops = AtomicUsize::new(0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            let mut handles = Vec::new();
            for thread in 0..2 + all.below(2) {
                let drops = &drops;
                let (mut own, result) = (Random(all.below(1 << 20) as u64), all.below(2) == 0);
                let taken = handles.split_off(all.below(handles.len() + 1));
                let me = 1 << thread;
                let handle = scope.spawn(move || {
                    act(scope, taken, drops, (me, &mut own));
                    result.then(|| noisy(drops))
                });
                handles.push((me, handle));
            }
            act(scope, handles, &drops, (1 << 20, &mut all));
        });
    }))
    .is_err();
    assert_eq!(FORGOTTEN.load(SeqCst), 0, "a scope ended although a handle was forgotten");
    let own = PANICKED.load(SeqCst) & 1 << 20;
    let unheard = PANICKED.load(SeqCst) & !JOINED.load(SeqCst);
    assert_eq!(panicked, own | unheard != 0, "a scope panics if nobody else has heard of a panic");
    let gone = drops.load(SeqCst) % 100;
    assert_eq!(gone, MADE.load(SeqCst), "a result outlives its scope");
    report((panicked, gone, JOINED.load(SeqCst)));
    Ok(())
}

/// Whether there are few enough orders of a body to look at all of them.
fn is_small(body: fn() -> TestResult) -> bool {
    const MOST: u64 = 3_000;
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    let mut search = Search::new(Options { reduction: Reduction::None, ..by("dfs", Budget::NONE) });
    let mut trace = Trace::default();
    while let Some(order) = search.next() {
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        if trace.events.len() > 17 || search.stats().executions > MOST {
            return false;
        }
    }
    true
}

#[test]
fn random_scopes_end_as_in_std() {
    let seeds = std::env::var("SCHEDCHECK_SCOPES").ok().and_then(|count| count.parse().ok()).unwrap_or(25);
    let (mut seen, mut small) = (BTreeSet::new(), 0);
    for seed in 0..seeds {
        SEED.store(seed, SeqCst);
        let found = if is_small(random) {
            small += 1;
            outcomes(random)
        } else {
            let found = explore(random, by("mdpor,pb", Budget::NONE)).results;
            let source = Options { reduction: Reduction::Source, ..by("dfs", Budget::NONE) };
            assert_eq!(explore(random, source).results, found, "program {seed}");
            found.into_iter().collect()
        };
        assert!(!found.iter().any(|word| word == "panic"), "program {seed}: {found:?}");
        seen.extend(found);
    }
    assert!(seen.contains("deadlock") && seen.len() > 10, "{seen:?}");
    assert!(small * 10 > seeds, "{small}");
}
