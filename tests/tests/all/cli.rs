//! Exit codes and messages of the command, above all for bad input.
use std::io::Read;
use std::process::Stdio;

use fs_err as fs;
use schedcheck_tests::project::Project;

#[test]
fn without_a_manifest_cargo_says_so() {
    let output = Project::empty().schedcheck(&[]).run().expect_code(101);
    assert!(output.stderr.starts_with("error: could not find `Cargo.toml`"), "{}", output.stderr);
}

#[test]
fn a_crate_that_does_not_compile_shows_cargos_error_alone() {
    let output = Project::copy_of("does_not_compile").schedcheck(&[]).run().expect_code(101);
    for part in ["error[E0308]: mismatched types", "found for reference `&std::sync::Mutex<u32>`"] {
        assert!(output.stderr.contains(part), "{part} is not in:\n{}", output.stderr);
    }
    assert!(!output.stderr.contains("schedcheck_"), "types have the names of std: {}", output.stderr);
    let last = output.stderr.lines().last().unwrap_or_default();
    let is_cargos = last.starts_with("error: could not compile `does_not_compile`");
    assert!(is_cargos || last.contains("build failed"), "{last}");
    assert_eq!(output.stdout, "");
}

#[test]
fn a_crate_without_tests_has_none_to_select() {
    let output = Project::copy_of("no_tests").schedcheck(&["--all-tests"]).run().expect_code(4);
    assert!(output.stderr.contains("no test selected: there are no tests"), "{}", output.stderr);
}

#[test]
fn plain_tests_need_all_tests_and_the_message_says_so() {
    let project = Project::copy_of("plain");
    let output = project.schedcheck(&[]).run().expect_code(4);
    assert!(
        output.stderr.contains("2 plain #[test]s would be explored with --all-tests"),
        "{}",
        output.stderr
    );
    let output = project.schedcheck(&["list", "--all-tests"]).run().expect_code(0);
    assert_eq!(output.stdout, "plain::lib tests::adds\nplain::lib tests::is_in_its_package\n");
}

#[test]
fn plain_tests_run_in_their_package_with_cargos_flags() {
    let project = Project::copy_of("plain");
    let output =
        project.schedcheck(&["--all-tests", "-F", "extra", "--message-format", "json"]).run().expect_code(0);
    let lines = output.json();
    assert_eq!(lines[0]["tests"], 3);
    assert_eq!(lines.last().unwrap()["passed"], 3);
}

#[test]
fn a_filter_that_matches_nothing_is_an_error() {
    let output = Project::copy_of("canned").schedcheck(&["nope", "--exact"]).run().expect_code(4);
    assert!(output.stderr.contains("none of 19 tests in 1 binary matches `nope`"), "{}", output.stderr);
}

#[test]
fn ignored_tests_are_named_as_the_reason() {
    let output = Project::copy_of("canned").schedcheck(&["hangs"]).run().expect_code(4);
    assert!(output.stderr.contains("--include-ignored"), "{}", output.stderr);
}

#[test]
fn bad_usage_is_explained_before_anything_is_built() {
    let cases: [(&[&str], &str); 7] = [
        (&["--priority", "mdpro"], "unknown priority `mdpro` (did you mean `mdpor`?)"),
        (&["--priority", "mdpor:3"], "only `rand` takes a seed"),
        (&["--alltests"], "a similar argument exists: '--all-tests'"),
        (&["--max-time", "soon"], "write for example `90s`"),
        (&["--max-time", "0s"], "at least a millisecond"),
        (&["--reduction", "optmal"], "optimal, source, classic, none"),
        (&["--open"], "--html <DIR>"),
    ];
    let project = Project::copy_of("canned");
    for (args, message) in cases {
        let output = project.schedcheck(args).run().expect_code(2);
        assert!(output.stderr.contains(message), "{args:?}: {}", output.stderr);
    }
    assert!(!project.path.join("target").exists());
}

#[test]
fn environment_variables_are_twins_of_flags() {
    let project = Project::copy_of("canned");
    let output = project.schedcheck(&["passes"]).env("SCHEDCHECK_PRIORITY", "bp").run().expect_code(96);
    assert!(output.stderr.contains("unknown priority `bp`"), "{}", output.stderr);
    let output = project.schedcheck(&["list", "passes"]).env("SCHEDCHECK_BUOND", "2").run().expect_code(0);
    assert!(output.stderr.contains("SCHEDCHECK_BUOND is not known (did you mean `SCHEDCHECK_BOUND`?)"));
    let request = project.path.join("request");
    let output = project
        .schedcheck(&[
            "--exact",
            "passes",
            "--seed",
            "3",
            "--var",
            "a",
            "--var",
            "b",
            "--message-format",
            "json",
        ])
        .env("SCHEDCHECK_BOUND", "2")
        .env("SCHEDCHECK_SEED", "5")
        .env("CANNED_KEEP_REQUEST", &request)
        .run()
        .expect_code(0);
    assert_eq!(output.json()[0]["bound"], 2);
    let request = project.read("request");
    for line in [
        "set.bound 2",
        "set.seed 3",
        "set.var a",
        "set.var b",
        "default.max-time-ms 60000",
        "default.races on",
    ] {
        assert!(request.lines().any(|l| l == line), "{line} is not in:\n{request}");
    }
}

#[test]
fn a_variable_may_be_empty_but_not_wrong() {
    let project = Project::copy_of("plain");
    let show = |variables: &[(&str, &str)], args: &[&str]| {
        let call = project.schedcheck(&[&["show-config"], args].concat());
        variables.iter().fold(call, |call, (name, value)| call.env(name, value)).run()
    };
    let empty = ["BOUND", "RACES", "MAX_TIME", "COOPERATIVE", "SKIP", "PRESET", "OF_NOBODY"];
    let empty = empty.map(|name| format!("SCHEDCHECK_{name}"));
    let output = show(&empty.each_ref().map(|name| (name.as_str(), "")), &[]).expect_code(0);
    assert_eq!(output.own_stderr(), "");
    let output = show(&[("SCHEDCHECK_BOUND", "many"), ("SCHEDCHECK_SEED", "3")], &[]).expect_code(96);
    assert!(
        output.stderr.contains("in the environment, SCHEDCHECK_BOUND: invalid value 'many'"),
        "{}",
        output.stderr
    );
    let output = show(&[("SCHEDCHECK_SEQ", "a -> b")], &["--reach", "a & b"]).expect_code(96);
    assert!(output.stderr.contains("SCHEDCHECK_SEQ"), "{}", output.stderr);
    // What is typed is judged as ever.
    show(&[("SCHEDCHECK_BOUND", "many")], &["--bound", "few"]).expect_code(2);
}

#[test]
fn an_unknown_config_key_is_refused_with_its_line() {
    let project = Project::copy_of("canned");
    project.write(".config/schedcheck.toml", "[preset.default]\nmax-tiem = \"3s\"\n");
    let output = project.schedcheck(&[]).run().expect_code(96);
    let message = output.own_stderr();
    assert!(message.contains(".config/schedcheck.toml:2:1: unknown field `max-tiem`"), "{message}");
    assert!(message.contains("did you mean `max-time`?"), "{message}");
    project.schedcheck(&["list", "--no-config"]).run().expect_code(0);
}

#[test]
fn presets_and_overrides_reach_the_tests_they_name() {
    let project = Project::copy_of("canned");
    let config = "[preset.ci]\nbound = 3\nmax-time = \"7s\"\n[[preset.ci.overrides]]\nfilter = \"within\"\nbound = 2\n";
    project.write(".config/schedcheck.toml", config);
    let request = project.path.join("request");
    let run = |test: &str| {
        let call = project.schedcheck(&["--preset", "ci", "--exact", test]);
        call.env("CANNED_KEEP_REQUEST", &request).run().expect_code(0);
        project.read("request")
    };
    assert!(run("passes").contains("default.bound 3\n"));
    assert!(run("passes_within_bound").contains("default.bound 2\n"));
    let output = project.schedcheck(&["--preset", "cii"]).run().expect_code(96);
    assert!(output.stderr.contains("did you mean `ci`?"), "{}", output.stderr);
}

#[test]
fn a_target_directory_that_cannot_be_written_is_named() {
    let project = Project::copy_of("canned");
    project.write("target", "a file where a folder should be");
    let output = project.schedcheck(&[]).run();
    assert!(matches!(output.code, 96 | 101), "{output:?}");
    assert!(output.stderr.contains("target"), "{}", output.stderr);
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
}

#[test]
fn incomplete_runs_pass_unless_completeness_is_required() {
    let project = Project::copy_of("canned");
    project.schedcheck(&["runs_out_of_budget"]).run().expect_code(0);
    project.schedcheck(&["runs_out_of_budget", "--require-complete"]).run().expect_code(5);
    project.schedcheck(&["--exact", "passes", "--require-complete"]).run().expect_code(0);
    project.schedcheck(&["is_nondeterministic"]).run().expect_code(6);
}

#[test]
fn the_first_failure_stops_new_tests_unless_told_otherwise() {
    let project = Project::copy_of("canned");
    let fast = project
        .schedcheck(&["-j1", "--message-format", "json", "panics", "exits"])
        .run()
        .expect_code(100)
        .json();
    assert_eq!(fast.last().unwrap()["unfinished"], 1);
    let args = ["-j1", "--message-format", "json", "panics", "exits", "--no-fail-fast"];
    let all = project.schedcheck(&args).run().expect_code(100).json();
    assert_eq!(all.last().unwrap()["failed"], 2);
}

#[test]
fn crashes_and_silence_are_findings() {
    let project = Project::copy_of("canned");
    let args = ["--exact", "aborts", "exits", "sends_nonsense", "hangs", "--include-ignored"];
    let more = ["--no-fail-fast", "--max-time", "100ms", "--message-format", "json"];
    let output = project.schedcheck(&[&args[..], &more[..]].concat()).run().expect_code(100);
    let verdicts = output.verdicts_by_test();
    for (test, message) in [
        ("aborts", "SIGABRT"),
        ("exits", "exit status: 3"),
        ("sends_nonsense", "could not be understood"),
        ("hangs", "did not answer"),
    ] {
        let verdict = &verdicts[test];
        assert_eq!(verdict["outcome"], "crash");
        assert!(verdict["message"].as_str().unwrap().contains(message), "{verdict}");
    }
    // The child had noted its schedule before it died.
    let replay = verdicts["aborts"]["replay"].as_str().unwrap().to_owned();
    assert_eq!(replay, "target/schedcheck/failures/canned.canned.aborts.toml");
    assert!(project.read(&replay).contains("step = 5\nthread = \"0.2\""), "{}", project.read(&replay));
    assert_eq!(verdicts["aborts"]["executions"], 7);
}

#[test]
fn a_reader_that_goes_away_ends_a_run_without_a_verdict() {
    let project = Project::copy_of("canned");
    project.schedcheck(&["list"]).run().expect_code(0);
    let mut command = project.schedcheck(&["is_slow", "--message-format", "json"]).command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_a_summary() {
    let project = Project::copy_of("canned");
    project.schedcheck(&["list"]).run().expect_code(0);
    let mut command = project.schedcheck(&["is_slow", "--message-format", "json"]).command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("test-progress") {
        std::io::BufRead::read_line(&mut stdout, &mut text).unwrap();
    }
    // Twice, as `timeout -s INT` does it: to the process and to its group.
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id, &id]).status().unwrap();
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(text.contains(r#""type":"test-stopped""#), "{text}");
    assert!(text.trim_end().ends_with(r#""unfinished":1,"exit_code":130}"#), "{text}");
}

#[cfg(unix)]
#[test]
fn whatever_error_comes_of_ctrl_c_the_code_is_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::copy_of("plain");
    let cargo = project.write("cargo.sh", "#!/bin/sh\nkill -INT $PPID\nexit 1\n");
    fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = project.schedcheck(&["list"]).env("CARGO", &cargo).run().expect_code(130);
    assert_eq!(output.stderr, "error: interrupted\n");
}

#[cfg(unix)]
#[test]
fn a_request_to_end_while_building_ends_the_build() {
    let project = Project::copy_of("canned");
    let cache = project.path.join("cache");
    let mut command = project.schedcheck(&["list"]).env("SCHEDCHECK_CACHE", &cache).command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("Preparing the engine") {
        std::io::BufRead::read_line(&mut stderr, &mut text).unwrap();
    }
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    stderr.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    // Nothing half-built is taken for an engine by the next call.
    project.schedcheck(&["list"]).env("SCHEDCHECK_CACHE", &cache).run().expect_code(0);
}

#[test]
fn completions_and_help_are_printed_without_a_project() {
    let project = Project::empty();
    let output = project.schedcheck(&["completions", "bash"]).run().expect_code(0);
    assert!(output.stdout.contains("--all-tests"));
    let output = project.schedcheck(&["--help"]).run().expect_code(0);
    insta::assert_snapshot!("help", output.stdout);
}
