//! What std promises about thread-local values, as plain std and under control.

use crate::support::{alone, execute, promised};
use schedcheck_rt::__schedcheck_thread_local as thread_local;
use schedcheck_rt::facade::sync::Mutex;
use schedcheck_rt::facade::thread::{self, LocalKey};
use std::cell::{Cell, RefCell};

thread_local! {
    /// Documented, public, lazy.
    pub static COUNT: Cell<u32> = Cell::new(1);
    #[allow(dead_code, reason = "an attribute, as std takes them")]
    static CONSTANT: Cell<u32> = const { Cell::new(2) };
    pub(crate) static LIST: RefCell<Vec<u32>> = RefCell::new(vec![3]);
}
thread_local!(static WITHOUT_SEMICOLON: String = String::from("text"));
thread_local!(static CONST_WITHOUT_SEMICOLON: RefCell<String> = const { RefCell::new(String::new()) });
thread_local! {}

static KEY_IN_A_STATIC: &LocalKey<Cell<u32>> = &COUNT;

#[test]
fn every_thread_has_its_own_value() {
    promised(|| {
        COUNT.set(10);
        LIST.with_borrow_mut(|list| list.push(4));
        thread::spawn(|| {
            assert_eq!((COUNT.get(), CONSTANT.get()), (1, 2));
            COUNT.set(20);
            LIST.with_borrow(|list| assert_eq!(*list, [3]));
        })
        .join()
        .unwrap();
        assert_eq!(KEY_IN_A_STATIC.replace(1), 10);
        assert_eq!(LIST.replace(vec![3]), [3, 4]);
        WITHOUT_SEMICOLON.with(|text| assert_eq!(text, "text"));
        CONST_WITHOUT_SEMICOLON.with_borrow_mut(|text| text.push('x'));
        assert_eq!(CONST_WITHOUT_SEMICOLON.take(), "x");
        assert_eq!(CONSTANT.take() + CONSTANT.replace(2), 2);
        Ok(())
    });
}

#[test]
fn setting_does_not_run_the_initialiser() {
    thread_local! {
        static NEVER: Cell<u8> = panic!("must not run");
        static NEVER_EITHER: RefCell<u8> = panic!("must not run");
    }
    promised(|| {
        NEVER.set(1);
        NEVER_EITHER.set(2);
        assert_eq!((NEVER.get(), NEVER_EITHER.take()), (1, 2));
        Ok(())
    });
}

static LOG: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        LOG.lock().unwrap().push(self.0);
        if self.0 == "second" {
            assert!(FIRST.try_with(|_| ()).is_ok(), "it is dropped later");
            assert!(SECOND.try_with(|_| ()).is_err(), "it is being dropped");
            LATE.with(|late| assert_eq!(late.0, "late"));
        }
    }
}

thread_local! {
    static FIRST: Noisy = Noisy("first");
    static SECOND: Noisy = Noisy("second");
    static LATE: Noisy = Noisy("late");
}

#[test]
fn values_are_dropped_before_a_join_returns_in_the_order_of_the_system() {
    promised(|| {
        LOG.lock().unwrap().clear();
        thread::spawn(|| {
            FIRST.with(|_| ());
            SECOND.with(|_| ());
        })
        .join()
        .unwrap();
        assert_eq!(*LOG.lock().unwrap(), ["second", "late", "first"]);
        Ok(())
    });
}

#[test]
fn values_are_fresh_in_every_execution() {
    thread_local!(static SEEN: Cell<bool> = const { Cell::new(false) });
    let _alone = alone();
    for _ in 0..3 {
        let (_, outcome) = execute(
            || {
                assert!(!SEEN.replace(true));
                Ok(())
            },
            &[],
        );
        assert_eq!(outcome.word(), "passed");
    }
    assert!(!SEEN.get());
}

#[test]
fn a_destructor_that_panics_is_a_crash() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    thread_local!(static PANICS: Panics = const { Panics });
    let (_, outcome) = execute(
        || {
            thread::spawn(|| PANICS.with(|_| ())).join().unwrap();
            Ok(())
        },
        &[],
    );
    assert_eq!(outcome.word(), "crash");
}

#[test]
fn errors_and_keys_show_what_std_shows() {
    std::thread_local!(static STD: u8 = const { 0 });
    let _alone = alone();
    assert_eq!(format!("{COUNT:?}"), format!("{STD:?}"));
    struct Tries;
    impl Drop for Tries {
        fn drop(&mut self) {
            let error = OURS.try_with(|_| ()).unwrap_err();
            *LAST.lock().unwrap() = format!("{error} {error:?}");
        }
    }
    static LAST: Mutex<String> = Mutex::new(String::new());
    thread_local!(static OURS: Tries = const { Tries });
    thread::spawn(|| OURS.with(|_| ())).join().unwrap();
    assert_eq!(*LAST.lock().unwrap(), "already destroyed AccessError");
}
