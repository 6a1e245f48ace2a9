//! `Receiver` and its iterators.

use super::core::{End, Failure};
use super::{RecvError, RecvTimeoutError, TryRecvError, unpack};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// The same as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    end: Either<T>,
    /// Not `Sync`: there is one receiver at a time.
    items: PhantomData<*const T>,
}

enum Either<T> {
    Controlled(End),
    System(std::sync::mpsc::Receiver<T>),
}

// SAFETY: as std's: items come from other threads anyway.
unsafe impl<T: Send> Send for Receiver<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

/// The same as [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// The same as [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    receiver: &'a Receiver<T>,
}

/// The same as [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Receiver<T> {
    pub(super) fn controlled(end: End) -> Self {
        Receiver { end: Either::Controlled(end), items: PhantomData }
    }

    pub(super) fn system(receiver: std::sync::mpsc::Receiver<T>) -> Self {
        Receiver { end: Either::System(receiver), items: PhantomData }
    }

    /// The same as std's `try_recv`.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.end {
            Either::Controlled(end) => match end.try_receive(Location::caller()) {
                // SAFETY: a received item is ours, and this channel's items are of this type.
                Ok(item) => Ok(unsafe { unpack(item) }),
                Err(Failure::NotNow) => Err(TryRecvError::Empty),
                Err(Failure::Disconnected) => Err(TryRecvError::Disconnected),
            },
            Either::System(receiver) => receiver.try_recv(),
        }
    }

    /// The same as std's `recv`.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.end {
            Either::Controlled(end) => match end.receive(None, Location::caller()) {
                // SAFETY: as above.
                Ok(item) => Ok(unsafe { unpack(item) }),
                Err(_) => Err(RecvError),
            },
            Either::System(receiver) => receiver.recv(),
        }
    }

    /// The same as std's `recv_timeout`; under control, explored both ways within the budget.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.end {
            Either::Controlled(end) => match end.receive(Some(timeout), Location::caller()) {
                // SAFETY: as above.
                Ok(item) => Ok(unsafe { unpack(item) }),
                Err(Failure::NotNow) => Err(RecvTimeoutError::Timeout),
                Err(Failure::Disconnected) => Err(RecvTimeoutError::Disconnected),
            },
            Either::System(receiver) => receiver.recv_timeout(timeout),
        }
    }

    /// The same as std's `iter`.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The same as std's `try_iter`.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Either::Controlled(end) = &self.end {
            // SAFETY: as above: nobody else will receive it.
            end.drop_receiver(&mut |item| drop(unsafe { unpack::<T>(item) }), Location::caller());
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
