//! Data races, use after free and double free are found, in every form; what orders accesses raises no alarm.
use std::collections::BTreeMap;

use schedcheck_tests::project::Project;
use serde_json::Value;

/// What is special about some of the bugs: the beginning of the message.
const MESSAGES: &[(&str, &str)] = &[
    (
        "publish::buggy_relaxed_flag",
        "data race: thread 'thread-1' writes 16 bytes and thread 'main' reads 16 bytes of the same memory",
    ),
    (
        "accesses::buggy_read_of_1",
        "data race: thread 'main' reads 1 byte and thread 'thread-1' writes 1 byte",
    ),
    ("accesses::buggy_read_of_2", "data race: thread 'main' reads 2 bytes"),
    ("accesses::buggy_read_of_4", "data race: thread 'main' reads 4 bytes"),
    ("accesses::buggy_read_of_8", "data race: thread 'main' reads 8 bytes"),
    ("accesses::buggy_read_of_16", "data race: thread 'main' reads 16 bytes"),
    ("accesses::buggy_write_of_16", "data race: thread 'main' writes 16 bytes"),
    ("accesses::buggy_volatile_write", "data race: thread 'main' writes 4 bytes"),
    ("accesses::buggy_copy_from", "data race: thread 'main' reads 16 bytes"),
    ("accesses::buggy_copy_to", "data race: thread 'main' writes 16 bytes"),
    ("accesses::buggy_move", "data race: thread 'main' reads 9 bytes"),
    ("accesses::buggy_comparison", "data race: thread 'main' reads 30 bytes"),
    ("accesses::buggy_set", "data race: thread 'main' writes 64 bytes"),
    (
        "orderings::buggy_atomics_of_different_sizes",
        "data race: thread 'main' atomically reads 8 bytes and thread 'thread-1' atomically writes 4 bytes",
    ),
    (
        "counted::buggy_count_that_is_read_again",
        "double free: thread 'main' frees memory that thread 'thread-1' has freed already",
    ),
    ("counted::buggy_relaxed_count", "data race: thread 'thread-1' frees memory that thread 'main' uses"),
    (
        "memory::buggy_use_after_free",
        "use after free: thread 'main' reads 8 bytes of memory that thread 'thread-1'",
    ),
    (
        "memory::buggy_use_after_free_by_one_thread",
        "use after free: thread 'main' reads 1 byte of memory that thread 'main' has freed",
    ),
    (
        "memory::buggy_free_while_another_reads",
        "use after free: thread 'thread-1' reads 8 bytes of memory that thread 'main'",
    ),
];

/// Those that show only in another schedule than the first.
const NOT_AT_FIRST: &[&str] = &[
    "counted::buggy_count_that_is_read_again",
    "memory::buggy_use_after_free",
    "memory::buggy_variable_that_some_schedules_share",
    "orderings::buggy_by_a_store_that_does_not_continue",
    "publish::buggy_relaxed_flag",
];

fn explore(args: &[&str]) -> (Project, BTreeMap<String, Value>) {
    let project = Project::copy_of("races");
    let fixed = ["--all-tests", "--no-fail-fast", "--message-format", "json", "--max-time", "20s"];
    let output = project.schedcheck(&[&fixed, args].concat()).run().expect_code(100);
    (project, output.verdicts_by_test())
}

/// What is wrong with the verdict on a test, by its name.
fn judge(test: &str, verdict: &Value) -> Option<String> {
    let is_misuse = test.starts_with("misuse::");
    let expected = match test.contains("::buggy_") {
        true if is_misuse => "misuse",
        true => "data-race",
        false => "passed",
    };
    let right = verdict["outcome"] == expected && (expected != "passed" || verdict["complete"] == true);
    (!right).then(|| format!("{test}: expected {expected}\n    {verdict}"))
}

#[track_caller]
fn expect_right_verdicts(verdicts: &BTreeMap<String, Value>) {
    let wrong: Vec<String> = verdicts.iter().filter_map(|(test, verdict)| judge(test, verdict)).collect();
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
    let buggy = verdicts.keys().filter(|test| test.contains("::buggy_")).count();
    assert!(buggy >= 38 && verdicts.len() - buggy >= 40, "{buggy} buggy of {}", verdicts.len());
}

#[test]
fn every_race_is_found_and_every_fixed_twin_passes() {
    let (project, verdicts) = explore(&[]);
    expect_right_verdicts(&verdicts);
    for (test, message) in MESSAGES {
        let said = verdicts[*test]["message"].as_str().expect("a message");
        assert!(said.starts_with(message), "{test}: {said}");
    }
    for test in NOT_AT_FIRST {
        assert!(verdicts[*test]["executions"].as_u64() > Some(1), "{test}: {}", verdicts[*test]);
    }
    for (test, verdict) in verdicts.iter().filter(|(_, verdict)| verdict["outcome"] == "data-race") {
        let accesses = verdict["accesses"].as_array().expect("two accesses");
        assert_eq!(accesses.len(), 2, "{test}");
        for access in accesses {
            let file = access["site"]["file"].as_str().unwrap_or_default();
            assert!(file.starts_with("src/"), "{test}: a place in the user's code: {verdict}");
        }
        assert_eq!(verdict["location"], accesses[1]["site"], "{test}");
    }
    for test in NOT_AT_FIRST.iter().chain(&["cells::buggy_static_mut"]) {
        let verdict = &verdicts[*test];
        let file = verdict["replay"].as_str().expect("a replay file");
        let replayed = project.schedcheck(&["replay", file, "--message-format", "json"]).run();
        let again = replayed.expect_code(100).verdict();
        for key in ["outcome", "message", "location", "accesses", "steps"] {
            assert_eq!(again[key], verdict[key], "{test}: {key}");
        }
    }
}

#[test]
fn the_same_in_an_optimised_build() {
    // What is optimised away is no access. All of these bugs stay.
    let (_project, verdicts) = explore(&["--release"]);
    expect_right_verdicts(&verdicts);
    let lines = verdicts.values().filter(|verdict| verdict["outcome"] == "data-race");
    for verdict in lines {
        assert!(
            verdict["location"]["line"].as_u64() > Some(0),
            "lines are known without debug information: {verdict}"
        );
    }
}

#[test]
fn the_same_on_threads_of_the_system() {
    let (_project, verdicts) =
        explore(&["--os-threads", "publish", "counted", "memory", "handover", "orderings"]);
    let wrong: Vec<String> = verdicts.iter().filter_map(|(test, verdict)| judge(test, verdict)).collect();
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn without_the_detector_races_go_unnoticed() {
    let project = Project::copy_of("races");
    let args = ["--all-tests", "--races", "off", "publish", "--message-format", "json"];
    let verdicts = project.schedcheck(&args).run().expect_code(0).verdicts();
    assert_eq!(verdicts.len(), 5);
    for (id, verdict) in verdicts {
        assert_eq!(verdict["complete"], true, "{id}: {verdict}");
    }
}

#[test]
fn a_race_is_explained() {
    let project = Project::copy_of("races");
    let output = project.schedcheck(&["--all-tests", "--exact", "publish::buggy_relaxed_flag"]).run();
    let text = output.expect_code(100).own_stderr();
    for part in [
        "error[schedcheck::data-race]: data race: thread 'thread-1' writes 16 bytes and thread 'main' reads 16 bytes",
        "first, `thread-1` writes 16 bytes here, after step 2",
        "then, `main` reads 16 bytes here, after step 5",
        "the value that step 3 (src/publish.rs:12:19) stores and step 5 (src/publish.rs:14:18) loads would order them",
        "the store would have to be at least Release and the load at least Acquire",
    ] {
        assert!(text.contains(part), "{part:?} in:\n{text}");
    }
}

#[test]
fn a_test_for_which_races_are_wanted_is_built_so_that_they_are_seen() {
    let project = Project::copy_of("races");
    let test = ["--all-tests", "--exact", "publish::buggy_relaxed_flag"];
    let off = "[preset.default]\nraces = \"off\"\n";
    let on = "[[preset.default.overrides]]\nfilter = \"relaxed\"\nraces = \"on\"\n";
    project.write(".config/schedcheck.toml", off);
    project.schedcheck(&test).run().expect_code(0);
    project.write(".config/schedcheck.toml", format!("{off}{on}"));
    let output = project.schedcheck(&test).run().expect_code(100);
    assert!(output.stderr.contains("data-race]"), "{}", output.stderr);
    project.schedcheck(&[&test[..], &["--races", "off"]].concat()).run().expect_code(0);
}

#[test]
fn an_attribute_that_asks_for_races_in_a_build_without_is_told_so() {
    let project = Project::copy_of("marked_tests");
    let text = project.read("src/lib.rs");
    project.write(
        "src/lib.rs",
        format!("{text}\n#[schedcheck_rt::schedcheck(races = \"on\")]\nfn wants_races() {{}}\n"),
    );
    project.write(".config/schedcheck.toml", "[preset.default]\nraces = \"off\"\n");
    let said = |more: &[&str]| {
        let args = [&["--lib", "--exact", "wants_races"], more].concat();
        project.schedcheck(&args).run().expect_code(0).stderr
    };
    let warning = "data races are not looked for in marked_tests::lib wants_races";
    assert!(said(&[]).contains(warning), "{}", said(&[]));
    assert!(!said(&["--races", "off"]).contains(warning) && !said(&["--races", "on"]).contains(warning));
}
