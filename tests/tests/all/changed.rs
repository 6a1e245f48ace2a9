//! `--changed-since` and `--in-diff`: schedules that preempt at changed lines come first.
use schedcheck_tests::project::Project;
use std::process::Command;

/// Executions until the bug of `tests::a_label` is found.
fn executions(project: &Project, args: &[&str]) -> u64 {
    let common =
        ["--all-tests", "--exact", "tests::a_label", "--message-format", "json", "--priority", "dfs"];
    let verdicts = project.schedcheck(&[&common, args].concat()).run().expect_code(100).verdicts();
    verdicts["named::lib tests::a_label"]["executions"].as_u64().expect("a number")
}

fn git(project: &Project, args: &[&str]) {
    let who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"];
    let mut command = Command::new("git");
    command.args(who).args(args).current_dir(&project.path).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().expect("git starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

const WRONG: &str = "    let before = number.load(SeqCst);\n    number.store(before + 1, SeqCst);\n";
const RIGHT: &str = "    number.fetch_add(1, SeqCst);\n";

#[test]
fn a_bug_at_a_changed_line_is_found_first() {
    let project = Project::copy_of("named");
    let source = project.read("src/lib.rs");
    assert!(source.contains(WRONG));
    project.write("src/lib.rs", source.replace(WRONG, RIGHT));
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "src", "Cargo.toml"]);
    git(&project, &["commit", "--quiet", "--message", "right"]);
    project.write("src/lib.rs", &source);

    let blind = executions(&project, &[]);
    let guided = executions(&project, &["--changed-since", "HEAD"]);
    assert!(guided * 10 <= blind, "{guided} instead of {blind}");

    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -17,1 +17,2 @@\n-    number.fetch_add(1, SeqCst);\n\
                +    let before = number.load(SeqCst);\n+    number.store(before + 1, SeqCst);\n";
    let path = project.write("change.diff", diff);
    assert_eq!(executions(&project, &["--in-diff", path.as_str()]), guided);

    // A change elsewhere leads elsewhere, but nothing is lost.
    let diff = diff.replace("17", "25");
    let path = project.write("other.diff", diff);
    assert!(executions(&project, &["--in-diff", path.as_str()]) > guided);
}

#[test]
fn what_cannot_be_compared_with_is_an_error() {
    let project = Project::copy_of("named");
    let error = |code, args: &[&str]| project.schedcheck(args).run().expect_code(code).own_stderr();
    // The temporary directory is in no repository.
    let text = error(2, &["--changed-since", "HEAD"]);
    assert!(text.contains("error: --changed-since needs a git repository"), "{text}");
    git(&project, &["init", "--quiet"]);
    for revision in ["no-such-revision", "--output=x"] {
        let argument = format!("--changed-since={revision}");
        let text = error(2, &[&argument]);
        assert!(text.contains(&format!("git knows no revision `{revision}`")), "{text}");
    }
    let text = error(96, &["--in-diff", "missing.diff"]);
    assert!(text.contains("missing.diff"), "{text}");
    project.write("bad.diff", "--- a/x\n+++ b/x\n@@ nonsense @@\n");
    let text = error(96, &["--in-diff", "bad.diff"]);
    assert!(text.contains("bad.diff:3: a hunk should begin like `@@ -1,2 +3,4 @@`"), "{text}");
    error(2, &["--in-diff", "bad.diff", "--changed-since", "HEAD"]);
}
