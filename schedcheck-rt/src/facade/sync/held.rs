//! What every lock guard carries.
//!
//! Guards live in the frames of user code, and loops that wait are found by comparing those frames
//! byte by byte. So a guard has no byte that is left to chance: no padding, and zeroes in place of
//! the real lock's guard where there is none.

use crate::model::Site;
use std::mem::MaybeUninit;

/// The real lock is held, because this is outside an exploration.
const REAL: usize = 1;
/// The thread was panicking already when it took the lock: it poisons nothing.
const WAS_PANICKING: usize = 2;

/// A lock that is held: by the model, or really with a guard `G` of std.
pub(super) struct Held<G> {
    real: MaybeUninit<G>,
    state: usize,
    site: Site,
}

impl<G> Held<G> {
    /// Taken at `site`; `real` is std's guard outside an exploration.
    pub(super) fn new(real: Option<G>, site: Site) -> Held<G> {
        let panicking = if std::thread::panicking() { WAS_PANICKING } else { 0 };
        match real {
            Some(real) => Held { real: MaybeUninit::new(real), state: panicking | REAL, site },
            None => Held { real: MaybeUninit::zeroed(), state: panicking, site },
        }
    }

    /// Whether the model has it.
    pub(super) fn is_modelled(&self) -> bool {
        self.state & REAL == 0
    }

    /// Where it was taken.
    pub(super) fn site(&self) -> Site {
        self.site
    }

    /// Whether giving it up now poisons the lock.
    pub(super) fn poisons(&self) -> bool {
        self.state & WAS_PANICKING == 0 && std::thread::panicking()
    }

    /// Takes std's guard out, if there is one.
    pub(super) fn take(&mut self) -> Option<G> {
        if self.is_modelled() {
            return None;
        }
        self.state &= !REAL;
        // SAFETY: `REAL` says that there is one, and it is taken out once.
        Some(unsafe { self.real.assume_init_read() })
    }

    /// Puts it back in.
    pub(super) fn put(&mut self, real: G) {
        self.real = MaybeUninit::new(real);
        self.state |= REAL;
    }
}

impl<G> Drop for Held<G> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
