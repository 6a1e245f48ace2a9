//! `cargo schedcheck`: explores the thread schedules of tests in an unchanged repository.
//!
//! This binary is called in two phases:
//! - by the user, through cargo, as `cargo-schedcheck schedcheck ARGS`: [`command`];
//! - by cargo, which that phase starts, as RUSTC_WRAPPER for every crate: [`build::wrapper`].
#![forbid(unsafe_code)]
#![allow(unreachable_pub, reason = "a binary has no outside: `pub` marks what other modules use")]

mod archive;
mod build;
mod certificate;
mod cli;
mod color;
mod config;
mod error;
mod exit_code;
mod paths;
mod recently_used;
mod regressions;
mod reports;
mod run;
mod suggest;
mod whole_file;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode as ProcessExit;

use clap::FromArgMatches;
use cli::{Cli, Command};
use error::{ExpectedError, Result};
use exit_code::ExitCode;

fn main() -> ProcessExit {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Cargo names the subcommand first; a compiler call never looks like that.
    let by_user = args.get(1).is_some_and(|arg| arg == "schedcheck");
    if let Some(sysroot) = std::env::var_os(build::wrapper::SYSROOT)
        && !by_user
    {
        return build::wrapper::main(&sysroot, args.into_iter().skip(1).collect());
    }
    command(args, by_user).into()
}

/// The phase of the user's own call.
fn command(mut args: Vec<OsString>, by_cargo: bool) -> ExitCode {
    if by_cargo {
        args.remove(1);
    }
    let matches = match cli::environment::parse(&args) {
        Ok(matches) => matches,
        Err(cli::environment::Refusal::OfArguments(error)) => error.exit(),
        Err(cli::environment::Refusal::OfVariable(message)) => {
            reports::say(&styled(&format!("error: {message}")));
            return ExitCode::BadSetup;
        }
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    for warning in cli::environment::warnings(set.map(|(name, _)| name)) {
        let style = clap_cargo::style::WARN;
        reports::say(&format!("{style}warning{style:#}: {warning}"));
    }
    run::interrupt::install();
    let environment = cli::from_environment(&matches);
    let outcome = std::panic::catch_unwind(|| dispatch(cli, &environment));
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            // Whatever it looks like: what it comes from is Ctrl-C.
            let error = if run::interrupt::was_behind_it() { ExpectedError::Interrupted } else { error };
            if let Some(message) = error.message() {
                reports::say(&styled(&message));
            }
            error.exit_code()
        }
        Err(_) => {
            reports::say(&format!(
                "\nThis is a bug in cargo schedcheck {} ({} {}). Please report it with the text above:\n{}/issues",
                env!("CARGO_PKG_VERSION"),
                std::env::consts::OS,
                std::env::consts::ARCH,
                env!("CARGO_PKG_REPOSITORY"),
            ));
            ExitCode::InternalBug
        }
    }
}

fn dispatch(cli: Cli, environment: &BTreeMap<String, String>) -> Result<ExitCode> {
    match cli.command {
        None => run::run(&cli.run, run::Purpose::Explore),
        Some(Command::Run(args)) => run::run(&args, run::Purpose::Explore),
        Some(Command::Predict(args)) => run::run(&args, run::Purpose::Predict),
        Some(Command::Replay(args)) => regressions::replay::replay(&args),
        Some(Command::List(args)) => list(&args),
        Some(Command::Split(args)) => run::checkpoints::split(&args),
        Some(Command::Merge(args)) => run::merge::merge(&args),
        Some(Command::Archive(args)) => archive::pack::archive(&args),
        Some(Command::VerifyCertificate(args)) => certificate::verify::verify(&args),
        Some(Command::ShowConfig(args)) => config::show::show(&args, environment),
        Some(Command::Clean(args)) => clean(&args),
        Some(Command::Completions { shell }) => completions(shell),
    }
}

/// Prints the tests that would be explored.
fn list(args: &cli::ListArgs) -> Result<ExitCode> {
    let session =
        run::session::Session::start(&args.from, &args.cargo, &args.config, &cli::ExploreOpts::default())?;
    let build = session.build(&args.cargo)?;
    let discovered = run::session::discover(&build.binaries)?;
    discovered.mention_skipped(args.cargo.quiet);
    let mut out = std::io::stdout().lock();
    for (binary, test) in discovered.selected(&args.select)? {
        writeln!(out, "{}", run::session::id(binary, test.name))?;
    }
    out.flush()?;
    Ok(ExitCode::Passed)
}

/// Removes the engines and our folder in the target directory.
fn clean(args: &cli::CleanArgs) -> Result<ExitCode> {
    let toolchain = build::toolchain::Toolchain::find()?;
    // Where there is no project, nothing is done: half of it would be a surprise.
    let project = build::project::Project::load(&toolchain, &args.cargo)?;
    build::sysroot::clean(args.cargo.quiet)?;
    if project.output_dir.exists() {
        fs_err::remove_dir_all(&project.output_dir)?;
    }
    Ok(ExitCode::Passed)
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "cargo-schedcheck", &mut text);
    let mut out = std::io::stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(ExitCode::Passed)
}

/// The word `error:` as cargo prints it.
fn styled(message: &str) -> String {
    let style = clap_cargo::style::ERROR;
    match message.strip_prefix("error:") {
        Some(rest) => format!("{style}error{style:#}:{rest}"),
        None => message.to_owned(),
    }
}
