//! Tests that say how their threads interleave; `--cooperative`; what the explorer is told of files.
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;
use serde_json::Value;

fn explore(project: &Project, args: &[&str]) -> Output {
    project.schedcheck(&[&["--no-fail-fast", "--message-format", "json"], args].concat()).run()
}

fn verdict(output: &Output, test: &str) -> Value {
    output.verdicts()[&format!("scenarios::lib tests::{test}")].clone()
}

fn text<'a>(verdict: &'a Value, key: &str) -> &'a str {
    verdict[key].as_str().unwrap_or_default()
}

/// One after the other, in one copy that is built once.
#[test]
fn scenarios() {
    let project = Project::copy_of("scenarios");
    a_plain_run_passes_and_ends(&project);
    scenarios_of_a_crate(&project);
    a_failing_scenario_is_replayed(&project);
    values_are_explored_with_schedules(&project);
    cooperative_threads_are_switched_at_labels(&project);
}

fn scenarios_of_a_crate(project: &Project) {
    let output = explore(project, &[]).expect_code(100);

    let failed = verdict(&output, "fails_as_the_scenario_says");
    assert_eq!((text(&failed, "outcome"), failed["executions"].as_u64()), ("panic", Some(1)), "{failed}");
    assert!(text(&failed, "message").contains("a deposit was lost"), "{failed}");

    let found = verdict(&output, "fails_in_some_order");
    assert_eq!((text(&found, "outcome"), found["preemptions"].as_u64()), ("panic", Some(0)), "{found}");

    // Three turns each: 20 orders.
    let passed = verdict(&output, "passes_in_every_order");
    let figures = (text(&passed, "outcome"), passed["complete"].as_bool(), passed["executions"].as_u64());
    assert_eq!(figures, ("passed", Some(true), Some(20)), "{passed}");
    assert!(text(&passed, "coverage").starts_with("all schedules that the scenario allows ("), "{passed}");

    let unmet = verdict(&output, "cannot_be_met");
    let message = "no execution meets the scenario: `transfer(first).until(label(\"looked\"))` cannot be met: \
                   thread 'first' ended before that";
    assert_eq!((text(&unmet, "outcome"), text(&unmet, "message")), ("panic", message));
    let line = unmet["location"]["line"].as_u64().and_then(|line| usize::try_from(line).ok());
    let source = project.read("src/lib.rs");
    let quoted = source.lines().nth(line.expect("a line") - 1).unwrap_or_default();
    assert!(quoted.contains("s.transfer(first).until(\"looked\")"), "{quoted}");

    let exists = verdict(&output, "exists");
    assert_eq!(text(&exists, "outcome"), "passed", "{exists}");
    assert!(exists["executions"].as_u64() < Some(20), "it ends with the first: {exists}");
    let missing = verdict(&output, "does_not_exist");
    assert_eq!((text(&missing, "outcome"), missing["executions"].as_u64()), ("panic", Some(20)), "{missing}");

    // Of a file the explorer knows what it is told.
    assert_eq!(text(&verdict(&output, "ledger_told"), "outcome"), "panic");
    assert_eq!(text(&verdict(&output, "ledger_untold"), "outcome"), "passed");
}

/// Failures of scenarios are replayed like others, whatever the search that found them.
fn a_failing_scenario_is_replayed(project: &Project) {
    for reduction in ["optimal", "source", "none"] {
        let output = explore(project, &["fails_in_some_order", "passes_in_every", "--reduction", reduction])
            .expect_code(100);
        let failed = verdict(&output, "fails_in_some_order");
        let passed = verdict(&output, "passes_in_every_order");
        assert_eq!(passed["executions"].as_u64(), Some(20), "{reduction}: {passed}");
        let replay = text(&failed, "replay");
        let replayed = project.schedcheck(&["replay", replay]).run().expect_code(100);
        assert!(replayed.stderr.contains("this is the recorded failure, repeated"), "{}", replayed.stderr);
    }
}

fn values_are_explored_with_schedules(project: &Project) {
    let output = explore(project, &["chosen_"]).expect_code(100);
    // Three values times two, and each time one thread or the other first.
    let kept = verdict(&output, "chosen_and_kept");
    let figures = (text(&kept, "outcome"), kept["complete"].as_bool(), kept["executions"].as_u64());
    assert_eq!(figures, ("passed", Some(true), Some(12)), "{kept}");
    let lost = verdict(&output, "chosen_and_lost");
    assert_eq!(text(&lost, "outcome"), "panic", "{lost}");
    let replay = text(&lost, "replay");
    // Neither value is the default one: both are in the file, and a replay takes them from there.
    assert_eq!(
        project.read(replay).matches("\nop = \"choose\"\nsite = ").count(),
        4,
        "{}",
        project.read(replay)
    );
    let replayed = project.schedcheck(&["replay", replay]).run().expect_code(100);
    assert!(replayed.stderr.contains("this is the recorded failure, repeated"), "{}", replayed.stderr);
    let saved =
        project.read(replay).replace("alt = \"2\"", "alt = \"0\"").replace("alt = \"1\"", "alt = \"0\"");
    let other = project.write("other.toml", saved);
    let replayed = project.schedcheck(&["replay", other.as_str()]).run();
    assert_ne!(replayed.code, 100, "with other values it does not fail: {}", replayed.stderr);
}

fn a_plain_run_passes_and_ends(project: &Project) {
    // Those whose threads really race may fail in a plain run.
    let racing = ["ledger", "labels_in_a_plain_test", "hidden_from_labels", "chosen_and_lost"];
    let racing = racing.iter().flat_map(|name| ["--skip", name]);
    let args: Vec<&str> = ["test", "--quiet", "--lib", "--", "tests::"].into_iter().chain(racing).collect();
    let output = project.cargo(&args).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn cooperative_threads_are_switched_at_labels(project: &Project) {
    let args = ["labels_in_a_plain_test", "hidden_from_labels"];
    let output = explore(project, &args).expect_code(100);
    assert_eq!(text(&verdict(&output, "labels_in_a_plain_test"), "outcome"), "panic");
    assert_eq!(text(&verdict(&output, "hidden_from_labels"), "outcome"), "panic");

    for args in [&["--cooperative"][..], &["--cooperative", "--bound", "2"]] {
        let args = [&["labels_in_a_plain_test", "hidden_from_labels"], args].concat();
        let output = explore(project, &args).expect_code(100);
        let seen = verdict(&output, "labels_in_a_plain_test");
        assert_eq!(text(&seen, "outcome"), "panic");
        project.schedcheck(&["replay", text(&seen, "replay")]).run().expect_code(100);
        let hidden = verdict(&output, "hidden_from_labels");
        assert_eq!((text(&hidden, "outcome"), hidden["complete"].as_bool()), ("passed", Some(true)));
        let coverage = text(&hidden, "coverage");
        assert!(coverage.contains(", with switches only at labels and where a thread blocks"), "{coverage}");
    }

    project.write(".config/schedcheck.toml", "[preset.default]\ncooperative = true\n");
    let output = explore(project, &["hidden_from_labels"]).expect_code(0);
    assert_eq!(text(&verdict(&output, "hidden_from_labels"), "outcome"), "passed");
}
