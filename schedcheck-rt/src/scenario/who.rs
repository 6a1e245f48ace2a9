//! Whom to let run.

use super::Cast;

/// A thread of a scenario, as [`Scenario::thread`](super::Scenario::thread) returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor(pub(super) usize);

/// One thread, one of several, or any: made from an [`Actor`], a list of them, or [`any`].
#[derive(Clone, Debug)]
pub struct Who {
    /// Nobody in particular: all in scope.
    named: Option<Vec<Actor>>,
    except: Vec<Actor>,
}

/// Any thread in scope that can run: each of them is explored.
///
/// ```
/// # use schedcheck_rt::scenario::{self, any, next};
/// # scenario::check(|s| {
/// s.thread("left", || {});
/// s.thread("right", || {});
/// while !s.all_ended() {
///     s.transfer(any()).until(next()); // who is first? Both ways are explored
/// }
/// # });
/// ```
pub fn any() -> Who {
    Who { named: None, except: Vec::new() }
}

/// One of these threads that can run: each of them is explored.
///
/// ```
/// # use schedcheck_rt::scenario::{self, any_of, end};
/// # scenario::check(|s| {
/// let writers = [1, 2].map(|_| s.thread("writer", || {}));
/// s.thread("reader", || {});
/// s.transfer(any_of(writers)).until(end()); // `transfer(writers)` says the same
/// # });
/// ```
pub fn any_of(actors: impl AsRef<[Actor]>) -> Who {
    Who { named: Some(actors.as_ref().to_vec()), except: Vec::new() }
}

impl Who {
    /// But not one of these.
    ///
    /// ```
    /// # use schedcheck_rt::scenario::{self, any, next};
    /// # scenario::check(|s| {
    /// let logger = s.thread("logger", || {});
    /// s.thread("worker", || {});
    /// s.transfer(any().except([logger])).until(next());
    /// # });
    /// ```
    pub fn except(mut self, actors: impl AsRef<[Actor]>) -> Who {
        self.except.extend_from_slice(actors.as_ref());
        self
    }

    /// The threads that are meant, of those in scope.
    pub(super) fn among(self, cast: &Cast) -> Vec<Actor> {
        let mut actors = match self.named {
            None => cast.visible.clone(),
            Some(named) => named,
        };
        actors.retain(|actor| !self.except.contains(actor));
        if let Some(hidden) = actors.iter().find(|actor| !cast.visible.contains(actor)) {
            panic!("thread '{}' is not in scope here", cast.names[hidden.0]);
        }
        actors
    }
}

impl From<Actor> for Who {
    fn from(actor: Actor) -> Who {
        any_of([actor])
    }
}

impl<const N: usize> From<[Actor; N]> for Who {
    fn from(actors: [Actor; N]) -> Who {
        any_of(actors)
    }
}

impl From<&[Actor]> for Who {
    fn from(actors: &[Actor]) -> Who {
        any_of(actors)
    }
}
