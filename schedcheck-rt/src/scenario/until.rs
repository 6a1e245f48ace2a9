//! How far to let a thread run.

use std::fmt;

/// How far a thread is to run.
pub struct Until<'c> {
    pub(super) point: Point<'c>,
    pub(super) count: u32,
}

/// Where it is to stop.
pub(super) enum Point<'c> {
    Next,
    Any,
    Step,
    Blocked,
    End,
    Label(String),
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "nobody asks in a plain run"))]
    When(Box<dyn Fn() -> bool + 'c>),
}

const fn at(point: Point<'_>) -> Until<'_> {
    Until { point, count: 1 }
}

/// Up to the next label, its end, or where it waits for others, whichever comes first.
///
/// ```
/// # use schedcheck_rt::scenario::{self, next};
/// # scenario::check(|s| {
/// let worker = s.thread("worker", || schedcheck_rt::label("half done"));
/// s.transfer(worker).until(next()); // stands at the label
/// # });
/// ```
pub fn next() -> Until<'static> {
    at(Point::Next)
}

/// Up to any label that it will come to, its end, or where it waits for others: all are explored.
///
/// ```
/// # use schedcheck_rt::scenario::{self, any_point};
/// # scenario::check(|s| {
/// let worker = s.thread("worker", || schedcheck_rt::label("half done"));
/// s.transfer(worker).until(any_point()); // stands at the label, or has ended
/// # });
/// ```
pub fn any_point() -> Until<'static> {
    at(Point::Any)
}

/// Up to its next operation: it does the one before which it stands. Needs no labels.
///
/// ```
/// # use schedcheck_rt::scenario::{self, step};
/// # scenario::check(|s| {
/// let worker = s.thread("worker", || schedcheck_rt::label("half done"));
/// s.transfer(worker).until(step().count(3));
/// # });
/// ```
pub fn step() -> Until<'static> {
    at(Point::Step)
}

/// Up to where it waits for others: in a `lock`, `wait`, `recv`, `join`, …
///
/// ```
/// # use schedcheck_rt::scenario::{self, blocked};
/// # scenario::check(|s| {
/// let (send, receive) = std::sync::mpsc::channel();
/// let reader = s.thread("reader", move || receive.recv().unwrap());
/// s.transfer(reader).until(blocked());
/// send.send(()).unwrap();
/// # });
/// ```
pub fn blocked() -> Until<'static> {
    at(Point::Blocked)
}

/// Up to its end.
///
/// ```
/// # use schedcheck_rt::scenario::{self, end};
/// # scenario::check(|s| {
/// let worker = s.thread("worker", || schedcheck_rt::label("half done"));
/// s.transfer(worker).until(end());
/// assert!(s.ended(worker));
/// # });
/// ```
pub fn end() -> Until<'static> {
    at(Point::End)
}

/// Up to a [`label`](crate::label) of this name; a `&str` alone says the same.
///
/// ```
/// # use schedcheck_rt::scenario::{self, label};
/// # scenario::check(|s| {
/// let worker = s.thread("worker", || schedcheck_rt::label("half done"));
/// s.transfer(worker).until(label("half done")); // `until("half done")` says the same
/// # });
/// ```
pub fn label(name: &str) -> Until<'static> {
    at(Point::Label(name.to_owned()))
}

/// Up to the first point at which `condition` holds. It is asked at every label, where the thread
/// waits for others, and at its end.
///
/// ```
/// use schedcheck_rt::scenario::{self, when};
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// let done = AtomicU32::new(0);
/// scenario::check(|s| {
///     let worker = s.thread("worker", || {
///         for _ in 0..10 {
///             done.fetch_add(1, SeqCst);
///             schedcheck_rt::label("one more");
///         }
///     });
///     s.transfer(worker).until(when(|| done.load(SeqCst) == 5));
/// });
/// ```
pub fn when<'c>(condition: impl Fn() -> bool + 'c) -> Until<'c> {
    at(Point::When(Box::new(condition)))
}

impl Until<'_> {
    /// Not the first time that it comes there, but the `times`-th.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, label};
    /// # scenario::check(|s| {
    /// let worker = s.thread("worker", || (0..3).for_each(|_| schedcheck_rt::label("round")));
    /// s.transfer(worker).until(label("round").count(2)); // stands at the second label
    /// # });
    /// ```
    ///
    /// # Panics
    /// If that is 0.
    #[must_use]
    pub fn count(mut self, times: u32) -> Self {
        assert!(times > 0, "a thread cannot stop before it has run");
        self.count = times;
        self
    }
}

impl From<&str> for Until<'_> {
    fn from(name: &str) -> Self {
        label(name)
    }
}

impl fmt::Debug for Until<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = match &self.point {
            Point::Next => "next",
            Point::Any => "any_point",
            Point::Step => "step",
            Point::Blocked => "blocked",
            Point::End => "end",
            Point::Label(name) => name,
            Point::When(_) => "when",
        };
        f.debug_struct("Until").field("point", &point).field("count", &self.count).finish()
    }
}
