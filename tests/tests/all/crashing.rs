//! A test that takes its process down, or never comes back, gets a verdict like any other.
use schedcheck_tests::project::Project;

/// Each test with its outcome and a part of the message.
const EXPECTED: [(&str, &str, &str); 13] = [
    ("aborts", "crash", "SIGABRT"),
    ("aborts_after_a_lost_update", "crash", "SIGABRT"),
    ("asks_for_all_memory", "crash", "SIGABRT"),
    ("crashes_in_another_thread", "crash", "thread 'thread-1' received SIGABRT"),
    ("exits", "crash", "exit status: 3"),
    ("exits_with_success", "crash", "exit status: 0"),
    ("hangs", "crash", "did not answer"),
    ("overflows_the_stack", "crash", "thread 'main' has overflowed its stack"),
    ("overflows_the_stack_of_a_named_thread", "crash", "thread 'digger' has overflowed its stack"),
    ("panics_in_a_destructor", "panic", "panic in a destructor"),
    ("panics_in_a_destructor_while_panicking", "crash", "SIGABRT"),
    ("segfaults", "crash", "SIGSEGV"),
    ("survives", "passed", ""),
];

#[test]
fn every_crash_is_reported_and_none_is_lost() {
    let project = Project::copy_of("crashing");
    let args = ["--all-tests", "--no-fail-fast", "--max-time", "1s", "--message-format", "json"];
    // Whatever std says of its own accord at such an end is to have no part in it.
    let output = project.schedcheck(&args).env("RUST_BACKTRACE", "1").run().expect_code(100);
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
    assert_eq!((&last["passed"], &last["failed"]), (&1.into(), &12.into()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_binary_that_ends_before_it_has_listed_its_tests_is_not_left_out_in_silence() {
    let project = Project::copy_of("plain");
    project.write(
        "tests/early.rs",
        r#"
        extern "C" fn early() {
            eprintln!("the library is missing");
            std::process::exit(1)
        }
        #[used]
        #[unsafe(link_section = ".init_array")]
        static EARLY: extern "C" fn() = early;
        #[test]
        fn is_never_listed() {}
        "#,
    );
    for more in [&[][..], &["--release", "--config", "profile.release.strip=true"]] {
        let output = project.schedcheck(&[&["--all-tests"], more].concat()).run().expect_code(96);
        for part in
            ["early", "it ended before it had listed its tests (exit status: 1)", "the library is missing"]
        {
            assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        }
    }
}

#[test]
fn threads_of_the_system_crash_with_the_same_verdicts() {
    let project = Project::copy_of("crashing");
    // One that hangs does so on any thread, and takes long to give up on.
    let args =
        ["--all-tests", "--os-threads", "--skip", "hangs", "--no-fail-fast", "--message-format", "json"];
    let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts();
    for (name, outcome, message) in EXPECTED.into_iter().filter(|(name, ..)| *name != "hangs") {
        let verdict = &verdicts[&format!("crashing::lib {name}")];
        assert_eq!(verdict["outcome"], outcome, "{verdict}");
        assert!(verdict["message"].as_str().unwrap().contains(message), "{verdict}");
    }
    let file = verdicts["crashing::lib overflows_the_stack_of_a_named_thread"]["replay"].as_str().unwrap();
    let again = project.schedcheck(&["replay", file, "--message-format", "json"]).run().expect_code(100);
    assert_eq!(again.verdict()["message"], "thread 'digger' has overflowed its stack");
}

#[test]
fn the_report_of_a_crash_names_the_thread_and_shows_its_steps() {
    let project = Project::copy_of("crashing");
    let report =
        project.schedcheck(&["--all-tests", "crashes_in_another"]).run().expect_code(100).own_stderr();
    assert!(report.contains("thread 'thread-1' received SIGABRT (abort)"), "{report}");
    assert!(report.contains("spawn lib.rs"), "{report}");
}
