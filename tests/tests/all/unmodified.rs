//! A crate outside this repository that does not depend on us is explored, and is afterwards as it was before.
use std::collections::BTreeMap;

use schedcheck_tests::project::Project;

/// What plain `cargo test` says about each test, and whether it had to compile anything for that.
fn cargo_test(project: &Project) -> (BTreeMap<String, String>, bool) {
    // A deadlock under real threads is rare but possible: the tests that cannot fail are enough.
    let args = ["test", "--lib", "--", "same_lock_order", "atomic_dependency", "without_threads"];
    let output = project.cargo(&args).output().expect("cargo starts");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8 on stdout");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8 on stderr");
    assert!(output.status.success(), "{stdout}{stderr}");
    let results = stdout.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let results = results.map(|(name, result)| (name.to_owned(), result.to_owned())).collect();
    (results, stderr.contains("Compiling"))
}

#[test]
fn bugs_are_found_in_a_crate_and_its_dependency_and_nothing_is_touched() {
    let project = Project::copy_of("plain_tests");
    let (before, compiled) = cargo_test(&project);
    assert_eq!(before.len(), 3, "{before:?}");
    assert!(compiled);
    let sources = project.sources();

    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
    let output = project.schedcheck(&args).run().expect_code(100);
    let verdicts = output.verdicts();
    let outcome = |test: &str| verdicts[&format!("plain_tests::lib tests::{test}")]["outcome"].clone();
    assert_eq!(outcome("opposite_lock_order"), "deadlock");
    assert_eq!(outcome("racy_dependency"), "panic");
    for test in ["same_lock_order", "atomic_dependency", "without_threads"] {
        let verdict = &verdicts[&format!("plain_tests::lib tests::{test}")];
        assert_eq!(
            (&verdict["outcome"], &verdict["complete"]),
            (&"passed".into(), &true.into()),
            "{verdict}"
        );
    }
    assert_eq!(verdicts.len(), 5);

    assert_eq!(project.sources(), sources);
    assert_eq!(cargo_test(&project), (before, false), "the same results, and nothing to compile again");
}

#[test]
fn no_lint_and_no_name_of_a_dependency_is_in_the_way() {
    let project = Project::copy_of("strict");
    let native = project
        .cargo(&["test", "--no-run", "-p", "strict", "-p", "halting", "-p", "with_std"])
        .output()
        .expect("cargo starts");
    assert!(native.status.success(), "{}", String::from_utf8_lossy(&native.stderr));
    let args = [
        "--all-tests",
        "-p",
        "strict",
        "-p",
        "halting",
        "-p",
        "with_std",
        "--no-fail-fast",
        "--message-format",
        "json",
    ];
    // Cargo, which runs this test, has put the toolchain's libraries there.
    let output = project.schedcheck(&args).env("LD_LIBRARY_PATH", "").run().expect_code(100);
    for warning in ["unused_crate_dependencies", "ambiguous"] {
        assert!(!output.stderr.contains(warning), "{}", output.stderr);
    }
    let verdicts = output.verdicts();
    let outcome = |test: &str| verdicts[test]["outcome"].clone();
    for test in ["strict::lib tests::in_two_steps", "halting::lib in_two_steps"] {
        assert_eq!(outcome(test), "panic", "{test}");
    }
    for test in [
        "strict::lib tests::in_one_step",
        "strict::lib globs::both_have_the_same_hints_and_atomics",
        "with_std::lib a_dynamic_library_comes_along",
        "with_std::lib nothing_is_unused",
    ] {
        assert_eq!(outcome(test), "passed", "{test}");
    }
}

#[test]
fn flags_of_the_user_that_the_swap_does_not_go_with_are_taken_back() {
    let project = Project::copy_of("plain_tests");
    let flags = "-Ctarget-feature=+crt-static -Clto=thin -Cembed-bitcode=yes";
    let args = ["--all-tests", "same_lock_order"];
    project.schedcheck(&args).env("RUSTFLAGS", flags).run().expect_code(0);
}

#[test]
fn without_the_flag_plain_tests_are_only_counted() {
    let project = Project::copy_of("plain_tests");
    let output = project.schedcheck(&[]).run().expect_code(4);
    assert!(
        output.stderr.contains("5 plain #[test]s would be explored with --all-tests"),
        "{}",
        output.stderr
    );
}
