//! Failures that were kept are replayed first on every run, until they are fixed.
use camino::Utf8PathBuf;
use schedcheck_tests::project::Project;
use serde_json::Value;

const KEPT: &str = "schedcheck-regressions/unmodified.lib.tests-opposite_order.toml";

/// A project that has kept a deadlock.
fn with_kept_deadlock() -> Project {
    let project = Project::copy_of("unmodified");
    project.schedcheck(&["--all-tests", "opposite_order"]).run().expect_code(100);
    let found = "target/schedcheck/failures/unmodified.lib.tests-opposite_order.toml";
    let output = project.schedcheck(&["replay", found, "--save"]).run().expect_code(100);
    assert!(output.stderr.contains(&format!("kept as {KEPT}")), "{}", output.stderr);
    project
}

fn run(project: &Project, more: &[&str], code: i32) -> Vec<Value> {
    let args = ["--all-tests", "--no-fail-fast", "-j1", "--message-format", "json"];
    project.schedcheck(&[&args, more].concat()).run().expect_code(code).json()
}

fn fix(project: &Project) {
    let text = project.read("src/lib.rs");
    let fixed = text.replacen(
        "let two = second.lock().unwrap();\n        let one = first.lock().unwrap();",
        "let one = first.lock().unwrap();\n        let two = second.lock().unwrap();",
        1,
    );
    assert_ne!(text, fixed);
    project.write("src/lib.rs", fixed);
}

#[test]
fn a_kept_failure_comes_first_and_is_not_searched_again() {
    let project = with_kept_deadlock();
    let lines = run(&project, &[], 100);
    let kinds: Vec<&str> = lines.iter().take(4).map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run-started", "test-started", "regression", "test-finished"]);
    assert_eq!((&lines[2]["state"], &lines[2]["file"]), (&"fails".into(), &KEPT.into()));
    let verdict = &lines[3];
    assert_eq!((&verdict["outcome"], &verdict["replay"]), (&"deadlock".into(), &KEPT.into()));
    assert_eq!(verdict["executions"], 1);
    // Saving it again from where it is changes nothing.
    let before = project.read(KEPT);
    project.schedcheck(&["replay", KEPT, "--save"]).run().expect_code(100);
    assert_eq!(project.read(KEPT), before);
}

#[test]
fn a_fixed_failure_is_reported_and_can_be_removed() {
    let project = with_kept_deadlock();
    fix(&project);
    let of_kept = |lines: Vec<Value>| lines.into_iter().find(|line| line["type"] == "regression");
    let regression = of_kept(run(&project, &["opposite_order"], 0)).expect("it was replayed");
    assert_eq!((&regression["state"], &regression["removed"]), (&"fixed".into(), &false.into()));
    let output = project.schedcheck(&["--all-tests", "opposite_order"]).run().expect_code(0);
    assert!(
        output.stderr.contains(&format!("FIXED {KEPT} no longer fails (`--prune` removes it)")),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("PASS"), "it is explored as well: {}", output.stderr);

    let regression = of_kept(run(&project, &["opposite_order", "--prune"], 0)).expect("it was replayed");
    assert_eq!(regression["removed"], true);
    assert!(!project.path.join(KEPT).exists());
    assert_eq!(of_kept(run(&project, &["opposite_order"], 0)), None);
}

#[test]
fn what_still_fails_is_never_removed() {
    let project = with_kept_deadlock();
    run(&project, &["opposite_order", "--prune"], 100);
    assert!(project.path.join(KEPT).exists());
}

#[test]
fn a_damaged_file_is_an_error_and_an_orphan_is_mentioned() {
    let project = with_kept_deadlock();
    let text = project.read(KEPT);
    project.write(KEPT, &text[..text.len() / 2]);
    let output = project.schedcheck(&["--all-tests", "opposite_order"]).run().expect_code(96);
    assert!(output.stderr.contains(KEPT), "{}", output.stderr);

    project.write(KEPT, text.replace("tests::opposite_order", "tests::gone"));
    let output = project.schedcheck(&["--all-tests", "adds_under_a_lock"]).run().expect_code(0);
    assert!(
        output.stderr.contains("is of a test that does not exist (any more): unmodified::lib tests::gone"),
        "{}",
        output.stderr
    );
    // Whichever binary it was in, as long as that was built.
    project.write("tests/flow.rs", "#[test]\nfn flows() {}\n");
    let mentions = |target: &str, selection: &[&str]| {
        project.write(KEPT, text.replace("target = \"lib\"", &format!("target = \"{target}\"")));
        let args = [&["--all-tests", "adds_under_a_lock", "flows"], selection].concat();
        let said = project.schedcheck(&args).run().expect_code(0).stderr;
        said.contains(&format!("(any more): unmodified::{target} tests::opposite_order"))
    };
    assert!(mentions("flow", &[]) && mentions("gone", &[]) && mentions("gone", &["--lib"]));
    assert!(!mentions("flow", &["--lib"]), "it may be there");
}

#[test]
fn files_belong_to_the_package_not_to_the_place_of_the_call() {
    let project = with_kept_deadlock();
    let elsewhere = Project::empty();
    let manifest: Utf8PathBuf = project.path.join("Cargo.toml");
    let args =
        ["--all-tests", "opposite_order", "--message-format", "json", "--manifest-path", manifest.as_str()];
    let lines = elsewhere.schedcheck(&args).run().expect_code(100).json();
    assert!(lines.iter().any(|line| line["type"] == "regression"), "{lines:?}");
}

#[test]
fn a_kept_race_is_not_taken_for_fixed_where_races_are_not_looked_for() {
    let project = Project::copy_of("races");
    let test = ["--all-tests", "--exact", "publish::buggy_relaxed_flag"];
    project.schedcheck(&test).run().expect_code(100);
    let found = "target/schedcheck/failures/races.lib.publish-buggy_relaxed_flag.toml";
    project.schedcheck(&["replay", found, "--save"]).run().expect_code(100);
    let kept = "schedcheck-regressions/races.lib.publish-buggy_relaxed_flag.toml";
    let output =
        project.schedcheck(&[&test[..], &["--races", "off", "--prune"]].concat()).run().expect_code(0);
    assert!(output.stderr.contains("is a data race and not replayed: --races is off"), "{}", output.stderr);
    assert!(project.path.join(kept).exists());
    let output = project.schedcheck(&test).run().expect_code(100);
    assert!(output.stderr.contains("this is the recorded failure, repeated"), "{}", output.stderr);
}

#[test]
fn a_second_failure_of_a_test_is_kept_beside_the_first() {
    let project = with_kept_deadlock();
    let found = "target/schedcheck/failures/unmodified.lib.tests-opposite_order.toml";
    let first = project.read(KEPT).replace("seed", "seed ");
    let first = first.replacen("message = \"", "message = \"another one: ", 1);
    project.write(KEPT, &first);
    let save = |name: &str| {
        let output = project.schedcheck(&["replay", found, "--save"]).run().expect_code(100);
        assert!(output.stderr.contains(&format!("kept as {name}:")), "{}", output.stderr);
        assert_eq!(project.read(KEPT), first);
        assert_eq!(project.read(name), project.read(found));
    };
    let second = KEPT.replace(".toml", "-2.toml");
    save(&second);
    // What is kept already is not kept twice.
    save(&second);
    assert_eq!(project.path.join("schedcheck-regressions").read_dir_utf8().unwrap().count(), 2);
    // Only files of this ending are looked for.
    project.write("bug.txt", project.read(found));
    let output = project.schedcheck(&["replay", "bug.txt", "--save"]).run().expect_code(100);
    assert!(output.stderr.contains("kept as schedcheck-regressions/bug.toml:"), "{}", output.stderr);
}
