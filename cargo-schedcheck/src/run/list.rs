//! Asks every test binary which tests it has.
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use super::child::{self, Heard};
use super::request::Request;
use super::wire::{ChildEvent, ListedTest};
use crate::build::TestBinary;
use crate::error::{ExpectedError, Result};
use crate::paths::utf8;

/// A harness that does not know us may start its tests instead of listing them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tests of one binary; `None` when it does not use the standard harness.
pub fn list(binary: &TestBinary) -> Result<Option<Vec<ListedTest>>> {
    let work = tempfile::tempdir()?;
    let work = utf8(work.path())?;
    let mut tests = Vec::new();
    let mut complete = false;
    let remains = child::run(
        binary,
        &Request::list(),
        work,
        false,
        Instant::now() + PATIENCE,
        |heard, _| match heard {
            Heard::Event(ChildEvent::Test(test)) => tests.push(test),
            Heard::Event(ChildEvent::Listed) => complete = true,
            _ => {}
        },
    )?;
    if let child::Ending::Interrupted = remains.ending {
        return Err(ExpectedError::Interrupted);
    }
    if let (false, child::Ending::Exited(status)) = (complete, &remains.ending)
        && status.signal().is_some()
    {
        let message = format!("it was ended while it listed its tests ({status})");
        return Err(ExpectedError::Refused { test: binary.executable.to_string(), message });
    }
    Ok(complete.then_some(tests))
}
