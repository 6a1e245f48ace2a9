//! Tests that say how their threads are to interleave.
//!
//! A search looks at every schedule. Whoever suspects something knows better where to look, and says
//! so in the test: *let the consumer run until it waits; then let the producers and the other consumer
//! take turns in any order; then let all of them come to their end.* That is a scenario, after
//! CONCURRIT (Burnim, Elmas, Necula, Sen). All executions that realise it are explored, and no others.
//!
//! ```
//! use schedcheck_rt::scenario::{self, any, blocked, end, next};
//! use std::collections::VecDeque;
//! use std::sync::{Condvar, Mutex};
//!
//! #[derive(Default)]
//! struct Buffer {
//!     items: Mutex<VecDeque<u32>>,
//!     filled: Condvar,
//! }
//!
//! impl Buffer {
//!     fn put(&self, item: u32) {
//!         schedcheck_rt::label("put");
//!         self.items.lock().unwrap().push_back(item);
//!         self.filled.notify_one();
//!     }
//!
//!     fn take(&self) -> u32 {
//!         schedcheck_rt::label("take");
//!         let mut items = self.items.lock().unwrap();
//!         while items.is_empty() {
//!             items = self.filled.wait(items).unwrap();
//!         }
//!         items.pop_front().unwrap()
//!     }
//! }
//!
//! // In a test with `#[schedcheck]`:
//! let buffer = Buffer::default();
//! scenario::check(|s| {
//!     let p1 = s.thread("P1", || buffer.put(1));
//!     let p2 = s.thread("P2", || buffer.put(2));
//!     let c1 = s.thread("C1", || { buffer.take(); });
//!     let c2 = s.thread("C2", || { buffer.take(); });
//!
//!     s.transfer(c1).until(blocked());
//!     s.with([p1, p2, c2], || {
//!         while !s.ended(c2) {
//!             s.transfer(any()).until(next());
//!         }
//!     });
//!     while !s.all_ended() {
//!         s.transfer(any()).until(end());
//!     }
//! });
//! ```
//!
//! # What there is
//!
//! [`Scenario::thread`] makes a thread that runs only when it is told to. [`Scenario::transfer`] lets
//! one run and waits until it stops: at a [`label`](crate::label) in the code under test
//! ([`label`], [`next`], [`any_point`]), where it waits for others ([`blocked`]), before its next
//! operation ([`step`]), where a condition holds ([`when`]), or at its [`end`]. Whom to let run is
//! one thread, one of several, or [`any`] that can. [`Scenario::with`] and [`Scenario::without`]
//! narrow that down for a while. [`Scenario::assume`] drops executions that are of no interest.
//! Between two transfers the scenario can look at the state and assert what must hold.
//!
//! [`check`] asks whether any execution fails. [`exists`] asks whether any succeeds, and ends with
//! the first that does. For both, a scenario that no execution meets is a failure; it is told which
//! statement the execution that came furthest did not meet.
//!
//! When the closure returns, threads that have not ended run on to their end, in every order, as at
//! the end of [`std::thread::scope`]. So a scenario can also lead to a point from which everything
//! is to be explored.
//!
//! # What an execution must do to meet its scenario
//!
//! * A thread must come where it is to stop. If it ends or is blocked before, the execution is
//!   discarded. [`next`], [`any_point`] and [`step`] also stop where the thread ends or is blocked.
//!   A loop that goes round and round until others do something counts as blocked.
//! * [`any`] chooses among threads that have not ended and can do something.
//! * If no thread could go on even if all were allowed to, or if threads wait for each other in a
//!   cycle, that is a deadlock, and a failure.
//! * A panic, also one in the closure, is a failure and ends the execution.
//! * Threads in a scenario do not wake up spuriously, and time-outs fire only when nothing else can
//!   happen.
//! * Threads that are not made with [`Scenario::thread`] are not part of the scenario: they run when
//!   they can, in every order. Unless all of them were joined, being blocked is not a point to stop at.
//!
//! Data races are found as ever: that the scenario let one thread run before another orders nothing
//! between them, only between them and the scenario itself.
//!
//! Under plain `cargo test` the closure is not called: without the explorer, nothing can stop a thread
//! at a label.
//!
//! # Why partial-order reduction stays sound
//!
//! A scenario speaks of the order of steps, and the search may execute one order for many that
//! differ only in steps that commute. It must not take one that the scenario forbids for one that
//! it demands. It cannot: a scenario does not filter schedules, it is part of the program. `transfer`
//! is two steps of the thread that directs: one passes the right to run on, the other waits for its
//! return. A thread of the scenario begins, and goes on, with a step that waits for that right, and
//! stops with one that gives it back. Which thread comes next is a choice of the director like
//! [`choose`](crate::choose). For the search these are steps that block until another step enables
//! them, with an order edge from that one, as it is with thread starts and joins.
//!
//! So every step of the director and of the threads it directs happens before the next: passing on
//! before going on, giving back before regaining, and within a turn there is one thread. All their
//! steps form one chain, and two executions of a scenario without other threads belong to the same
//! class only if they are the same sequence of steps with the same choices. Nothing is merged, so
//! nothing is lost, and whatever the director looks at between two transfers (who has ended, who can
//! go on, what a condition says) is determined by its own past.
//!
//! Three points deserve a second look.
//!
//! * *A thread that is blocked* gives back the right to run without a step of its own. The director
//!   takes it when nothing can run, with a step that is ordered after all before it and before all
//!   after it, like a time-out that fires because nothing else can happen. The blocked operation is
//!   put aside, and done after the step with which the thread goes on: so it has both orders, that
//!   one and the one of whatever unblocked it.
//! * *Other threads* are not in that chain. Their steps commute with the director's unless they use
//!   the same objects, which is the ordinary relation. What the director learns without a step must
//!   therefore not depend on them: unless they were joined, and with that are part of the chain, `any`
//!   offers also threads that are blocked at the moment, and being blocked is not taken for a stop.
//!   (That they have ended in this execution would not do: in one of the same class they may not have.)
//! * *Spurious wake-ups and early time-outs* could come at any time between two steps of a thread, also
//!   while it must not run. They are left out, and the guarantee is worded so.
//!
//! The tests compare the results of every scenario under `--reduction optimal` with those of
//! executing all schedules.

mod until;
mod who;

pub use until::{Until, any_point, blocked, end, label, next, step, when};
pub use who::{Actor, Who, any, any_of};

#[cfg(not(feature = "engine"))]
#[path = "absent.rs"]
mod director;
#[cfg(feature = "engine")]
#[path = "present.rs"]
mod director;

use director::Director;
use std::cell::RefCell;
use std::marker::PhantomData;

/// A scenario that is being directed; [`check`] and [`exists`] make one. The [module](self) has an example.
#[derive(Debug)]
pub struct Scenario<'scope, 'env: 'scope> {
    director: Director,
    cast: RefCell<Cast>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The threads of a scenario.
#[derive(Debug, Default)]
struct Cast {
    /// Their names, by number.
    names: Vec<String>,
    /// Those that may be chosen at the moment, by number.
    visible: Vec<Actor>,
}

/// Explores all executions of a scenario: is there one that fails?
///
/// Threads of the scenario may borrow what lives outside of the closure, as in [`std::thread::scope`].
/// Under plain `cargo test` the closure is not called.
///
/// ```
/// use schedcheck_rt::scenario::{self, any, next};
/// use std::sync::Mutex;
///
/// let log = Mutex::new(Vec::new());
/// scenario::check(|s| {
///     let log = &log;
///     for name in ["first", "second"] {
///         s.thread(name, move || log.lock().unwrap().push(name));
///     }
///     while !s.all_ended() {
///         s.transfer(any()).until(next());
///     }
///     assert_eq!(log.lock().unwrap().len(), 2);
/// });
/// ```
#[track_caller]
pub fn check<'env, F>(script: F)
where
    F: for<'scope> FnOnce(&'scope Scenario<'scope, 'env>),
{
    if let Some(director) = Director::begin(false) {
        direct(director, script);
    }
}

/// Explores executions of a scenario until one succeeds: is there one?
///
/// It is a failure if there is none, or if an execution fails before one succeeds. Under plain
/// `cargo test` the closure is not called.
///
/// ```
/// use schedcheck_rt::scenario::{self, any, next};
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// let last = AtomicU32::new(0);
/// scenario::exists(|s| {
///     let last = &last;
///     for number in [1, 2] {
///         s.thread("writer", move || {
///             schedcheck_rt::label("before");
///             last.store(number, SeqCst);
///         });
///     }
///     while !s.all_ended() {
///         s.transfer(any()).until(next());
///     }
///     s.assume(last.load(SeqCst) == 1); // the first writer was the last to write
/// });
/// ```
#[track_caller]
pub fn exists<'env, F>(script: F)
where
    F: for<'scope> FnOnce(&'scope Scenario<'scope, 'env>),
{
    if let Some(director) = Director::begin(true) {
        direct(director, script);
    }
}

#[track_caller]
fn direct<'env, F>(director: Director, script: F)
where
    F: for<'scope> FnOnce(&'scope Scenario<'scope, 'env>),
{
    let cast = RefCell::default();
    let scenario = Scenario { director, cast, scope: PhantomData, env: PhantomData };
    scenario.director.guard(|| script(&scenario));
    // The threads that borrow from outside have ended after this.
    scenario.director.finish();
}

impl<'scope> Scenario<'scope, '_> {
    /// Makes a thread that runs when it is told to.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, end};
    /// # scenario::check(|s| {
    /// let total = std::sync::Mutex::new(0); // threads may also borrow what lives outside of the scenario
    /// let adder = s.thread("adder", move || *total.lock().unwrap() += 1);
    /// s.transfer(adder).until(end());
    /// # });
    /// ```
    #[track_caller]
    pub fn thread<F>(&'scope self, name: &str, body: F) -> Actor
    where
        F: FnOnce() + Send + 'scope,
    {
        self.director.start(name, body);
        let mut cast = self.cast.borrow_mut();
        let actor = Actor(cast.names.len());
        cast.names.push(name.to_owned());
        cast.visible.push(actor);
        actor
    }

    /// Lets a thread run; [`Transfer::until`] says how far.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, end};
    /// # scenario::check(|s| {
    /// let worker = s.thread("worker", || {});
    /// s.transfer(worker).until(end());
    /// # });
    /// ```
    ///
    /// # Panics
    /// If a thread is named that is not in the scope of [`Scenario::with`] or [`Scenario::without`].
    pub fn transfer(&self, who: impl Into<Who>) -> Transfer<'_> {
        Transfer { director: &self.director, candidates: who.into().among(&self.cast.borrow()) }
    }

    /// Runs `part` with only these threads in scope: [`any`] chooses among them, and others must not
    /// be named.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, any, end};
    /// # scenario::check(|s| {
    /// let [a, b, c] = ["a", "b", "c"].map(|name| s.thread(name, || {}));
    /// s.with([a, b], || {
    ///     s.transfer(any()).until(end()); // not `c`
    /// });
    /// # _ = c;
    /// # });
    /// ```
    pub fn with<R>(&self, actors: impl AsRef<[Actor]>, part: impl FnOnce() -> R) -> R {
        let actors = actors.as_ref();
        self.narrowed(|actor| actors.contains(actor), part)
    }

    /// Runs `part` without these threads in scope.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, any, end};
    /// # scenario::check(|s| {
    /// let logger = s.thread("logger", || {});
    /// s.thread("worker", || {});
    /// s.without([logger], || {
    ///     while !s.all_ended() {
    ///         s.transfer(any()).until(end()); // not the logger
    ///     }
    /// });
    /// # });
    /// ```
    pub fn without<R>(&self, actors: impl AsRef<[Actor]>, part: impl FnOnce() -> R) -> R {
        let actors = actors.as_ref();
        self.narrowed(|actor| !actors.contains(actor), part)
    }

    fn narrowed<R>(&self, stays: impl Fn(&Actor) -> bool, part: impl FnOnce() -> R) -> R {
        let before = self.cast.borrow().visible.clone();
        self.cast.borrow_mut().visible.retain(stays);
        let result = part();
        self.cast.borrow_mut().visible = before;
        result
    }

    /// Whether a thread has ended.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, step};
    /// # scenario::check(|s| {
    /// let worker = s.thread("worker", || {});
    /// while !s.ended(worker) {
    ///     s.transfer(worker).until(step());
    /// }
    /// # });
    /// ```
    pub fn ended(&self, actor: Actor) -> bool {
        self.director.has_ended(actor)
    }

    /// Whether all threads in scope have ended.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, any, next};
    /// # scenario::check(|s| {
    /// s.thread("worker", || {});
    /// while !s.all_ended() {
    ///     s.transfer(any()).until(next());
    /// }
    /// # });
    /// ```
    pub fn all_ended(&self) -> bool {
        self.cast.borrow().visible.iter().all(|actor| self.director.has_ended(*actor))
    }

    /// Drops this execution unless `condition` holds.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, any_point};
    /// # scenario::check(|s| {
    /// let worker = s.thread("worker", || schedcheck_rt::label("half done"));
    /// s.transfer(worker).until(any_point());
    /// s.assume(!s.ended(worker)); // those in which it is at its end already do not matter
    /// # });
    /// ```
    #[track_caller]
    pub fn assume(&self, condition: bool) {
        if !condition {
            self.director.not_assumed();
        }
    }
}

/// A transfer without an end yet: what [`Scenario::transfer`] returns.
#[derive(Debug)]
#[must_use = "nobody runs before `until` says how far"]
pub struct Transfer<'a> {
    director: &'a Director,
    candidates: Vec<Actor>,
}

impl Transfer<'_> {
    /// Lets the thread run until it comes there. Returns which thread it was.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, any, end};
    /// # scenario::check(|s| {
    /// let [a, b] = ["a", "b"].map(|name| s.thread(name, || {}));
    /// let first = s.transfer(any()).until(end());
    /// assert!(s.ended(first) && (first == a || first == b));
    /// # });
    /// ```
    #[track_caller]
    #[allow(single_use_lifetimes, reason = "in an argument it must have a name")]
    pub fn until<'c>(self, until: impl Into<Until<'c>>) -> Actor {
        self.director.transfer(&self.candidates, &until.into())
    }
}
