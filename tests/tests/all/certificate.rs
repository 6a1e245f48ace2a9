//! Certificates: written when true, never otherwise, and refused when they belong to something else.
use fs_err as fs;
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;

const FILE: &str = "nightly/certificate.toml";

fn run(project: &Project, args: &[&str]) -> Output {
    project.schedcheck(&[&["--all-tests", "--certificate", FILE], args].concat()).run()
}

fn verify(project: &Project, code: i32) -> String {
    let output = project.schedcheck(&["verify-certificate", FILE]).run().expect_code(code);
    output.stdout + &output.stderr
}

/// Changes a file, insists on an answer of `verify-certificate` that has `reason`, and puts the file back.
#[track_caller]
fn refused_after(project: &Project, file: &str, change: impl FnOnce(String) -> String, reason: &str) {
    let path = project.path.join(file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, change(before.clone())).unwrap();
    let text = verify(project, 96);
    assert!(text.contains(reason), "{text}");
    if before.is_empty() {
        fs::remove_file(&path).unwrap()
    } else {
        fs::write(&path, before).unwrap()
    }
    verify(project, 0);
}

#[test]
fn a_certificate_says_what_was_covered_and_belongs_to_its_sources() {
    let project = Project::copy_of("nightly");
    // The binary of the program has no tests; the integration test reads files, which is not under control.
    let output = run(&project, &["counts"]).expect_code(0);
    assert!(output.stderr.contains(&format!("Certificate {FILE}")), "{}", output.stderr);
    let text = project.read(FILE);
    for part in [
        "guarantee = \"all-schedules\"",
        "name = \"tests::counts_under_a_lock\"",
        "name = \"counts_from_outside\"",
        "coverage = \"all schedules (each with at most 1 spurious wake-up",
        "races = true",
        "selection = [\"--all-tests\", \"counts\"]",
        "memory-model = \"sequential consistency\"",
        "\"steps/src/lib.rs\" = ",
        "\"limit.txt\" = ",
        "\"Cargo.lock\" = ",
        "\"build.rs\" = ",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(!text.contains(project.path.as_str()) && !text.contains("target/"), "{text}");
    let said = verify(&project, 0);
    assert!(said.contains("nightly::lib tests::counts_under_a_lock: all schedules\n"), "{said}");
    assert!(said.ends_with("4 tests\n"), "{said}");

    // Every source counts, whatever it is; other files do not.
    let more = |text: String| text + "\n";
    refused_after(&project, "src/lib.rs", more, "it belongs to other sources: src/lib.rs has changed");
    refused_after(&project, "steps/src/lib.rs", more, "steps/src/lib.rs has changed");
    refused_after(&project, "limit.txt", more, "limit.txt has changed");
    refused_after(&project, "build.rs", more, "build.rs has changed");
    refused_after(&project, "Cargo.lock", more, "Cargo.lock has changed");
    refused_after(&project, "src/new.rs", more, "src/new.rs is new");
    refused_after(
        &project,
        FILE,
        |text| text.replace("races = true", "races = false"),
        "it was changed after",
    );
    refused_after(&project, FILE, |text| text[..text.len() - 1].to_owned(), "it was changed after");
    project.write("notes.md", "nobody compiles this");
    verify(&project, 0);
    let output = project.schedcheck(&["verify-certificate", "Cargo.toml"]).run().expect_code(96);
    assert!(output.stderr.contains("this is not a certificate"), "{}", output.stderr);

    // What is not true is not written, and what was true of an earlier run is gone.
    let output = run(&project, &["counts", "--max-executions", "1"]).expect_code(5);
    assert!(output.stderr.contains("not written: 4 of 4 tests did not pass"), "{}", output.stderr);
    assert!(!project.path.join(FILE).exists());

    run(&project, &["--exact", "counts_from_outside"]).expect_code(0);
    run(&project, &["--preset", "unknown"]).expect_code(96);
    assert!(!project.path.join(FILE).exists());

    run(&project, &["--exact", "counts_from_outside"]).expect_code(0);
    let json = ["--include-ignored", "counts_in", "counts_under", "--message-format", "json"];
    let output = run(&project, &json).expect_code(100);
    let reason = output.json().last().unwrap()["no_certificate"].as_str().unwrap().to_owned();
    assert!(reason.contains("nightly::lib tests::counts_in_two_steps"), "{reason}");
    assert!(!project.path.join(FILE).exists());

    let args = ["--all-tests", "--certificate", FILE, "counts_under", "--bound", "1", "--races", "off"];
    let call = project.schedcheck(&[&args[..], &["--spurious", "0"]].concat());
    call.env("RUSTFLAGS", "--cfg night").run().expect_code(0);
    let text = project.read(FILE);
    for part in [
        "guarantee = \"bounded\"",
        "bound = 1",
        "races = false",
        "spurious = 0",
        "timeouts = 1",
        "rustflags = [\"--cfg\", \"night\"]",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let said = verify(&project, 0);
    assert!(said.contains("counts_under_a_lock: all schedules with at most 1 preemption\n"), "{said}");

    // Schedules that were left out on request are named.
    run(&project, &["counts_under", "--cooperative", "--trust", "steps"]).expect_code(0);
    let text = project.read(FILE);
    for part in ["guarantee = \"restricted\"", "cooperative = true", "trusted = [\"steps\"]"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let said = verify(&project, 0);
    assert!(
        said.contains(
            "all schedules, with switches only at labels and where a thread blocks, without preemptions"
        ),
        "{said}"
    );

    // Sources that are older than what was compiled are not compiled again: cargo looks at times only.
    let (path, before) = (project.path.join("src/lib.rs"), project.read("src/lib.rs"));
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let write = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    write(&before.replace("TWO);", "TWO + 1);"));
    let output = run(&project, &["counts_under"]).expect_code(5);
    assert!(output.stderr.contains("src/lib.rs is not what was compiled"), "{}", output.stderr);
    write(&before);
    run(&project, &["counts_under"]).expect_code(0);

    // A file that is something else is not overwritten.
    let output = project.schedcheck(&["--all-tests", "--certificate", "Cargo.toml"]).run().expect_code(96);
    assert!(output.stderr.contains("Cargo.toml is not a certificate"), "{}", output.stderr);
    assert!(project.read("Cargo.toml").contains("[package]"));
}

#[test]
fn a_source_that_changes_during_the_build_spoils_the_certificate() {
    let project = Project::copy_of("nightly");
    // What a build has compiled before it failed is as certain as the rest.
    let main = project.read("src/main.rs");
    project.write("src/main.rs", "fn main() { wrong }");
    run(&project, &["counts_under"]).expect_code(101);
    project.write("src/main.rs", main);
    run(&project, &["counts_under"]).expect_code(0);

    // The build script changes a source, as an editor might.
    let script = project
        .read("build.rs")
        .replace("fn main() {", "fn main() {\n    std::fs::write(\"src/made.rs\", \"\").unwrap();");
    project.write("build.rs", script);
    let output = run(&project, &["counts_under"]).expect_code(5);
    assert!(
        output.stderr.contains("src/made.rs was changed while the tests were built"),
        "{}",
        output.stderr
    );
    assert!(!project.path.join(FILE).exists());
    run(&project, &["counts_under"]).expect_code(0);
}

#[test]
fn parts_of_runs_of_different_targets_are_not_the_whole() {
    let project = Project::copy_of("nightly");
    let part = |target: &[&str], part: &str, file: &str| {
        let args = ["--all-tests", "counts", "--partition", part, "--certificate", file];
        project.schedcheck(&[&args, target].concat()).run().expect_code(0);
    };
    let verify = |code| {
        let args = ["verify-certificate", "--whole", "one.toml", "two.toml"];
        project.schedcheck(&args).run().expect_code(code).stderr
    };
    part(&["--lib"], "count:1/2", "one.toml");
    part(&["--test", "outside"], "count:2/2", "two.toml");
    let said = verify(96);
    assert!(said.contains("are of different selections of tests, or builds"), "{said}");
    part(&["--lib"], "count:2/2", "two.toml");
    verify(0);
}
