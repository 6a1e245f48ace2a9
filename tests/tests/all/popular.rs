//! Widely used crates compile unmodified under the swap, and their tests are explored without a false
//! alarm.
use schedcheck_tests::project::Project;

#[test]
fn popular_crates_run_unmodified_on_the_facades() {
    let project = Project::copy_of("popular");
    let args = ["--all-tests", "--no-fail-fast", "--max-time", "2s", "--message-format", "json"];
    let verdicts = project.schedcheck(&args).run().expect_code(0).verdicts();
    assert_eq!(verdicts.len(), 39, "one test for each crate: {:?}", verdicts.keys());
    for (id, verdict) in verdicts {
        assert_eq!(verdict["outcome"], "passed", "{id}: {verdict}");
        // moka moves large values many times in each execution, and every move is followed.
        let many = verdict["executions"].as_u64().expect("a number") >= 10;
        assert!(many || verdict["complete"] == true, "{id} was hardly explored: {verdict}");
    }
}
