//! Test bodies that between them use every way a thread can give up its turn, begin and end.
#![expect(clippy::disallowed_types, reason = "the order of a `HashMap` is what one body is about")]

use schedcheck_rt::__schedcheck_thread_local as thread_local;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::sync::{Condvar, Mutex, mpsc};
use schedcheck_rt::facade::thread;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

pub(crate) fn counts_under_a_mutex() -> TestResult {
    let count = Arc::new(Mutex::new(0));
    let threads = [(); 3].map(|()| {
        let count = count.clone();
        thread::spawn(move || *count.lock().unwrap() += 1)
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*count.lock().unwrap(), 3);
    Ok(())
}

pub(crate) fn locks_in_opposite_order() -> TestResult {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let theirs = locks.clone();
    let other = thread::spawn(move || {
        let _first = theirs.0.lock().unwrap();
        let _second = theirs.1.lock().unwrap();
    });
    {
        let _second = locks.1.lock().unwrap();
        let _first = locks.0.lock().unwrap();
    }
    other.join().unwrap();
    Ok(())
}

pub(crate) fn waits_on_a_condvar() -> TestResult {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let mut ready = shared.0.lock().unwrap();
    while !*ready {
        ready = shared.1.wait_timeout(ready, Duration::from_millis(5)).unwrap().0;
    }
    drop(ready);
    other.join().unwrap();
    Ok(())
}

pub(crate) fn loses_a_wakeup() -> TestResult {
    let shared = Arc::new((Mutex::new(()), Condvar::new()));
    let theirs = shared.clone();
    let other = thread::spawn(move || theirs.1.notify_one());
    drop(shared.1.wait(shared.0.lock().unwrap()).unwrap());
    other.join().unwrap();
    Ok(())
}

pub(crate) fn spawns_in_a_spawned_thread() -> TestResult {
    let count = Arc::new(AtomicUsize::new(0));
    let theirs = count.clone();
    let other = thread::spawn(move || {
        let grandchildren = [(); 2].map(|()| {
            let count = theirs.clone();
            thread::spawn(move || count.fetch_add(1, SeqCst))
        });
        theirs.fetch_add(1, SeqCst);
        for grandchild in grandchildren {
            grandchild.join().unwrap();
        }
    });
    count.fetch_add(1, SeqCst);
    other.join().unwrap();
    assert_eq!(count.load(SeqCst), 4);
    Ok(())
}

pub(crate) fn joins_a_panic() -> TestResult {
    let lock = Arc::new(Mutex::new(()));
    let theirs = lock.clone();
    let other = thread::spawn(move || {
        let _held = theirs.lock().unwrap();
        panic!("with a lock held");
    });
    let _ = lock.lock();
    assert!(other.join().is_err());
    assert!(lock.is_poisoned());
    Ok(())
}

pub(crate) fn leaves_a_panic_unheard() -> TestResult {
    let count = Arc::new(AtomicUsize::new(0));
    let theirs = count.clone();
    drop(thread::spawn(move || {
        theirs.fetch_add(1, SeqCst);
        panic!("nobody joins");
    }));
    count.fetch_add(1, SeqCst);
    Ok(())
}

/// Gives up its turn in the middle of an unwind.
struct LocksWhenDropped(Arc<Mutex<u32>>);

impl Drop for LocksWhenDropped {
    fn drop(&mut self) {
        assert!(std::thread::panicking());
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
    }
}

pub(crate) fn locks_while_it_unwinds() -> TestResult {
    let count = Arc::new(Mutex::new(0));
    let threads = [(); 2].map(|()| {
        let guard = LocksWhenDropped(count.clone());
        thread::spawn(move || {
            let _guard = guard;
            panic!("unwinds");
        })
    });
    *count.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
    assert!(!std::thread::panicking());
    assert!(threads.map(|thread| thread.join().is_err()) == [true, true]);
    Ok(())
}

/// Takes a step when its thread ends.
struct CountsWhenDropped(Arc<AtomicUsize>);

impl Drop for CountsWhenDropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

pub(crate) fn runs_thread_local_destructors() -> TestResult {
    thread_local!(static AT_END: std::cell::RefCell<Option<CountsWhenDropped>> = const { std::cell::RefCell::new(None) });
    let count = Arc::new(AtomicUsize::new(0));
    let threads = [(); 2].map(|()| {
        let count = count.clone();
        thread::spawn(move || AT_END.set(Some(CountsWhenDropped(count))))
    });
    count.fetch_add(1, SeqCst);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(count.load(SeqCst), 3);
    Ok(())
}

pub(crate) fn borrows_in_a_scope() -> TestResult {
    let count = Mutex::new(0);
    let flag = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *count.lock().unwrap() += 1);
        scope.spawn(|| flag.store(1, SeqCst));
        *count.lock().unwrap() += 1;
    });
    assert_eq!((*count.lock().unwrap(), flag.load(SeqCst)), (2, 1));
    Ok(())
}

pub(crate) fn spins_without_a_hint() -> TestResult {
    let flag = Arc::new(AtomicUsize::new(0));
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(1, SeqCst));
    while flag.load(SeqCst) == 0 {}
    other.join().unwrap();
    Ok(())
}

pub(crate) fn spins_with_yields() -> TestResult {
    let done = Arc::new(Mutex::new(false));
    let theirs = done.clone();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1));
        *theirs.lock().unwrap() = true;
    });
    let mut rounds = 0;
    while !done.try_lock().is_ok_and(|done| *done) {
        rounds += 1;
        thread::yield_now();
    }
    other.join().unwrap();
    assert!(rounds < 2_000);
    Ok(())
}

/// The order of iteration decides which cell is touched first.
pub(crate) fn iterates_over_hash_maps() -> TestResult {
    let cells = Arc::new([const { AtomicUsize::new(0) }; 8]);
    let touch = |cells: Arc<[AtomicUsize; 8]>| {
        let order: HashMap<usize, ()> = (0..8).map(|at| (at, ())).collect();
        for at in order.keys() {
            cells[*at].fetch_add(1, SeqCst);
        }
    };
    let threads = [(); 2].map(|()| {
        let cells = cells.clone();
        thread::spawn(move || touch(cells))
    });
    touch(cells.clone());
    for thread in threads {
        thread.join().unwrap();
    }
    Ok(())
}

pub(crate) fn leaves_workers_behind() -> TestResult {
    let (send, receive) = mpsc::channel::<u32>();
    drop(thread::spawn(move || receive.iter().sum::<u32>()));
    send.send(1).unwrap();
    drop(thread::Builder::new().name("sleeper".to_owned()).spawn(|| {
        loop {
            thread::park();
        }
    }));
    std::mem::forget(send);
    Ok(())
}

pub(crate) fn parks_and_sends() -> TestResult {
    let (send, receive) = mpsc::sync_channel(0);
    let me = thread::current();
    let other = thread::spawn(move || {
        send.send(7).unwrap();
        me.unpark();
    });
    assert_eq!(receive.recv(), Ok(7));
    thread::park_timeout(Duration::from_millis(1));
    other.join().unwrap();
    Ok(())
}
