//! A test that takes its process down, or never comes back, gets a verdict like any other.
use schedcheck_tests::project::Project;

/// Each test with its outcome and a part of the message.
const EXPECTED: [(&str, &str, &str); 11] = [
    ("aborts", "crash", "SIGABRT"),
    ("aborts_after_a_lost_update", "crash", "SIGABRT"),
    ("crashes_in_another_thread", "crash", "thread 'thread-1' received SIGABRT"),
    ("exits", "crash", "exit status: 3"),
    ("exits_with_success", "crash", "exit status: 0"),
    ("hangs", "crash", "did not answer"),
    ("overflows_the_stack", "crash", "overflowed its stack"),
    ("panics_in_a_destructor", "panic", "panic in a destructor"),
    ("panics_in_a_destructor_while_panicking", "crash", "SIGABRT"),
    ("segfaults", "crash", "SIGSEGV"),
    ("survives", "passed", ""),
];

#[test]
fn every_crash_is_reported_and_none_is_lost() {
    let project = Project::copy_of("crashing");
    let args = ["--all-tests", "--no-fail-fast", "--max-time", "1s", "--message-format", "json"];
    let output = project.schedcheck(&args).run().expect_code(100);
    let verdicts = output.verdicts();
    let names: Vec<&str> = verdicts.keys().filter_map(|id| id.strip_prefix("crashing::lib ")).collect();
    assert_eq!(names, EXPECTED.map(|(name, ..)| name));
    for (name, outcome, message) in EXPECTED {
        let verdict = &verdicts[&format!("crashing::lib {name}")];
        assert_eq!(verdict["outcome"], outcome, "{verdict}");
        assert!(verdict["message"].as_str().unwrap().contains(message), "{verdict}");
        let has_replay = verdict["replay"].as_str().is_some_and(|file| project.path.join(file).exists());
        assert_eq!(has_replay, outcome != "passed", "{verdict}");
    }
    let last = output.json().pop().unwrap();
    assert_eq!((&last["passed"], &last["failed"]), (&1.into(), &10.into()));
}

#[test]
fn the_report_of_a_crash_names_the_thread_and_shows_its_steps() {
    let project = Project::copy_of("crashing");
    let report =
        project.schedcheck(&["--all-tests", "crashes_in_another"]).run().expect_code(100).own_stderr();
    assert!(report.contains("thread 'thread-1' received SIGABRT (abort)"), "{report}");
    assert!(report.contains("spawn lib.rs"), "{report}");
}
