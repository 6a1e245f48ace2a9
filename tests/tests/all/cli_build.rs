//! What the build does and does not touch.
use fs_err as fs;
use schedcheck_tests::project::Project;

#[test]
fn a_second_run_builds_nothing_and_a_changed_file_one_crate() {
    let project = Project::copy_of("plain");
    project.schedcheck(&["list", "--all-tests"]).run().expect_code(0);
    let again = project.schedcheck(&["list", "--all-tests"]).run().expect_code(0);
    assert!(!again.stderr.contains("Compiling"), "{}", again.stderr);
    assert!(!again.stderr.contains("Preparing"), "{}", again.stderr);
    let source = project.read("src/lib.rs");
    project.write("src/lib.rs", source.replace("fn adds()", "fn adds_up()"));
    let changed = project.schedcheck(&["list", "--all-tests"]).run().expect_code(0);
    assert_eq!(changed.stderr.matches("Compiling").count(), 1, "{}", changed.stderr);
    assert!(changed.stdout.contains("adds_up"));
}

#[test]
fn only_one_folder_of_the_target_directory_is_ours() {
    let project = Project::copy_of("plain");
    project.schedcheck(&["--all-tests"]).run().expect_code(0);
    let entries: Vec<_> = project.path.join("target").read_dir_utf8().unwrap().flatten().collect();
    let names: Vec<_> = entries.iter().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["schedcheck"]);
    let elsewhere = project.path.join("elsewhere");
    project.schedcheck(&["list", "--all-tests", "--target-dir", elsewhere.as_str()]).run().expect_code(0);
    assert!(elsewhere.join("schedcheck").is_dir());
}

#[test]
fn a_build_directory_that_the_user_has_is_not_mixed_up_with_ours() {
    let project = Project::copy_of("races");
    project.write(".cargo/config.toml", "[build]\nbuild-dir = \"elsewhere\"\n");
    let run = |more: &[&str], code| {
        let args = [&["--all-tests", "--exact", "publish::buggy_relaxed_flag"], more].concat();
        project.schedcheck(&args).run().expect_code(code);
    };
    // One build must not pass for the other.
    run(&["--races", "off"], 0);
    run(&[], 100);
    run(&["--config", "build.build-dir='elsewhere'"], 100);
    assert!(!project.path.join("elsewhere").exists());
}

#[test]
fn commands_that_start_together_share_one_engine_and_clean_removes_it() {
    let project = Project::copy_of("plain");
    let cache = project.path.join("cache");
    // What a killed build left behind.
    fs::create_dir_all(cache.join("engines/.building-old/engine")).unwrap();
    let start = |dir: &str| {
        let call =
            project.schedcheck(&["list", "--all-tests", "--target-dir", dir]).env("SCHEDCHECK_CACHE", &cache);
        call.command()
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children = [start("target"), start("two"), start("three")];
    let mut told = String::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        told.push_str(&stderr);
    }
    assert!(told.contains("Preparing the engine for rustc"), "{told}");
    assert!(told.contains("Waiting for another cargo schedcheck that builds the engine"), "{told}");
    let mut names: Vec<_> =
        cache.join("engines").read_dir_utf8().unwrap().flatten().map(|e| e.into_path()).collect();
    names.retain(|path| path.is_dir());
    assert_eq!(names.len(), 1, "{names:?}");

    let clean = || project.schedcheck(&["clean"]).env("SCHEDCHECK_CACHE", &cache).run().expect_code(0);
    let nowhere = Project::empty();
    nowhere.schedcheck(&["clean"]).env("SCHEDCHECK_CACHE", &cache).run().expect_code(101);
    assert!(names[0].exists(), "half of it was done");
    clean();
    assert!(!project.path.join("target/schedcheck").exists());
    let engines: Vec<_> = cache.join("engines").read_dir_utf8().unwrap().flatten().collect();
    assert!(engines.iter().all(|entry| entry.file_name() == "lock"), "{engines:?}");
    clean();
}

#[test]
fn an_engine_that_cannot_be_built_is_explained() {
    let project = Project::copy_of("plain");
    let call = project.schedcheck(&["list", "--offline"]);
    let output = call
        .env("SCHEDCHECK_CACHE", project.path.join("cache"))
        .env("CARGO_HOME", project.path.join("empty-home"))
        .run();
    let output = output.expect_code(96);
    assert!(output.stderr.contains("could not prepare the engine for rustc"), "{}", output.stderr);
    assert!(output.stderr.contains("run the command again"), "{}", output.stderr);
}

#[cfg(unix)]
#[test]
fn a_wrapper_that_the_user_has_is_still_called() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::copy_of("plain");
    let log = project.path.join("log");
    let wrapper = project.write("wrapper.sh", format!("#!/bin/sh\necho \"$*\" >> {log}\nexec \"$@\"\n"));
    fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.schedcheck(&["list", "--all-tests"]).env("RUSTC_WRAPPER", &wrapper).run().expect_code(0);
    let calls = project.read("log");
    let build = calls
        .lines()
        .find(|call| call.contains("--crate-name plain") && call.contains(" --test "))
        .unwrap_or_else(|| panic!("{calls}"));
    assert!(build.contains(":std=") && build.contains(":test="), "{build}");
    assert!(build.contains("--cfg schedcheck"), "{build}");
}

#[test]
fn link_time_optimisation_is_switched_off_wherever_it_is_switched_on() {
    let project = Project::copy_of("plain");
    let list = |args: &[&str]| {
        let call = project.schedcheck(&[&["list", "--all-tests", "-v"], args].concat());
        let told = call.env("CARGO_PROFILE_TEST_LTO", "true").run().expect_code(0).stderr;
        assert!(!told.contains("lto=fat") && !told.contains(" -C lto "), "{told}");
    };
    // Of the environment alone: no profile is in the manifest.
    list(&[]);
    let manifest = project.read("Cargo.toml");
    let profiles = "[profile.release]\nlto = true\n[profile.mine]\ninherits = \"release\"\nlto = \"fat\"\n";
    project.write("Cargo.toml", format!("{manifest}\n{profiles}"));
    list(&["--release"]);
    list(&["--profile", "mine", "--config", "profile.mine.lto=\"thin\""]);
}

#[test]
fn skipped_crates_keep_the_real_std() {
    let project = Project::copy_of("plain");
    let manifest = project.read("Cargo.toml");
    project.write("Cargo.toml", format!("{manifest}\n[package.metadata.schedcheck]\nskip = [\"plain\"]\n"));
    let output = project.schedcheck(&["list", "--all-tests"]).run().expect_code(4);
    assert!(output.stderr.contains("plain::lib has a test harness of its own"), "{}", output.stderr);
    project.write("Cargo.toml", manifest);
    project.schedcheck(&["list", "--all-tests"]).run().expect_code(0);
    project.write(".config/schedcheck.toml", "skip = [\"plain\"]\n");
    project.schedcheck(&["list", "--all-tests"]).run().expect_code(4);
}

#[test]
fn every_kind_of_target_is_found_and_host_crates_are_left_alone() {
    let project = Project::copy_of("workspace");
    let list = |args: &[&str]| {
        let output = project.schedcheck(&[&["list", "--all-tests"], args].concat()).run().expect_code(0);
        (output.stdout, output.stderr)
    };
    let (all, notes) = list(&["--workspace"]);
    assert_eq!(
        all,
        "alpha::bin/alpha of_the_binary\nalpha::flow sees_what_cargo_test_gives\nalpha::lib is_under_control\n"
    );
    assert!(notes.contains("derive::lib has a test harness of its own (or is a proc macro)"), "{notes}");
    assert_eq!(list(&["-p", "alpha", "--lib"]).0, "alpha::lib is_under_control\n");
    assert_eq!(list(&["--workspace", "--exclude", "derive", "--test", "flow"]).0.lines().count(), 1);
    let run = project.schedcheck(&["--all-tests", "-p", "alpha", "--message-format", "json"]);
    let output = run.env("SCHEDCHECK_MAX_TIME", "5s").run().expect_code(0);
    assert_eq!(output.json().last().unwrap()["passed"], 3);
}
