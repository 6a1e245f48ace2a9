//! `Stdin`.

use super::lock::{StreamGuard, StreamLock};
use std::fmt;
use std::io::{self, BufRead, IoSliceMut, Lines, Read};
use std::panic::Location;

static STDIN: StreamLock = StreamLock::new(c"stdin", false);

/// The same as [`std::io::Stdin`]; under control, its lock is a mutex.
pub struct Stdin {
    pub(super) real: io::Stdin,
}

/// The same as [`std::io::StdinLock`].
#[must_use = "if unused stdin will immediately unlock"]
pub struct StdinLock<'a> {
    // Dropped before the lock of the model.
    pub(super) real: io::StdinLock<'a>,
    _guard: StreamGuard,
}

/// The same as [`std::io::stdin`].
#[must_use]
pub fn stdin() -> Stdin {
    Stdin { real: io::stdin() }
}

impl Stdin {
    /// The same as std's `lock`.
    #[track_caller]
    pub fn lock(&self) -> StdinLock<'static> {
        let guard = STDIN.lock(Location::caller());
        StdinLock { real: self.real.lock(), _guard: guard }
    }

    /// The same as std's `read_line`.
    #[track_caller]
    pub fn read_line(&self, line: &mut String) -> io::Result<usize> {
        self.lock().read_line(line)
    }

    /// The same as std's `lines`.
    #[track_caller]
    pub fn lines(self) -> Lines<StdinLock<'static>> {
        self.lock().lines()
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}

impl fmt::Debug for StdinLock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}

macro_rules! reads_with_the_lock {
    ($($type:ty),*) => { $(
        impl Read for $type {
            #[track_caller]
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                self.lock().read(bytes)
            }

            #[track_caller]
            fn read_vectored(&mut self, pieces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.lock().read_vectored(pieces)
            }

            #[track_caller]
            fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
                self.lock().read_to_end(bytes)
            }

            #[track_caller]
            fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
                self.lock().read_to_string(text)
            }

            #[track_caller]
            fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
                self.lock().read_exact(bytes)
            }
        }
    )* };
}

reads_with_the_lock!(Stdin, &Stdin);

impl Read for StdinLock<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.real.read(bytes)
    }

    fn read_vectored(&mut self, pieces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.real.read_vectored(pieces)
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.real.read_to_end(bytes)
    }

    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        self.real.read_to_string(text)
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.real.read_exact(bytes)
    }
}

impl BufRead for StdinLock<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.real.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.real.consume(count);
    }
}
