//! Under plain `cargo test`, a function marked `#[schedcheck]` is one ordinary test and causes no warning.
#![deny(warnings)]

use std::num::ParseIntError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use schedcheck_rt::schedcheck;

#[schedcheck]
fn runs_once_with_real_threads() {
    let runs = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| runs.fetch_add(1, Ordering::Relaxed));
    });
    assert_eq!(runs.into_inner(), 1);
}

#[schedcheck(bound = 2, priority = "mdpor,pb", reduction = "optimal", max_time = "10s")]
fn result_is_ok() -> Result<(), ParseIntError> {
    "7".parse::<u32>().map(drop)
}

#[schedcheck(max_executions = 1000, max_steps = 500, seed = 7)]
#[should_panic(expected = "as declared")]
fn panics_as_declared() {
    panic!("as declared");
}

#[schedcheck(spurious = 0, timeouts = 0, weak_cas = 0)]
#[ignore = "would fail"]
fn ignored_tests_are_not_run() {
    unreachable!("`#[ignore]` was lost");
}

/// With a doc comment, `#[test]` below, and a condition that does not hold.
#[schedcheck]
#[test]
#[cfg(any())]
fn removed_by_cfg() {
    this_function_does_not_exist();
}

/// `#[test]` beside the attribute changes nothing.
#[schedcheck(expect = "deadlock")]
#[test]
fn marked_twice() {}

mod inner {
    #[schedcheck_rt::schedcheck]
    pub(crate) fn r#type() {}
}
