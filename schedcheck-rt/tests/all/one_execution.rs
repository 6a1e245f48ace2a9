//! One execution through the facades: default behaviour, deltas, verdicts.

use crate::backends::bodies::{locks_in_opposite_order, spins_without_a_hint};
use crate::support::{alone, execute, passes, report, reported};
use schedcheck_rt::exec::outcome::{Deadlock, LostWakeup, Outcome};
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::facade::sync::atomic::{AtomicPtr, AtomicUsize};
use schedcheck_rt::facade::sync::{Condvar, Mutex, mpsc};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::{
    Alt, Choice, Decision, Delta, End, Event, Guide, Mode, Model, Pending, Plan, StepIndex, ThreadId, Trace,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use std::time::Duration;

/// Executes `body` with default behaviour but for steps at which another thread runs.
pub(crate) fn run(body: fn() -> TestResult, switches: &[(u32, u16)]) -> (Trace, Outcome) {
    let turns: Vec<_> = switches.iter().map(|&(step, thread)| (step, thread, Alt::DEFAULT)).collect();
    execute(body, &turns)
}

#[test]
fn default_behaviour_runs_the_body_until_it_blocks() {
    let (trace, outcome) = run(locks_in_opposite_order, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert_eq!(trace.end, End::Passed);
    let threads: Vec<_> = trace.events.iter().map(|event| event.thread.0).collect();
    assert_eq!(threads, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn a_preemption_between_the_locks_deadlocks() {
    let (trace, outcome) = run(locks_in_opposite_order, &[(3, 1)]);
    let Outcome::Deadlock(deadlock) = outcome else { panic!("{outcome:?}") };
    assert_eq!(deadlock.cycle, [ThreadId(0), ThreadId(1)]);
    assert_eq!(trace.end, End::Failed);
    assert_eq!(trace.pending.len(), 2);
}

#[test]
fn a_plan_that_cannot_be_followed_says_so() {
    let (trace, outcome) = run(locks_in_opposite_order, &[(1, 1)]);
    assert!(matches!(outcome, Outcome::Diverged(_)), "{outcome:?}");
    assert_eq!(trace.end, End::Diverged(1));
}

#[test]
fn a_joined_panic_is_an_error_of_the_join() {
    let (_, outcome) = run(
        || {
            let result = thread::spawn(|| panic!("boom")).join();
            assert!(result.is_err());
            Ok(())
        },
        &[],
    );
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
}

#[test]
fn a_panic_that_nobody_joins_fails() {
    let (_, outcome) = run(
        || {
            drop(thread::spawn(|| panic!("boom")));
            Ok(())
        },
        &[],
    );
    let Outcome::Panicked(report) = outcome else { panic!("{outcome:?}") };
    assert_eq!(report.message, "boom");
}

#[test]
fn a_panic_that_nobody_joins_may_be_why_the_expected_one_comes() {
    fn hears_of_it() -> TestResult {
        let (sender, receiver) = mpsc::channel::<()>();
        drop(thread::spawn(move || {
            let _sender = sender;
            panic!("boom")
        }));
        receiver.recv().expect("somebody sends");
        Ok(())
    }
    fn is_told_nothing() -> TestResult {
        drop(thread::spawn(|| panic!("boom")));
        Ok(())
    }
    fn outcome(body: fn() -> TestResult, should_panic: Option<&'static str>) -> Outcome {
        let _alone = alone();
        let mut execution = Execution::new(Test { body, should_panic }, 100);
        execution.run(&Plan::default(), None, &mut Trace::default());
        execution.outcome().clone()
    }
    let as_expected = outcome(hears_of_it, Some("somebody sends"));
    assert!(matches!(as_expected, Outcome::Passed), "{as_expected:?}");
    for (body, text) in [(hears_of_it as fn() -> TestResult, "boom"), (is_told_nothing, "")] {
        let missed = outcome(body, Some(text));
        assert!(matches!(missed, Outcome::ExpectationMissed(_)), "{missed:?}");
    }
    assert!(matches!(outcome(hears_of_it, None), Outcome::Panicked(_)));
}

#[test]
fn a_condvar_hands_over_and_scopes_join() {
    let (_, outcome) = run(
        || {
            let pair = (Mutex::new(false), Condvar::new());
            let count = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut ready = pair.0.lock().unwrap();
                    while !*ready {
                        ready = pair.1.wait(ready).unwrap();
                    }
                    count.fetch_add(1, SeqCst);
                });
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            });
            assert_eq!(count.load(SeqCst), 1);
            Ok(())
        },
        &[(2, 1)],
    );
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
}

fn deadlock_of(body: fn() -> TestResult, switches: &[(u32, u16)]) -> Deadlock {
    let (_, outcome) = run(body, switches);
    let Outcome::Deadlock(deadlock) = outcome else { panic!("{outcome:?}") };
    deadlock
}

#[test]
fn a_notification_of_the_waiting_thread_itself_is_no_lost_one() {
    fn asks() -> TestResult {
        let (state, changed) = (Mutex::new(0), Condvar::new());
        let mut state = state.lock().unwrap();
        *state = 1;
        changed.notify_all();
        while *state != 2 {
            state = changed.wait(state).unwrap();
        }
        Ok(())
    }
    fn asks_after_an_answer() -> TestResult {
        let (state, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| changed.notify_one()).join().unwrap();
            changed.notify_one();
            drop(changed.wait(state.lock().unwrap()).unwrap());
        });
        Ok(())
    }
    assert_eq!(deadlock_of(asks, &[]).lost_wakeup, None);
    assert_eq!(deadlock_of(asks_after_an_answer, &[]).lost_wakeup, Some(LostWakeup::Early));
}

/// The one thread takes what comes until it is closed; the other one puts something in and closes it.
fn close_a_queue(notify: bool) {
    let (queue, changed) = (Mutex::new((0, false)), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut queue = queue.lock().unwrap();
            while !queue.1 {
                queue.0 = 0;
                queue = changed.wait(queue).unwrap();
            }
        });
        queue.lock().unwrap().0 += 1;
        changed.notify_one();
        while queue.lock().unwrap().0 > 0 {
            thread::yield_now();
        }
        let mut queue = queue.lock().unwrap();
        queue.1 = true;
        if notify {
            changed.notify_one();
        }
    });
}

#[test]
fn a_change_that_nobody_is_told_of_may_be_the_cause() {
    let forgets = || {
        close_a_queue(false);
        Ok(())
    };
    let deadlock = deadlock_of(forgets, &[]);
    assert_eq!(deadlock.lost_wakeup, Some(LostWakeup::Early));
    assert!(deadlock.may_be_missing);
    let tells = || {
        close_a_queue(true);
        Ok(())
    };
    assert!(matches!(run(tells, &[]).1, Outcome::Passed));
}

#[test]
fn others_that_wait_for_the_same_have_nothing_to_tell() {
    fn one_gives_up() -> TestResult {
        let (state, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            changed.notify_one();
            scope.spawn(|| drop(changed.wait(state.lock().unwrap()).unwrap()));
            scope
                .spawn(|| drop(changed.wait_timeout(state.lock().unwrap(), Duration::from_secs(1)).unwrap()));
        });
        Ok(())
    }
    let deadlock = deadlock_of(one_gives_up, &[]);
    assert_eq!(deadlock.lost_wakeup, Some(LostWakeup::Early));
    assert!(!deadlock.may_be_missing);
}

#[test]
fn a_wait_for_what_is_never_notified_may_be_the_cause() {
    fn two_condvars() -> TestResult {
        let (state, filled, emptied) = (Mutex::new(0), Condvar::new(), Condvar::new());
        thread::scope(|scope| {
            filled.notify_one();
            scope.spawn(|| drop(filled.wait(state.lock().unwrap()).unwrap()));
            drop(emptied.wait(state.lock().unwrap()).unwrap());
        });
        Ok(())
    }
    fn one_condvar() -> TestResult {
        let (state, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            changed.notify_one();
            scope.spawn(|| drop(changed.wait(state.lock().unwrap()).unwrap()));
            scope.spawn(|| drop(changed.wait(state.lock().unwrap()).unwrap()));
        });
        Ok(())
    }
    assert!(deadlock_of(two_condvars, &[]).may_be_missing);
    let others_wait_as_well = deadlock_of(one_condvar, &[]);
    assert_eq!(others_wait_as_well.lost_wakeup, Some(LostWakeup::Early));
    assert!(!others_wait_as_well.may_be_missing);
}

#[test]
fn a_spin_loop_lets_others_run_once_its_state_repeats() {
    let (trace, outcome) = run(spins_without_a_hint, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!(trace.events.len() < 20, "{}", trace.events.len());
}

/// Looks at a flag from a frame of which most is never set: it has there whatever was left on the stack before.
#[inline(never)]
fn look_from_below(flag: &AtomicUsize) -> usize {
    let unset = std::mem::MaybeUninit::<[u8; 2000]>::uninit();
    let found = flag.load(SeqCst);
    std::hint::black_box(&unset);
    found
}

/// Spins until another thread raises one of two flags.
fn spins_at_two_depths() -> TestResult {
    let flags = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let theirs = flags.clone();
    let other = thread::spawn(move || theirs[1].store(1, SeqCst));
    while look_from_below(&flags[0]) == 0 && flags[1].load(SeqCst) == 0 {}
    other.join().unwrap();
    Ok(())
}

#[test]
fn what_the_engine_does_in_a_round_of_a_loop_is_no_part_of_its_state() {
    let (trace, outcome) = run(spins_at_two_depths, &[]);
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    // The state of the second round is that of the first, so there is no third.
    let loads = trace.events.iter().skip(2).take_while(|event| event.thread == ThreadId(0)).count();
    assert_eq!(loads, 4, "{}", crate::support::show(&trace));
    let _alone = alone();
    let mut again = Trace::default();
    let test = Test { body: spins_at_two_depths, should_panic: None };
    Execution::new(test, 100).run(&Plan::repeating(&trace), None, &mut again);
    assert_eq!(again.events, trace.events);
}

#[test]
fn a_counting_spin_loop_comes_to_its_end() {
    let (trace, outcome) = run(
        || {
            let flag = AtomicUsize::new(0);
            let mut rounds = 0;
            while flag.load(SeqCst) == 0 && rounds < 100 {
                rounds += 1;
                thread::yield_now();
            }
            Ok(())
        },
        &[],
    );
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!(trace.events.len() > 100);
}

#[test]
fn a_loop_that_nothing_ends_is_a_livelock() {
    let (trace, outcome) = run(
        || {
            let flag = AtomicUsize::new(0);
            while flag.load(SeqCst) == 0 {
                thread::yield_now();
            }
            Ok(())
        },
        &[],
    );
    assert!(matches!(outcome, Outcome::Livelock { .. }), "{outcome:?}");
    assert_eq!(trace.events.len(), 10_000);
}

#[test]
fn polling_a_mutex_lets_others_run() {
    let (trace, outcome) = run(
        || {
            let done = Arc::new(Mutex::new(false));
            let theirs = done.clone();
            let other = thread::spawn(move || *theirs.lock().unwrap() = true);
            while !*done.lock().unwrap() {}
            other.join().unwrap();
            Ok(())
        },
        &[],
    );
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    assert!(trace.events.len() < 30);
}

#[test]
fn switching_while_a_thread_unwinds_keeps_panics_apart() {
    let (_, outcome) = run(
        || {
            let lock = Arc::new((Mutex::new(0), Mutex::new(0)));
            let theirs = lock.clone();
            let other = thread::spawn(move || {
                let _held = theirs.0.lock().unwrap();
                panic!("boom");
            });
            // Runs while the other thread unlocks in the middle of its unwind.
            assert!(!thread::panicking());
            drop(lock.1.lock().unwrap());
            assert!(!lock.1.is_poisoned(), "only the panicking thread poisons");
            assert!(other.join().is_err());
            assert!(lock.0.is_poisoned());
            Ok(())
        },
        &[(2, 1), (3, 1), (4, 0), (5, 0)],
    );
    assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
}

#[test]
fn a_choice_takes_the_alternative_of_the_plan_and_an_assumption_drops_the_execution() {
    fn body() -> TestResult {
        let chosen = schedcheck_rt::choose(4);
        schedcheck_rt::assume(chosen != 1);
        Err(format!("chose {chosen}"))
    }
    let _alone = alone();
    let mut execution = Execution::new(Test { body, should_panic: None }, 100);
    let mut trace = Trace::default();
    let mut choose = |alt| {
        let choice = Choice { thread: ThreadId(0), alt: Alt(alt) };
        execution.run(&Plan { deltas: vec![Delta { step: 1, choice }], prefix: 0 }, None, &mut trace);
        assert_eq!(trace.events[1].free_alts, 4);
        (trace.end, execution.outcome().clone())
    };
    let (end, outcome) = choose(3);
    assert_eq!(end, End::Failed);
    assert!(matches!(outcome, Outcome::Panicked(report) if report.message == "chose 3"));
    assert_eq!(choose(1).0, End::Stopped);
}

#[test]
fn threads_that_outlive_the_test_are_a_failure_where_that_is_asked_for() {
    fn leaves_one() -> TestResult {
        thread::Builder::new().name("worker".to_owned()).spawn(thread::park).unwrap();
        Ok(())
    }
    fn joins_it() -> TestResult {
        let worker = thread::spawn(thread::park);
        worker.thread().unpark();
        worker.join().unwrap();
        Ok(())
    }
    let _alone = alone();
    let run = |body: fn() -> TestResult, detect: bool| {
        let mut execution = Execution::new(Test { body, should_panic: None }, 100);
        if detect {
            execution.detect_leaks();
        }
        execution.run(&Plan::default(), None, &mut Trace::default());
        format!("{:?}", execution.outcome())
    };
    assert_eq!(run(leaves_one, false), "Passed");
    assert_eq!(run(leaves_one, true), "Leak(\"thread 'worker' has not ended when the test had\")");
    assert_eq!(run(joins_it, true), "Passed");
}

#[test]
fn a_thread_has_the_stack_that_it_was_started_with() {
    fn fills(bytes: usize) -> usize {
        let mut large = [0_u8; 1 << 20];
        std::hint::black_box(&mut large)[bytes % 7] = 1;
        let below = if bytes > large.len() { fills(bytes - large.len()) } else { 0 };
        below + usize::from(std::hint::black_box(&large)[bytes % 7])
    }
    fn body() -> TestResult {
        for size in [40 << 20, 20 << 20] {
            let deep = thread::Builder::new().stack_size(size).spawn(move || fills(size / 2)).unwrap();
            thread::spawn(|| ()).join().unwrap();
            assert_eq!(deep.join().unwrap(), (size / 2) >> 20);
        }
        Ok(())
    }
    for _ in 0..2 {
        let (_, outcome) = run(body, &[]);
        assert!(matches!(outcome, Outcome::Passed), "{outcome:?}");
    }
}

#[test]
fn a_thread_that_the_system_could_not_start_does_not_start() {
    fn body() -> TestResult {
        type Start = fn(thread::Builder) -> std::io::Result<()>;
        let ways: [Start; 3] = [
            |builder| builder.spawn(|| ()).map(drop),
            // SAFETY: it borrows nothing.
            |builder| unsafe { builder.spawn_unchecked(|| ()) }.map(drop),
            |builder| thread::scope(|scope| builder.spawn_scoped(scope, || ()).map(drop)),
        ];
        for start in ways {
            let started = |builder| start(builder).map_err(|error| error.kind());
            let of = |bytes| started(thread::Builder::new().stack_size(bytes));
            assert_eq!(of(1 << 60), Err(std::io::ErrorKind::WouldBlock));
            assert_eq!(of(1 << 47), Err(std::io::ErrorKind::WouldBlock));
            assert_eq!(of(usize::MAX), Err(std::io::ErrorKind::InvalidInput));
            assert_eq!(
                (of(0), of(1 << 20), started(thread::Builder::new().name(String::new()))),
                (Ok(()), Ok(()), Ok(()))
            );

            let named = || thread::Builder::new().name("a\0b".to_owned());
            let panicked = catch_unwind(|| started(named())).unwrap_err();
            let text = "thread name may not contain interior null bytes: NulError(1, [97, 0, 98])";
            assert_eq!(panicked.downcast_ref::<String>().unwrap(), text);
            assert!(catch_unwind(|| started(named().stack_size(1 << 60))).is_err(), "the name comes first");
        }
        Ok(())
    }
    crate::support::promised(body);
}

/// Lets one thread run whenever it can, and otherwise another one.
struct Prefer(ThreadId);

impl Guide for Prefer {
    fn choose(&mut self, _: StepIndex, _: Option<ThreadId>, pending: &[Pending]) -> Decision {
        let able = pending.iter().filter(|pending| pending.enabled).map(|pending| pending.thread);
        let chosen = able.min_by_key(|&thread| (thread != self.0, thread));
        chosen.map_or(Decision::Default, |thread| Decision::Take(Choice { thread, alt: Alt::DEFAULT }))
    }

    fn executed(&mut self, _: StepIndex, _: &Event) {}
}

/// Two loops that wait only look, in whatever order: which of them goes round once more must not depend on that order, or the
/// search takes two continuations for one.
#[test]
fn who_goes_round_when_all_wait_does_not_depend_on_who_waited_last() {
    fn body() -> TestResult {
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let theirs = flags.clone();
        let other = thread::spawn(move || {
            let mut rounds = 0;
            while theirs[0].load(SeqCst) == 0 && rounds < 12 {
                rounds += 1;
                thread::yield_now();
            }
            theirs[1].store(1, SeqCst);
        });
        while flags[1].load(SeqCst) == 0 {
            thread::yield_now();
        }
        other.join().unwrap();
        Ok(())
    }
    let _alone = alone();
    let forced = [0, 1].map(|preferred| {
        let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
        let (mut trace, mut guide) = (Trace::default(), Prefer(ThreadId(preferred)));
        execution.run(&Plan::default(), Some(&mut guide), &mut trace);
        assert_eq!(trace.end, End::Passed);
        trace.events.iter().find(|event| event.forced).map(|event| event.thread)
    });
    assert!(forced[0].is_some(), "one of them must get through");
    assert_eq!(forced[0], forced[1]);
}

/// What comes round without a change may be refused as an idle round, and the search has to know it beforehand.
#[test]
fn steps_at_which_a_loop_comes_round_are_marked() {
    fn body() -> TestResult {
        let (looked_at, changed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for _ in 0..3 {
            looked_at.load(SeqCst);
            changed.fetch_add(1, SeqCst);
        }
        for _ in 0..3 {
            looked_at.load(SeqCst);
            looked_at.compare_exchange(1, 2, SeqCst, SeqCst).unwrap_err();
        }
        Ok(())
    }
    let trace = passes(body, &[]);
    let used = trace.events.iter().filter(|event| event.accesses[0].mode != Mode::None);
    let marks: Vec<bool> = used.take(12).map(|event| event.comes_round).collect();
    assert_eq!(marks, [[false; 8].as_slice(), &[true; 4]].concat());
}

/// std refuses orderings that an operation cannot have. Whoever catches that goes on under control.
#[test]
fn an_atomic_refuses_orderings_as_in_std_and_the_execution_goes_on() {
    fn refused<R>(operation: impl FnOnce() -> R) -> String {
        let payload = catch_unwind(AssertUnwindSafe(|| drop(operation()))).expect_err("it is refused");
        payload.downcast_ref::<&str>().expect("std's text").to_string()
    }
    fn texts() -> Vec<String> {
        let (number, pointer) = (AtomicUsize::new(0), AtomicPtr::<u8>::default());
        // Not to be seen by the lint that knows what is refused.
        let [acquire, release, both] = [Acquire, Release, AcqRel].map(std::hint::black_box);
        let null = std::ptr::null_mut();
        vec![
            refused(|| number.load(release)),
            refused(|| number.load(both)),
            refused(|| number.store(1, acquire)),
            refused(|| number.store(1, both)),
            refused(|| number.compare_exchange(0, 1, SeqCst, release)),
            refused(|| number.compare_exchange(0, 1, SeqCst, both)),
            refused(|| number.compare_exchange_weak(0, 1, SeqCst, release)),
            refused(|| number.fetch_update(SeqCst, release, |_| Some(1))),
            refused(|| pointer.load(release)),
            refused(|| pointer.store(null, acquire)),
            refused(|| pointer.compare_exchange(null, null, SeqCst, both)),
        ]
    }
    fn body() -> TestResult {
        report(texts());
        let changed = AtomicUsize::new(0);
        changed.store(1, SeqCst);
        changed.store(2, SeqCst);
        Ok(())
    }
    let _alone = alone();
    let expected = format!("{:?}", texts());
    let trace = passes(body, &[]);
    assert_eq!((reported(), trace.events.len()), (expected, 4), "the stores, between beginning and end");
}

/// Code in C asks how much room there is behind an address (SQLite, for one), and uses it.
#[test]
fn the_size_of_a_block_is_that_of_the_heap_that_it_is_from() {
    fn room() -> usize {
        // SAFETY: a new block, which is given back.
        unsafe {
            let block = libc::malloc(100);
            let room = libc::malloc_usable_size(block);
            libc::free(block);
            room
        }
    }
    fn body() -> TestResult {
        report((100..200).contains(&room()));
        Ok(())
    }
    let _alone = alone();
    assert!((100..200).contains(&room()));
    passes(body, &[]);
    assert_eq!(reported(), "true");
}
