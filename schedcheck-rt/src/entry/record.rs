//! The schedule being executed, noted in a file where it survives the process.
//!
//! If the process is killed, aborts or exits in the middle of an execution, the command finds here
//! what was being executed. The file is mapped, so noting costs no system call.

use crate::exec::Execution;
use crate::search::step::Plan;
use std::fmt::Write;
use std::os::fd::AsRawFd;

const BYTES: usize = 1 << 20;

/// A mapped file of fixed size.
#[derive(Debug)]
pub(super) struct Record {
    start: *mut u8,
    text: String,
}

impl Record {
    /// Creates the file; `None` if that is not possible (the search goes on without).
    pub(super) fn create(path: &str) -> Option<Record> {
        let file =
            std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).ok()?;
        file.set_len(BYTES as u64).ok()?;
        // SAFETY: maps a file of this size, shared, at a place the system chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Record { start: start.cast(), text: String::with_capacity(BYTES) })
    }

    /// Notes what is executed next. A schedule too long for the file is noted without its end.
    pub(super) fn note(&mut self, execution: u64, plan: &Plan, model: &Execution) {
        self.text.clear();
        let _ = writeln!(self.text, "E {execution}");
        for delta in &plan.deltas {
            let path = model.thread_path(delta.choice.thread);
            let _ = writeln!(self.text, "D {} {path} {}", delta.step, delta.choice.alt.0);
            if self.text.len() > BYTES - 64 {
                break;
            }
        }
        self.text.push_str("END\n");
        // SAFETY: the mapping has `BYTES` bytes, and the text is shorter.
        unsafe { std::ptr::copy_nonoverlapping(self.text.as_ptr(), self.start, self.text.len()) };
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // SAFETY: the mapping of `create`, not used after this.
        unsafe { libc::munmap(self.start.cast(), BYTES) };
    }
}
