//! Random toy programs: small enough for brute force, mixed enough to find what is wrong.

use super::super::rng::Rng;
use super::toy::{Op, Program, Script, straight};
use std::rc::Rc;

/// What the threads of a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Reads, writes, CAS, fetch_add, branches on values.
    Memory,
    /// The same under and between mutexes, nested, with try_lock.
    Locks,
    /// Reader-writer locks.
    RwLocks,
    /// Condition variables, with and without time-outs.
    Condvars,
    /// Channels, weak CAS, choices.
    Channels,
    /// Threads that are spawned and joined.
    Spawns,
    /// Loops that wait, whose idle rounds the model refuses to execute.
    Spins,
    /// Threads that ask for others to go first, or are tired of waiting for them.
    Yields,
}

pub(crate) const FAMILIES: [Family; 8] = [
    Family::Memory,
    Family::Locks,
    Family::RwLocks,
    Family::Condvars,
    Family::Channels,
    Family::Spawns,
    Family::Spins,
    Family::Yields,
];

const VARIABLES: u32 = 3;
const MUTEXES: u32 = 3;
const FIRST_MUTEX: u32 = VARIABLES;
const CONDVAR: u32 = FIRST_MUTEX + MUTEXES;
const CHANNEL: u32 = CONDVAR + 1;
const OBJECTS: usize = CHANNEL as usize + 1;

/// One operation, to be done only while the last result is not `unless`.
type Guarded = (Op, Option<u64>);

/// A thread of guarded operations. Beside each stands how many operations, from it on, its guard
/// decides about: where the guard fails, all of those are skipped.
fn guarded(ops: Vec<(Guarded, usize)>) -> Script {
    Rc::new(move |results| {
        let mut last = 0;
        let mut at = 0;
        let mut results = results.iter();
        loop {
            let &((op, unless), block) = ops.get(at)?;
            if unless == Some(last) {
                at += block;
                continue;
            }
            match results.next() {
                Some(&result) => {
                    last = result;
                    at += 1;
                }
                None => return Some(op),
            }
        }
    })
}

fn memory(rng: &mut Rng, variables: u32) -> Op {
    let x = rng.below(variables as usize) as u32;
    let value = 1 + rng.below(2) as u64;
    match rng.below(20) {
        0..9 => Op::Load(x),
        9..15 => Op::Store(x, value),
        15..18 => Op::Cas(x, value - 1, 2),
        _ => Op::Add(x, 1),
    }
}

fn mutex(rng: &mut Rng) -> u32 {
    FIRST_MUTEX + rng.below(MUTEXES as usize) as u32
}

fn plain(op: Op) -> (Guarded, usize) {
    ((op, None), 1)
}

/// `count` random statements of a family.
fn body(rng: &mut Rng, family: Family, count: usize, variables: u32) -> Vec<(Guarded, usize)> {
    let mut ops = Vec::new();
    for _ in 0..count {
        let special = rng.below(10) < 5;
        match family {
            Family::Locks if special => locks(rng, variables, &mut ops),
            Family::RwLocks if special => rwlocks(rng, variables, &mut ops),
            Family::Condvars if special => condvars(rng, &mut ops),
            Family::Yields if special && rng.below(3) == 0 => {
                let [tired, then] = [(); 2].map(|()| memory(rng, variables));
                let looked_at = rng.below(variables as usize) as u32;
                ops.extend([plain(Op::Spin(looked_at)), ((tired, Some(0)), 1)]);
                ops.push(plain(if rng.below(2) == 0 { Op::WeakCas(looked_at, 0, 1) } else { then }));
            }
            Family::Yields if special => ops.extend([plain(Op::Yield), plain(memory(rng, variables))]),
            Family::Channels if special => ops.push(plain(match rng.below(6) {
                0 | 1 => Op::Send(CHANNEL, 1 + rng.below(2) as u64),
                2 => Op::Recv(CHANNEL),
                3 => Op::TryRecv(CHANNEL),
                4 => Op::Choose(2),
                _ => Op::WeakCas(rng.below(variables as usize) as u32, 0, 1),
            })),
            _ => {
                let unless = (rng.below(10) < 3).then(|| rng.below(3) as u64);
                ops.push(((memory(rng, variables), unless), 1));
            }
        }
    }
    ops
}

fn locks(rng: &mut Rng, variables: u32, ops: &mut Vec<(Guarded, usize)>) {
    let (m, inner) = (mutex(rng), mutex(rng));
    match rng.below(4) {
        0 => {
            let inside = plain(memory(rng, variables));
            ops.push(plain(Op::TryLock(m)));
            // Skipped where the lock was not taken; the guard looks at the result of `TryLock`.
            ops.push(((Op::Load(0), Some(0)), 3));
            ops.push(inside);
            ops.push(plain(Op::Unlock(m)));
        }
        1 if inner != m => {
            ops.extend([plain(Op::Lock(m)), plain(Op::Lock(inner))]);
            if rng.below(2) == 0 {
                ops.push(plain(memory(rng, variables)));
            }
            ops.extend([plain(Op::Unlock(inner)), plain(Op::Unlock(m))]);
        }
        _ => {
            ops.push(plain(Op::Lock(m)));
            for _ in 0..rng.below(3) {
                ops.push(plain(memory(rng, variables)));
            }
            ops.push(plain(Op::Unlock(m)));
        }
    }
}

fn rwlocks(rng: &mut Rng, variables: u32, ops: &mut Vec<(Guarded, usize)>) {
    let m = FIRST_MUTEX + rng.below(2) as u32;
    let other = FIRST_MUTEX + 2;
    match rng.below(6) {
        0 => ops.extend([plain(Op::TryRead(m)), ((Op::Load(0), Some(0)), 2), plain(Op::UnlockShared(m))]),
        1 => ops.extend([plain(Op::TryLock(m)), ((Op::Store(0, 1), Some(0)), 2), plain(Op::Unlock(m))]),
        2 | 3 => {
            ops.push(plain(Op::ReadLock(m)));
            if rng.below(3) == 0 {
                ops.extend([plain(Op::Lock(other)), plain(Op::Unlock(other))]);
            } else {
                ops.push(plain(memory(rng, variables)));
            }
            ops.push(plain(Op::UnlockShared(m)));
        }
        4 => ops.extend([
            plain(Op::Lock(other)),
            plain(Op::ReadLock(m)),
            plain(Op::UnlockShared(m)),
            plain(Op::Unlock(other)),
        ]),
        _ => ops.extend([plain(Op::Lock(m)), plain(memory(rng, variables)), plain(Op::Unlock(m))]),
    }
}

fn condvars(rng: &mut Rng, ops: &mut Vec<(Guarded, usize)>) {
    let m = FIRST_MUTEX;
    match rng.below(4) {
        0 => ops.push(plain(Op::NotifyOne(CONDVAR))),
        1 => ops.push(plain(Op::NotifyAll(CONDVAR))),
        _ => {
            let timed = rng.below(3) == 0;
            ops.extend([
                plain(Op::Lock(m)),
                plain(Op::Enqueue(CONDVAR)),
                plain(Op::Unlock(m)),
                plain(Op::Sleep { condvar: CONDVAR, timed }),
                plain(Op::Lock(m)),
                plain(Op::Unlock(m)),
            ]);
        }
    }
}

/// A thread that does `before`, goes round until a variable is 2, and does `after`.
fn spinner(before: Vec<Op>, [variable, aside]: [u32; 2], after: Vec<Op>) -> Script {
    Rc::new(move |results| {
        let Some(rounds) = results.get(before.len()..) else {
            return Some(before[results.len()]);
        };
        match rounds.iter().step_by(2).position(|&seen| seen >= 2) {
            Some(round) => after.get(rounds.len() - 2 * round - 1).copied(),
            None if rounds.len() % 2 == 0 => Some(Op::Look(variable)),
            None => Some(Op::LookAside(aside)),
        }
    })
}

/// Some of the threads wait in a loop, and do a little before and after.
fn spins(rng: &mut Rng, threads: usize, variables: u32) -> Program {
    let some = |most: usize, rng: &mut Rng| -> Vec<Op> {
        (0..rng.below(most + 1)).map(|_| memory(rng, variables)).collect()
    };
    let mut scripts: Vec<Script> = Vec::new();
    for _ in 0..threads {
        if rng.below(2) == 0 {
            let before = some(1, rng);
            let looks = [(); 2].map(|()| rng.below(variables as usize) as u32);
            scripts.push(spinner(before, looks, some(1, rng)));
        } else {
            scripts.push(straight(some(3, rng)));
        }
    }
    Program::new(scripts, OBJECTS)
}

/// The program number `seed` of a family.
pub(crate) fn program(seed: u64, family: Family) -> Program {
    let mut rng = Rng::new(seed);
    let threads = [2, 3, 3, 4][rng.below(4)];
    let most = 2 + rng.below(2);
    let variables = 1 + rng.below(VARIABLES as usize) as u32;
    if family == Family::Spins {
        return spins(&mut rng, threads, variables);
    }
    let bodies: Vec<_> = (0..threads)
        .map(|_| {
            let count = 1 + rng.below(most);
            body(&mut rng, family, count, variables)
        })
        .collect();
    if family != Family::Spawns {
        return Program::new(bodies.into_iter().map(guarded).collect(), OBJECTS);
    }
    // The first thread spawns the others, does its part, and joins them.
    let mut program = Program::new(Vec::new(), OBJECTS);
    let mut main: Vec<Op> = (1..threads as u16).map(Op::Spawn).collect();
    main.push(memory(&mut rng, variables));
    main.extend((1..threads as u16).map(Op::Join));
    main.push(Op::Load(0));
    program.threads.push(straight(main));
    for ops in bodies.into_iter().skip(1) {
        let all = [plain(Op::Start)].into_iter().chain(ops).chain([plain(Op::Finish)]);
        program.threads.push(guarded(all.collect()));
    }
    program.running = 1;
    program
}
