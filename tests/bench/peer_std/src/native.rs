//! Nobody's control: the program again and again, as fast as the machine runs it.

use std::thread;
use std::time::Duration;

use crate::attempt::{self, Request};

/// No execution takes that long unless it hangs.
const STUCK: Duration = Duration::from_millis(500);

pub(crate) fn explore(request: &Request, body: impl Fn() + Send + Sync + 'static) {
    thread::spawn(watch);
    while attempt::elapsed() < request.time {
        body();
    }
}

/// Ends the attempt when an execution does not come to its end.
fn watch() {
    loop {
        let before = attempt::executions();
        thread::sleep(STUCK);
        if attempt::executions() == before {
            attempt::end("failed", "it hangs");
        }
    }
}
