//! The bugs of the papers: each is found with default settings, and its fixed twin passes to completion.
use schedcheck_tests::project::Project;

#[test]
fn every_bug_is_found_by_default_and_every_fixed_twin_passes() {
    let project = Project::copy_of("gambit");
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
    let args = [&args[..], &["--skip", "_large_", "--skip", "_long_"]].concat();
    let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts();
    let (mut found, mut fixed) = (0, 0);
    for (test, verdict) in &verdicts {
        if test.ends_with("_fixed") {
            fixed += 1;
            let complete = (verdict["outcome"].as_str(), verdict["complete"].as_bool());
            assert_eq!(complete, (Some("passed"), Some(true)), "{test}: {verdict}");
        } else {
            found += 1;
            let outcome = verdict["outcome"].as_str().unwrap_or_default();
            assert!(matches!(outcome, "panic" | "deadlock" | "livelock"), "{test}: {verdict}");
        }
    }
    assert_eq!((found, fixed), (37, 28), "every test was explored");
}

#[test]
fn a_bound_completes_where_nothing_else_does_and_says_what_that_means() {
    let project = Project::copy_of("gambit");
    for test in [
        "port::tests::gather_post_2_large_fixed",
        "blocking_collection::tests::blocking_collection_long_fixed",
    ] {
        let run = |args: &[&str]| {
            let common =
                ["--all-tests", "--release", "--races", "off", "--exact", test, "--message-format", "json"];
            let output = project.schedcheck(&[&common, args].concat()).run().expect_code(0);
            output.verdict()
        };
        let bounded = run(&["--bound", "2"]);
        assert_eq!((bounded["complete"].as_bool(), bounded["bound_done"].as_u64()), (Some(true), Some(2)));
        let coverage = bounded["coverage"].as_str().unwrap_or_default();
        assert!(coverage.starts_with("all schedules with at most 2 preemptions"), "{coverage}");
        let more = (2 * bounded["executions"].as_u64().expect("a number")).to_string();
        let unbounded = run(&["--max-executions", &more]);
        assert_eq!(unbounded["complete"], false, "{unbounded}");
    }
}

/// The case study of GAMBIT's section 5: preempting where the port is used finds what is hidden behind much else.
#[test]
fn naming_methods_needs_ten_times_fewer_schedules_than_depth_first_search() {
    let project = Project::copy_of("gambit");
    let executions = |args: &[&str]| {
        let common = ["--all-tests", "--exact", "port::tests::gather_post_2", "--message-format", "json"];
        let alone = ["--hunts", "0", "--random-runs", "0", "--levels", "off"];
        let output = project.schedcheck(&[&common[..], &alone, args].concat()).run().expect_code(100);
        let verdict = output.verdict();
        assert_eq!(verdict["outcome"], "panic", "{verdict}");
        verdict["executions"].as_u64().expect("a number")
    };
    let methods = ["--method", "Port::enqueue", "--method", "Port::try_dequeue"];
    let by_method = executions(&[&["--priority", "method,mdpor,pb"], &methods[..]].concat());
    let by_variable = executions(&["--priority", "var,mdpor,pb", "--var", "count", "--var", "items"]);
    for depth_first in [&["--priority", "dfs"][..], &["--priority", "dfs", "--bound", "2"]] {
        let many = executions(depth_first);
        assert!(10 * by_method <= many && 10 * by_variable <= many, "{by_method} {by_variable} {many}");
    }
}

#[test]
fn interchangeable_threads_are_not_told_apart() {
    let project = Project::copy_of("gambit");
    let run = |symmetry: &str| {
        let common = ["--all-tests", "reorder_symmetric", "--message-format", "json", "--symmetry", symmetry];
        let output = project.schedcheck(&common).run().expect_code(0);
        let verdict = output.verdict();
        assert_eq!(verdict["complete"], true, "{verdict}");
        (verdict["traces"].as_u64(), verdict["coverage"].as_str().unwrap_or_default().to_owned())
    };
    // Where among five setters the checker comes, and in which order they do.
    let (with, coverage) = run("on");
    assert_eq!(with, Some(6));
    assert!(coverage.starts_with("all schedules, up to the order of interchangeable threads"), "{coverage}");
    assert_eq!(run("off").0, Some(720));
}
