//! `peers MILLISECONDS TOOL PROGRAM...`: a tool on programs, one JSON line for each.
//!
//! A tool that exhausts a program before the time is up starts again, so that its rate does not
//! depend on what happens once. One tool a process: shuttle's panic hook would slow down loom.

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
    let (Some(Ok(milliseconds)), Some(tool)) = (arguments.next().map(|text| text.parse()), arguments.next())
    else {
        eprintln!("Usage: peers MILLISECONDS TOOL PROGRAM...");
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
        let program = if tool == "loom" { on_loom } else { on_shuttle };
        measure(&name, &tool, time, |left| run(&tool, program, left));
    }
    ExitCode::SUCCESS
}

fn run(tool: &str, program: fn(), time: Duration) -> End {
    let endless = usize::MAX;
    match tool {
        "loom" => run_loom(program, time),
        "shuttle dfs" => run_shuttle(DfsScheduler::new(None, false), program, time),
        "shuttle random" => run_shuttle(RandomScheduler::new_from_seed(SEED, endless), program, time),
        "shuttle pct" => run_shuttle(PctScheduler::new_from_seed(SEED, 3, endless), program, time),
        "shuttle urw" => run_shuttle(UrwRandomScheduler::new_from_seed(SEED, endless), program, time),
        _ => panic!("there is no tool {tool}"),
    }
}

/// Repeats `run` until `time` is up and tells what it did.
fn measure(program: &str, tool: &str, time: Duration, run: impl Fn(Duration) -> End) {
    let start = Instant::now();
    let cpu_before = cpu();
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
    let (wall, cpu) = (start.elapsed(), cpu() - cpu_before);
    let (of_first_run, end) = first.expect("at least one run");
    let end = match end {
        End::Exhausted => "exhausted",
        End::OutOfTime => "out of time",
        End::Failed => "failed",
    };
    let line = serde_json::json!({
        "program": program, "tool": tool, "end": end, "executions": of_first_run,
        "all_executions": executions, "wall_ns": wall.as_nanos() as u64, "cpu_ns": cpu.as_nanos() as u64,
    });
    println!("{line}");
}

/// Time on a core, as Linux tells it.
fn cpu() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
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
