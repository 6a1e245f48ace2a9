//! Schedules that go where the user wants them.
use std::sync::LazyLock;

use schedcheck_tests::project::Project;

static GUIDED: LazyLock<&Project> = LazyLock::new(|| Project::shared("guided"));

/// Executions until a bug is found, and the remark on the sequence.
fn found(test: &str, args: &[&str]) -> (u64, String) {
    let common = ["--all-tests", test, "--hunts", "0", "--message-format", "json"];
    let output = GUIDED.schedcheck(&[&common, args].concat()).run().expect_code(100);
    let verdict = output.verdict();
    (verdict["executions"].as_u64().unwrap(), verdict["notes"][0].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_sequence_leads_to_the_bug_at_once() {
    let (executions, note) = found("reorder_10", &["--seq", "src/reorder.rs:18 -> reorder.rs:25"]);
    assert!(executions <= 5, "{executions}");
    assert_eq!(note, "this schedule follows the sequence src/reorder.rs:18 -> reorder.rs:25");
    let (executions, _) =
        found("two_stage_10", &["--seq", "two_stage.rs:15 -> two_stage.rs:29", "--priority", "seq,distance"]);
    assert!(executions <= 5, "{executions}");
}

#[test]
fn what_is_needed_to_get_somewhere_is_found_out_and_told() {
    let (executions, note) = found("threshold_4", &["--seq", "threshold.rs:19"]);
    assert!(executions <= 30, "{executions}");
    assert_eq!(
        note,
        "this schedule follows the refined sequence src/threshold.rs:13 (4 times) -> threshold.rs:19"
    );
}

#[test]
fn threads_meet_where_they_are_told_to() {
    let (executions, note) = found("two_stage_10", &["--reach", "two_stage.rs:22 & two_stage.rs:29"]);
    assert!(executions <= 5, "{executions}");
    assert!(note.starts_with("threads were at two_stage.rs:22 & two_stage.rs:29 at the same time"), "{note}");
}

#[test]
fn fixed_twins_pass_to_completion_and_say_how_far_schedules_came() {
    let args = ["--all-tests", "--message-format", "json", "_fixed", "--skip", "airline", "--skip", "piper"];
    let places = "reorder.rs:18 -> reorder.rs:25 -> reorder.rs:19";
    let run = |more: &[&str]| GUIDED.schedcheck(&[&args, more].concat()).run().expect_code(0).verdicts();
    let (with, without) = (run(&["--seq", places, "--priority", "seq,distance"]), run(&["--hunts", "0"]));
    for (test, verdict) in &with {
        assert_eq!(
            (&verdict["outcome"], &verdict["complete"]),
            (&"passed".into(), &true.into()),
            "{verdict}"
        );
        assert_eq!(verdict["traces"], without[test]["traces"], "{test}");
        // Under a lock three places cannot follow each other in one setter, but they can in two.
        let note = verdict["notes"][0].as_str().unwrap();
        assert_eq!(
            note.starts_with("no schedule came further than place 0"),
            !test.contains("reorder"),
            "{note}"
        );
    }
}

#[test]
fn malformed_places_are_errors_that_say_where() {
    for (flag, value, error) in [
        ("--seq", "a.rs:1 -> ", "place 2, column 11: expected FILE:LINE"),
        ("--seq", "a.rs:1 -> b.rs:x", "place 2, column 11: `x` is not the number of a line"),
        ("--reach", "a.rs:1", "column 7: expected `&` and another place"),
        ("--priority", "sek", "did you mean `seq`?"),
    ] {
        let output = GUIDED.schedcheck(&[flag, value]).run().expect_code(2);
        assert!(output.stderr.contains(error), "{error} is not in:\n{}", output.stderr);
    }
}

#[test]
fn labels_are_places_too() {
    let project = Project::copy_of("scenarios");
    let args = ["labels_in_a_plain_test", "--hunts", "0", "--message-format", "json"];
    let seq = ["--seq", "looked -> looked -> wrote -> wrote"];
    let output = project.schedcheck(&[&args[..], &seq].concat()).run().expect_code(100);
    let verdict = output.verdict();
    let note = verdict["notes"][0].as_str().unwrap_or_default();
    assert_eq!(note, "this schedule follows the sequence looked (2 times) -> wrote (2 times)", "{verdict}");
    assert!(verdict["executions"].as_u64().is_some_and(|executions| executions <= 5), "{verdict}");
}
