//! The files behind streams, and `IsTerminal`. std's cannot be implemented elsewhere, so this one stands for it.

use super::{Stderr, StderrLock, Stdin, StdinLock, Stdout, StdoutLock};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// The same as [`std::io::IsTerminal`].
pub trait IsTerminal: sealed::Sealed {
    /// The same as std's `is_terminal`.
    fn is_terminal(&self) -> bool;
}

mod sealed {
    /// What nobody else implements. It says nothing of the type behind: as std's, the trait may be that of an object.
    pub trait Sealed {}
    impl<T: Real> Sealed for T {}

    /// What has one of std's behind it.
    pub trait Real {
        type Real: std::io::IsTerminal;
        fn real(&self) -> &Self::Real;
    }
}

impl<T: sealed::Real> IsTerminal for T {
    fn is_terminal(&self) -> bool {
        std::io::IsTerminal::is_terminal(self.real())
    }
}

macro_rules! terminals {
    ($($type:ty: $real:ty, |$stream:ident| $of:expr;)*) => { $(
        impl sealed::Real for $type {
            type Real = $real;
            fn real(&self) -> &Self::Real {
                let $stream = self;
                $of
            }
        }
    )* };
}

terminals! {
    Stdin: std::io::Stdin, |stream| &stream.real;
    Stdout: std::io::Stdout, |stream| &stream.real;
    Stderr: std::io::Stderr, |stream| &stream.real;
    StdoutLock<'_>: std::io::Stdout, |lock| &lock.stream;
    StderrLock<'_>: std::io::Stderr, |lock| &lock.stream;
    File: Self, |file| file;
    OwnedFd: Self, |descriptor| descriptor;
    BorrowedFd<'_>: Self, |descriptor| descriptor;
}

impl<'a> sealed::Real for StdinLock<'a> {
    type Real = std::io::StdinLock<'a>;
    fn real(&self) -> &Self::Real {
        &self.real
    }
}

macro_rules! descriptors {
    ($($type:ty)*) => { $(
        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                sealed::Real::real(self).as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                sealed::Real::real(self).as_raw_fd()
            }
        }
    )* };
}

descriptors!(Stdin Stdout Stderr StdinLock<'_> StdoutLock<'_> StderrLock<'_>);
