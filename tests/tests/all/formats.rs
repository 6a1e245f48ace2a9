//! Every format that other tools read, checked as those tools would.
use std::collections::BTreeSet;
use std::sync::LazyLock;

use fs_err as fs;
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;
use schedcheck_tests::repository;
use serde_json::Value;

const ALL: [&str; 10] = [
    "passes",
    "runs_out_of_budget",
    "deadlocks",
    "loses_a_wakeup",
    "panics",
    "goes_round",
    "races",
    "misuses",
    "crashes",
    "is_nondeterministic",
];

/// Each test writes its files under another name.
static CANNED: LazyLock<&Project> = LazyLock::new(|| Project::shared("canned"));

/// Tests of the fixture `canned`, one after the other.
fn canned(project: &Project, tests: &[&str], more: &[&str], env: &[(&str, &str)]) -> Output {
    let args = [&["-j1", "--no-fail-fast", "--exact"], tests, more].concat();
    let call = env.iter().fold(project.schedcheck(&args), |call, (name, value)| call.env(name, value));
    call.run().expect_code(100)
}

fn schema() -> jsonschema::Validator {
    let path = repository().join("schema/events.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn assert_valid(lines: &[Value]) {
    let schema = schema();
    for line in lines {
        let problems: Vec<String> =
            schema.iter_errors(line).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:?}: {line}");
    }
}

#[test]
fn json_lines_fit_the_schema() {
    let project = &*CANNED;
    let lines = canned(project, &ALL, &["--message-format", "json"], &[]).json();
    assert!(lines.len() > 2 * ALL.len());
    assert_valid(&lines);
}

#[test]
fn json_lines_of_the_real_engine_fit_the_schema() {
    let project = Project::copy_of("unmodified");
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
    assert_valid(&project.schedcheck(&args).run().expect_code(100).json());
}

#[test]
fn the_schema_refuses_what_is_not_promised() {
    let project = &*CANNED;
    let finished = canned(project, &["deadlocks"], &["--message-format", "json"], &[]).verdict();
    let schema = schema();
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut line = finished.clone();
        change(&mut line);
        !schema.is_valid(&line)
    };
    assert!(schema.is_valid(&finished));
    assert!(broken(&|line| line["outcome"] = "splendid".into()));
    assert!(broken(&|line| line["v"] = 2.into()));
    assert!(broken(&|line| line["type"] = "test-ended".into()));
    assert!(broken(&|line| line["surprise"] = 1.into()));
    assert!(broken(&|line| line["executions"] = (-1).into()));
    assert!(broken(&|line| drop(line.as_object_mut().unwrap().remove("replay"))));
}

#[test]
fn junit_has_a_case_for_every_test() {
    let project = &*CANNED;
    canned(project, &["passes", "deadlocks", "panics"], &["--junit", "out/junit.xml"], &[]);
    let report = quick_junit::Report::deserialize_from_str(&project.read("out/junit.xml")).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (3, 2, 0));
    let suite = &report.test_suites[0];
    assert_eq!(suite.name.as_str(), "canned::canned");
    let case = suite.test_cases.iter().find(|case| case.name.as_str() == "deadlocks").unwrap();
    let quick_junit::TestCaseStatus::NonSuccess { ty, description, .. } = &case.status else {
        panic!("{case:?}");
    };
    assert_eq!(ty.as_ref().unwrap().as_str(), "schedcheck::deadlock");
    let text = description.as_ref().unwrap().as_str();
    assert!(text.contains("waits here for mutex#2") && !text.contains('\u{1b}'), "{text}");
    assert!(case.system_out.as_ref().unwrap().as_str().contains("BLOCKED"), "{case:?}");
    let properties: Vec<_> = case.properties.iter().map(|p| (p.name.as_str(), p.value.as_str())).collect();
    assert!(properties.contains(&("schedcheck.executions", "17")), "{properties:?}");
}

#[test]
fn sarif_has_one_flow_for_each_thread_in_execution_order() {
    let project = &*CANNED;
    canned(project, &ALL, &["--sarif", "out.sarif"], &[]);
    let sarif: Value = serde_json::from_str(&project.read("out.sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "cargo-schedcheck");
    let rules: Vec<&str> = list(&driver["rules"]).iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    let results = list(&run["results"]);
    assert_eq!(results.len(), 8, "one for each failing test");
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(result["ruleId"], rules[index]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert!(result["partialFingerprints"].is_object());
        for location in list(&result["locations"]).iter().chain(list(&result["relatedLocations"])) {
            check_location(location);
        }
        for flow in list(&result["codeFlows"]) {
            check_flow(list(&flow["threadFlows"]));
        }
    }
    let deadlock = results.iter().find(|result| result["ruleId"] == "schedcheck/deadlock").unwrap();
    let place = &deadlock["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/lib.rs");
    assert_eq!(place["region"]["startLine"], 10);
    let threads: Vec<&str> = list(&deadlock["codeFlows"][0]["threadFlows"])
        .iter()
        .map(|flow| flow["message"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(threads, ["main", "worker-a", "thread 0.2"]);
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn check_location(location: &Value) {
    if let Some(place) = location.get("physicalLocation") {
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.starts_with('/') && !uri.contains(' '), "{uri}");
        assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
        assert!(place["region"]["startColumn"].as_u64().unwrap() >= 1);
    }
    assert!(location["message"]["text"].is_string(), "{location}");
}

/// Steps ascend within a thread, and no step belongs to two threads.
fn check_flow(flows: &[Value]) {
    let mut all = BTreeSet::new();
    for flow in flows {
        let places = list(&flow["locations"]);
        assert!(!places.is_empty());
        let mut last = None;
        for place in places {
            check_location(&place["location"]);
            let order = place["executionOrder"].as_u64().unwrap();
            assert!(last < Some(order), "{flow}");
            last = Some(order);
            let blocked = place["location"]["message"]["text"].as_str().unwrap().starts_with("blocked");
            assert!(all.insert(order) || blocked, "step {order} twice");
        }
    }
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let project = &*CANNED;
    let summary = project.path.join("summary.md");
    let _ = fs::remove_file(&summary);
    let env = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_STEP_SUMMARY", summary.as_str()),
        ("GITHUB_WORKSPACE", project.path.as_str()),
    ];
    let output = canned(project, &["passes", "deadlocks", "panics"], &[], &env);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let title =
        "::error file=src/lib.rs,line=10,col=38,title=deadlock in deadlocks::deadlock: 2 of 3 threads";
    assert!(lines[0].starts_with(title), "{}", lines[0]);
    assert!(
        lines[1].contains("::assertion `left == right` failed%0A  left: 1%0A right: 2%0A"),
        "{}",
        lines[1]
    );
    let text = fs::read_to_string(&summary).unwrap();
    for part in [
        "1 passed (0 incomplete), 2 failed",
        "| canned::canned deadlocks | ❌ deadlock | – | 17 | 17 | 0.0 s |",
        "```text\nerror[",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    // JSON lines stay alone on stdout.
    let output = canned(project, &["deadlocks"], &["--message-format", "json"], &env);
    assert_valid(&output.json());
    assert!(output.stderr.contains("::error file="), "{}", output.stderr);
    let output = canned(project, &["deadlocks"], &["--annotations", "none"], &env);
    assert_eq!(output.stdout, "");
}

#[test]
fn a_chrome_trace_has_a_lane_for_each_thread() {
    let project = &*CANNED;
    canned(project, &["deadlocks", "panics"], &["--chrome-trace", "trace.json"], &[]);
    let trace: Value = serde_json::from_str(&project.read("trace.json")).unwrap();
    let events = list(&trace["traceEvents"]);
    let named: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name" && event["pid"] == 1)
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["main", "worker-a", "thread 0.2"]);
    for event in events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["ph"].is_string(), "{event}");
        assert!(event["ph"] == "M" || event["ts"].is_u64(), "{event}");
        assert!(event["ph"] != "X" || event["dur"].is_u64(), "{event}");
    }
    let slices = |process: u64| {
        events.iter().filter(move |e| e["ph"] == "X" && e["cat"] == "step" && e["pid"] == process)
    };
    assert_eq!((slices(1).count(), slices(2).count()), (4, 7));
    // Both locks are held to the end, and every begin has its end.
    let locks = |phase: &str| events.iter().filter(|e| e["cat"] == "lock" && e["ph"] == phase).count();
    assert_eq!((locks("b"), locks("e")), (2, 2));
    let arrows = |phase: &str| events.iter().filter(|e| e["cat"] == "order" && e["ph"] == phase).count();
    assert_eq!(arrows("s"), arrows("f"));
    assert!(arrows("s") > 0);
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_build() {
    let project = Project::copy_of("canned");
    let output = project.schedcheck(&["--junit", "src"]).run().expect_code(96);
    assert!(output.stderr.contains("src is a folder"), "{}", output.stderr);
    let output = project.schedcheck(&["--sarif", "Cargo.toml/out.sarif"]).run().expect_code(96);
    assert!(output.stderr.contains("Cargo.toml"), "{}", output.stderr);
    assert!(!project.path.join("target").exists());
}

#[test]
fn a_failure_that_cannot_be_kept_is_told_all_the_same() {
    let project = Project::copy_of("canned");
    project.write("target/schedcheck/failures", "a file where a folder belongs");
    let output = canned(&project, &["deadlocks", "panics"], &["--message-format", "json"], &[]);
    assert_valid(&output.json());
    assert_eq!(output.verdicts().len(), 2);
    for verdict in output.verdicts().values() {
        assert_eq!(verdict["replay"], Value::Null);
        assert!(
            verdict["notes"][0].as_str().unwrap().contains("could not be kept for a replay"),
            "{verdict}"
        );
    }
    let told = canned(&project, &["deadlocks"], &[], &[]).stderr;
    assert!(told.contains("could not be kept for a replay"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_takes_neither_the_verdict_nor_the_others_with_it() {
    let project = &*CANNED;
    let more = ["--junit", "/dev/full", "--html", "beside", "--message-format", "json"];
    let output = canned(project, &["deadlocks"], &more, &[]);
    assert_eq!(output.json().last().unwrap()["exit_code"], 100);
    assert!(
        output.stderr.contains("a report is lacking") && output.stderr.contains("/dev/full"),
        "{}",
        output.stderr
    );
    assert!(project.path.join("beside/index.html").exists());
    let args = [&["--exact", "passes"][..], &more].concat();
    let output = project.schedcheck(&args).run().expect_code(96);
    assert_eq!(output.json().last().unwrap()["exit_code"], 96);
}

#[test]
fn what_is_known_is_written_also_when_a_test_cannot_be_explored() {
    let project = Project::copy_of("canned");
    let args = ["--exact", "passes", "deadlocks", "is_refused", "takes_its_time", "-j1", "--no-fail-fast"];
    let reports = ["--message-format", "json", "--junit", "junit.xml", "--summary", "summary.md"];
    let certificate = ["--certificate", "certificate.toml"];
    let output = project.schedcheck(&[&args[..], &reports, &certificate].concat()).run().expect_code(96);
    assert!(output.stderr.contains("`is_refused` cannot be explored"), "{}", output.stderr);
    let lines = output.json();
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["exit_code"]), (&"run-finished".into(), &96.into()), "{last}");
    assert_eq!((&last["passed"], &last["failed"]), (&1.into(), &1.into()), "{last}");
    assert_eq!(last["unfinished"], 2);
    assert!(project.read("junit.xml").contains("schedcheck::deadlock"));
    assert!(project.read("summary.md").contains("1 failed, 2 not finished"));
    assert!(!project.path.join("certificate.toml").exists());
}
