//! Widely used crates compile unmodified under the swap, and their tests are explored without a false
//! alarm.
use schedcheck_tests::project::Project;

/// So many schedules of each test, or all that it has.
const ENOUGH: u64 = 1000;

/// Of the same binaries: what the compiler has put in for data races stays there.
const QUICKER: &str = "[preset.quicker]\nmax-executions = 1000\nmax-time = \"120s\"\n\
                       [[preset.quicker.overrides]]\nfilter = \"::\"\nraces = \"off\"\n";

#[test]
fn popular_crates_run_unmodified_on_the_facades() {
    let project = Project::copy_of("popular");
    project.write(".config/schedcheck.toml", QUICKER);
    let run = |more: &[&str]| {
        let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
        let verdicts = project.schedcheck(&[&args[..], more].concat()).run().expect_code(0).verdicts();
        verdicts.iter().for_each(|(id, verdict)| assert_eq!(verdict["outcome"], "passed", "{id}: {verdict}"));
        verdicts
    };
    let verdicts = run(&["--max-time", "1s"]);
    assert_eq!(verdicts.len(), 45, "{:?}", verdicts.keys());
    let mut long = Vec::new();
    for verdict in verdicts.values() {
        let executions = verdict["executions"].as_u64().expect("a number");
        if verdict["complete"] == false && executions < ENOUGH {
            long.push(verdict["test"].as_str().expect("a name"));
        }
    }
    if long.is_empty() {
        return;
    }
    // Large values that are moved many times take long to follow (moka): those are explored further without.
    let verdicts = run(&[&["--preset", "quicker", "--exact"], &long[..]].concat());
    assert_eq!(verdicts.len(), long.len(), "{long:?}");
    for (id, verdict) in verdicts {
        let many = verdict["executions"].as_u64().expect("a number") >= ENOUGH;
        assert!(many || verdict["complete"] == true, "{id} was hardly explored: {verdict}");
    }
}
