//! Facade of the test harness: receives every unmodified `#[test]` and answers the command's request.
#![feature(test)]
extern crate test as real;
pub use real::*;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Called by the `main` that `rustc --test` generates.
pub fn test_main_static(tests: &[&TestDescAndFn]) {
    let request = std::env::var_os("SCHEDCHECK_REQUEST").map(std::fs::read_to_string);
    let Some(Ok(request)) = request else {
        return real::test_main_static(tests);
    };
    let value = |key: &str| request.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(' '));
    if value("do") == Some("list") {
        for test in tests {
            say(&format!(
                r#"{{"event":"test","name":"{}","marked":false,"ignored":{},"should_panic":{}}}"#,
                test.desc.name,
                test.desc.ignore,
                test.desc.should_panic != ShouldPanic::No
            ));
        }
        say(r#"{"event":"listed"}"#);
        return;
    }
    say(r#"{"event":"started"}"#);
    let wanted = tests.iter().find(|t| Some(t.desc.name.as_slice()) == value("test"));
    let Some(TestFn::StaticTestFn(body)) = wanted.map(|t| &t.testfn) else { return };
    let outcome = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => "passed",
        _ => "panic",
    };
    say(&format!(
        r#"{{"event":"finished","outcome":"{outcome}","message":"","executions":1,"traces":1,"complete":false}}"#
    ));
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "\n{line}");
    let _ = out.flush();
}
