//! The failure on the README's first screen is what the tool prints today. `BLESS=1` writes it there.
use camino::Utf8Path;
use fs_err as fs;
use schedcheck_tests::cli::Schedcheck;
use schedcheck_tests::repository;

const OPENING: &str = "<!-- failure -->\n";
const CLOSING: &str = "<!-- /failure -->";

#[test]
fn the_readme_shows_a_real_failure() {
    let repository = repository();
    let target = Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo");
    let args = [
        "--all-tests",
        "--manifest-path",
        "tests/demo/Cargo.toml",
        "buggy_transfers",
        "--target-dir",
        target.as_str(),
    ];
    let output = Schedcheck::new(repository, &args).env("COLUMNS", "120").run().expect_code(100);
    let failure: Vec<&str> = output
        .stderr
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("FAIL ["))
        .take_while(|line| !line.trim_start().starts_with("Summary ["))
        .map(str::trim_end)
        .collect();
    let failure = failure.join("\n");
    // As it looks without a target directory of its own, on a machine with time to spare.
    let time = failure.split(',').next().unwrap();
    let mut failure = failure
        .replacen(time, "        FAIL [    0.0s", 1)
        .replace(&format!(" --target-dir {target}"), "")
        .replace(target.as_str(), "tests/demo/target");
    if let Ok(within) = target.strip_prefix(repository) {
        failure = failure.replace(within.as_str(), "tests/demo/target");
    }

    let path = repository.join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(OPENING).expect("a marker");
    let (shown, after) = rest.split_once(CLOSING).expect("a marker");
    let current = format!("```text\n{}\n```\n", failure.trim_end());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{OPENING}{current}{CLOSING}{after}")).unwrap();
    } else {
        assert_eq!(shown, current, "the README shows another failure: BLESS=1 renews it");
    }
    let line = readme.lines().position(|line| line == OPENING.trim()).unwrap();
    assert!(line < 25, "on the first screen, not on line {line}");
}
