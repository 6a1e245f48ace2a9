//! The command line: subcommands and help headings.
pub mod cargo_opts;
pub mod environment;
pub mod explore_opts;
pub mod keep_opts;
pub mod output_opts;
pub mod part;
pub mod partition;
pub mod priority;
pub mod sequence;
pub mod share_opts;

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use clap::{Args, CommandFactory, Parser, Subcommand};

pub use cargo_opts::CargoOpts;
pub use explore_opts::ExploreOpts;
pub use keep_opts::KeepOpts;
pub use output_opts::OutputOpts;
pub use partition::Partition;

const MORE: &str = "Flags of cargo test (-p, --workspace, --test, -F, -r …) work as there; --help lists all.";

const EXAMPLES: &str = "\
Examples:
  cargo schedcheck                          explore every #[schedcheck] test of the package
  cargo schedcheck --all-tests transfer     also plain #[test]s whose path contains `transfer`
  cargo schedcheck --bound 2 --max-time 5m  all schedules with at most 2 preemptions
  cargo schedcheck replay target/schedcheck/failures/bank.lib.tests-transfer.toml

Exit codes:
  0 passed · 100 a failing schedule was found · 101 cargo could not build · 4 no test selected
  5 incomplete with --require-complete or --certificate · 6 not deterministic under control · 2 bad usage
  96 bad config, environment, replay file, archive or certificate · 70 bug in this tool · 130 interrupted";

/// Explores the thread schedules of your tests, in an unchanged repository.
#[derive(Debug, Parser)]
#[command(
    name = "cargo schedcheck",
    bin_name = "cargo schedcheck",
    version,
    styles = clap_cargo::style::CLAP_STYLING,
    args_conflicts_with_subcommands = true,
    max_term_width = 110,
    after_help = MORE,
    after_long_help = EXAMPLES,
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// What to do; exploring is the default.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build, explore, report (the default)
    #[command(after_help = MORE, after_long_help = EXAMPLES)]
    Run(Box<RunArgs>),
    /// List what may go wrong, as far as the first schedules of each test tell
    Predict(Box<RunArgs>),
    /// Reproduce one recorded failure; exits with 100 when it fails as recorded
    Replay(Box<ReplayArgs>),
    /// Print the tests that would be explored, one per line: PACKAGE::TARGET TEST
    List(Box<ListArgs>),
    /// Divide the state of a search into parts that can be explored apart
    Split(Box<share_opts::SplitArgs>),
    /// Join what the parts of searches have done, and say what is still open
    Merge(Box<share_opts::MergeArgs>),
    /// Build the tests and pack them into one file, for machines without a compiler
    Archive(Box<ArchiveArgs>),
    /// Check that certificates belong to these sources; exits with 96 and the reason when one does not
    VerifyCertificate(Box<VerifyArgs>),
    /// Print the settings that hold and where each comes from; for single tests with a FILTER
    ShowConfig(Box<ShowConfigArgs>),
    /// Remove what this command built: its folder in the target directory, and the engines of all toolchains
    Clean(Box<CleanArgs>),
    /// Print completions for a shell
    Completions {
        /// The shell to print completions for
        shell: clap_complete::Shell,
    },
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub from: FromArchive,
    #[command(flatten)]
    pub explore: ExploreOpts,
    /// Remove the files of `schedcheck-regressions/` that no longer fail, or no longer fit
    #[arg(long, help_heading = "Regressions", conflicts_with = "archive")]
    pub prune: bool,
    #[command(flatten)]
    pub output: OutputOpts,
    #[command(flatten)]
    pub keep: KeepOpts,
    #[command(flatten)]
    pub share: share_opts::ShareOpts,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Arguments of `archive`.
#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// The file to write (a tar file, compressed by gzip)
    pub file: Utf8PathBuf,
    /// Also pack this file or folder of the workspace, which tests read when they run (repeatable)
    #[arg(long, value_name = "PATH")]
    pub include: Vec<Utf8PathBuf>,
    /// Whether data races can be detected in the packed tests [default: on]
    #[arg(long, value_name = "ON|OFF", env = "SCHEDCHECK_RACES")]
    pub races: Option<explore_opts::Switch>,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Where tests come from that need not be built.
#[derive(Debug, Args)]
pub struct FromArchive {
    /// Build nothing; take the tests out of a file that `cargo schedcheck archive` wrote
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_ARCHIVE", help_heading = "Test Selection")]
    pub archive: Option<Utf8PathBuf>,
}

/// Arguments of `verify-certificate`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The certificates
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<Utf8PathBuf>,
    /// Insist that the certificates together are all parts of a run with --partition
    #[arg(long)]
    pub whole: bool,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub from: FromArchive,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Arguments of `show-config`.
#[derive(Debug, Args)]
pub struct ShowConfigArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub explore: ExploreOpts,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The replay file that the failing run wrote
    pub file: Utf8PathBuf,
    /// Print every step, not only those that matter
    #[arg(long, env = "SCHEDCHECK_TRACE", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub trace: bool,
    /// Keep the file in `schedcheck-regressions/` beside the package's manifest if it fails as recorded: from then
    /// on it is replayed first on every run
    #[arg(long, conflicts_with = "archive")]
    pub save: bool,
    /// Run every thread of the test on its own OS thread
    #[arg(long, env = "SCHEDCHECK_OS_THREADS", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub os_threads: bool,
    /// Run the test under a debugger, such as "rust-gdb --args": on OS threads, without time limits. Break on
    /// `schedcheck_step` to stop at every step
    #[arg(long, value_name = "COMMAND")]
    pub debugger: Option<crate::run::debugger::Debugger>,
    #[command(flatten)]
    pub from: FromArchive,
    #[command(flatten)]
    pub output: OutputOpts,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    #[command(flatten)]
    pub cargo: CargoOpts,
}

/// Which tests.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Test Selection")]
pub struct SelectArgs {
    /// Explore only tests whose path contains one of these
    #[arg(value_name = "FILTER", value_parser = parse_filter)]
    pub filters: Vec<String>,
    /// Filters must match the whole path of a test
    #[arg(long)]
    pub exact: bool,
    /// Leave out tests whose path contains this (repeatable)
    #[arg(long, value_name = "FILTER", env = "SCHEDCHECK_SKIP", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// Explore only ignored tests
    #[arg(long, conflicts_with = "include_ignored")]
    pub ignored: bool,
    /// Explore ignored tests too
    #[arg(long)]
    pub include_ignored: bool,
    /// Also explore every plain `#[test]`, not only those marked `#[schedcheck]`
    #[arg(long, env = "SCHEDCHECK_ALL_TESTS", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub all_tests: bool,
    /// Explore only this part of the selected tests, for several machines: `count:2/4` deals them out in turn,
    /// `hash:2/4` by their names; `auto/4` takes the number of a GitLab, Kubernetes or Slurm job
    #[arg(long, value_name = "HOW:K/N", env = "SCHEDCHECK_PARTITION")]
    pub partition: Option<Partition>,
}

/// No path of a test begins with a dash: an option of the harness is meant, which stands after `--` in `cargo test`.
fn parse_filter(text: &str) -> Result<String, String> {
    if text.starts_with('-') {
        return Err(
            "no test is called so; options such as --exact, --skip NAME and --ignored belong before `--`"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// Where defaults come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Config Options")]
pub struct ConfigArgs {
    /// Read this instead of .config/schedcheck.toml
    #[arg(long, value_name = "FILE", env = "SCHEDCHECK_CONFIG_FILE")]
    pub config_file: Option<Utf8PathBuf>,
    /// Read no config file
    #[arg(long, conflicts_with_all = ["config_file", "preset"])]
    pub no_config: bool,
    /// The preset to use: `default`, `ci` (every test, also after a failure), `nightly` (as `ci`, ten minutes each),
    /// or one of the config file [default: default]
    #[arg(long, value_name = "NAME", env = "SCHEDCHECK_PRESET")]
    pub preset: Option<String>,
}

/// The flags that were taken from the environment, by the names of their settings, and from which variable.
pub fn from_environment(matches: &clap::ArgMatches) -> BTreeMap<String, String> {
    let command = command();
    let (command, matches) = match matches.subcommand() {
        Some((name, matches)) => (command.find_subcommand(name).cloned().unwrap_or(command), matches),
        None => (command, matches),
    };
    let taken = command.get_arguments().filter(|arg| {
        let id = arg.get_id().as_str();
        matches.try_contains_id(id).unwrap_or(false)
            && matches.value_source(id) == Some(clap::parser::ValueSource::EnvVariable)
    });
    taken
        .filter_map(|arg| Some((arg.get_long()?.to_owned(), arg.get_env()?.to_string_lossy().into_owned())))
        .collect()
}

/// The command line with its help trimmed: `-h` fits a screen, `--help` has everything.
pub fn command() -> clap::Command {
    Cli::command().mut_args(trim_help).mut_subcommands(|command| command.mut_args(trim_help))
}

fn trim_help(arg: clap::Arg) -> clap::Arg {
    // Everybody knows these from `cargo test`.
    const CARGOS_OWN: [&str; 5] = [
        "Package Selection",
        "Target Selection",
        "Feature Selection",
        "Compilation Options",
        "Manifest Options",
    ];
    let known = arg.get_help_heading().is_some_and(|heading| CARGOS_OWN.contains(&heading));
    arg.hide_short_help(known).hide_env_values(true)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn budgets_are_more_than_nothing_and_no_more_than_the_engine_counts() {
        let code = |flag, value| {
            let matches = super::command().try_get_matches_from(["cargo schedcheck", flag, value]);
            matches.map_or_else(|error| error.exit_code(), |_| 0)
        };
        for flag in ["--max-executions", "--max-steps", "--max-time"] {
            assert_eq!(code(flag, "0"), 2, "{flag}");
        }
        assert_eq!((code("--max-steps", "4294967295"), code("--max-steps", "4294967296")), (0, 2));
        assert_eq!((code("--max-time", "1ms"), code("--max-time", "999us")), (0, 2));
        assert_eq!((code("--max-time", "584000000y"), code("--max-time", "585000000y")), (0, 2));
    }

    #[test]
    fn a_search_is_not_split_into_more_files_than_a_disk_has() {
        let code = |parts| {
            let args = ["cargo schedcheck", "split", "a.checkpoint", "--into", parts];
            super::command().try_get_matches_from(args).map_or_else(|error| error.exit_code(), |_| 0)
        };
        assert_eq!(["0", "1", "10000", "10001", "4000000000"].map(code), [2, 0, 0, 2, 2]);
    }

    #[test]
    fn options_of_the_harness_are_no_filters() {
        let parse = |args: &[&str]| {
            let all = [&["cargo schedcheck"], args].concat();
            super::command().try_get_matches_from(all).map_err(|error| error.to_string())
        };
        for args in [&["--", "--skip", "x"][..], &["list", "--", "--exact", "a::b"], &["a", "--", "-q"]] {
            let error = parse(args).unwrap_err();
            assert!(error.contains("belong before `--`"), "{error}");
        }
        assert!(parse(&["a", "--", "b"]).is_ok());
    }
}
