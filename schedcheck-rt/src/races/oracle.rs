//! Happens-before by its definition: slow, and as different from the detector as possible.
//!
//! A trace is a list of actions in the order of execution. Every action has the set of all actions that happened before
//! it. The rules are those of the C++20 standard, [intro.races] and [atomics.fences], written down one by one.

use super::{Order, Touch};

/// What a thread of a random trace does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Accesses the bytes of a small memory.
    Plain {
        touch: Touch,
        at: usize,
        size: usize,
    },
    /// Reads an atomic.
    Load {
        atomic: usize,
        order: Order,
    },
    /// Writes an atomic.
    Store {
        atomic: usize,
        order: Order,
    },
    /// Reads and writes an atomic.
    Rmw {
        atomic: usize,
        order: Order,
    },
    Fence {
        order: Order,
    },
    /// Takes a lock that is free.
    Lock {
        lock: usize,
    },
    /// Gives up a lock.
    Unlock {
        lock: usize,
    },
    /// Starts a thread.
    Spawn {
        child: usize,
    },
    /// Waits for a thread that has ended.
    Join {
        child: usize,
    },
}

/// So many atomics are apart from each other. One more is a half of the first.
pub(super) const ATOMICS: usize = 3;

/// Where an atomic lies in the same memory, and how many bytes it has.
pub(super) const fn place(atomic: usize) -> (usize, usize) {
    if atomic == ATOMICS { (4, 4) } else { (atomic * 8, 8) }
}

impl Action {
    /// The bytes that it accesses, and how.
    fn touched(self) -> Option<(Touch, usize, usize)> {
        let (touch, atomic) = match self {
            Action::Plain { touch, at, size } => return Some((touch, at, size)),
            Action::Load { atomic, .. } => (Touch::AtomicRead, atomic),
            Action::Store { atomic, .. } | Action::Rmw { atomic, .. } => (Touch::AtomicWrite, atomic),
            _ => return None,
        };
        let (at, size) = place(atomic);
        Some((touch, at, size))
    }

    fn atomic(self) -> Option<usize> {
        match self {
            Action::Load { atomic, .. } | Action::Store { atomic, .. } | Action::Rmw { atomic, .. } => {
                Some(atomic)
            }
            _ => None,
        }
    }

    fn order(self) -> Order {
        match self {
            Action::Load { order, .. }
            | Action::Store { order, .. }
            | Action::Rmw { order, .. }
            | Action::Fence { order } => order,
            _ => Order::RELAXED,
        }
    }

    fn writes_atomic(self) -> bool {
        matches!(self, Action::Store { .. } | Action::Rmw { .. })
    }

    fn reads_atomic(self) -> bool {
        matches!(self, Action::Load { .. } | Action::Rmw { .. })
    }
}

/// A trace: who did what.
pub(super) type Traced = [(usize, Action)];

/// The first action that races with an earlier one.
pub(super) fn first_race(trace: &Traced) -> Option<usize> {
    let before = happens_before(trace);
    (0..trace.len())
        .find(|&later| (0..later).any(|earlier| !before[later][earlier] && conflict(trace, earlier, later)))
}

fn conflict(trace: &Traced, one: usize, other: usize) -> bool {
    let (Some(one), Some(other)) = (trace[one].1.touched(), trace[other].1.touched()) else { return false };
    let overlap = one.1 < other.1 + other.2 && other.1 < one.1 + one.2;
    let same = (one.1, one.2) == (other.1, other.2);
    let (one, other) = (one.0, other.0);
    let writes = |touch| matches!(touch, Touch::Write | Touch::AtomicWrite);
    let atomic = |touch| matches!(touch, Touch::AtomicRead | Touch::AtomicWrite);
    overlap && (writes(one) || writes(other)) && !(same && atomic(one) && atomic(other))
}

/// For every action the set of those before it.
fn happens_before(trace: &Traced) -> Vec<Vec<bool>> {
    let mut before: Vec<Vec<bool>> = Vec::new();
    for later in 0..trace.len() {
        let mut known = vec![false; trace.len()];
        for earlier in 0..later {
            if trace[earlier].0 == trace[later].0 || synchronises(trace, earlier, later) {
                known[earlier] = true;
                for (known, inherited) in known.iter_mut().zip(&before[earlier]) {
                    *known |= *inherited;
                }
            }
        }
        before.push(known);
    }
    before
}

/// Whether `earlier` synchronises with `later`.
fn synchronises(trace: &Traced, earlier: usize, later: usize) -> bool {
    let ((from, first), (to, second)) = (trace[earlier], trace[later]);
    match (first, second) {
        (Action::Unlock { lock: one }, Action::Lock { lock: other }) => one == other,
        // A thread that does nothing passes on what it began with.
        (Action::Spawn { child }, Action::Join { child: joined }) if child == joined => true,
        (Action::Spawn { child }, _) if child == to => true,
        (_, Action::Join { child }) => child == from,
        _ => by_atomics(trace, earlier, later),
    }
}

/// A release operation or a release fence, and an acquire operation or an acquire fence, with a value that flows from
/// one to the other.
fn by_atomics(trace: &Traced, earlier: usize, later: usize) -> bool {
    let (releasing, acquiring) = (trace[earlier].1, trace[later].1);
    if !releasing.order().releases || !acquiring.order().acquires {
        return false;
    }
    let stores: Vec<usize> = match releasing {
        Action::Fence { .. } => sequenced(trace, earlier, earlier + 1..trace.len())
            .filter(|&at| trace[at].1.writes_atomic())
            .collect(),
        action if action.writes_atomic() => vec![earlier],
        _ => return false,
    };
    let loads: Vec<usize> = match acquiring {
        Action::Fence { .. } => {
            sequenced(trace, later, 0..later).filter(|&at| trace[at].1.reads_atomic()).collect()
        }
        action if action.reads_atomic() => vec![later],
        _ => return false,
    };
    stores
        .iter()
        .any(|&store| loads.iter().any(|&load| store < load && reads_from_sequence(trace, store, load)))
}

/// The actions of the thread of `one` within `range`.
fn sequenced(trace: &Traced, one: usize, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
    range.filter(move |&at| trace[at].0 == trace[one].0)
}

/// Whether `load` reads the value of `store` or of a read-modify-write in the release sequence that it heads. Loads read
/// the last value written.
fn reads_from_sequence(trace: &Traced, store: usize, load: usize) -> bool {
    let atomic = trace[store].1.atomic();
    let between = (store + 1..load).filter(|&at| trace[at].1.atomic() == atomic);
    trace[load].1.atomic() == atomic
        && between.into_iter().all(|at| !matches!(trace[at].1, Action::Store { .. }))
        // A plain write makes another atomic of it.
        && (store + 1..load).all(|at| !plainly_written(trace[at].1, atomic))
}

fn plainly_written(action: Action, atomic: Option<usize>) -> bool {
    let Action::Plain { touch: Touch::Write, at, size } = action else { return false };
    atomic.map(place).is_some_and(|(start, length)| at <= start && start + length <= at + size)
}
