//! What people see while it runs: on a terminal, in a log, in colour and without, when nobody listens.
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use schedcheck_tests::project::Project;

static CANNED: LazyLock<&Project> = LazyLock::new(|| Project::shared("canned"));

/// Runs the command on a terminal of its own and returns all that it was sent, or nothing where that cannot be had.
fn on_a_terminal(project: &Project, columns: u32, args: &[&str], env: &[(&str, &str)]) -> Option<String> {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: `script` is not installed");
        return None;
    }
    let call = project.schedcheck(args).command();
    let words = std::iter::once(call.get_program()).chain(call.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let line = format!("stty cols {columns} rows 40; {}", words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(&project.path).stdin(Stdio::null());
    for (name, value) in call.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TERM", "xterm-256color").env("CARGO_TERM_COLOR", "auto");
    command.envs(env.iter().copied());
    let output = command.output().expect("script starts");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Without the sequences that colour text and move the cursor.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        rest = &rest[end..];
    }
    plain + rest
}

#[test]
fn a_terminal_shows_how_far_the_search_is() {
    let project = &*CANNED;
    let Some(text) = on_a_terminal(project, 150, &["takes_its_time"], &[]) else { return };
    let shown = plain(&text);
    let bar = "0/1 tests  takes_its_time  512 schedules, 512/s, done up to 1 preemption, ≈ 25 %, ≈ 3 s left";
    assert!(shown.contains(bar), "{shown}");
    assert!(shown.contains("1024 schedules"), "{shown}");
    // It was drawn again and again in the same place, and removed in the end.
    assert!(text.contains("\u{1b}[2K"), "{text:?}");
    let last = shown.lines().last().unwrap_or_default();
    assert!(last.contains("Summary [") && last.contains("1 test: 1 passed, 0 failed"), "{last}");
}

#[test]
fn what_tests_say_does_not_tear_the_bar() {
    let project = &*CANNED;
    let Some(text) = on_a_terminal(project, 150, &["takes_its_time", "-v"], &[]) else { return };
    let shown = plain(&text);
    assert!(shown.contains("stderr of takes_its_time"), "{shown}");
    for line in shown.split(['\r', '\n']).filter(|line| line.contains("stderr of")) {
        assert_eq!(line.trim(), "stderr of takes_its_time");
    }
}

#[test]
fn a_log_gets_a_line_now_and_then() {
    let project = &*CANNED;
    project.schedcheck(&["list"]).run().expect_code(0);
    let mut command = project.schedcheck(&["is_slow"]).command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // The first sign of life comes before the first test has said anything.
    assert!(lines.any(|line| line.contains("Exploring 1 test in 1 binary")));
    let counter = lines.find(|line| line.contains("0/1 tests  is_slow")).expect("a counter");
    assert!(counter.trim_start().starts_with("Exploring") && !counter.contains('\u{1b}'), "{counter}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn colours_are_for_terminals_unless_somebody_objects() {
    let project = &*CANNED;
    let red = "\u{1b}[1m\u{1b}[91m";
    let Some(text) = on_a_terminal(project, 120, &["panics"], &[]) else { return };
    assert!(text.contains(red), "{text:?}");
    // Sequences that set colours end with an `m`.
    let letters = |text: &str| {
        let ends = text
            .split('\u{1b}')
            .skip(1)
            .filter_map(|rest| rest.find(|c: char| c.is_ascii_alphabetic()).map(|at| &rest[at..]));
        ends.filter(|end| end.starts_with('m')).count()
    };
    let text = on_a_terminal(project, 120, &["panics"], &[("NO_COLOR", "1")]).unwrap();
    // Cargo colours its own lines by its own rules.
    let own = text.split_once("Exploring").map_or("", |(_, own)| own);
    assert!(!own.is_empty() && letters(own) == 0, "{own:?}");
    let text = on_a_terminal(project, 120, &["panics", "--color", "never"], &[]).unwrap();
    assert_eq!(letters(&text), 0, "{text:?}");
}

#[test]
fn a_narrow_terminal_gets_a_list_instead_of_a_table() {
    let project = &*CANNED;
    let Some(text) = on_a_terminal(project, 46, &["deadlocks"], &[]) else { return };
    let shown = plain(&text);
    assert!(shown.contains("    5 ⇄ thread 0.2: mutex.lock mutex#2 lib.rs…"), "{shown}");
    assert!(!shown.contains(" step   main"), "{shown}");
    let table = project.schedcheck(&["deadlocks"]).env("COLUMNS", "80").run().expect_code(100).stderr;
    let wide =
        table.lines().skip_while(|line| !line.starts_with(" step")).take_while(|line| !line.is_empty());
    let wide: Vec<&str> = wide.collect();
    assert!(wide.len() > 5 && wide.iter().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn nobody_has_to_listen() {
    // Its own: cargo fails if it cannot say that it waits for another one.
    let project = Project::copy_of("canned");
    project.schedcheck(&["list"]).run().expect_code(0);
    // Stderr is closed by the other side before anything is written to it.
    let mut command = project.schedcheck(&["panics"]).command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(100));
    let mut command = project.schedcheck(&["list"]).command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn quiet_and_verbose_differ_in_what_is_said_not_in_the_verdict() {
    let project = &*CANNED;
    let passed = project.schedcheck(&["--exact", "passes", "-q"]).run().expect_code(0);
    assert_eq!(passed.own_stderr().lines().count(), 1, "{}", passed.stderr);
    let normal = project.schedcheck(&["crashes"]).run().expect_code(100).own_stderr();
    let verbose = project.schedcheck(&["crashes", "-v"]).run().expect_code(100).own_stderr();
    // All steps, also those of no interest to others.
    assert!(verbose.contains("    2          begin") && !normal.contains("begin"), "{verbose}");
}

#[test]
fn only_the_output_of_the_reported_schedule_is_shown() {
    let project = Project::copy_of("unmodified");
    let text = project
        .read("src/lib.rs")
        .replace("let counter = Arc", "println!(\"out\"); eprintln!(\"err\");\n        let counter = Arc");
    project.write("src/lib.rs", text);
    let output = project.schedcheck(&["--all-tests", "counts_to_two"]).run().expect_code(100);
    let shown = "output of the test in this schedule:\n  | out\n  | err\n";
    assert!(output.stderr.contains(shown), "{}", output.stderr);
    assert_eq!(
        (output.stderr.matches("| out\n").count(), output.stdout.as_str()),
        (1, ""),
        "{}",
        output.stderr
    );
    let output = project.schedcheck(&["--all-tests", "adds_under_a_lock"]).run().expect_code(0);
    assert!(!output.stderr.contains("| out"), "{}", output.stderr);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_are_no_surprise() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let strange = OsStr::from_bytes(b"strange-\xff");
    let project = Project::copy_of("plain");
    std::fs::write(project.path.as_std_path().join("src").join(strange), "").unwrap();
    project.schedcheck(&["--all-tests"]).run().expect_code(0);
    // Cargo itself cannot build in such a folder, nor can we.
    let folder = project.path.as_std_path().join(strange);
    std::fs::create_dir(&folder).unwrap();
    for file in ["Cargo.toml", "src"] {
        std::fs::rename(project.path.as_std_path().join(file), folder.join(file)).unwrap();
    }
    let mut command = project.schedcheck(&["--all-tests"]).command();
    let mut child = command.current_dir(&folder).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(96 | 101)), "{code:?}: {text}");
    assert!(text.contains("UTF-8") && !text.contains("panicked"), "{text}");
    let mut command = project.schedcheck(&["--junit"]).command();
    assert_eq!(command.arg(strange).stderr(Stdio::null()).status().unwrap().code(), Some(2));
}
