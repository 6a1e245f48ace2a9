//! Predictions: what one execution that passed says about others that may not.
//!
//! From the first executions of a search, which are made anyway, guesses are derived that need no
//! further execution: locks taken in a cyclic order, accesses that another thread could come between,
//! wake-ups that could come too early, accesses whose order is open. They may be wrong. Each is then
//! *hunted* ([`super::hunt`]): a few executions are steered to where it would show. The idea of a cheap,
//! imprecise analysis whose warnings a directed search turns into witnesses is N. Rungta's (*Guided
//! Testing for Automatic Error Discovery in Concurrent Software*, PhD thesis, BYU 2009), and that of
//! active testing (P. Joshi et al., CalFuzzer, CAV 2009).
//!
//! A prediction is never a verdict. If hunting it shows a failure, that is one like any other, with its
//! schedule; if not, it is a remark, and once the search is complete it is refuted.

mod atomicity;
mod facts;
mod lock_order;
#[cfg(test)]
mod tests;

use super::step::{Access, Event, Mode, ObjectId, ReadsWhen, ThreadId, Trace};
use facts::Facts;

/// Predictions of one kind and one execution at most.
const MOST: usize = 24;

/// The n-th time that a thread does something to an object at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    /// Who.
    pub thread: ThreadId,
    /// Where, as in [`super::step::Event::site`].
    pub site: u32,
    /// To what.
    pub object: ObjectId,
    /// Which time, from 1 on.
    pub nth: u32,
}

/// What is predicted, the most promising first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Threads take locks in a cyclic order.
    LockOrder,
    /// Between two accesses of a thread to a variable, another thread may change it.
    Atomicity,
    /// Between accesses of a thread to two variables, another thread may use both.
    AtomicityOfTwo,
    /// A wake-up may come before the wait for it.
    LostWakeup,
    /// Two accesses of different threads may come in the other order.
    Conflict,
}

impl Kind {
    /// Its name in every format.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::LockOrder => "lock-order",
            Kind::Atomicity => "atomicity",
            Kind::AtomicityOfTwo => "atomicity-of-two",
            Kind::LostWakeup => "lost-wakeup",
            Kind::Conflict => "conflict",
        }
    }
}

/// Something that may go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// What it is.
    pub kind: Kind,
    /// The places to show, in the order in which they would be executed.
    pub places: Vec<Point>,
    /// Threads stop where these are about to be done ...
    pub hold: Vec<Point>,
    /// ... while another one does this.
    pub meanwhile: Option<Point>,
}

impl Prediction {
    /// Equal for what differs only in threads and objects that do the same.
    pub(super) fn key(&self) -> (Kind, Vec<u32>) {
        (self.kind, self.places.iter().map(|point| point.site).collect())
    }
}

/// The object that a step changed.
pub(super) fn changed(event: &Event) -> Option<ObjectId> {
    let Access { object, mode } = event.accesses[0];
    (mode == Mode::Write && object != ObjectId::NONE).then_some(object)
}

/// What threads looked at last before they went on from one of these places to something else: values on
/// which it may depend whether they come to a place behind. Of the thread that came there last, first.
pub(super) fn decisive(trace: &Trace, passed: &[u32]) -> Vec<ObjectId> {
    let mut objects = Vec::new();
    for (at, event) in trace.events.iter().enumerate().rev().filter(|(_, event)| passed.contains(&event.site))
    {
        let own = trace.events[..=at].iter().rev().filter(|earlier| earlier.thread == event.thread);
        let mut read = own.filter(|earlier| {
            let looks = matches!(earlier.accesses[0].mode, Mode::Read | Mode::Await);
            looks || earlier.accesses[0].mode == Mode::Write && earlier.reads_when != ReadsWhen::Never
        });
        let object = read.next().map(|earlier| earlier.accesses[0].object);
        objects.extend(object.filter(|object| !objects.contains(object)));
    }
    objects
}

/// What an execution says about others.
pub(super) struct Predicted {
    pub(super) predictions: Vec<Prediction>,
    /// Who started whom: child, parent.
    pub(super) parents: Vec<(ThreadId, ThreadId)>,
    /// Several threads use more than one object that somebody may change.
    pub(super) is_entangled: bool,
}

/// Everything that `trace` lets one expect, the most promising first.
pub(super) fn predict(trace: &Trace) -> Predicted {
    let facts = Facts::of(trace);
    let mut predictions = lock_order::cycles(&facts);
    predictions.extend(atomicity::intrusions(&facts));
    predictions.extend(atomicity::reversals(&facts));
    predictions.sort_by_key(|prediction| prediction.kind);
    Predicted { predictions, is_entangled: facts.is_entangled, parents: facts.parents }
}
