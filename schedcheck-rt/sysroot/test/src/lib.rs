//! The test harness as the explored crates see it: every `#[test]` of a crate arrives here, without
//! a change to the crate. Without a request from the command it is the ordinary harness.
#![feature(test)]

extern crate test as real;

pub use real::*;

use schedcheck_rt::entry::TestCase;

/// By this the command knows a binary with this harness, also one that ended before it could say anything.
#[used]
static MARK: [u8; 36] = *b"schedcheck: this is its test harness";

/// Receives the tests of a crate compiled with `--test`.
pub fn test_main_static(tests: &[&TestDescAndFn]) {
    // A use that every binary has: of a library, the linker keeps only what is used.
    std::hint::black_box(&MARK);
    let Some(request) = std::env::var_os(schedcheck_rt::entry::REQUEST_VARIABLE) else {
        return real::test_main_static(tests);
    };
    let cases: Vec<TestCase> = tests.iter().filter_map(|test| case(test)).collect();
    schedcheck_rt::entry::answer(&cases, request.as_ref());
}

fn case(test: &TestDescAndFn) -> Option<TestCase> {
    let TestFn::StaticTestFn(body) = test.testfn else { return None };
    let TestName::StaticTestName(name) = test.desc.name else { return None };
    let should_panic = match test.desc.should_panic {
        ShouldPanic::No => None,
        ShouldPanic::Yes => Some(""),
        ShouldPanic::YesWithMessage(text) => Some(text),
    };
    Some(TestCase { name, body, ignored: test.desc.ignore, should_panic })
}
