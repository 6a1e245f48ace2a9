//! Where settings come from: command line > environment > attribute > override > preset > default.
//!
//! Each level is shown by its effect: without preemptions the racy count of the fixture `marked_tests` passes.
use schedcheck_tests::project::Project;

/// A test whose attribute says `bound = 0`, and one without a bound.
const WITH: &str = "tests::passes_racy_count_without_preemptions";
const WITHOUT: &str = "tests::fails_racy_count";

/// A config file with these bounds; an override is for all tests.
fn config(preset: Option<u32>, override_: Option<u32>) -> String {
    let mut text = String::from("[preset.default]\n");
    if let Some(bound) = preset {
        text.push_str(&format!("bound = {bound}\n"));
    }
    if let Some(bound) = override_ {
        text.push_str(&format!("[[preset.default.overrides]]\nfilter = \"racy\"\nbound = {bound}\n"));
    }
    text
}

#[test]
fn every_source_is_stronger_than_the_next() {
    let project = Project::copy_of("marked_tests");
    // Test; preset, override, environment, command line; the source that decides, and the bound it says.
    type Case = (&'static str, [Option<u32>; 4], &'static str, Option<u32>);
    let cases: [Case; 9] = [
        (WITHOUT, [None, None, None, None], "no bound", None),
        (WITHOUT, [Some(0), None, None, None], "preset `default` of .config/schedcheck.toml", Some(0)),
        (WITHOUT, [Some(0), Some(1), None, None], "override for `racy` in preset `default`", Some(1)),
        (WITHOUT, [Some(1), Some(0), None, None], "override for `racy` in preset `default`", Some(0)),
        (WITH, [Some(1), Some(1), None, None], "attribute of the test", Some(0)),
        (WITH, [None, None, Some(1), None], "environment variable SCHEDCHECK_BOUND", Some(1)),
        (WITHOUT, [Some(1), Some(1), Some(0), None], "environment variable SCHEDCHECK_BOUND", Some(0)),
        (WITH, [None, None, Some(1), Some(0)], "command line", Some(0)),
        (WITH, [None, None, Some(0), Some(1)], "command line", Some(1)),
    ];
    for (test, [preset, override_, env, flag], origin, bound) in cases {
        project.write(".config/schedcheck.toml", config(preset, override_));
        let case = format!("{test} {preset:?} {override_:?} {env:?} {flag:?}");
        let flag = flag.map(|bound| bound.to_string());
        let flags: Vec<&str> = flag.iter().flat_map(|bound| ["--bound", bound.as_str()]).collect();
        let call = |args: &[&str]| {
            let call = project.schedcheck(&[args, &["--lib", "--exact", test], &flags].concat());
            match env {
                Some(bound) => call.env("SCHEDCHECK_BOUND", bound.to_string()).run(),
                None => call.run(),
            }
        };
        let shown = call(&["show-config"]).expect_code(0).stdout;
        let line = shown.lines().find(|line| line.trim_start_matches("# ").starts_with("bound"));
        assert!(line.is_some_and(|line| line.contains(origin)), "{case}: {shown}");
        // Without preemptions the lost update cannot happen.
        let code = if bound == Some(0) { 0 } else { 100 };
        let output = call(&["run"]);
        assert_eq!(output.code, code, "{case}: {}", output.stderr);
    }
}

#[test]
fn the_configuration_is_shown_as_toml_with_its_origins() {
    let project = Project::copy_of("canned");
    project.write(
        ".config/schedcheck.toml",
        "skip = [\"ring\"]\n[preset.ci]\nmax-steps = 500\ntrusted = [\"a\", \"b\"]\n[preset.default]\nweak-cas = 0\n",
    );
    let args = ["show-config", "--preset", "ci", "--max-time", "90s", "-j3"];
    let output = project.schedcheck(&args).env("SCHEDCHECK_SEED", "5").run().expect_code(0);
    insta::assert_snapshot!("show_config", output.stdout);
    assert!(!project.path.join("target").exists(), "nothing was built");
}

#[test]
fn presets_that_need_no_file() {
    let project = Project::copy_of("canned");
    let output = project.schedcheck(&["show-config", "--preset", "nightly"]).run().expect_code(0);
    for line in ["fail-fast = false", "max-time = \"10m\""] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    let output = project.schedcheck(&["show-config", "--preset", "nighly"]).run().expect_code(96);
    assert!(output.stderr.contains("unknown preset `nighly` (did you mean `nightly`?)"), "{}", output.stderr);
    assert!(output.stderr.contains("presets: ci, default, nightly"), "{}", output.stderr);
}

#[test]
fn another_file_or_none_can_be_named() {
    let project = Project::copy_of("canned");
    project.write(".config/schedcheck.toml", "[preset.default]\nseed = 1\n");
    let other = project.write("other.toml", "[preset.default]\nseed = 2\n");
    let seed = |args: &[&str]| {
        let output = project.schedcheck(&[&["show-config"], args].concat()).run().expect_code(0);
        output.stdout.lines().find(|line| line.starts_with("seed")).map(str::to_owned).unwrap()
    };
    assert!(seed(&[]).starts_with("seed = 1"));
    assert!(seed(&["--config-file", other.as_str()]).starts_with("seed = 2"));
    assert!(seed(&["--no-config"]).starts_with("seed = 0"));
    project.schedcheck(&["show-config", "--config-file", "missing.toml"]).run().expect_code(96);
}

#[test]
fn crates_that_manifests_name_are_shown_among_those_that_keep_the_real_std() {
    let project = Project::copy_of("canned");
    let manifest = project.read("Cargo.toml");
    let skip = "[package.metadata.schedcheck]\nskip = [\"ring-core\", \"alpha\"]\n";
    project.write("Cargo.toml", format!("{manifest}\n{skip}"));
    project.write(".config/schedcheck.toml", "skip = [\"zed\", \"ring_core\"]\n");
    let shown = project.schedcheck(&["show-config"]).run().expect_code(0).stdout;
    assert!(shown.contains("skip = [\"alpha\", \"ring_core\", \"zed\"]\n"), "{shown}");
}
