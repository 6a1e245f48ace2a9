//! Bugs of published crates are found, and their fixes pass.
use std::process::Command;
use std::sync::OnceLock;

use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;

/// What lock files on this machine call the registry.
fn registry() -> &'static str {
    static REGISTRY: OnceLock<String> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let project = Project::empty();
        let package = "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
        project.write("Cargo.toml", format!("{package}[dependencies]\ncfg-if = \"1\"\n[workspace]\n"));
        project.write("src/lib.rs", "");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["generate-lockfile", "--quiet"]).current_dir(&project.path);
        assert!(cargo.status().expect("cargo starts").success(), "no registry");
        let lock = project.read("Cargo.lock");
        let source = lock.lines().find_map(|line| line.strip_prefix("source = ")).expect("a source");
        source.trim_matches('"').to_owned()
    })
}

/// Explores the test of `bug` with the crate as it was in one of its releases.
fn explore(bug: &str, release: &str, test: &str, time: &str) -> Output {
    let project = Project::copy_of(&format!("real-bugs/{bug}"));
    project.write("Cargo.toml", project.read(&format!("Cargo_{release}.toml")));
    let lock = project.read(&format!("Cargo_{release}.lock"));
    project.write("Cargo.lock", lock.replace("@crates", registry()));
    let args = ["--all-tests", "--exact", test, "--max-time", time, "--message-format", "json"];
    project.schedcheck(&args).run()
}

/// A test of a release shows a failure.
#[track_caller]
fn finds(bug: &str, release: &str, test: &str, outcome: &str, message: &str) {
    let verdict = explore(bug, release, test, "60s").expect_code(100).verdict();
    assert_eq!(verdict["outcome"], outcome, "{verdict}");
    assert!(verdict["message"].as_str().expect("a message").contains(message), "{verdict}");
}

#[track_caller]
fn check(bug: &str, outcome: &str, message: &str) {
    finds(bug, "buggy", "t::bug", outcome, message);
    // The limit of a minute is for bugs; once_cell with its fix is not explored whole in that either.
    explore(bug, "fixed", "t::bug", "10s").expect_code(0);
}

#[test]
fn crossbeam_channel_uses_a_block_before_it_is_there() {
    check("cbchannel-972", "crash", "received SIG");
}

#[test]
fn crossbeam_channel_waits_for_ever_for_a_message_that_is_there() {
    check("cbchannel-035", "livelock", "livelock");
}

#[test]
fn spin_once_meets_an_initialisation_that_failed() {
    check("spin-trycall", "panic", "Encountered INCOMPLETE when polling Once");
}

#[test]
fn flume_loses_a_message() {
    check("flume-120", "panic", "message lost");
}

#[test]
fn once_cell_wait_returns_without_a_value() {
    check("oncecell-295", "panic", "self.0.is_initialized()");
}

#[test]
fn internment_uses_a_freed_count() {
    check("internment-drop", "data-race", "use after free");
}

#[test]
fn oneshot_drops_a_waker_that_is_freed() {
    check("oneshot-uaf", "data-race", "frees memory that");
}

#[test]
fn oneshot_still_frees_a_channel_that_is_in_use() {
    finds("oneshot-uaf", "fixed", "t::left_over", "data-race", "frees memory that");
}

#[test]
fn tokio_takes_a_value_twice() {
    check("tokio-oneshot-4226", "data-race", "data race");
}
