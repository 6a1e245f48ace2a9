//! Snapshots of what people and programs see, from fixed events.
use std::sync::LazyLock;

use schedcheck_tests::project::Project;

/// Runs tests of the fixture `canned` one after the other.
fn canned(args: &[&str], code: i32) -> schedcheck_tests::cli::Output {
    static CANNED: LazyLock<&Project> = LazyLock::new(|| Project::shared("canned"));
    CANNED.schedcheck(&[&["-j1", "--no-fail-fast", "--exact"], args].concat()).run().expect_code(code)
}

/// The only time in the report that is not the fixture's own.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ filters => vec![(r"Summary \[ *[0-9.]+s\]", "Summary [TIME]")] }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn passes_say_what_was_covered() {
    let output = canned(&["passes", "passes_within_bound", "runs_out_of_budget"], 0);
    snapshot("passes", &output.own_stderr());
    assert_eq!(output.stdout, "");
}

/// Every way to fail has a form of its own.
macro_rules! forms {
    ($($test:ident: $canned:literal => $code:literal,)*) => {
        $(#[test]
        fn $test() {
            snapshot(stringify!($test), &canned(&[$canned], $code).own_stderr());
        })*
    };
}

forms! {
    deadlock: "deadlocks" => 100,
    lost_wakeup: "loses_a_wakeup" => 100,
    panic: "panics" => 100,
    livelock: "goes_round" => 100,
    data_race: "races" => 100,
    misuse: "misuses" => 100,
    crash: "crashes" => 100,
    nondeterminism: "is_nondeterministic" => 6,
    refused: "is_refused" => 96,
}

#[test]
fn quiet_shows_failures_only() {
    let output = canned(&["passes", "loses_a_wakeup", "-q"], 100);
    snapshot("quiet", &output.own_stderr());
}

#[test]
fn json_lines_keep_to_the_contract() {
    let output = canned(&["passes", "runs_out_of_budget", "deadlocks", "--message-format", "json"], 100);
    insta::assert_snapshot!("json", output.stdout);
}

#[test]
fn colours_follow_the_flag() {
    let project = Project::copy_of("canned");
    let colored = project.schedcheck(&["panics", "--color", "always"]).run().expect_code(100);
    assert!(colored.stderr.contains("\u{1b}["), "{}", colored.stderr);
    let plain = project.schedcheck(&["panics", "--color", "never"]).run().expect_code(100);
    assert!(!plain.stderr.contains('\u{1b}'), "{}", plain.stderr);
}
