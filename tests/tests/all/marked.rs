//! `#[schedcheck]` wherever it may stand: the name of each test in the fixture says what must become of it.
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;

/// Insists that `passes_…` passed and `fails_…` failed, and returns how many there were of each.
#[track_caller]
fn check_names(output: &Output) -> (usize, usize) {
    let (mut passed, mut failed) = (0, 0);
    for (id, verdict) in output.verdicts() {
        let name = id.rsplit([':', ' ']).next().unwrap_or(&id);
        if name.starts_with("passes_") {
            passed += 1;
            assert_eq!(verdict["outcome"], "passed", "{id}: {verdict}");
        } else {
            failed += 1;
            assert_eq!(verdict["outcome"], "panic", "{id}: {verdict}");
            assert!(name.starts_with("fails_") || name == "plain_racy_count", "{id}");
        }
    }
    (passed, failed)
}

#[test]
fn marked_tests_do_what_their_names_say() {
    let project = Project::copy_of("marked_tests");
    let run = |args: &[&str]| {
        let json = ["--no-fail-fast", "--message-format", "json"];
        project.schedcheck(&[args, &json].concat()).run().expect_code(100)
    };
    let all = run(&[]);
    assert_eq!(check_names(&all), (11, 4));
    let notes =
        |test: &str| all.verdicts()[&format!("marked_tests::assumptions {test}")]["notes"].to_string();
    assert!(notes("passes_because_nothing_is_left").contains("nothing was checked"));
    assert_eq!(notes("passes_for_what_is_left"), "null");
    assert_eq!(check_names(&run(&["--lib", "-F", "extra"])), (9, 3));

    let ignored = run(&["--ignored"]).verdicts();
    assert_eq!(ignored["marked_tests::lib tests::ignored_racy_count"]["outcome"], "panic");
    assert_eq!(ignored["marked_tests::lib tests::ignored_with_reason"]["outcome"], "passed");
    assert_eq!(ignored.len(), 2);

    let plain = run(&["--all-tests", "plain_"]).verdicts();
    assert_eq!(plain["marked_tests::lib tests::plain_racy_count"]["outcome"], "panic");
    assert_eq!(plain["marked_tests::integration plain_integration"]["outcome"], "passed");
    assert_eq!(plain.len(), 2);
}

#[test]
fn packages_of_a_workspace_are_told_apart() {
    let project = Project::copy_of("workspace_two");
    let run = |args: &[&str], code| {
        let json = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
        let verdicts = project.schedcheck(&[&json, args].concat()).run().expect_code(code).verdicts();
        let outcomes =
            verdicts.iter().map(|(id, verdict)| format!("{id}: {}", verdict["outcome"].as_str().unwrap()));
        outcomes.collect::<Vec<_>>()
    };
    const FIRST: &str = "first::lib tests::same_name: passed";
    const SECOND: &str = "second::lib tests::same_name: panic";
    const OUTSIDE: &str = "second::outside counts_from_outside: panic";
    assert_eq!(run(&["--workspace"], 100), [FIRST, SECOND, OUTSIDE]);
    assert_eq!(run(&["-p", "first"], 0), [FIRST]);
    assert_eq!(run(&["--workspace", "--exclude", "first", "--lib"], 100), [SECOND]);
    assert_eq!(run(&["same_name", "--workspace"], 100), [FIRST, SECOND]);
    assert_eq!(run(&["--workspace", "--test", "outside"], 100), [OUTSIDE]);
}
