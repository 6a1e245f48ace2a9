//! Locks of a published crate that another thread than their holder gives up: a data race that is explained, unless the holder
//! had agreed.
use schedcheck_tests::project::Project;

#[test]
fn a_lock_that_another_thread_gives_up_is_no_mistake_unless_it_races() {
    let project = Project::copy_of("raw_locks");
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json"];
    let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts();
    assert_eq!(verdicts.len(), 8, "{:?}", verdicts.keys());
    for (id, verdict) in &verdicts {
        let buggy = id.contains("buggy_");
        let expected = if buggy { "data-race" } else { "passed" };
        assert_eq!(verdict["outcome"], expected, "{id}: {verdict}");
        assert!(buggy || verdict["complete"] == true, "{id}: {verdict}");
        if !buggy {
            continue;
        }
        let remedy = verdict["remedy"].as_str().unwrap_or_default();
        let stolen = remedy.contains("which did not hold it, did so at step");
        // This one gives up what it holds itself, but too early.
        assert_eq!(stolen, !id.contains("buggy_write_after_unlock"), "{id}: {remedy}");
        let unordered = remedy.contains("the store would have to be at least Release");
        assert_eq!(unordered, id.contains("buggy_hand_over_that_orders_nothing"), "{id}: {remedy}");
        assert!(!remedy.contains("/registry/"), "{id}: {remedy}");
    }
}
