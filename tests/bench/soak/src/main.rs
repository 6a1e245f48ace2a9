//! `soak SEED PROGRAMS`: random programs against brute force, on all cores.

use schedcheck_rt::search::soak::{Figures, soak};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Programs that a core takes at a time.
const CHUNK: u64 = 500;

/// Chunks after which it says how far it is: a million programs take an hour.
const TOLD: u64 = 20;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse());
    let (Some(Ok(seed)), Some(Ok(programs))) = (numbers.next(), numbers.next()) else {
        eprintln!("Usage: soak SEED PROGRAMS");
        return ExitCode::from(2);
    };
    match compare(seed, programs) {
        Ok(figures) => {
            println!(
                "{programs} programs from number {seed} on: {} compared, {} happens-before classes, {} executions, \
                 {} of them beyond one per class",
                figures.programs, figures.classes, figures.executions, figures.surplus
            );
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("the search is wrong about {wrong}");
            ExitCode::FAILURE
        }
    }
}

/// Shares the programs among the cores; stops at the first that is searched wrongly.
fn compare(seed: u64, programs: u64) -> Result<Figures, String> {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Ok(Figures::default())));
    let work = || {
        loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            if first >= programs {
                return;
            }
            let outcome = soak(seed + first, CHUNK.min(programs - first));
            let mut total = total.lock().expect("adding up does not panic");
            match (&mut *total, outcome) {
                (Err(_), _) => return,
                (Ok(sum), Ok(figures)) => {
                    sum.add(figures);
                    if (first / CHUNK).is_multiple_of(TOLD) {
                        let done = programs.min(first + CHUNK);
                        eprintln!("about {done} of {programs}: {} compared, all right", sum.programs);
                    }
                }
                (_, Err(wrong)) => *total = Err(wrong),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner().expect("adding up does not panic")
}
