//! Random scenarios: every way to reduce finds what executing all schedules finds.

use super::{agree, cooperate, explore_within, options};
use crate::support::{Random, report};
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::sync::atomic::AtomicU32;
use schedcheck_rt::facade::sync::{Condvar, Mutex};
use schedcheck_rt::facade::thread;
use schedcheck_rt::label;
use schedcheck_rt::scenario::{self, Actor, Scenario, any, any_point, blocked, end, next, step};
use schedcheck_rt::search::Reduction;
use schedcheck_rt::search::step::Budget;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex as SystemMutex, PoisonError};

#[derive(Clone, Copy, Debug)]
enum Act {
    Load(usize),
    Add(usize),
    /// Takes a lock, passes a label, gives it back.
    Locked(usize),
    /// Waits until there is a coin, and takes it.
    Take,
    /// Leaves a coin.
    Leave,
    Label,
}

#[derive(Clone, Copy, Debug)]
enum Say {
    /// Lets this thread, or any, run so far.
    Transfer(Option<usize>, u8),
    /// Looks at a number.
    Look(usize),
}

#[derive(Clone, Debug, Default)]
struct Program {
    actors: Vec<Vec<Act>>,
    others: Vec<Vec<Act>>,
    script: Vec<Say>,
}

static PROGRAM: SystemMutex<Option<Program>> = SystemMutex::new(None);

fn acts(random: &mut Random, most: usize) -> Vec<Act> {
    (0..=random.below(most))
        .map(|_| match random.below(7) {
            0 => Act::Load(random.below(2)),
            1 => Act::Add(random.below(2)),
            2 => Act::Locked(random.below(2)),
            3 => Act::Take,
            4 => Act::Leave,
            _ => Act::Label,
        })
        .collect()
}

/// The next program.
fn draw(random: &mut Random) -> Program {
    let actors = (0..=random.below(3)).map(|_| acts(random, 3)).collect::<Vec<_>>();
    let others = if random.below(3) == 0 { vec![acts(random, 2)] } else { Vec::new() };
    let script = (0..random.below(6)).map(|_| {
        if random.below(5) == 0 {
            return Say::Look(random.below(2));
        }
        let who = if random.below(2) == 0 { None } else { Some(random.below(actors.len())) };
        Say::Transfer(who, random.below(6) as u8)
    });
    Program { script: script.collect(), actors, others }
}

#[derive(Default)]
struct State {
    numbers: [AtomicU32; 2],
    locks: [Mutex<u32>; 2],
    coins: Mutex<u32>,
    left: Condvar,
}

impl State {
    fn act(&self, acts: &[Act]) -> Vec<u32> {
        acts.iter()
            .map(|act| match act {
                Act::Load(at) => self.numbers[*at].load(SeqCst),
                Act::Add(at) => self.numbers[*at].fetch_add(1, SeqCst),
                Act::Locked(at) => {
                    let mut guard = self.locks[*at].lock().unwrap();
                    *guard += 1;
                    label("locked");
                    *guard
                }
                Act::Take => {
                    let mut coins =
                        self.left.wait_while(self.coins.lock().unwrap(), |coins| *coins == 0).unwrap();
                    *coins -= 1;
                    *coins
                }
                Act::Leave => {
                    let mut coins = self.coins.lock().unwrap();
                    *coins += 1;
                    self.left.notify_one();
                    *coins
                }
                Act::Label => {
                    label("label");
                    0
                }
            })
            .collect()
    }
}

fn say(s: &Scenario<'_, '_>, actors: &[Actor], state: &State, what: Say) -> usize {
    let who = |actor: Option<usize>| match actor {
        Some(number) => s.transfer(actors[number]),
        None => s.transfer(any()),
    };
    let chosen = match what {
        Say::Look(at) => return state.numbers[at].load(SeqCst) as usize,
        Say::Transfer(actor, 0) => who(actor).until(next()),
        Say::Transfer(actor, 1) => who(actor).until(any_point()),
        Say::Transfer(actor, 2) => who(actor).until(end()),
        Say::Transfer(actor, 3) => who(actor).until(step().count(2)),
        Say::Transfer(actor, 4) => who(actor).until("locked"),
        Say::Transfer(actor, _) => who(actor).until(blocked()),
    };
    actors.iter().position(|actor| *actor == chosen).unwrap_or(usize::MAX)
}

fn body() -> TestResult {
    let program = PROGRAM.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("it was chosen");
    let state = State::default();
    let logs: Vec<SystemMutex<Vec<u32>>> =
        (0..program.actors.len() + program.others.len()).map(|_| SystemMutex::default()).collect();
    let mut said = Vec::new();
    thread::scope(|scope| {
        for (acts, log) in program.others.iter().zip(&logs[program.actors.len()..]) {
            let state = &state;
            scope.spawn(move || *log.lock().unwrap() = state.act(acts));
        }
        scenario::check(|s| {
            let names = ["a", "b", "c"];
            let actors: Vec<Actor> = (program.actors.iter().zip(&logs).zip(names))
                .map(|((acts, log), name)| s.thread(name, || *log.lock().unwrap() = state.act(acts)))
                .collect();
            for what in &program.script {
                said.push(say(s, &actors, &state, *what));
            }
        });
    });
    let logs: Vec<Vec<u32>> = logs.into_iter().map(|log| log.into_inner().unwrap()).collect();
    report((said, logs));
    Ok(())
}

/// So many executions of all schedules are still quick.
const SMALL: u64 = 2_000;

#[test]
fn every_reduction_finds_what_all_schedules_show() {
    let _alone = crate::support::alone();
    // `SCENARIOS=SEED cargo test …` for many more.
    let seed = std::env::var("SCENARIOS").ok().and_then(|seed| seed.parse().ok());
    let programs = if seed.is_some() { 2000 } else { 100 };
    let mut random = Random(seed.unwrap_or(7));
    let (mut compared, mut met, mut with_others) = (0, 0, 0);
    while compared < programs {
        let program = draw(&mut random);
        *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) = Some(program.clone());
        if explore_within(body, options("dfs", Reduction::None), SMALL).is_none() {
            continue;
        }
        let found = agree(body);
        compared += 1;
        met += u32::from(found.met > 0);
        with_others += u32::from(!program.others.is_empty());
    }
    assert!(met > 15 && with_others > 15, "{met} met, {with_others} with others");
}

/// Tells what the threads of a program saw; they run beside each other, or take turns from label to label.
fn from_label_to_label(in_scenario: bool) -> TestResult {
    let program = PROGRAM.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("it was chosen");
    let state = State::default();
    let logs: Vec<SystemMutex<Vec<u32>>> = program.actors.iter().map(|_| SystemMutex::default()).collect();
    let threads = || program.actors.iter().zip(&logs);
    if in_scenario {
        scenario::check(|s| {
            for (acts, log) in threads() {
                s.thread("thread", || *log.lock().unwrap() = state.act(acts));
            }
            while !s.all_ended() {
                s.transfer(any()).until(next());
            }
        });
    } else {
        thread::scope(|scope| {
            for (acts, log) in threads() {
                scope.spawn(|| *log.lock().unwrap() = state.act(acts));
            }
        });
    }
    report(logs.into_iter().map(|log| log.into_inner().unwrap()).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn cooperative_threads_do_what_a_scenario_from_label_to_label_does() {
    let _alone = crate::support::alone();
    let mut random = Random(11);
    let (mut compared, mut several) = (0, 0);
    while compared < 60 {
        let program = draw(&mut random);
        *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) = Some(program.clone());
        let mut options = options("dfs", Reduction::Optimal);
        options.budget = Budget::NONE;
        let turns = || from_label_to_label(true);
        let Some(turns) = explore_within(turns, options, SMALL) else { continue };
        let cooperative = cooperate(|| from_label_to_label(false));
        assert!(
            turns.results.keys().eq(cooperative.results.keys()),
            "{program:?}: {turns:?}, {cooperative:?}"
        );
        compared += 1;
        several += u32::from(turns.results.len() > 1);
    }
    assert!(several > 10, "{several} with several results");
}
