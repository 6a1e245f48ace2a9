//! A replay file outlives edits elsewhere in the code; where it cannot, it says so and is no pass.
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;

const LIB: &str = "src/lib.rs";

fn edit(project: &Project, from: &str, to: &str) {
    let text = project.read(LIB);
    assert!(text.contains(from), "{from} is not in:\n{text}");
    project.write(LIB, text.replacen(from, to, 1));
}

fn replay(project: &Project, file: &str, code: i32) -> Output {
    project.schedcheck(&["replay", file]).run().expect_code(code)
}

#[test]
fn lines_and_operations_may_come_and_go_elsewhere() {
    let (project, file) = Project::with_a_deadlock();
    let output = replay(&project, &file, 100);
    assert!(!output.stderr.contains("the code has changed"), "{}", output.stderr);

    // Lines above, and deeper indentation.
    edit(&project, "#[cfg(test)]\n", "/// New.\npub fn new() {}\n\n#[cfg(test)]\n");
    edit(
        &project,
        "            let two = b.lock().unwrap();",
        "                let two = b.lock().unwrap();",
    );
    let output = replay(&project, &file, 100);
    assert!(output.stderr.contains("this is the recorded failure, repeated"), "{}", output.stderr);

    // Operations before the decision, in both threads: every step has another number now.
    let more = "drop(Mutex::new(0).lock());";
    edit(&project, "        let (first, second)", &format!("        {more}\n        let (first, second)"));
    edit(&project, "            let one = a", &format!("            {more}\n            let one = a"));
    let output = replay(&project, &file, 100);
    assert!(output.stderr.contains("the code has changed since it was recorded"), "{}", output.stderr);
    assert!(output.stderr.contains("deadlock: 2 threads wait for each other"), "{}", output.stderr);
}

#[test]
fn a_fixed_program_is_no_pass_and_no_failure() {
    let (project, file) = Project::with_a_deadlock();
    // Both threads lock in the same order now, and the recorded point is still there.
    edit(&project, "let two = second.lock()", "let one = first.lock()");
    edit(
        &project,
        "let one = first.lock().unwrap();\n        assert",
        "let two = second.lock().unwrap();\n        assert",
    );
    let output = replay(&project, &file, 6);
    assert!(output.stderr.contains("the recorded deadlock did not happen"), "{}", output.stderr);
    assert!(!output.stderr.contains("PASS"), "{}", output.stderr);
}

#[test]
fn a_point_that_is_gone_is_named() {
    let (project, file) = Project::with_a_deadlock();
    edit(
        &project,
        "let one = first.lock().unwrap();\n        assert",
        "let one = Mutex::new(1).into_inner().unwrap();\n        let one = &one;\n        assert",
    );
    edit(&project, "drop((one, two));", "drop(two);");
    let output = replay(&project, &file, 6);
    let text = &output.stderr;
    assert!(text.contains("the replay left the recorded schedule at step 5: expected"), "{text}");
    assert!(
        text.contains("lock at src/lib.rs:17:25 (occurrence 1), found it does not: its last step is join"),
        "{text}"
    );
}
