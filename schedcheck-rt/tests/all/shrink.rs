//! The simplest schedule of a failure, where the facades make blocked operations more than one step.

use crate::rwlock::held_back_for_ever;
use crate::support::explore::by;
use crate::support::{alone, show};
use schedcheck_rt::exec::{Execution, Test};
use schedcheck_rt::search::shrink::{minimise, preemptions};
use schedcheck_rt::search::step::{Budget, Model, Trace};
use schedcheck_rt::search::{Options, Search};

#[test]
fn to_leave_a_reader_that_is_held_back_is_no_preemption() {
    let _alone = alone();
    let test = Test { body: held_back_for_ever, should_panic: None };
    let mut execution = Execution::new(test, 1_000);
    let mut search = Search::new(Options { bound: Some(2), ..by("pb", Budget::NONE) });
    let (mut trace, mut deadlocks) = (Trace::default(), 0);
    while let Some(order) = search.next() {
        execution.run(order.plan, order.guide, &mut trace);
        search.learn(&trace);
        if execution.outcome().word() != "deadlock" {
            continue;
        }
        deadlocks += 1;
        let found = preemptions(&trace);
        let (plan, thought) = minimise(&trace).expect("it is small");
        execution.run(&plan, None, &mut trace);
        let fewest = (execution.outcome().word(), preemptions(&trace), thought);
        assert_eq!(fewest, ("deadlock", 1, 1), "it had {found}\n{}", show(&trace));
    }
    assert!(deadlocks > 1, "{deadlocks}");
}
