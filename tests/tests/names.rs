//! `--method` and `--var`: what the user names is looked at first.
use schedcheck_tests::project::Project;

/// Executions until the bug of `test` is found.
fn executions(project: &Project, test: &str, args: &[&str]) -> u64 {
    let common = ["--all-tests", "--exact", test, "--message-format", "json"];
    let verdicts = project.schedcheck(&[&common, args].concat()).run().expect_code(100).verdicts();
    let (_, verdict) = verdicts.into_iter().next().expect("a verdict");
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
fn the_methods_of_a_port_lead_to_its_bug() {
    let project = Project::copy_of("gambit");
    let test = "port::tests::gather_post_2";
    let blind = executions(&project, test, &["--priority", "dfs"]);
    let guided = executions(
        &project,
        test,
        &["--priority", "method,mdpor,pb", "--method", "Port::enqueue", "--method", "Port::try_dequeue"],
    );
    assert!(guided * 10 <= blind, "{guided} instead of {blind}");
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
