//! How many processes each test may have: tests first, and what is left over goes to those that run.
//!
//! A child looks into a file now and then, so that the number can change while it explores.
use std::sync::Mutex;

use camino::{Utf8Path, Utf8PathBuf};

/// The processes of a run.
#[derive(Debug)]
pub struct Allotment {
    jobs: usize,
    running: Mutex<Vec<Utf8PathBuf>>,
}

/// The right of one test to have processes, until it is dropped.
#[derive(Debug)]
pub struct Allotted<'a> {
    allotment: &'a Allotment,
    file: Utf8PathBuf,
}

impl Allotment {
    /// For so many processes in all.
    pub fn new(jobs: usize) -> Self {
        Self { jobs, running: Mutex::default() }
    }

    /// One more test runs, which is told in `file`.
    pub fn enter(&self, file: &Utf8Path) -> Allotted<'_> {
        self.change(|running| running.push(file.to_owned()));
        Allotted { allotment: self, file: file.to_owned() }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Utf8PathBuf>)) {
        let Ok(mut running) = self.running.lock() else { return };
        change(&mut running);
        for (file, processes) in running.iter().zip(shares(self.jobs, running.len())) {
            // Who cannot read it works alone.
            let _ = fs_err::write(file, processes.to_string());
        }
    }
}

impl Drop for Allotted<'_> {
    fn drop(&mut self) {
        self.allotment.change(|running| running.retain(|file| *file != self.file));
    }
}

/// `jobs` for so many tests, as equal as can be, at least one for each.
fn shares(jobs: usize, tests: usize) -> impl Iterator<Item = usize> {
    (0..tests).map(move |at| ((jobs + tests - 1 - at) / tests.max(1)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_come_first_and_what_is_left_over_is_shared() {
        let of = |jobs, tests| shares(jobs, tests).collect::<Vec<_>>();
        assert_eq!(of(2, 1), [2]);
        assert_eq!(of(2, 2), [1, 1]);
        assert_eq!(of(8, 3), [3, 3, 2]);
        assert_eq!(of(1, 2), [1, 1]);
    }
}
