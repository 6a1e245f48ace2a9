//! `Stdout` and `Stderr`.

use super::lock::{StreamGuard, StreamLock};
use std::fmt;
use std::io::{self, IoSlice, Write};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::process::Stdio;

pub(super) static STDOUT: StreamLock = StreamLock::new(c"stdout", true);
pub(super) static STDERR: StreamLock = StreamLock::new(c"stderr", true);

/// A real stream, which takes its lock for one piece at a time.
struct Pieces<R>(R);

impl<R: Write> Write for Pieces<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

macro_rules! streams {
    ($($make:ident $Stream:ident $Lock:ident $lock:ident)*) => { $(
        #[doc = concat!("The same as [`std::io::", stringify!($Stream), "`]; under control, its lock is a mutex.")]
        pub struct $Stream {
            pub(super) real: io::$Stream,
        }

        #[doc = concat!("The same as [`std::io::", stringify!($Lock), "`].")]
        #[must_use = "if unused the stream will immediately unlock"]
        pub struct $Lock<'a> {
            pub(super) stream: io::$Stream,
            /// The real one, outside an exploration. (Without it, a null pointer: see `held.rs`.)
            real: Option<io::$Lock<'a>>,
            _guard: StreamGuard,
        }

        #[doc = concat!("The same as [`std::io::", stringify!($make), "`].")]
        #[must_use]
        pub fn $make() -> $Stream {
            $Stream { real: io::$make() }
        }

        impl $Stream {
            /// The same as std's `lock`.
            #[track_caller]
            pub fn lock(&self) -> $Lock<'static> {
                let guard = $lock.lock(Location::caller());
                let real = (!guard.is_modelled()).then(|| self.real.lock());
                $Lock { stream: io::$make(), real, _guard: guard }
            }
        }

        impl $Lock<'_> {
            /// Who has the lock of the model takes the real one for a moment at a time.
            fn writer(&mut self) -> &mut dyn Write {
                match &mut self.real {
                    Some(real) => real,
                    None => &mut self.stream,
                }
            }
        }

        impl UnwindSafe for $Stream {}
        impl RefUnwindSafe for $Stream {}
        impl UnwindSafe for $Lock<'_> {}
        impl RefUnwindSafe for $Lock<'_> {}

        impl fmt::Debug for $Stream {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.real.fmt(f)
            }
        }

        impl fmt::Debug for $Lock<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Lock)).finish_non_exhaustive()
            }
        }

        impl Write for $Stream {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                (&*self).write(bytes)
            }

            #[track_caller]
            fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
                (&*self).write_vectored(pieces)
            }

            #[track_caller]
            fn flush(&mut self) -> io::Result<()> {
                (&*self).flush()
            }

            #[track_caller]
            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                (&*self).write_all(bytes)
            }

            #[track_caller]
            fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
                (&*self).write_fmt(text)
            }
        }

        impl Write for &$Stream {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                $lock.pass(Location::caller(), || (&self.real).write(bytes))
            }

            #[track_caller]
            fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
                $lock.pass(Location::caller(), || (&self.real).write_vectored(pieces))
            }

            #[track_caller]
            fn flush(&mut self) -> io::Result<()> {
                $lock.pass(Location::caller(), || (&self.real).flush())
            }

            #[track_caller]
            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                $lock.pass(Location::caller(), || (&self.real).write_all(bytes))
            }

            #[track_caller]
            fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
                $lock.pass(Location::caller(), || Pieces(&self.real).write_fmt(text))
            }
        }

        impl Write for $Lock<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.writer().write(bytes)
            }

            fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
                self.writer().write_vectored(pieces)
            }

            fn flush(&mut self) -> io::Result<()> {
                self.writer().flush()
            }

            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                self.writer().write_all(bytes)
            }
        }

        impl From<$Stream> for Stdio {
            fn from(stream: $Stream) -> Stdio {
                stream.real.into()
            }
        }
    )* };
}

streams! {
    stdout Stdout StdoutLock STDOUT
    stderr Stderr StderrLock STDERR
}
