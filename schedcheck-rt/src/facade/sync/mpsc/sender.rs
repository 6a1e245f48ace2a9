//! `Sender` and `SyncSender`.

use super::core::{End, Failure};
use super::{SendError, TrySendError, pack, unpack};
use crate::model::Site;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

/// A sending end: of the execution, or of the system. `S` is std's sender.
struct Inner<T, S> {
    end: Either<S>,
    items: PhantomData<T>,
}

enum Either<S> {
    Controlled(End),
    System(S),
}

/// The same as [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Inner<T, std::sync::mpsc::Sender<T>>);

/// The same as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Inner<T, std::sync::mpsc::SyncSender<T>>);

impl<T, S> Inner<T, S> {
    fn new(end: Either<S>) -> Self {
        Inner { end, items: PhantomData }
    }

    fn send(
        &self,
        value: T,
        site: Site,
        system: impl FnOnce(&S, T) -> Result<(), SendError<T>>,
    ) -> Result<(), SendError<T>> {
        match &self.end {
            Either::Controlled(end) => {
                let item = pack(value);
                // SAFETY: an item that was not sent is still ours.
                end.send(item, site).map_err(|_| SendError(unsafe { unpack(item) }))
            }
            Either::System(sender) => system(sender, value),
        }
    }
}

impl<T, S: Clone> Clone for Inner<T, S> {
    fn clone(&self) -> Self {
        Inner::new(match &self.end {
            Either::Controlled(end) => Either::Controlled(end.clone_sender()),
            Either::System(sender) => Either::System(sender.clone()),
        })
    }
}

impl<T, S> Drop for Inner<T, S> {
    #[track_caller]
    fn drop(&mut self) {
        if let Either::Controlled(end) = &self.end {
            end.drop_sender(Location::caller());
        }
    }
}

macro_rules! common {
    ($name:ident) => {
        // SAFETY: as std's: an item moves to the thread that receives it.
        unsafe impl<T: Send> Send for $name<T> {}
        // SAFETY: as std's: a shared sender lets several threads send.
        unsafe impl<T: Send> Sync for $name<T> {}
        // No item is in a sender.
        impl<T> Unpin for $name<T> {}
        impl<T> UnwindSafe for $name<T> {}
        impl<T> RefUnwindSafe for $name<T> {}

        impl<T> $name<T> {
            pub(super) fn controlled(end: End) -> Self {
                $name(Inner::new(Either::Controlled(end)))
            }

            pub(super) fn system(sender: std::sync::mpsc::$name<T>) -> Self {
                $name(Inner::new(Either::System(sender)))
            }

            /// The same as std's `send`.
            #[track_caller]
            pub fn send(&self, t: T) -> Result<(), SendError<T>> {
                self.0.send(t, Location::caller(), |sender, value| sender.send(value))
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                $name(self.0.clone())
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

common!(Sender);
common!(SyncSender);

impl<T> SyncSender<T> {
    /// The same as std's `try_send`.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        let end = match &self.0.end {
            Either::Controlled(end) => end,
            Either::System(sender) => return sender.try_send(t),
        };
        let item = pack(t);
        end.try_send(item, Location::caller()).map_err(|failure| {
            // SAFETY: an item that was not sent is still ours.
            let value = unsafe { unpack(item) };
            match failure {
                Failure::NotNow => TrySendError::Full(value),
                Failure::Disconnected => TrySendError::Disconnected(value),
            }
        })
    }
}
