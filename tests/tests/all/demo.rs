//! The first command of the README: every bug of the demo is found, every fix passes with full coverage.
use camino::Utf8Path;
use fs_err as fs;
use schedcheck_tests::cli::Schedcheck;
use schedcheck_tests::repository;

/// Each bug with the outcomes that show it. The torn publish is also a data race.
const BUGS: [(&str, &[&str]); 4] = [
    ("orders::tests::buggy_queue_leaves_the_clerk_asleep", &["deadlock"]),
    ("quote::tests::buggy_board_shows_half_a_quote", &["panic", "data-race"]),
    ("transfer::tests::buggy_transfers_lock_each_other_out", &["deadlock"]),
    ("visits::tests::buggy_counter_misses_a_visitor", &["panic"]),
];

const FIXES: [&str; 4] = [
    "orders::tests::fixed_queue_wakes_the_clerk",
    "quote::tests::fixed_board_shows_all_or_nothing",
    "transfer::tests::fixed_transfers_both_arrive",
    "visits::tests::fixed_counter_sees_both_visitors",
];

#[test]
fn the_demo_shows_four_bugs_and_four_fixes() {
    let repository = repository();
    let target = Utf8Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo");
    let readme = fs::read_to_string(repository.join("README.md")).unwrap();
    let command = readme.lines().find_map(|line| line.strip_prefix("$ cargo schedcheck ")).unwrap();
    let args: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
    let more = ["--target-dir", target.as_str(), "--message-format", "json"];
    let output = Schedcheck::new(repository, &[&args[..], &more].concat()).run().expect_code(100);
    let verdicts = output.verdicts();
    assert_eq!(verdicts.len(), BUGS.len() + FIXES.len(), "{verdicts:#?}");
    for (test, outcomes) in BUGS {
        let verdict = &verdicts[&format!("bank::lib {test}")];
        let outcome = verdict["outcome"].as_str().unwrap();
        assert!(outcomes.contains(&outcome), "{test}: {verdict}");
        assert_eq!(verdict["complete"], false, "{test}");
        assert!(repository.join(verdict["replay"].as_str().unwrap()).exists(), "{test}: {verdict}");
    }
    for test in FIXES {
        let verdict = &verdicts[&format!("bank::lib {test}")];
        assert_eq!(verdict["outcome"], "passed", "{test}: {verdict}");
        assert_eq!(verdict["complete"], true, "{test}: {verdict}");
    }
    let last = output.json().pop().unwrap();
    assert_eq!((&last["passed"], &last["failed"]), (&4.into(), &4.into()));
}
