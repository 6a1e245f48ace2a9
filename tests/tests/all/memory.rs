//! Executions leave nothing behind. `cargo xtask soak --memory` does the same for millions.
use schedcheck_tests::project::Project;
use schedcheck_tests::watch::watch;
use std::time::Duration;

/// Few happens-before classes, which the search may remember, in very many schedules.
const MANY_SCHEDULES: &str = r#"
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn three_threads_lock() {
    let number = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let number = Arc::clone(&number);
            thread::spawn(move || (0..2).for_each(|round| number.lock().unwrap().push(thread * round)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(number.lock().unwrap().len(), 6);
}
"#;

#[test]
fn memory_stays_flat() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"flat\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    project.write("src/lib.rs", "");
    project.write("tests/flat.rs", MANY_SCHEDULES);
    let args = ["--all-tests", "-r", "--reduction", "none", "--priority", "dpor", "--message-format", "json"];
    let limits = ["--max-executions", "300000", "--max-time", "10m"];
    let watched = watch(project.schedcheck(&[&args[..], &limits[..]].concat()), Duration::from_millis(20));
    let [exploration] = &watched[..] else { panic!("one test, not {watched:?}") };
    assert_eq!(exploration.finished["outcome"], "passed");
    assert_eq!(exploration.number("executions"), 300_000);

    let half = &exploration.samples[exploration.samples.len() / 2..];
    let (first, last) = (half.first().expect("samples").resident, half.last().expect("samples").resident);
    // One step of growth of a table is not a leak; 100 bytes an execution would be 15 MB.
    assert!(last <= first + first / 20 + (1 << 20), "grew from {first} to {last} bytes: {half:?}");
}
