//! `std::sync::mpsc`. The error types are std's.

mod core;
mod receiver;
mod sender;

pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use sender::{Sender, SyncSender};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// The same as [`std::sync::mpsc::channel`].
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    match core::channel(None) {
        Some((sender, receiver)) => (Sender::controlled(sender), Receiver::controlled(receiver)),
        None => {
            let (sender, receiver) = std::sync::mpsc::channel();
            (Sender::system(sender), Receiver::system(receiver))
        }
    }
}

/// The same as [`std::sync::mpsc::sync_channel`].
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    match core::channel(Some(bound)) {
        Some((sender, receiver)) => (SyncSender::controlled(sender), Receiver::controlled(receiver)),
        None => {
            let (sender, receiver) = std::sync::mpsc::sync_channel(bound);
            (SyncSender::system(sender), Receiver::system(receiver))
        }
    }
}

/// A value as an item under way.
fn pack<T>(value: T) -> core::Item {
    std::ptr::NonNull::from(Box::leak(Box::new(value))).cast()
}

/// The value of an item.
///
/// # Safety
/// The item must come from [`pack`] with the same type, and be unpacked once.
unsafe fn unpack<T>(item: core::Item) -> T {
    // SAFETY: the caller's promise; `pack` leaked a box.
    *unsafe { Box::from_raw(item.cast::<T>().as_ptr()) }
}
