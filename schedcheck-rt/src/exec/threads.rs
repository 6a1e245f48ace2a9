//! The threads of one execution, in order of creation.

use super::controller::{Slot, World};
use super::run::TestResult;
use super::switch::{Carried, Exit};
use super::thread_locals::Kept;
use super::twins::Twin;
use crate::model::Op;
use crate::search::step::{ObjectId, StepIndex, ThreadId};
use rustc_hash::FxHashMap;
use std::backtrace::Backtrace;
use std::borrow::Cow;

/// What runs in a thread.
pub(crate) enum Body {
    /// The body of the test.
    Test(fn() -> TestResult),
    Spawned(Box<dyn FnOnce()>),
}

/// One thread of the current execution.
pub(crate) struct Thread {
    /// Its number in the search: the same in every execution.
    pub(crate) id: ThreadId,
    /// The thread object others join on.
    pub(crate) life: ObjectId,
    /// Its park token.
    pub(crate) token: ObjectId,
    /// What it will do next.
    pub(crate) op: Op,
    /// Where that stands, as a number of the place table; 0 if nobody asked.
    pub(crate) place: u32,
    /// The calls that led to a wait which does not stand in the user's own code, for reports.
    pub(crate) calls: Option<Box<Backtrace>>,
    /// It is not to be preempted before it.
    pub(crate) held: bool,
    /// Somebody has waited for its end.
    pub(crate) joined: bool,
    /// It takes part in a scenario.
    pub(crate) directed: bool,
    /// What it was blocked at when its scenario had others run; it goes on with that.
    pub(crate) aside: Option<Op>,
    /// Whether there are others like it.
    pub(crate) twin: Option<Twin>,
    /// It has executed its last operation.
    pub(crate) ended: bool,
    /// How many threads it has started.
    pub(crate) children: u32,
    /// How many scopes it has begun.
    pub(crate) scopes: u32,
    /// How many channels it has made.
    pub(crate) channels: usize,
    /// How often it has drawn random numbers.
    pub(crate) draws: u64,
    /// The first step after its last turn.
    pub(crate) ran_until: StepIndex,
    /// How often it slept after the test was done.
    pub(crate) sleeps_after_end: u32,
    /// Given by the user.
    pub(crate) name: Option<Cow<'static, str>>,
    /// What carries it, while it is suspended.
    pub(crate) carrier: Option<Carried>,
    /// Where it suspends from.
    pub(crate) exit: Exit,
    /// What it will run, until it starts.
    pub(crate) body: Option<Body>,
    /// What it left for whoever joins it.
    pub(crate) leavings: *mut (),
    /// Its virtual time, in nanoseconds.
    pub(crate) time: u64,
    /// It has looked at the clock.
    pub(crate) asks_for_time: bool,
    /// What std keeps for it while another thread has its turn.
    pub(crate) std_words: Kept,
    /// How large its stack is to be, if it was started with a wish.
    pub(crate) stack_size: Option<usize>,
    /// The highest address of its stack.
    pub(crate) stack_base: usize,
    /// Where the engine's stack for it begins.
    pub(crate) engine_top: usize,
    /// It panicked and nobody has been told yet.
    pub(crate) unheard_panic: bool,
    /// The scope that it was started in, if there is one.
    pub(crate) scoped: Option<Scoped>,
}

/// Which scope a thread was started in, and what that one knows of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scoped {
    pub(crate) scope: ScopeId,
    /// Its handle is gone, and whoever gave it up comes before the end of the scope.
    pub(crate) let_go: bool,
    /// Its panic is why the scope panicked.
    pub(crate) blamed: bool,
}

/// A scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScopeId {
    /// The thread that runs it.
    pub(crate) owner: Slot,
    /// How many that thread had begun before.
    pub(crate) nth: u32,
}

impl World {
    /// Whether the thread in `slot` runs `scope`, which has not ended, or will have done all it does before that ends.
    pub(super) fn is_inside(&self, mut slot: Slot, scope: ScopeId) -> bool {
        if slot == scope.owner {
            return true;
        }
        if self.objects.body_is_done(self.threads[slot].life) {
            // Nobody waits for the destructors of its thread-local values.
            return false;
        }
        // It is one of a scope, that one is run by a thread of another scope, and so on.
        while let Some(Scoped { scope: within, .. }) = self.threads[slot].scoped {
            if within.owner == scope.owner {
                // A thread ends the scope that it began last.
                return within.nth >= scope.nth;
            }
            slot = within.owner;
        }
        false
    }
}

/// Names for threads that hold in every execution: the n-th child of a thread is always the same.
#[derive(Debug)]
pub(crate) struct ThreadNames {
    numbers: FxHashMap<(ThreadId, u32), ThreadId>,
    parents: Vec<(ThreadId, u32)>,
}

impl ThreadNames {
    /// Only the body of the test has a number.
    pub(crate) fn new() -> ThreadNames {
        let body = (ThreadId(0), 0);
        ThreadNames { numbers: FxHashMap::from_iter([(body, ThreadId(0))]), parents: vec![body] }
    }

    /// The number of the `nth` child of `parent`; the body of the test is 0 and its own parent.
    pub(crate) fn number(&mut self, parent: ThreadId, nth: u32) -> ThreadId {
        let next = ThreadId(u16::try_from(self.parents.len()).expect("fewer than 65536 threads"));
        *self.numbers.entry((parent, nth)).or_insert_with(|| {
            self.parents.push((parent, nth));
            next
        })
    }

    /// The same. Most programs start their threads in the same order every time: then the thread in `slot` has that number.
    #[inline]
    pub(crate) fn number_in(&mut self, slot: usize, parent: ThreadId, nth: u32) -> ThreadId {
        if self.parents.get(slot) == Some(&(parent, nth)) {
            return ThreadId(slot as u16);
        }
        self.number(parent, nth)
    }

    /// Takes back the numbers from `first` on; whether there were any.
    pub(crate) fn forget_from(&mut self, first: usize) -> bool {
        let new = self.parents.split_off(first.min(self.parents.len()));
        new.iter().for_each(|name| {
            self.numbers.remove(name);
        });
        !new.is_empty()
    }

    /// Parent, and position among its children, of each.
    pub(crate) fn parents(&self) -> &[(ThreadId, u32)] {
        &self.parents
    }

    /// The path from the test body: `0`, its second child `0.2`, the first child of that `0.2.1`.
    pub(crate) fn path(&self, thread: ThreadId) -> String {
        if thread.0 == 0 {
            return "0".to_owned();
        }
        match self.parents.get(usize::from(thread.0)) {
            Some((parent, nth)) => format!("{}.{nth}", self.path(*parent)),
            None => format!("?{}", thread.0),
        }
    }

    /// Its position among the children of its parent, that of its parent among those of its own, and so on.
    pub(crate) fn positions(&self, thread: ThreadId) -> impl Iterator<Item = u32> {
        let parent =
            |(parent, _): &(ThreadId, u32)| (parent.0 != 0).then(|| self.parents[usize::from(parent.0)]);
        let first = (thread.0 != 0).then(|| self.parents[usize::from(thread.0)]);
        std::iter::successors(first, parent).map(|(_, nth)| nth)
    }

    /// The thread of a path, numbering it if need be.
    pub(crate) fn parse(&mut self, path: &str) -> Option<ThreadId> {
        let mut elements = path.split('.');
        if elements.next() != Some("0") {
            return None;
        }
        let mut thread = ThreadId(0);
        for element in elements {
            thread = self.number(thread, element.parse().ok()?);
        }
        Some(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_same_thread_whoever_asks_first() {
        let mut names = ThreadNames::new();
        let grandchild = names.parse("0.2.1").unwrap();
        assert_eq!(names.path(grandchild), "0.2.1");
        assert_eq!(names.parse("0"), Some(ThreadId(0)));
        let child = names.number(ThreadId(0), 2);
        assert_eq!(names.number(child, 1), grandchild);
        for slot in 0..4 {
            assert_eq!(names.number_in(slot, child, 1), grandchild, "wherever it is this time");
        }
        assert_eq!(names.positions(grandchild).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(names.positions(ThreadId(0)).count(), 0);
        assert_eq!(names.parse("1.1"), None);
        assert_eq!(names.parse("0.x"), None);
    }
}
