//! What is predicted from schedules that passed, and what becomes of it.
use std::sync::LazyLock;

use schedcheck_tests::project::Project;
use serde_json::Value;

static GUIDED: LazyLock<&Project> = LazyLock::new(|| Project::shared("guided"));

/// The predictions among JSON lines that are about a test.
fn predictions<'l>(lines: &'l [Value], test: &str) -> Vec<&'l Value> {
    let of_test =
        |line: &&Value| line["type"] == "prediction" && line["test"].as_str().unwrap().ends_with(test);
    lines.iter().filter(of_test).collect()
}

#[test]
fn every_bug_of_the_thesis_is_found_in_twenty_schedules_however_many_threads_there_are() {
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
    let output = GUIDED.schedcheck(&args).run().expect_code(100);
    let (mut found, mut fixed) = (0, 0);
    for (test, verdict) in output.verdicts() {
        let executions = verdict["executions"].as_u64().unwrap();
        if test.ends_with("_fixed") {
            fixed += 1;
            let complete = (verdict["outcome"].as_str(), verdict["complete"].as_bool());
            assert_eq!(complete, (Some("passed"), Some(true)), "{verdict}");
        } else {
            found += 1;
            assert_ne!(verdict["outcome"], "passed", "{verdict}");
            assert!(executions <= 20, "{test}: {executions}");
        }
    }
    assert_eq!((found, fixed), (24, 9), "every test was explored");
    let executions = |test: &str| {
        let verdicts = output.verdicts();
        let (_, verdict) = verdicts.iter().find(|(name, _)| name.ends_with(test)).unwrap();
        verdict["executions"].as_u64().unwrap()
    };
    assert_eq!(executions("reorder_04"), executions("reorder_10"));
    assert_eq!(executions("airline_05"), executions("airline_20"));
    assert_eq!(executions("wronglock_10"), executions("wronglock_20"));
    let lines = output.json();
    let confirmed: Vec<_> = predictions(&lines, "reorder_10");
    let confirmed: Vec<_> = confirmed.iter().filter(|line| line["verdict"] == "confirmed").collect();
    assert_eq!(confirmed.len(), 1, "{confirmed:?}");
    assert_eq!(confirmed[0]["kind"], "atomicity-of-two");
}

#[test]
fn a_confirmed_prediction_has_a_replay_file_like_any_failure() {
    let args = ["--all-tests", "two_stage_10", "--message-format", "json"];
    let output = GUIDED.schedcheck(&args).run().expect_code(100);
    let verdict = output.verdict();
    let file = verdict["replay"].as_str().unwrap();
    let replayed = GUIDED.schedcheck(&["replay", file]).run().expect_code(100);
    assert!(replayed.stderr.contains("read between the stages"), "{}", replayed.stderr);
}

#[test]
fn a_cyclic_lock_order_is_a_remark_until_all_schedules_passed() {
    let run = |more: &[&str]| {
        let common = ["--all-tests", "lock_order_fixed"];
        GUIDED.schedcheck(&[&common, more].concat()).run().expect_code(0)
    };
    let lines = run(&["--message-format", "json"]).json();
    let refuted = predictions(&lines, "lock_order_fixed");
    assert!(
        refuted.iter().any(|line| line["kind"] == "lock-order" && line["verdict"] == "refuted"),
        "{refuted:?}"
    );
    let text = run(&["--max-executions", "4"]).own_stderr();
    for part in ["predicted: locks are taken in a cyclic order (not hunted)", "lock at src/lock_order.rs:17:"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(!run(&[]).own_stderr().contains("predicted"), "what is refuted is not worth a line");
}

#[test]
fn predictions_can_be_listed_and_switched_off() {
    let text = GUIDED.schedcheck(&["predict", "--all-tests", "reorder_10"]).run().expect_code(0).own_stderr();
    for part in [
        "predicted: another thread may see one of two changes without the other (not hunted)",
        "`thread-1`: store at src/reorder.rs:18:16",
        ": load at src/reorder.rs:25:24",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let args = ["--all-tests", "lock_order_fixed", "--hunts", "0", "--message-format", "json"];
    let lines = GUIDED.schedcheck(&args).run().expect_code(0).json();
    assert!(predictions(&lines, "").is_empty());
}
