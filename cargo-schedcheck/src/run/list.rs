//! Asks every test binary which tests it has.
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use super::child::{self, Ending, Heard};
use super::request::Request;
use super::wire::{ChildEvent, ListedTest};
use crate::build::TestBinary;
use crate::error::{ExpectedError, Result};
use crate::paths::utf8;

/// A harness that does not know us may start its tests instead of listing them. One that does may be slow: a large
/// binary, a cold disk, a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What every binary with our harness contains: `MARK` of the facade `test`.
const MARK: &[u8] = b"schedcheck: this is its test harness";

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
    let (by_signal, mut message) = match remains.ending {
        Ending::Interrupted => return Err(ExpectedError::Interrupted),
        _ if complete => return Ok(Some(tests)),
        Ending::Exited(status) => {
            (status.signal().is_some(), format!("it ended before it had listed its tests ({status})"))
        }
        Ending::TimedOut => (false, format!("it did not list its tests within {} s", PATIENCE.as_secs())),
    };
    if !by_signal && !has_our_harness(binary)? {
        return Ok(None);
    }
    // Leaving it out would pass for having explored its tests.
    let stderr = remains.stderr.trim_end();
    if !stderr.is_empty() {
        message.push_str(&format!("\n\n{stderr}"));
    }
    Err(ExpectedError::Refused { test: binary.executable.to_string(), message })
}

fn has_our_harness(binary: &TestBinary) -> Result<bool> {
    let bytes = fs_err::read(&binary.executable)?;
    Ok(bytes.windows(MARK.len()).any(|window| window == MARK))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_harness_has_the_mark_that_is_looked_for() {
        let harness = schedcheck_rt::sources::SYSROOT.get_file("test/src/lib.rs").unwrap();
        let text = harness.contents_utf8().unwrap();
        assert!(text.contains(std::str::from_utf8(super::MARK).unwrap()), "{text}");
    }
}
