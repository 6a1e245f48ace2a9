//! What an execution has done to each object so far.
//!
//! The history of an object is two groups: the commuting accesses made last, and the group before them. Every
//! member of a group depends on every member of the one before, so these two are all that a new access can
//! directly follow. Accesses are numbered as they come, and each keeps the history of its object up to and with
//! itself: to undo it is to go back to the one before, and groups are lists through what is kept.

use super::dependence::{Class, class};
use super::step::{Access, Mode, NO_STEP, ObjectId, StepIndex};

/// Number of an access.
pub(super) type Link = u32;

/// End of a list of accesses. The access of this number is none.
pub(super) const NO_LINK: Link = 0;

/// What a mode means for the history of an object: asked for every access of every execution.
#[derive(Clone, Copy)]
struct Use {
    class: Class,
    /// The class of the group that it joins, if there is one.
    joins: Option<Class>,
    takes: Takes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Exclusively,
    Shared,
}

const USES: [Use; Mode::ALL.len()] = {
    let mut uses = [Use { class: Class::Total, joins: None, takes: Takes::Nothing }; Mode::ALL.len()];
    let mut at = 0;
    while at < uses.len() {
        let class = class(Mode::ALL[at]);
        let joins = if matches!(class, Class::Total) { None } else { Some(class) };
        let takes = match Mode::ALL[at] {
            Mode::Acquire | Mode::TryAcquire | Mode::AwaitWrite => Takes::Exclusively,
            Mode::AcquireShared | Mode::TryAcquireShared => Takes::Shared,
            _ => Takes::Nothing,
        };
        uses[at] = Use { class, joins, takes };
        at += 1;
    }
    uses
};

/// An access that was entered, and what has happened to its object since the start, itself included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entered {
    object: ObjectId,
    /// Whose access it is, and how.
    pub(super) step: StepIndex,
    pub(super) mode: Mode,
    class: Class,
    /// It is of the same group as the access before.
    joins: bool,
    /// The access to the object before this one.
    before: Link,
    /// The group before its own.
    previous: Link,
    /// Last exclusive acquisition, or last taking of an item.
    exclusive: StepIndex,
    /// List of shared acquisitions since then.
    shared: Link,
}

impl Entered {
    const NONE: Entered = Entered {
        object: ObjectId::NONE,
        step: NO_STEP,
        mode: Mode::None,
        class: Class::Total,
        joins: false,
        before: NO_LINK,
        previous: NO_LINK,
        exclusive: NO_STEP,
        shared: NO_LINK,
    };

    /// The next access of the same group.
    #[inline(always)]
    pub(super) fn next(&self) -> Link {
        if self.joins { self.before } else { NO_LINK }
    }
}

/// What an access to an object finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The list of accesses that it directly follows.
    pub(super) predecessors: Link,
    /// Last exclusive acquisition, or last taking of an item.
    pub(super) exclusive: StepIndex,
    /// List of shared acquisitions since then.
    pub(super) shared: Link,
}

/// The objects of an execution and the accesses to them.
#[derive(Debug)]
pub(super) struct Objects {
    /// The last access to each: stable objects at even places, those of this execution only at odd ones.
    last: Vec<Link>,
    entered: Vec<Entered>,
}

impl Default for Objects {
    fn default() -> Objects {
        Objects { last: Vec::new(), entered: vec![Entered::NONE] }
    }
}

/// Where an object is.
#[inline(always)]
fn place(object: ObjectId) -> usize {
    object.0.rotate_left(1) as usize
}

/// Makes place for an object that is new.
#[cold]
fn with_place(last: &mut Vec<Link>, at: usize) -> &mut Link {
    last.resize(at + 1, NO_LINK);
    &mut last[at]
}

impl Objects {
    /// An access that was entered.
    #[inline(always)]
    pub(super) fn entered(&self, link: Link) -> &Entered {
        &self.entered[link as usize]
    }

    /// The shared acquisition before one that is in a list of those.
    pub(super) fn next_shared(&self, acquisition: &Entered) -> Link {
        self.entered(acquisition.before).shared
    }

    /// What an access would find.
    pub(super) fn look(&self, access: Access) -> Found {
        let last = self.last.get(place(access.object)).copied().unwrap_or(NO_LINK);
        let before = self.entered(last);
        let joins = USES[access.mode as usize].joins == Some(before.class);
        let predecessors = if joins { before.previous } else { last };
        Found { predecessors, exclusive: before.exclusive, shared: before.shared }
    }

    /// Enters an access. Says what it finds.
    #[inline(always)]
    pub(super) fn enter(&mut self, step: StepIndex, access: Access) -> Found {
        let Access { object, mode } = access;
        let at = place(object);
        let last = match self.last.get_mut(at) {
            Some(last) => last,
            None => with_place(&mut self.last, at),
        };
        let link = self.entered.len() as Link;
        let before = std::mem::replace(last, link);
        let Entered { class, previous, exclusive, shared, .. } = self.entered[before as usize];
        let uses = USES[mode as usize];
        let joins = uses.joins == Some(class);
        let found = Found { predecessors: if joins { previous } else { before }, exclusive, shared };
        let (exclusive, shared) = match uses.takes {
            Takes::Nothing => (exclusive, shared),
            Takes::Exclusively => (step, NO_LINK),
            Takes::Shared => (exclusive, link),
        };
        let (class, previous) = (uses.class, found.predecessors);
        self.entered.push(Entered { object, step, mode, class, joins, before, previous, exclusive, shared });
        found
    }

    /// Undoes the accesses of all but the first `steps` steps.
    pub(super) fn keep(&mut self, steps: StepIndex) {
        let mut kept = self.entered.len();
        for entered in self.entered[1..].iter().rev().take_while(|entered| entered.step >= steps) {
            self.last[place(entered.object)] = entered.before;
            kept -= 1;
        }
        self.entered.truncate(kept);
    }
}
