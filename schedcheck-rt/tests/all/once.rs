//! What std promises about `Once`, `OnceLock` and `LazyLock`, as plain std and under control.

use crate::support::exhaust::exhaust;
use crate::support::{alone, promised, report};
use schedcheck_rt::exec::{Execution, Test};
use schedcheck_rt::facade::sync::{LazyLock, Once, OnceLock};
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::{Model, Plan, Trace};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn fails() {
    resume_unwind(Box::new("as intended"));
}

#[test]
fn one_of_several_callers_runs_and_all_see_its_effects() {
    promised(|| {
        let once = Once::new();
        let cell = OnceLock::new();
        thread::scope(|scope| {
            for number in [1, 2] {
                let (once, cell) = (&once, &cell);
                scope.spawn(move || {
                    once.call_once(|| cell.set(number).unwrap());
                    assert!(once.is_completed());
                    assert!(cell.get().is_some());
                });
            }
            once.wait();
            assert!(cell.get().is_some());
        });
        Ok(())
    });
}

#[test]
fn a_panic_poisons_until_somebody_overrides_it() {
    promised(|| {
        let once = Once::new();
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(fails))).is_err());
        assert!(!once.is_completed());
        let told = Cell::new(false);
        once.call_once_force(|state| told.set(state.is_poisoned()));
        assert!(told.get() && once.is_completed());
        once.call_once_force(|_| unreachable!("it is done"));
        once.wait_force();
        Ok(())
    });
}

#[test]
fn a_poisoned_once_refuses_in_the_words_of_std() {
    fn refusal(call: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        payload.downcast_ref::<&str>().map_or_else(
            || payload.downcast_ref::<String>().cloned().unwrap_or_default(),
            |text| (*text).to_owned(),
        )
    }
    let _alone = alone();
    let (ours, std) = (Once::new(), std::sync::Once::new());
    let _ = catch_unwind(AssertUnwindSafe(|| ours.call_once(fails)));
    let _ = catch_unwind(AssertUnwindSafe(|| std.call_once(fails)));
    assert_eq!(refusal(|| ours.call_once(|| {})), refusal(|| std.call_once(|| {})));
    let ours = LazyLock::<(), _>::new(fails);
    let std = std::sync::LazyLock::<(), _>::new(fails);
    let _ = refusal(|| *ours);
    let _ = refusal(|| *std);
    assert_eq!(refusal(|| *ours), refusal(|| *std));
}

#[test]
fn a_cell_keeps_its_first_value() {
    promised(|| {
        let mut cell = OnceLock::new();
        assert_eq!(cell.get(), None);
        assert_eq!(cell.set(1), Ok(()));
        assert_eq!(cell.set(2), Err(2));
        assert_eq!(cell.get_or_init(|| 3), &1);
        *cell.get_mut().unwrap() += 1;
        assert_eq!((cell.clone(), OnceLock::from(2)), (OnceLock::from(2), cell.clone()));
        assert_eq!(cell.take(), Some(2));
        assert_eq!(cell.get(), None);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            cell.get_or_init(|| {
                fails();
                4
            });
        }));
        assert!(failed.is_err());
        assert_eq!(cell.get_or_init(|| 5), &5, "a failed initialiser leaves it empty");
        assert_eq!(cell.into_inner(), Some(5));
        Ok(())
    });
}

#[test]
fn a_lazy_value_is_made_on_first_use() {
    promised(|| {
        let made = Cell::new(0);
        let mut lazy = LazyLock::new(|| {
            made.set(made.get() + 1);
            String::from("made")
        });
        assert_eq!(made.get(), 0);
        assert_eq!((lazy.as_str(), LazyLock::force(&lazy).as_str()), ("made", "made"));
        lazy.push('!');
        assert_eq!((made.get(), &**lazy), (1, "made!"));
        Ok(())
    });
}

#[test]
fn an_unused_lazy_value_drops_its_initialiser() {
    promised(|| {
        let count = std::rc::Rc::new(());
        let (unused, used) = (count.clone(), count.clone());
        let lazy = LazyLock::new(move || unused);
        drop(lazy);
        assert_eq!(std::rc::Rc::strong_count(&count), 2);
        let lazy = LazyLock::new(move || used);
        assert_eq!(std::rc::Rc::strong_count(&lazy), 2);
        drop(lazy);
        assert_eq!(std::rc::Rc::strong_count(&count), 1);
        Ok(())
    });
}

#[test]
fn statics_are_fresh_in_every_execution() {
    static CELL: OnceLock<String> = OnceLock::new();
    static LAZY: LazyLock<Vec<u8>> = LazyLock::new(|| vec![1]);
    static OUTSIDE: LazyLock<String> = LazyLock::new(|| "made outside".to_owned());
    let _alone = alone();
    assert_eq!(*OUTSIDE, "made outside");
    let body = || {
        assert!(CELL.get().is_none());
        CELL.set("here".to_owned()).unwrap();
        assert_eq!(LAZY.len(), 1);
        assert_eq!(format!("{LAZY:?} {CELL:?}"), "LazyLock([1]) OnceLock(\"here\")");
        assert_eq!(*OUTSIDE, "made outside");
        Ok(())
    };
    let mut execution = Execution::new(Test { body, should_panic: None }, 1_000);
    for _ in 0..3 {
        execution.run(&Plan::default(), None, &mut Trace::default());
        assert_eq!(execution.outcome().word(), "passed");
    }
    assert!(CELL.get().is_none());
    assert_eq!(format!("{LAZY:?}"), "LazyLock(<uninit>)");
}

#[test]
fn either_initialiser_may_win() {
    let summary = exhaust(|| {
        let cell = OnceLock::new();
        thread::scope(|scope| {
            scope.spawn(|| cell.get_or_init(|| 1));
            cell.get_or_init(|| 2);
        });
        report(cell.get());
        Ok(())
    });
    assert_eq!((summary.classes, summary.results.len()), (2, 2), "{summary:?}");
}

#[test]
fn get_sees_a_cell_empty_or_set() {
    let summary = exhaust(|| {
        let cell = OnceLock::new();
        thread::scope(|scope| {
            scope.spawn(|| cell.set(1));
            report(cell.get());
        });
        Ok(())
    });
    assert_eq!((summary.classes, summary.results.len()), (2, 2), "{summary:?}");
}

#[test]
fn a_recursive_initialiser_deadlocks() {
    let summary = exhaust(|| {
        static CELL: OnceLock<u8> = OnceLock::new();
        CELL.get_or_init(|| *CELL.get_or_init(|| 1));
        Ok(())
    });
    assert!(summary.results.contains("deadlock"), "{summary:?}");
}
