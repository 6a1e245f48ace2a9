//! Executions in which an assumption does not hold are dropped, and nothing else is.

use crate::support::explore::{by, explore};
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use std::sync::atomic::Ordering::SeqCst;

/// Every order of the search must find the executions in which the flag is up in time, although the
/// flag goes up only after steps that have nothing to do with the assumption.
#[test]
fn what_makes_an_assumption_hold_is_found_behind_other_steps() {
    fn body() -> TestResult {
        let (flag, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| schedcheck_rt::assume(flag.load(SeqCst) == 1));
            scope.spawn(|| {
                other.fetch_add(1, SeqCst);
                other.fetch_add(1, SeqCst);
                flag.store(1, SeqCst);
            });
        });
        Ok(())
    }
    for order in ["dfs", "bfs", "pb", "mdpor,pb", "rand:7"] {
        let found = explore(body, by(order, Budget::NONE));
        let whole = found.stats.executions - found.stopped;
        assert_eq!((whole, found.stopped), (1, 1), "{order}");
    }
}
