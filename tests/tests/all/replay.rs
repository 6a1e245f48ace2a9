//! Run, fail, replay: the same failure, every time.
use schedcheck_tests::project::Project;

const REPLAYS: usize = 20;

/// Explores a fixture and replays each of its failures many times.
#[track_caller]
fn check_replays(fixture: &str, args: &[&str], expected: usize) {
    let project = Project::copy_of(fixture);
    let json = ["--no-fail-fast", "--message-format", "json"];
    let verdicts = project.schedcheck(&[args, &json].concat()).run().expect_code(100).verdicts();
    let failures = verdicts.into_iter().filter(|(_, verdict)| verdict["outcome"] != "passed");
    let mut count = 0;
    for (id, failure) in failures {
        count += 1;
        let file = failure["replay"].as_str().unwrap_or_else(|| panic!("{id} has no replay file"));
        for round in 0..REPLAYS {
            let output = project.schedcheck(&["replay", file, "--message-format", "json"]).run();
            let again = output.expect_code(100).verdicts().remove(&id).expect("a verdict on the same test");
            for key in ["outcome", "message", "location", "steps", "preemptions"] {
                assert_eq!(again[key], failure[key], "{key} of {id} in replay {round}");
            }
        }
    }
    assert_eq!(count, expected, "failures of {fixture}");
}

#[test]
fn failures_of_plain_tests_come_back() {
    check_replays("plain_tests", &["--all-tests"], 2);
}

#[test]
fn failures_of_marked_tests_come_back() {
    check_replays("marked_tests", &["fails_"], 4);
}

#[test]
fn crashes_come_back() {
    let crashes = ["aborts", "exits", "segfaults", "overflows", "panics_in", "crashes_in"];
    check_replays("crashing", &[&["--all-tests"], &crashes[..]].concat(), 10);
}
