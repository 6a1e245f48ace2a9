//! Deadlocks of asynchronous tasks: the threads that run them wait in the library, with no line of the user's on their stacks.
use schedcheck_tests::project::Project;

#[test]
fn tasks_that_wait_for_each_other_are_shown_where_they_do() {
    let project = Project::copy_of("tasks");
    let output = project.schedcheck(&["--all-tests"]).run().expect_code(100);
    let report = output.own_stderr();
    for line in [
        "--> src/lib.rs:25:17",
        "`tokio-rt-worker` was here last, step",
        "`main` waits here for a notification of condvar#1\n",
        "BLOCKED block_on lib.rs:25",
        " in lock lib.rs:",
        " tokio (",
    ] {
        assert!(report.contains(line), "no `{line}` in {report}");
    }
    let last = report.lines().filter(|line| line.ends_with(", in `lock`")).count();
    assert!(last >= 2, "both tasks: {report}");
    let file = "target/schedcheck/failures/tasks.lib.tests-tasks_lock_each_other_out.toml";
    project.schedcheck(&["replay", file]).run().expect_code(100);
}
