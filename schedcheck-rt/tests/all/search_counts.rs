//! Published numbers of happens-before classes, hit exactly through the real facades.
//!
//! The programs are the usual benchmarks of stateless model checkers (POPL 2014 and after); GenMC,
//! Nidhugg and Concuerror report the same numbers under sequential consistency.

use crate::support::explore::{by, explore};
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::Mutex;
use schedcheck_rt::facade::sync::atomic::AtomicUsize;
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use std::array::from_fn;
use std::sync::atomic::Ordering::SeqCst;

/// Executions of a search that executes every class once.
fn count(body: fn() -> TestResult) -> u64 {
    let found = explore(body, by("mdpor,pb", Budget::NONE));
    assert_eq!((found.stats.diverged, found.stopped), (0, 0));
    assert_eq!(found.stats.executions, found.stats.traces, "a class was executed twice");
    found.stats.executions
}

/// Runs `body` in `N` threads numbered from 0.
fn threads<const N: usize>(body: impl Fn(usize) + Sync) -> TestResult {
    let body = &body;
    thread::scope(|scope| {
        for number in 0..N {
            scope.spawn(move || body(number));
        }
    });
    Ok(())
}

fn readers<const N: usize>() -> TestResult {
    let value = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| value.store(42, SeqCst));
        for _ in 0..N {
            scope.spawn(|| value.load(SeqCst));
        }
    });
    Ok(())
}

fn lastzero<const N: usize>() -> TestResult {
    let cells: [AtomicUsize; 8] = from_fn(|_| AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut at = N;
            while cells[at].load(SeqCst) != 0 {
                at -= 1;
            }
        });
        for cell in 1..=N {
            let cells = &cells;
            scope.spawn(move || {
                let seen = cells[cell - 1].load(SeqCst);
                cells[cell].store(seen + 1, SeqCst);
            });
        }
    });
    Ok(())
}

fn indexer<const N: usize>() -> TestResult {
    let table: [AtomicUsize; 128] = from_fn(|_| AtomicUsize::new(0));
    threads::<N>(|number| {
        for inserted in 0..4 {
            let message = inserted * 11 + number;
            let mut place = message * 7 % 128;
            while table[place].compare_exchange(0, message + 1, SeqCst, SeqCst).is_err() {
                place = (place + 1) % 128;
            }
        }
    })
}

fn filesystem<const N: usize>() -> TestResult {
    const INODES: usize = 32;
    const BLOCKS: usize = 26;
    let inode_locks: [Mutex<()>; INODES] = from_fn(|_| Mutex::new(()));
    let inodes: [AtomicUsize; INODES] = from_fn(|_| AtomicUsize::new(0));
    let block_locks: [Mutex<()>; BLOCKS] = from_fn(|_| Mutex::new(()));
    let busy: [AtomicUsize; BLOCKS] = from_fn(|_| AtomicUsize::new(0));
    threads::<N>(|number| {
        let inode = number % INODES;
        let _inode = inode_locks[inode].lock();
        if inodes[inode].load(SeqCst) != 0 {
            return;
        }
        let mut block = inode * 2 % BLOCKS;
        loop {
            let _block = block_locks[block].lock();
            if busy[block].load(SeqCst) == 0 {
                busy[block].store(1, SeqCst);
                inodes[inode].store(block + 1, SeqCst);
                return;
            }
            block = (block + 1) % BLOCKS;
        }
    })
}

fn fib_bench<const N: usize>() -> TestResult {
    let (a, b) = (AtomicUsize::new(1), AtomicUsize::new(1));
    thread::scope(|scope| {
        for target in [&a, &b] {
            let (a, b) = (&a, &b);
            scope.spawn(move || {
                for _ in 0..N {
                    let sum = a.load(SeqCst) + b.load(SeqCst);
                    target.store(sum, SeqCst);
                }
            });
        }
        scope.spawn(|| assert!(a.load(SeqCst) <= 144 && b.load(SeqCst) <= 144));
    });
    Ok(())
}

fn casrot<const N: usize>() -> TestResult {
    let value = AtomicUsize::new(0);
    threads::<N>(|number| {
        let _ = value.compare_exchange(number, number + 1, SeqCst, SeqCst);
    })
}

fn ainc<const N: usize, const TIMES: usize>() -> TestResult {
    let value = AtomicUsize::new(0);
    threads::<N>(|_| {
        for _ in 0..TIMES {
            value.fetch_add(1, SeqCst);
        }
    })
}

fn lockinc<const N: usize, const TIMES: usize>() -> TestResult {
    let value = Mutex::new(0);
    threads::<N>(|_| {
        for _ in 0..TIMES {
            *value.lock().unwrap() += 1;
        }
    })
}

fn inc<const N: usize>() -> TestResult {
    let value = AtomicUsize::new(0);
    threads::<N>(|_| value.store(value.load(SeqCst) + 1, SeqCst))
}

fn store_buffers<const N: usize>() -> TestResult {
    let cells: [AtomicUsize; N] = from_fn(|_| AtomicUsize::new(0));
    threads::<N>(|number| {
        cells[number].store(1, SeqCst);
        cells[(number + 1) % N].load(SeqCst);
    })
}

fn philosophers<const N: usize>() -> TestResult {
    let forks: [Mutex<()>; N] = from_fn(|_| Mutex::new(()));
    threads::<N>(|number| {
        let _left = forks[number].lock();
        let _right = forks[(number + 1) % N].lock();
    })
}

#[test]
fn memory_programs() {
    assert_eq!([readers::<2>, readers::<5>, readers::<8>].map(count), [4, 32, 256]);
    let lastzeros = [lastzero::<2>, lastzero::<3>, lastzero::<4>, lastzero::<5>, lastzero::<6>];
    assert_eq!(lastzeros.map(count), [5, 12, 28, 64, 144]);
    let casrots = [casrot::<2>, casrot::<3>, casrot::<4>, casrot::<5>];
    assert_eq!(casrots.map(count), [2, 5, 14, 43]);
    assert_eq!([fib_bench::<1>, fib_bench::<2>].map(count), [11, 140]);
    let aincs = [ainc::<2, 1>, ainc::<3, 1>, ainc::<4, 1>, ainc::<5, 1>];
    assert_eq!(aincs.map(count), [2, 6, 24, 120]);
    assert_eq!(count(ainc::<2, 3>), 20);
    assert_eq!([inc::<2>, inc::<3>].map(count), [4, 36]);
    let rings = [store_buffers::<2>, store_buffers::<3>, store_buffers::<4>];
    assert_eq!(rings.map(count), [3, 7, 15]);
    assert_eq!([indexer::<11>, indexer::<12>, indexer::<13>].map(count), [1, 8, 64]);
}

#[test]
fn lock_programs() {
    let lockincs = [lockinc::<2, 1>, lockinc::<3, 1>, lockinc::<4, 1>, lockinc::<5, 1>];
    assert_eq!(lockincs.map(count), [2, 6, 24, 120]);
    assert_eq!(count(lockinc::<3, 2>), 90);
    let filesystems = [filesystem::<13>, filesystem::<14>, filesystem::<15>, filesystem::<16>];
    assert_eq!(filesystems.map(count), [1, 2, 4, 8]);
    let tables = [philosophers::<2>, philosophers::<3>, philosophers::<4>];
    assert_eq!(tables.map(count), [3, 7, 15]);
}
