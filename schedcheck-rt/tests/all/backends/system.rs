//! What the system sees of model threads that run on its own.

use super::{bodies, on_os_threads, tell};
use crate::support::alone;
use schedcheck_rt::exec::{TestResult, outside};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Plan;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note_name() {
    outside(|| {
        let name = std::fs::read_to_string("/proc/thread-self/comm").expect("threads have a name");
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).push(name.trim_end().to_owned());
    });
}

fn tell_names() -> TestResult {
    let named = thread::Builder::new().name("écrivain-très-lent".to_owned()).spawn(note_name).unwrap();
    named.join().unwrap();
    thread::spawn(note_name).join().unwrap();
    note_name();
    Ok(())
}

#[test]
fn threads_have_their_names() {
    let _alone = alone();
    let (told, _) = tell(&mut on_os_threads(tell_names), &Plan::default(), None);
    assert_eq!(told.outcome, "Passed");
    // The system keeps 15 bytes, of which it gets whole characters.
    assert_eq!(*NAMES.lock().unwrap(), ["écrivain-très", "thread-2", "main"]);
}

/// How many threads of this process carry model threads, once it is none or stays more.
///
/// A thread can be joined a moment before the system takes it off its list: it wakes the joiner
/// while it is still on its way out.
fn carriers_left() -> usize {
    const PATIENCE: Duration = Duration::from_secs(10);
    let asked = Instant::now();
    loop {
        let left = carriers();
        if left == 0 || asked.elapsed() > PATIENCE {
            return left;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn carriers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a process has threads");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| matches!(name.trim_end(), "main" | "sleeper" | "thread-1" | "thread-2")).count()
}

#[test]
fn abandoned_threads_end_with_their_execution() {
    let _alone = alone();
    for body in [bodies::loses_a_wakeup, bodies::leaves_workers_behind] {
        let mut execution = on_os_threads(body);
        for seed in 0..50 {
            tell(&mut execution, &Plan::default(), Some(&mut super::Random(seed)));
            assert_eq!(carriers_left(), 0, "after execution {seed}");
        }
    }
}
