//! Programs whose number of happens-before classes is published or known.

use super::toy::{Op, Program, Script, straight};
use std::rc::Rc;

fn script(f: impl Fn(&[u64]) -> Option<Op> + 'static) -> Script {
    Rc::new(f)
}

/// One writer, `n` readers of one variable.
pub(crate) fn readers(n: u64) -> Program {
    let mut threads = vec![straight(vec![Op::Store(0, 42)])];
    threads.extend((0..n).map(|_| straight(vec![Op::Load(0)])));
    Program::new(threads, 1)
}

/// `n` writers, each of its own cell from the one before; a reader looks for the last zero.
pub(crate) fn lastzero(n: u64) -> Program {
    let mut threads = vec![script(move |results| match results.last() {
        Some(0) => None,
        _ => Some(Op::Load((n - results.len() as u64) as u32)),
    })];
    threads.extend((1..=n as u32).map(|cell| {
        script(move |results| match *results {
            [] => Some(Op::Load(cell - 1)),
            [value] => Some(Op::Store(cell, value + 1)),
            _ => None,
        })
    }));
    Program::new(threads, n as usize + 1)
}

/// Threads insert four numbers each into a hash table of 128 places.
pub(crate) fn indexer(n: u64) -> Program {
    let thread = |number: u64| {
        // The number 0 would look like an empty place.
        let first = if number == 0 { 128 } else { number };
        script(move |results| {
            let (mut inserted, mut place) = (0, (number * 7) % 128);
            for &seen in results {
                if seen == 0 {
                    inserted += 1;
                    place = ((inserted * 11 + number) * 7) % 128;
                } else {
                    place = (place + 1) % 128;
                }
            }
            (inserted < 4).then_some(Op::Cas(place as u32, 0, inserted * 11 + first))
        })
    };
    Program::new((0..n).map(thread).collect(), 128)
}

/// Threads allocate a block for an inode, under a lock per inode and a lock per block.
pub(crate) fn filesystem(n: u64) -> Program {
    const INODES: u32 = 32;
    const BLOCKS: u32 = 26;
    let (inode_lock, inode, block_lock, busy) = (0, INODES, 2 * INODES, 2 * INODES + BLOCKS);
    let thread = |number: u64| {
        let i = number as u32 % INODES;
        script(move |results| {
            let tail = |done: usize| match done {
                0 => Some(Op::Unlock(inode_lock + i)),
                _ => None,
            };
            match *results {
                [] => return Some(Op::Lock(inode_lock + i)),
                [_] => return Some(Op::Load(inode + i)),
                [_, value, ..] if value != 0 => return tail(results.len() - 2),
                _ => {}
            }
            let mut block = (i * 2) % BLOCKS;
            let mut rest = &results[2..];
            loop {
                match *rest {
                    [] => return Some(Op::Lock(block_lock + block)),
                    [_] => return Some(Op::Load(busy + block)),
                    [_, 0] => return Some(Op::Store(busy + block, 1)),
                    [_, 0, _] => return Some(Op::Store(inode + i, u64::from(block) + 1)),
                    [_, 0, _, _] => return Some(Op::Unlock(block_lock + block)),
                    [_, 0, _, _, _, ..] => return tail(rest.len() - 5),
                    [_, _] => return Some(Op::Unlock(block_lock + block)),
                    [_, _, _, ref more @ ..] => {
                        rest = more;
                        block = (block + 1) % BLOCKS;
                    }
                }
            }
        })
    };
    Program::new((0..n).map(thread).collect(), (2 * INODES + 2 * BLOCKS) as usize)
}

/// Load, then store one more.
pub(crate) fn inc(n: u64) -> Program {
    let thread = || {
        script(|results| match *results {
            [] => Some(Op::Load(0)),
            [value] => Some(Op::Store(0, value + 1)),
            _ => None,
        })
    };
    Program::new((0..n).map(|_| thread()).collect(), 1)
}

/// `threads` threads of `times` atomic increments.
pub(crate) fn fetch_add(threads: u64, times: usize) -> Program {
    Program::new((0..threads).map(|_| straight(vec![Op::Add(0, 1); times])).collect(), 1)
}

/// Increments under a lock, `times` times.
pub(crate) fn lockinc(threads: u64, times: usize) -> Program {
    let once = [Op::Lock(0), Op::Load(1), Op::Store(1, 1), Op::Unlock(0)];
    let all: Vec<Op> = (0..times).flat_map(|_| once).collect();
    Program::new((0..threads).map(|_| straight(all.clone())).collect(), 2)
}

/// Thread i turns i - 1 into i.
pub(crate) fn casrot(n: u64) -> Program {
    Program::new((1..=n).map(|i| straight(vec![Op::Cas(0, i - 1, i)])).collect(), 1)
}

/// A ring of store buffers.
pub(crate) fn store_buffers(n: u32) -> Program {
    let thread = |i| straight(vec![Op::Store(i, 1), Op::Load((i + 1) % n)]);
    Program::new((0..n).map(thread).collect(), n as usize)
}

/// Two threads add up two variables in turn; a third looks at both.
pub(crate) fn fib_bench(n: usize) -> Program {
    let adder = |target: u32| {
        script(move |results| match results.len() {
            done if done == 3 * n => None,
            done => match done % 3 {
                0 => Some(Op::Load(0)),
                1 => Some(Op::Load(1)),
                _ => Some(Op::Store(target, results[done - 2] + results[done - 1])),
            },
        })
    };
    let watcher = script(|results| match *results {
        [] => Some(Op::Load(0)),
        [x] if x <= 144 => Some(Op::Load(1)),
        _ => None,
    });
    let mut program = Program::new(vec![adder(0), adder(1), watcher], 2);
    program.objects = vec![1, 1];
    program
}

/// Every philosopher takes the left fork, then the right one.
pub(crate) fn philosophers(n: u32) -> Program {
    let thread = |i: u32| {
        let next = (i + 1) % n;
        straight(vec![Op::Lock(i), Op::Lock(next), Op::Unlock(next), Op::Unlock(i)])
    };
    Program::new((0..n).map(thread).collect(), n as usize)
}
