//! A replay under gdb: it stops at every step, the threads are real and have their names.
use std::process::Command;

use schedcheck_tests::project::Project;

/// The steps of the replayed deadlock, each by the thread that takes it, as gdb announces it.
const STOPS: [&str; 7] = ["main", "main", "main", "main", "main", "thread-1", "thread-1"];

fn gdb_is_there() -> bool {
    let there = Command::new("gdb").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: gdb is not installed");
    }
    there
}

/// `gdb` with these commands.
fn gdb(commands: &[&str]) -> String {
    let commands: Vec<String> = commands.iter().map(|command| format!("-ex '{command}'")).collect();
    format!("gdb --batch -nx {} --args", commands.join(" "))
}

#[test]
fn a_debugger_stops_at_every_step_and_sees_all_threads() {
    if !gdb_is_there() {
        return;
    }
    let (project, file) = Project::with_a_deadlock();
    let mut commands = vec!["break schedcheck_step", "run"];
    commands.resize(commands.len() + STOPS.len() - 1, "continue");
    commands.extend(["info threads", "thread apply all backtrace", "delete", "continue"]);
    let output = project.schedcheck(&["replay", &file, "--debugger", &gdb(&commands)]).run().expect_code(100);
    let said = &output.stdout;

    let stops = said.lines().filter(|line| line.contains("hit Breakpoint 1"));
    let threads: Vec<&str> = stops.filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(threads, STOPS, "{said}");
    // A thread that waits for its turn is seen where the test is, not somewhere in the engine.
    for place in ["src/lib.rs:12", "src/lib.rs:17"] {
        assert!(said.contains(place), "{place} is not in:\n{said}");
    }
    assert!(said.contains("exited normally"), "{said}");
    assert!(output.stderr.contains("this is the recorded failure, repeated"), "{}", output.stderr);
}

#[test]
fn a_debugger_steps_from_line_to_line_while_other_threads_take_their_turns() {
    if !gdb_is_there() {
        return;
    }
    let (project, file) = Project::with_a_deadlock();
    // Line 16 locks in the test's own thread; then the other thread takes its turn, up to its second lock.
    let commands = [
        "break src/lib.rs:16",
        "run",
        "next",
        "next",
        "frame",
        "tbreak src/lib.rs:13",
        "continue",
        "info threads",
    ];
    let output = project.schedcheck(&["replay", &file, "--debugger", &gdb(&commands)]).run().expect_code(130);
    let said = &output.stdout;
    let place = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text} is not in:\n{said}"));
    let (line, next, other) = (place("lib.rs:16"), place("let one = first.lock()"), place("lib.rs:13"));
    assert!(line < next && next < other, "{said}");
    assert!(said.contains("thread-1"), "{said}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_breakpoint_can_name_the_step() {
    if !gdb_is_there() {
        return;
    }
    let (project, file) = Project::with_a_deadlock();
    let commands = ["break schedcheck_step if $rdi == 6", "run", "print $rdi", "print $rsi", "kill"];
    // The test did not come to its end: that is no verdict.
    let output = project.schedcheck(&["replay", &file, "--debugger", &gdb(&commands)]).run().expect_code(130);
    assert!(output.stdout.contains("$1 = 6\n$2 = 1\n"), "{}", output.stdout);
    assert!(output.stderr.contains("the debugger ended before the test did"), "{}", output.stderr);
}

#[test]
fn a_debugger_that_does_not_exist_is_named() {
    let (project, file) = Project::with_a_deadlock();
    let output = project.schedcheck(&["replay", &file, "--debugger", "no-such-debugger --args"]).run();
    let output = output.expect_code(96);
    assert!(output.stderr.contains("could not start `no-such-debugger`"), "{}", output.stderr);
}
