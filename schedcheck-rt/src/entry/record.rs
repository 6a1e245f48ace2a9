//! The schedule being executed, noted in a file where it survives the process.
//!
//! If the process is killed, aborts or exits in the middle of an execution, the command finds here
//! what was being executed. The file is mapped, so noting costs no system call, and its words are
//! those of the plan as it is, so it costs no formatting either: the command reads them.
//!
//! Words of 32 bits: the number of decisions plus one (zero while it is being written; the highest bit is set
//! when the execution is over and passed), the number of the execution (two words), the number of threads; then parent and
//! position among its children of each thread, room for [`MOST_THREADS`]; then step, and thread and alternative, of each
//! decision.

use crate::search::step::{Alt, Choice, Delta, Plan, ThreadId};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

const HEAD: usize = 4;
const MOST_THREADS: usize = 1 << 16;
const MOST_DECISIONS: usize = 1 << 16;
const OVER: u32 = 1 << 31;
const WORDS: usize = HEAD + 2 * (MOST_THREADS + MOST_DECISIONS);

/// A mapped file of fixed size.
#[derive(Debug)]
pub(super) struct Record {
    /// Atomic, so that the command sees what was written last, whatever happens to this process.
    words: &'static [AtomicU32],
    threads: usize,
}

impl Record {
    /// Creates the file; `None` if that is not possible (the search goes on without).
    pub(super) fn create(path: &str) -> Option<Record> {
        let file =
            std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).ok()?;
        file.set_len((WORDS * 4) as u64).ok()?;
        // SAFETY: maps a file of this size, shared, at a place the system chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                WORDS * 4,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the mapping has so many words, is aligned to pages, and stays for the rest of the
        // process, which ends with its exploration.
        let words = unsafe { std::slice::from_raw_parts(start.cast::<AtomicU32>(), WORDS) };
        Some(Record { words, threads: 0 })
    }

    /// What was noted last, if it is not over.
    pub(super) fn last(&self) -> Option<Plan> {
        let word = |at: usize| self.words[at].load(Ordering::Acquire);
        if self.is_over() {
            return None;
        }
        let noted = (word(0) as usize).checked_sub(1)?;
        let delta = |at: usize| {
            let (step, choice) = (word(HEAD + 2 * at), word(HEAD + 2 * at + 1));
            let (thread, alt) = (ThreadId(choice as u16), Alt((choice >> 16) as u16));
            Delta { step, choice: Choice { thread, alt } }
        };
        let deltas = (MOST_THREADS..MOST_THREADS + noted.min(MOST_DECISIONS)).map(delta).collect();
        Some(Plan { deltas, prefix: 0 })
    }

    /// The execution noted last is over and passed: what takes time from now on is not the test.
    pub(super) fn over(&self) {
        self.words[0].fetch_or(OVER, Ordering::Release);
    }

    /// Whether it is.
    pub(super) fn is_over(&self) -> bool {
        self.words[0].load(Ordering::Acquire) & OVER != 0
    }

    /// Notes what is executed next. A schedule too long for the file is noted without its end.
    pub(super) fn note(&mut self, execution: u64, plan: &Plan, parents: &[(ThreadId, u32)]) {
        let put = |at: usize, value: u32| self.words[at].store(value, Ordering::Relaxed);
        put(0, 0);
        put(1, execution as u32);
        put(2, (execution >> 32) as u32);
        put(3, parents.len() as u32);
        for (thread, (parent, nth)) in parents.iter().enumerate().skip(self.threads) {
            put(HEAD + 2 * thread, u32::from(parent.0));
            put(HEAD + 2 * thread + 1, *nth);
        }
        let noted = plan.deltas.len().min(MOST_DECISIONS);
        for (delta, at) in plan.deltas[..noted].iter().zip(MOST_THREADS..) {
            put(HEAD + 2 * at, delta.step);
            put(HEAD + 2 * at + 1, u32::from(delta.choice.thread.0) | u32::from(delta.choice.alt.0) << 16);
        }
        self.words[0].store(noted as u32 + 1, Ordering::Release);
        self.threads = parents.len();
    }
}
