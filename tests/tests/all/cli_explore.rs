//! The whole way with the real engine: an unmodified crate in, findings and guarantees out.
use schedcheck_tests::project::Project;

#[test]
fn bugs_of_an_unmodified_crate_are_found_and_repeated() {
    let project = Project::copy_of("unmodified");
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
    let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts_by_test();

    let deadlock = &verdicts["tests::opposite_order"];
    assert_eq!(deadlock["outcome"], "deadlock");
    assert_eq!(deadlock["location"]["file"], "src/lib.rs");
    assert!(deadlock["preemptions"].as_u64().unwrap() <= 1, "{deadlock}");

    // The race is in the dependency, on an atomic of core.
    let lost_update = &verdicts["tests::counts_to_two"];
    assert_eq!(lost_update["outcome"], "panic");
    assert!(lost_update["message"].as_str().unwrap().contains("left: 1"), "{lost_update}");

    let correct = &verdicts["tests::adds_under_a_lock"];
    assert_eq!((&correct["outcome"], &correct["complete"]), (&"passed".into(), &true.into()));

    for failure in [deadlock, lost_update] {
        let file = failure["replay"].as_str().unwrap();
        for _ in 0..3 {
            let again = project
                .schedcheck(&["replay", file, "--message-format", "json"])
                .run()
                .expect_code(100)
                .verdict();
            assert_eq!(again["outcome"], failure["outcome"]);
            assert_eq!(again["message"], failure["message"]);
        }
    }
}

#[test]
fn the_report_shows_the_users_code_only() {
    let project = Project::copy_of("unmodified");
    let output = project.schedcheck(&["--all-tests", "opposite_order"]).run().expect_code(100);
    let report = output.own_stderr();
    assert!(report.contains("let two = b.lock().unwrap();"), "{report}");
    assert!(report.contains("waits here for"), "{report}");
    assert!(!report.contains("schedcheck-engine/src"), "{report}");
}

/// Places in the engine's own sources are left out of reports, and only those.
#[test]
fn a_folder_of_the_user_may_be_called_engine() {
    let project = Project::empty();
    project.write("Cargo.toml", "[workspace]\nmembers = [\"engine\"]\nresolver = \"3\"\n");
    project
        .write("engine/Cargo.toml", "[package]\nname = \"motor\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    let test = "#[test]\nfn waits() {\n    std::sync::Barrier::new(2).wait();\n}\n";
    project.write("engine/src/lib.rs", test);
    let output = project.schedcheck(&["--all-tests"]).run().expect_code(100);
    let report = output.own_stderr();
    assert!(report.contains("--> engine/src/lib.rs:3"), "{report}");
    assert!(report.contains("BLOCKED barrier barrier#1 lib.rs:3"), "{report}");
}

/// Its operations are in no source of the user's: only the stack tells where they come from.
#[test]
fn reference_counts_are_shown_where_the_user_touches_them() {
    const TEST: &str = "#[test]
fn comes_too_late() {
    let owner = std::sync::Arc::new(7);
    let weak = std::sync::Arc::downgrade(&owner);
    let other = std::thread::spawn(move || {
        drop(owner);
    });
    let found = weak.upgrade();
    other.join().unwrap();
    assert_eq!(found.as_deref(), Some(&7));
}
";
    let project = Project::copy_of("unmodified");
    project.write("tests/counts.rs", TEST);
    let output = project.schedcheck(&["--all-tests", "--test", "counts"]).run().expect_code(100);
    let report = output.own_stderr();
    for line in ["load atomic#2 counts.rs:8", "count_down atomic#2 counts.rs:6"] {
        assert!(report.contains(line), "no `{line}` in {report}");
    }
}

/// The kernel has two queues for one address, and wakes by sets of bits.
#[test]
fn futexes_are_those_of_the_kernel() {
    const TESTS: &str = r#"
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

const FUTEX: i64 = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
const WAIT: i32 = 0;
const WAKE: i32 = 1;
const WAIT_BITSET: i32 = 9;
const PRIVATE: i32 = 128;

fn futex(word: &AtomicU32, operation: i32, value: u32, bits: u32) -> i64 {
    // SAFETY: no pointer but that of a word that lives.
    unsafe { syscall(FUTEX, word.as_ptr(), operation, value, 0usize, 0usize, bits) }
}

fn hand_over(wait: i32, wake: i32, bits: u32) {
    let word = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| while word.load(SeqCst) == 0 { futex(&word, wait, 0, bits); });
        word.store(1, SeqCst);
        futex(&word, wake, 1, 0);
    });
}

#[test]
fn the_same_queue() {
    hand_over(WAIT | PRIVATE, WAKE | PRIVATE, 0);
    hand_over(WAIT, WAKE, 0);
    hand_over(WAIT_BITSET, WAKE, u32::MAX);
}

#[test]
fn another_queue() {
    hand_over(WAIT | PRIVATE, WAKE, 0);
}

#[test]
fn some_bits() {
    hand_over(WAIT_BITSET, WAKE, 2);
}
"#;
    let project = Project::copy_of("unmodified");
    project.write("tests/futexes.rs", TESTS);
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json", "--test", "futexes"];
    let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts_by_test();
    let outcome = |test: &str| (verdicts[test]["outcome"].clone(), verdicts[test]["complete"].clone());
    assert_eq!(outcome("the_same_queue"), ("passed".into(), true.into()));
    assert_eq!(outcome("another_queue").0, "deadlock");
    // Who waits for which bits is not modelled, and that is said.
    assert_eq!(outcome("some_bits").0, "passed");
    let met = |test: &str| verdicts[test]["uncontrolled"].to_string();
    assert!(met("some_bits").contains("futex"), "{}", met("some_bits"));
    assert!(!met("the_same_queue").contains("futex"), "{}", met("the_same_queue"));
    let file = "target/schedcheck/failures/unmodified.futexes.another_queue.toml";
    let report = project.schedcheck(&["replay", file]).run().expect_code(100).own_stderr();
    for queue in ["futex_wait futex#", "futex_wake futex#"] {
        assert!(report.contains(queue), "no `{queue}` in {report}");
    }
    assert!(!report.contains("condvar"), "{report}");
}

/// Whether a round of its loop shows nothing new must not depend on when another thread writes there: equivalent orders of the
/// same steps would differ, which is no fault of the test.
#[test]
fn a_lock_on_the_stack_of_the_thread_that_spins_is_deterministic() {
    const TEST: &str = "
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::*};

struct Lock(AtomicBool, UnsafeCell<u32>);

// SAFETY: the number is touched under the lock only.
unsafe impl Sync for Lock {}

impl Lock {
    fn lock(&self) {
        while self.0.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            while self.0.load(Relaxed) {
                std::hint::spin_loop();
            }
        }
        // SAFETY: as above.
        unsafe { *self.1.get() += 1 };
    }

    fn try_lock(&self) -> bool {
        let free = self.0.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        if free {
            // SAFETY: as above.
            unsafe { *self.1.get() += 1 };
        }
        free
    }

    fn unlock(&self) {
        self.0.store(false, Release);
    }
}

#[test]
fn three_threads() {
    let [a, b] = [(); 2].map(|()| Lock(AtomicBool::new(false), UnsafeCell::new(0)));
    let both = || {
        a.lock();
        b.lock();
        b.unlock();
        a.unlock();
    };
    std::thread::scope(|scope| {
        scope.spawn(both);
        scope.spawn(|| {
            b.lock();
            if a.try_lock() {
                a.unlock();
            }
            b.unlock();
        });
        both();
    });
}

#[test]
fn two_locks() {
    let [a, b] = [(); 2].map(|()| Lock(AtomicBool::new(false), UnsafeCell::new(0)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            a.lock();
            b.lock();
            b.unlock();
            a.unlock();
        });
        { a.lock(); a.unlock(); }
        { a.lock(); a.unlock(); }
        { a.lock(); a.unlock(); }
    });
}
";
    let project = Project::copy_of("unmodified");
    project.write("tests/locks.rs", TEST);
    let args =
        ["--all-tests", "--message-format", "json", "--test", "locks", "--require-complete", "--races"];
    for races in ["on", "off"] {
        let verdicts = project.schedcheck(&[&args[..], &[races]].concat()).run().expect_code(0).verdicts();
        for verdict in verdicts.values() {
            assert!(
                verdict["executions"].as_u64() > Some(1000),
                "too few for random ones among them: {verdict}"
            );
        }
    }
}

/// What std does for the user stands in std: only the stack tells who wanted it.
#[test]
fn what_std_calls_is_shown_where_the_user_calls_std() {
    const TESTS: &str = "use std::collections::VecDeque;
use std::sync::{Mutex, mpsc};
use std::thread;
#[test]
fn nobody_hangs_up() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let other = sender.clone();
    let worker = thread::spawn(move || {
        other.send(1).unwrap();
        drop(other);
    });
    let sum: u32 =
        receiver.iter().sum();
    worker.join().unwrap();
    assert_eq!(sum, 1);
    drop(sender);
}
#[test]
fn the_queue_is_empty() {
    let queue = Mutex::new(VecDeque::from([1]));
    thread::scope(|scope| {
        scope.spawn(|| queue.lock().unwrap().pop_front());
        let queue = queue.lock().unwrap();
        assert_eq!(
            queue[0], 1);
    });
}
";
    let project = Project::copy_of("unmodified");
    project.write("tests/called.rs", TESTS);
    let args = ["--all-tests", "--test", "called", "--no-fail-fast"];
    let output = project.schedcheck(&args).run().expect_code(100);
    let report = output.own_stderr();
    for line in
        ["--> tests/called.rs:13:25", "recv channel#1 called.rs:13", "drop_sender channel#1 called.rs:10"]
    {
        assert!(report.contains(line), "no `{line}` in {report}");
    }
    assert!(report.contains("BLOCKED recv channel#1 called.rs:13"), "{report}");
    assert!(report.contains("= help: a sender of channel#1 is left"), "{report}");
    assert!(report.contains("--> tests/called.rs:25:18"), "{report}");
}

/// Whether a round of a loop looks like the one before must not depend on whether accesses to its own stack are noted: they
/// all are where a guide decides.
#[test]
fn loops_that_try_a_lock_go_round_as_often_however_they_are_searched() {
    const TESTS: &str = "use std::sync::{Mutex, RwLock};
use std::thread;
fn both(work: impl Fn() + Sync) {
    thread::scope(|scope| {
        scope.spawn(&work);
        work();
    });
}
#[test]
fn tries_to_lock() {
    let lock = Mutex::new(0);
    both(|| {
        while lock.try_lock().is_err() {
            thread::yield_now();
        }
    });
}
#[test]
fn tries_to_read() {
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Err(_) = lock.try_read() {
                thread::yield_now();
            }
        });
        drop(lock.write());
    });
}
";
    let project = Project::copy_of("unmodified");
    project.write("tests/tries.rs", TESTS);
    for way in [&["--bound", "2"][..], &["--reduction", "source"], &["--bound", "1", "--os-threads"], &[]] {
        let args = [&["--all-tests", "--test", "tries", "--message-format", "json"], way].concat();
        let verdicts = project.schedcheck(&args).run().expect_code(0).verdicts();
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts.values().all(|verdict| verdict["complete"] == true), "{way:?}: {verdicts:?}");
    }
}

#[test]
fn a_notification_is_blamed_only_where_it_can_be() {
    const TESTS: &str = "use std::sync::{Condvar, Mutex};
use std::thread;
#[test]
fn the_closer_does_not_notify() {
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
        queue.lock().unwrap().1 = true;
    });
}
#[test]
fn nobody_answers() {
    let (state, changed) = (Mutex::new(0), Condvar::new());
    let mut state = state.lock().unwrap();
    *state = 1;
    changed.notify_all();
    while *state != 2 {
        state = changed.wait(state).unwrap();
    }
}
";
    let project = Project::copy_of("unmodified");
    project.write("tests/notified.rs", TESTS);
    let args = ["--all-tests", "--test", "notified", "--no-fail-fast"];
    let output = project.schedcheck(&args).run().expect_code(100);
    let report = output.own_stderr();
    for line in [
        "lost wake-up or missing notification: one was given before the thread waited, and no other will come",
        "`main` locks mutex#1 here in step 9, and nobody notifies condvar#1 after that",
        "= help: notify condvar#1 after every change of what its waiters look at",
        "deadlock: 1 of 1 threads are blocked forever",
        "`main` waits here for a notification of condvar#1, which no other thread has notified",
    ] {
        assert!(report.contains(line), "no `{line}` in {report}");
    }
    assert!(!report.contains("change the condition while holding"), "{report}");
    for test in ["the_closer_does_not_notify", "nobody_answers"] {
        let file = format!("target/schedcheck/failures/unmodified.notified.{test}.toml");
        project.schedcheck(&["replay", &file]).run().expect_code(100);
    }
}

#[test]
fn every_way_to_search_comes_to_the_same_verdicts() {
    let ways: [&[&str]; 7] = [
        &["--bound", "1"],
        &["--bound", "2", "--priority", "ss,mdpor"],
        &["--bound", "3", "--priority", "rand:7"],
        &["--reduction", "source"],
        &["--reduction", "classic"],
        &["--reduction", "none", "--spurious", "0"],
        &["--priority", "rand:7"],
    ];
    let project = Project::copy_of("plain_tests");
    for way in ways {
        let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
        let verdicts = project.schedcheck(&[&args, way].concat()).run().expect_code(100).verdicts();
        assert_eq!(verdicts.len(), 5, "{way:?}: every test was explored");
        for (test, verdict) in verdicts {
            let expected = match test.rsplit(':').next() {
                Some("opposite_lock_order") => "deadlock",
                Some("racy_dependency") => "panic",
                _ => "passed",
            };
            assert_eq!(verdict["outcome"], expected, "{way:?}: {verdict}");
            assert_eq!(verdict["complete"], expected == "passed", "{way:?}: {verdict}");
        }
    }
}
