//! Budgets, bounds, seeds: everything the search is told.
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use clap::{Args, ValueEnum};

/// Options of the exploration. `None` means: not given here, ask the test, the config file, the default.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExploreOpts {
    /// Hierarchical priority functions, e.g. `mdpor,pb`, `ss,mdpor`, `rand:7` [default: mdpor,pb]
    #[arg(long, value_name = "LIST", env = "SCHEDCHECK_PRIORITY", value_parser = super::priority::parse)]
    pub priority: Option<String>,
    /// Explore only schedules with at most N preemptions, with that guarantee [default: none, full coverage]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_BOUND")]
    pub bound: Option<u32>,
    /// Partial-order reduction [default: optimal]
    #[arg(long, value_name = "KIND", env = "SCHEDCHECK_REDUCTION")]
    pub reduction: Option<Reduction>,
    /// Time budget for each test, e.g. `90s`, `5m` [default: 60s]
    #[arg(long, value_name = "DUR", env = "SCHEDCHECK_MAX_TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// Budget of executions for each test [default: none]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_MAX_EXECUTIONS")]
    pub max_executions: Option<NonZeroU64>,
    /// Length of one execution before it counts as a livelock [default: 20000]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_MAX_STEPS")]
    pub max_steps: Option<NonZeroU32>,
    /// Seed for everything random [default: 0]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_SEED")]
    pub seed: Option<u64>,
    /// Most random executions that are mixed into an unbounded search, one in twenty [default: 20000]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_RANDOM_RUNS")]
    pub random_runs: Option<u32>,
    /// Nothing but random schedules of one kind, to compare with: `walk`, `pct:2`, `pct:3` or `pos`. Covers nothing
    #[arg(long, value_name = "KIND", env = "SCHEDCHECK_SAMPLE", value_parser = ["walk", "pct:2", "pct:3", "pos"])]
    pub sample: Option<String>,
    /// Most executions of an unbounded search that are directed at what the first ones let one predict:
    /// cyclic lock orders, accesses that others may come between, early wake-ups; 0: none [default: 48]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_HUNTS")]
    pub hunts: Option<u32>,
    /// Beside an unbounded search, cover all schedules with 0, 1, 2, … preemptions first, with one
    /// execution in fifty [default: on]
    #[arg(long, value_name = "ON|OFF", env = "SCHEDCHECK_LEVELS")]
    pub levels: Option<Switch>,
    /// Explore one order of threads started by `schedcheck_rt::symmetric`, not all [default: on]
    #[arg(long, value_name = "ON|OFF", env = "SCHEDCHECK_SYMMETRY")]
    pub symmetry: Option<Switch>,
    /// Whether threads that have not ended when the test has are a failure [default: off]
    #[arg(long, value_name = "ON|OFF", env = "SCHEDCHECK_LEAKS")]
    pub leaks: Option<Switch>,
    /// Target of the priority `method`: a function, such as `Queue::push` (repeatable)
    #[arg(long, value_name = "PATH", env = "SCHEDCHECK_METHOD", value_delimiter = ',')]
    pub method: Vec<String>,
    /// Target of the priority `var`: a static, a field or variable, or a label given with
    /// `schedcheck_rt::name` (repeatable)
    #[arg(long, value_name = "NAME", env = "SCHEDCHECK_VAR", value_delimiter = ',')]
    pub var: Vec<String>,
    /// Places to come by, one after the other, whoever does: `src/a.rs:10 -> src/b.rs:20`, or names as for `--var`.
    /// Schedules go there first; what else is needed to get there is found out and told. For the priorities `seq` and
    /// `distance`
    #[arg(long, value_name = "PLACES", env = "SCHEDCHECK_SEQ", value_parser = super::sequence::parse_sequence)]
    pub seq: Option<String>,
    /// Places that different threads are to be at, at the same time: `q.rs:88 & q.rs:120`
    #[arg(long, value_name = "PLACES", env = "SCHEDCHECK_REACH", value_parser = super::sequence::parse_meeting, conflicts_with = "seq")]
    pub reach: Option<String>,
    /// Never preempt inside this crate, module or function, such as `once_cell` (repeatable)
    #[arg(long, value_name = "PATH", env = "SCHEDCHECK_TRUST", value_delimiter = ',')]
    pub trust: Vec<String>,
    /// Preempt only inside this crate, module or function (repeatable)
    #[arg(long, value_name = "PATH", env = "SCHEDCHECK_FOCUS", value_delimiter = ',')]
    pub focus: Vec<String>,
    /// How many spurious wake-ups an execution may have [default: 1]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_SPURIOUS")]
    pub spurious: Option<u32>,
    /// How many time-outs may fire in an execution, and how many loops that count may not wait [default: 1]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_TIMEOUTS")]
    pub timeouts: Option<u32>,
    /// How many spurious failures of weak compare-exchange an execution may have [default: 1]
    #[arg(long, value_name = "N", env = "SCHEDCHECK_WEAK_CAS")]
    pub weak_cas: Option<u32>,
    /// Data-race detection on plain memory [default: on]
    #[arg(long, value_name = "ON|OFF", env = "SCHEDCHECK_RACES")]
    pub races: Option<Switch>,
    /// Run every thread of a test on its own OS thread (slower; for debuggers and real thread-locals)
    #[arg(long, env = "SCHEDCHECK_OS_THREADS", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub os_threads: bool,
    /// Switch threads only at labels (`schedcheck_rt::label`) and where they block
    #[arg(long, env = "SCHEDCHECK_COOPERATIVE", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub cooperative: bool,
    /// First explore schedules that preempt at lines changed since this git revision
    #[arg(long, value_name = "REV", env = "SCHEDCHECK_CHANGED_SINCE", conflicts_with = "in_diff")]
    pub changed_since: Option<String>,
    /// First explore schedules that preempt at lines changed in this unified diff
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_IN_DIFF")]
    pub in_diff: Option<camino::Utf8PathBuf>,
    /// Processes at the same time: one for each test, what is left over for long searches [default: number of cores]
    #[arg(short = 'j', long = "jobs", value_name = "N", env = "SCHEDCHECK_JOBS")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Go on after the first failing test
    #[arg(long, env = "SCHEDCHECK_NO_FAIL_FAST", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub no_fail_fast: bool,
    /// Exit with 5 unless every test reached its guarantee
    #[arg(long, env = "SCHEDCHECK_REQUIRE_COMPLETE", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub require_complete: bool,
}

/// Partial-order reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    Optimal,
    Source,
    Classic,
    None,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    On,
    Off,
}

/// The word a value of a fixed set is written with.
pub fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

/// A time such as `90s`, which the engine counts in milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write for example `90s` or `5m`"))?;
    match u64::try_from(duration.as_millis()) {
        Ok(1..) => Ok(duration),
        Ok(0) => Err("a time budget must be at least a millisecond".to_owned()),
        Err(_) => Err("a time budget must end at some time".to_owned()),
    }
}
