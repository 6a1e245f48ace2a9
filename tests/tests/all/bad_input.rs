//! Replay and config files that nobody should believe: an error with a reason, never a panic, a hang or a pass.
use schedcheck_tests::project::Project;

/// A project with a deadlock, and the text of its replay file.
fn deadlock() -> (Project, String) {
    let (project, file) = Project::with_a_deadlock();
    let text = project.read(&file);
    (project, text)
}

/// Replays a file with these contents and insists on one of the codes.
#[track_caller]
fn replay(project: &Project, text: impl AsRef<[u8]>, codes: &[i32], what: &str) -> String {
    project.write("bad.toml", text);
    let output = project.schedcheck(&["replay", "bad.toml"]).run();
    assert!(codes.contains(&output.code), "{what}: {}\n{}", output.code, output.stderr);
    assert!(!output.stderr.contains("panicked at"), "{what}: {}", output.stderr);
    assert!(!output.stderr.contains("PASS"), "{what}: {}", output.stderr);
    output.stderr
}

#[test]
fn schedules_that_cannot_be_are_refused_by_the_engine() {
    let (project, text) = deadlock();
    assert!(text.contains("\nstep = "), "{text}");
    let step = text.lines().find(|line| line.starts_with("step = ")).unwrap();
    let thread = text.lines().find(|line| line.starts_with("thread = ")).unwrap();
    let edits: [(&str, &str, &[i32]); 12] = [
        // The decision is found again where it belongs, and only there.
        (step, "step = 4000000000", &[100]),
        (step, "step = 99999999999", &[96]),
        (step, "step = -1", &[96]),
        (thread, "thread = \"0.9.9\"", &[6]),
        (thread, "thread = \"\"", &[6]),
        (thread, "thread = \"main\"", &[6]),
        ("alt = \"0\"", "alt = \"65533\"", &[6]),
        // What has no alternatives has none to choose.
        ("alt = \"0\"", "alt = \"7\"", &[100]),
        ("alt = \"0\"", "alt = \"70000\"", &[96]),
        ("name = \"tests::opposite_order\"", "name = \"tests::adds_under_a_lock\"", &[6]),
        ("package = \"unmodified\"", "package = \"modified\"", &[96]),
        ("target = \"lib\"", "target = \"config/evil\"", &[96]),
    ];
    for (from, to, codes) in edits {
        assert!(text.contains(from), "{from} is not in:\n{text}");
        replay(&project, text.replacen(from, to, 1), codes, to);
    }
    // Without any of the names only the step is left, and it is out of range.
    let nameless: String = text
        .lines()
        .take_while(|line| *line != "[schedule.deltas.instead]")
        .filter(|line| !line.starts_with("op = ") && !line.starts_with("site = "))
        .map(|line| format!("{line}\n"))
        .collect();
    replay(&project, nameless.replacen(step, "step = 4000000000", 1), &[6], "out of range");
}

#[test]
fn a_million_steps_end_in_an_error() {
    let (project, text) = deadlock();
    let (head, _) = text.split_once("[[schedule.deltas]]").unwrap();
    let choices = text.lines().find(|line| line.starts_with("choices = ")).unwrap();
    let mut many = head.replacen(choices, "choices = 1000000", 1);
    for step in 0..1_000_000 {
        many.push_str(&format!("[[schedule.deltas]]\nstep = {step}\nthread = \"0\"\n"));
    }
    let message = replay(&project, many, &[96], "a million steps");
    assert!(message.contains("it is larger than 32 MiB"), "{message}");
    // Not so many that the file is refused, but more than an execution may have.
    let mut many = head.replacen(choices, "choices = 30000", 1);
    for step in 0..30_000 {
        many.push_str(&format!("[[schedule.deltas]]\nstep = {step}\nthread = \"0\"\n"));
    }
    replay(&project, many, &[6], "thirty thousand steps");
}

#[test]
fn config_files_that_are_no_config_are_refused() {
    let project = Project::copy_of("canned");
    let cases: [(&[u8], &str); 7] = [
        (b"\xff\xfe", "schedcheck.toml:1: the file is not valid UTF-8"),
        (b"[preset.default]\nbound = 1\n\xff", "schedcheck.toml:3: the file is not valid UTF-8"),
        (b"[preset.default\n", "schedcheck.toml:1:"),
        (b"[preset.default]\nbound = -1\n", "schedcheck.toml:2:9:"),
        (b"[preset.default]\nmax-time = \"soon\"\n", "schedcheck.toml:2:12:"),
        (
            b"[presets.default]\n",
            "schedcheck.toml:1:2: unknown field `presets`, expected one of `skip`, `trusted`, `preset` (did you mean `preset`?)",
        ),
        (
            b"[preset.default]\ninherits = \"ci\"\n[preset.ci]\ninherits = \"default\"\n",
            "inherits from itself",
        ),
    ];
    for (bytes, message) in cases {
        project.write(".config/schedcheck.toml", bytes);
        let output = project.schedcheck(&["list"]).run().expect_code(96);
        assert!(output.stderr.contains(message), "{message} is not in: {}", output.stderr);
    }
    project.write(".config/schedcheck.toml", "");
    project.schedcheck(&["list"]).run().expect_code(0);
}
