//! Replay files: written before anything is said, read again with suspicion, never a pass by accident.
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use schedcheck_tests::project::Project;

const DEADLOCK: &str = "target/schedcheck/failures/canned.canned.deadlocks.toml";

fn project_with_deadlock() -> Project {
    let project = Project::copy_of("canned");
    project.schedcheck(&["deadlocks", "--seed", "7"]).run().expect_code(100);
    project
}

#[test]
fn a_recorded_failure_happens_again() {
    let project = project_with_deadlock();
    let text = project.read(DEADLOCK);
    for line in
        ["version = 1", "package = \"canned\"", "outcome = \"deadlock\"", "fingerprint = \"5eed\"", "[tool]"]
    {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    let request = project.path.join("request");
    let call = project.schedcheck(&["replay", DEADLOCK, "--message-format", "json"]);
    let output = call.env("CANNED_KEEP_REQUEST", &request).run().expect_code(100);
    let lines = output.json();
    assert_eq!(lines[2]["outcome"], "deadlock");
    assert_eq!(lines[2]["replay"], DEADLOCK);
    assert!(project.read("request").contains("set.seed 7\n"));
}

#[test]
fn the_file_is_there_before_anything_is_said() {
    let project = Project::copy_of("canned");
    for (args, sign) in [(&["--message-format", "json"][..], "test-finished"), (&[][..], "FAIL [")] {
        let mut command = project.schedcheck(&[&["deadlocks"], args].concat()).command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let mut lines: Box<dyn BufRead> = match args.is_empty() {
            true => Box::new(BufReader::new(stderr)),
            false => Box::new(BufReader::new(stdout)),
        };
        let mut line = String::new();
        while !line.contains(sign) {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{sign} never came");
            if line.contains(sign) {
                project.read(DEADLOCK);
            }
        }
        std::io::copy(&mut lines, &mut std::io::sink()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(100));
        fs_err::remove_file(project.path.join(DEADLOCK)).unwrap();
    }
}

#[test]
fn a_trace_has_every_step() {
    let project = Project::copy_of("unmodified");
    project.schedcheck(&["--all-tests", "opposite_order"]).run().expect_code(100);
    let file = "target/schedcheck/failures/unmodified.lib.tests-opposite_order.toml";
    let shown = |args: &[&str]| {
        let output = project.schedcheck(&[&["replay", file], args].concat()).run().expect_code(100);
        let numbered =
            |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok());
        let table = output
            .stderr
            .lines()
            .skip_while(|line| !line.starts_with(" step"))
            .take_while(|line| !line.is_empty());
        table.filter(numbered).count()
    };
    // Two threads are blocked after seven steps.
    assert_eq!(shown(&["--trace"]), 7 + 2);
    assert!(shown(&[]) < 7);
}

#[test]
fn a_replay_that_leaves_its_schedule_says_where() {
    let project = Project::copy_of("canned");
    project.schedcheck(&["panics"]).run().expect_code(100);
    let output =
        project.schedcheck(&["replay", "target/schedcheck/failures/canned.canned.panics.toml"]).run();
    let output = output.expect_code(6);
    assert!(output.stderr.contains("at step 3: expected mutex.lock, found atomic.load"), "{}", output.stderr);
}

#[test]
fn a_failure_that_does_not_come_is_no_pass() {
    let project = Project::copy_of("canned");
    project.schedcheck(&["loses_a_wakeup"]).run().expect_code(100);
    let output =
        project.schedcheck(&["replay", "target/schedcheck/failures/canned.canned.loses_a_wakeup.toml"]).run();
    let output = output.expect_code(6);
    assert!(output.stderr.contains("the recorded deadlock did not happen"), "{}", output.stderr);
}

#[test]
fn files_that_are_not_whole_or_not_ours_are_refused() {
    let project = project_with_deadlock();
    let whole = project.read(DEADLOCK);
    let cut = whole.split("[[schedule.deltas]]").next().unwrap();
    let cases: [(&str, &[u8]); 6] = [
        ("no `version`", b""),
        ("not UTF-8", b"\xff\xfe\0"),
        ("version 2 is not known here", b"version = 2"),
        ("line 2", b"version = 1\n[test\n"),
        ("no `version`", b"[package]\nname = \"x\"\n"),
        ("0 of 1 choices; was it cut short?", cut.as_bytes()),
    ];
    for (message, bytes) in cases {
        project.write("bad.toml", bytes);
        let output = project.schedcheck(&["replay", "bad.toml"]).run().expect_code(96);
        assert!(output.stderr.contains(message), "{message}: {}", output.stderr);
    }
    let output = project.schedcheck(&["replay", "src"]).run().expect_code(96);
    assert!(output.stderr.contains("not a replay file"), "{}", output.stderr);
    let output = project.schedcheck(&["replay", "missing.toml"]).run().expect_code(96);
    assert!(output.stderr.contains("missing.toml"), "{}", output.stderr);
}

#[test]
fn a_file_of_another_test_is_refused() {
    let project = project_with_deadlock();
    let other = project.read(DEADLOCK).replace("name = \"deadlocks\"", "name = \"renamed\"");
    project.write("other.toml", other);
    let output = project.schedcheck(&["replay", "other.toml"]).run().expect_code(96);
    assert!(output.stderr.contains("canned::canned renamed"), "{}", output.stderr);
}

#[test]
fn a_failure_of_a_benchmark_happens_again() {
    let project = Project::copy_of("unmodified");
    let test = "#[test]\nfn fails() {\n    panic!(\"always\");\n}\n";
    project.write("benches/speed.rs", test);
    let args = ["--all-tests", "--exact", "fails", "--message-format", "json"];
    for selection in [&["--all-targets"][..], &["--benches"], &["--bench", "speed"]] {
        let verdicts = project.schedcheck(&[&args, selection].concat()).run().expect_code(100).verdicts();
        let file = verdicts["unmodified::bench/speed fails"]["replay"].as_str().unwrap();
        let output = project.schedcheck(&["replay", file]).run().expect_code(100);
        assert!(output.stderr.contains("this is the recorded failure, repeated"), "{}", output.stderr);
    }
}

#[test]
fn the_command_to_replay_has_what_the_build_depends_on() {
    let project = Project::copy_of("canned");
    project.write("other.toml", "skip = [\"ring\"]\n");
    let flags = ["--config", "profile.dev.opt-level=1", "--config-file", "other.toml"];
    let output = project.schedcheck(&[&["deadlocks"], &flags[..]].concat()).run().expect_code(100);
    let command = format!(
        "cargo schedcheck replay {DEADLOCK} --config-file other.toml --config profile.dev.opt-level=1"
    );
    assert!(output.stderr.contains(&format!("replay with: {command}\n")), "{}", output.stderr);
    let words: Vec<&str> = command.split(' ').skip(2).collect();
    let output = project.schedcheck(&words).run().expect_code(100);
    assert!(output.stderr.contains("this is the recorded failure, repeated"), "{}", output.stderr);
    let output = project.schedcheck(&["deadlocks", "--no-config"]).run().expect_code(100);
    assert!(output.stderr.contains(&format!("replay {DEADLOCK} --no-config\n")), "{}", output.stderr);
}
