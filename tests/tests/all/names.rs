//! `--method` and `--var`: what the user names is looked at first. `--trust` and `--focus`: where to preempt.
use schedcheck_tests::project::Project;

/// Executions until the bug of `test` is found.
fn executions(project: &Project, test: &str, args: &[&str]) -> u64 {
    let common = ["--all-tests", "--exact", test, "--message-format", "json"];
    let verdict = project.schedcheck(&[&common, args].concat()).run().expect_code(100).verdict();
    assert_eq!(verdict["outcome"], "panic", "{verdict}");
    verdict["executions"].as_u64().expect("a number")
}

#[test]
fn statics_fields_labels_and_functions_are_found_by_name() {
    let project = Project::copy_of("named");
    for (test, targets) in [
        ("tests::a_static", vec!["--var", "HITS"]),
        ("tests::a_static", vec!["--method", "raise"]),
        ("tests::a_field", vec!["--var", "hits"]),
        ("tests::a_label", vec!["--var", "visits"]),
        ("tests::a_label", vec!["--method", "named::raise"]),
    ] {
        let blind = executions(&project, test, &["--priority", "dfs"]);
        let kind = targets[0].trim_start_matches('-');
        let priority = format!("{kind},dfs");
        let args: Vec<&str> = ["--priority", &priority].into_iter().chain(targets.iter().copied()).collect();
        let guided = executions(&project, test, &args);
        assert!(guided * 10 <= blind, "{test}, {targets:?}: {guided} instead of {blind}");
    }
}

#[test]
fn a_name_that_nothing_has_is_told() {
    let project = Project::copy_of("named");
    let args =
        ["--all-tests", "a_label", "--message-format", "json", "--method", "rise", "--priority", "method"];
    let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts();
    let coverage = verdicts["named::lib tests::a_label"]["coverage"].as_str().unwrap_or_default().to_owned();
    assert!(coverage.contains("no function is called `rise`"), "{coverage}");
}

#[test]
fn trusted_code_is_not_preempted_and_the_statement_says_so() {
    let project = Project::copy_of("named");
    let run = |args: &[&str]| {
        let common = ["--all-tests", "raised_twice", "--message-format", "json"];
        let verdict =
            project.schedcheck(&[&common, args].concat()).run().verdicts_by_test()["tests::raised_twice"]
                .clone();
        let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        (text("outcome"), verdict["complete"] == true, text("coverage"))
    };
    for reduction in ["optimal", "source"] {
        let (outcome, complete, coverage) = run(&["--trust", "named::raise", "--reduction", reduction]);
        assert_eq!((outcome.as_str(), complete), ("passed", true), "{coverage}");
        assert!(
            coverage.starts_with("all schedules, without preemptions inside `named::raise`"),
            "{coverage}"
        );
    }
    assert_eq!(run(&["--focus", "named::raise"]).0, "panic");
    let (outcome, complete, coverage) = run(&["--focus", "named::work", "--bound", "2"]);
    assert_eq!((outcome.as_str(), complete), ("passed", true), "{coverage}");
    assert!(
        coverage.contains("at most 2 preemptions, with preemptions only inside `named::work`"),
        "{coverage}"
    );
    // A function that is not there is not trusted.
    let (outcome, _, coverage) = run(&["--trust", "named::rise"]);
    assert!(outcome == "panic" && coverage.contains("no function is called `named::rise`"), "{coverage}");
    // In the config file.
    project.write(".config/schedcheck.toml", "trusted = [\"named::raise\"]\n");
    assert_eq!(run(&[]).0, "passed");
    assert_eq!(run(&["--trust", "named::work"]).0, "panic", "the command line is nearer");
}

/// What the compiler inlines, jumps to or shares is recognised like everything else.
fn functions_are_recognised(profile: &[&str]) {
    let project = Project::shared("named");
    let passes = |test: &str, args: &[&str]| {
        let test = format!("tests::{test}");
        let common = ["--all-tests", "--exact", &test, "--message-format", "json"];
        let verdict = project.schedcheck(&[&common, profile, args].concat()).run().verdict();
        let coverage = verdict["coverage"].as_str().unwrap_or_default().to_owned();
        assert!(!coverage.contains("no function"), "{coverage}");
        verdict["outcome"] == "passed" && verdict["complete"] == true
    };
    for (test, function) in [
        ("raised_twice", "named::raise"),
        ("raised_twice_inlined", "named::raise_inlined"),
        ("raised_twice_in_the_end", "named::raise_in_the_end"),
    ] {
        assert!(passes(test, &["--trust", function]), "{test}: {function} is preempted");
        assert!(!passes(test, &["--focus", function]), "{test}: {function} is not preempted");
        assert!(passes(test, &["--focus", "named::work"]), "{test}: everything is preempted");
    }
    // The bug takes a preemption of one of them; the other one will do.
    for (test, one, other) in [
        ("raised_left_and_right", "named::raise_left", "named::raise_right"),
        ("raised_here_and_there", "named::raise_here", "named::raise_there"),
    ] {
        for name in [one, other] {
            assert!(!passes(test, &["--trust", name]), "{test}: more is trusted than {name}");
            assert!(!passes(test, &["--focus", name]), "{test}: {name} is not preempted");
        }
        assert!(passes(test, &["--trust", one, "--trust", other]), "{test}: they are preempted");
    }
}

#[test]
fn functions_are_recognised_without_optimisation() {
    functions_are_recognised(&[]);
}

#[test]
fn functions_are_recognised_in_optimised_builds() {
    functions_are_recognised(&["-r"]);
}
