//! `peers MILLISECONDS PROGRAM...`: every tool on every program, one JSON line for each pair.
//!
//! A tool that exhausts a program before the time is up starts again, so that its rate does not
//! depend on what happens once.

#[macro_use]
#[path = "../../programs.rs"]
mod programs;

mod on_loom {
    programs!(loom);
}

mod on_shuttle {
    programs!(shuttle);
}

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SEED: u64 = 1;

/// Executions of the current run; reset by each.
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

/// How one run of a tool ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Exhausted,
    OutOfTime,
    Failed,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(Ok(milliseconds)) = arguments.next().map(|argument| argument.parse()) else {
        eprintln!("Usage: peers MILLISECONDS PROGRAM...");
        return ExitCode::from(2);
    };
    let time = Duration::from_millis(milliseconds);
    // Failures are expected; what they print is not of interest.
    std::panic::set_hook(Box::new(|_| {}));
    for name in arguments {
        let (Some(on_loom), Some(on_shuttle)) = (on_loom::program(&name), on_shuttle::program(&name)) else {
            eprintln!("there is no program {name}");
            return ExitCode::from(2);
        };
        measure(&name, "loom", time, |left| run_loom(on_loom, left));
        measure(&name, "shuttle dfs", time, |left| {
            run_shuttle(DfsScheduler::new(None, false), on_shuttle, left)
        });
        let endless = usize::MAX;
        measure(&name, "shuttle random", time, |left| {
            run_shuttle(RandomScheduler::new_from_seed(SEED, endless), on_shuttle, left)
        });
        measure(&name, "shuttle pct", time, |left| {
            run_shuttle(PctScheduler::new_from_seed(SEED, 3, endless), on_shuttle, left)
        });
        measure(&name, "shuttle urw", time, |left| {
            run_shuttle(UrwRandomScheduler::new_from_seed(SEED, endless), on_shuttle, left)
        });
    }
    ExitCode::SUCCESS
}

/// Repeats `run` until `time` is up and tells what it did.
fn measure(program: &str, tool: &str, time: Duration, run: impl Fn(Duration) -> End) {
    let start = Instant::now();
    let mut executions = 0;
    let mut first = None;
    loop {
        EXECUTIONS.store(0, Relaxed);
        let end = run(time.saturating_sub(start.elapsed()));
        let of_this_run = EXECUTIONS.load(Relaxed);
        executions += of_this_run;
        let (_, end) = *first.get_or_insert((of_this_run, end));
        if end != End::Exhausted || start.elapsed() >= time {
            break;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let (of_first_run, end) = first.expect("at least one run");
    let end = match end {
        End::Exhausted => "exhausted",
        End::OutOfTime => "out of time",
        End::Failed => "failed",
    };
    let line = serde_json::json!({
        "program": program, "tool": tool, "end": end, "executions": of_first_run,
        "rate": executions as f64 / seconds,
    });
    println!("{line}");
}

fn run_loom(program: fn(), time: Duration) -> End {
    let mut builder = loom::model::Builder::new();
    builder.max_duration = Some(time);
    // The time is looked at only so often.
    builder.checkpoint_interval = 100;
    builder.max_branches = 10_000;
    let start = Instant::now();
    let check = || {
        builder.check(move || {
            EXECUTIONS.fetch_add(1, Relaxed);
            program();
        });
    };
    end(catch_unwind(AssertUnwindSafe(check)).is_err(), start, time)
}

fn run_shuttle(scheduler: impl Scheduler + 'static, program: fn(), time: Duration) -> End {
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.silence_warnings = true;
    config.max_time = Some(time);
    let runner = shuttle::Runner::new(scheduler, config);
    let start = Instant::now();
    let run = || {
        runner.run(move || {
            EXECUTIONS.fetch_add(1, Relaxed);
            program();
        });
    };
    end(catch_unwind(AssertUnwindSafe(run)).is_err(), start, time)
}

fn end(failed: bool, start: Instant, time: Duration) -> End {
    match failed {
        true => End::Failed,
        false if start.elapsed() >= time => End::OutOfTime,
        false => End::Exhausted,
    }
}
