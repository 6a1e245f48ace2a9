//! `Once` and `OnceState`.

use crate::exec::{Active, ObjectTag, active};
use crate::model::{COMPLETE, IGNORE_POISON, Kind, ObjectKind, Op, POISONED, Site};
use crate::search::step::ObjectId;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

const POISON_TEXT: &str = "Once instance has previously been poisoned";

/// The same as [`std::sync::Once`].
pub struct Once {
    tag: ObjectTag,
    /// What happened outside; an execution starts from there.
    real: std::sync::Once,
}

/// The same as std's `ONCE_INIT`.
#[deprecated(note = "the `Once::new()` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "as in std")]
pub const ONCE_INIT: Once = Once::new();

/// The same as [`std::sync::OnceState`].
pub struct OnceState {
    poisoned: bool,
    /// Not `Sync`, as std's.
    local: PhantomData<Cell<()>>,
}

impl Once {
    /// The same as std's `new`.
    #[expect(clippy::new_without_default, reason = "std's has no default")]
    #[inline]
    pub const fn new() -> Once {
        Once { tag: ObjectTag::new(), real: std::sync::Once::new() }
    }

    /// One that needs no initialisation any more.
    #[inline(never)]
    pub(super) fn completed() -> Once {
        let once = Once::new();
        once.real.call_once(|| {});
        once
    }

    /// The same as std's `call_once`.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.call_once_or(f, POISON_TEXT);
    }

    /// As `call_once`; panics with `poison_text` if an earlier call did.
    #[track_caller]
    pub(super) fn call_once_or(&self, f: impl FnOnce(), poison_text: &'static str) {
        let mut f = Some(f);
        self.run(Some(poison_text), &mut |_| f.take().expect("runs once")());
    }

    /// The same as std's `call_once_force`.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let mut f = Some(f);
        self.run(None, &mut |state| f.take().expect("runs once")(state));
    }

    /// The same as std's `is_completed`.
    #[track_caller]
    #[inline(never)]
    pub fn is_completed(&self) -> bool {
        match active() {
            Some(active) => self.perform(active, Kind::OnceLook, 0, Location::caller()) == COMPLETE,
            None => self.real.is_completed(),
        }
    }

    /// The same as std's `wait`.
    #[track_caller]
    #[inline(never)]
    pub fn wait(&self) {
        match active() {
            Some(active) => {
                let found = self.perform(active, Kind::OnceWait, 0, Location::caller());
                assert!(found == COMPLETE, "{POISON_TEXT}");
            }
            None => self.real.wait(),
        }
    }

    /// The same as std's `wait_force`.
    #[track_caller]
    #[inline(never)]
    pub fn wait_force(&self) {
        match active() {
            Some(active) => {
                self.perform(active, Kind::OnceWait, IGNORE_POISON, Location::caller());
            }
            None => self.real.wait_force(),
        }
    }

    fn object(&self, active: Active) -> ObjectId {
        active.object(&self.tag, || ObjectKind::Once { complete: self.real.is_completed() })
    }

    fn perform(&self, active: Active, kind: Kind, arg: u32, site: Site) -> u32 {
        active.perform(Op { arg, ..Op::new(kind, self.object(active), site) })
    }

    /// Runs `f` if nobody has. An earlier panic is overridden, or repeated with `poison_text`.
    #[track_caller]
    #[inline(never)]
    fn run(&self, poison_text: Option<&'static str>, f: &mut dyn FnMut(&OnceState)) {
        let Some(active) = active() else {
            self.real.call_once_force(|state| {
                let poisoned = state.is_poisoned();
                match poison_text {
                    Some(text) if poisoned => panic!("{text}"),
                    _ => f(&OnceState::new(poisoned)),
                }
            });
            return;
        };
        let site = Location::caller();
        let poison = if poison_text.is_none() { IGNORE_POISON } else { 0 };
        let found = self.perform(active, Kind::OnceEnter, poison, site);
        match poison_text {
            _ if found == COMPLETE => return,
            Some(text) if found == POISONED => panic!("{text}"),
            _ => {}
        }
        let mut running = Running { once: self, active, site, end: POISONED };
        f(&OnceState::new(found == POISONED));
        running.end = COMPLETE;
    }

    /// Whether it is completed. Not a step: the caller has it to himself.
    #[inline(never)]
    pub(super) fn has_completed(&mut self) -> bool {
        let known = active().and_then(|active| Some((active, active.known_object(&self.tag)?)));
        match known {
            Some((active, object)) => active.progress(object) == COMPLETE,
            None => self.real.is_completed(),
        }
    }
}

/// An initialiser that runs; ended as poisoned if it panics.
struct Running<'a> {
    once: &'a Once,
    active: Active,
    site: Site,
    end: u32,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.once.perform(self.active, Kind::OnceFinish, self.end, self.site);
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    fn new(poisoned: bool) -> OnceState {
        OnceState { poisoned, local: PhantomData }
    }

    /// The same as std's `is_poisoned`.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}
