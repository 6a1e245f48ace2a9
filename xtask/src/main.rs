//! Chores of this repository, run as `cargo xtask NAME`.
#![forbid(unsafe_code)]

mod bench;
mod docs;
mod soak;
mod tidy;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
Usage: cargo xtask <CHORE>

Chores:
  tidy   check import directions, the file map, the help texts, lists that must agree, licences, file
         lengths, leftovers
  docs   write the current help text of the command into the README and the book
  bench  measure speed, bugs found and memory, beside loom and shuttle
  soak   checks that take hours: random programs, memory, replays
";

fn main() -> ExitCode {
    let chores: Vec<String> = env::args().skip(1).collect();
    let chores: Vec<&str> = chores.iter().map(String::as_str).collect();
    let outcome = match chores[..] {
        ["tidy"] => tidy::run(repository()),
        ["docs"] => docs::run(repository()).map(|()| ExitCode::SUCCESS),
        ["bench", ref options @ ..] => bench::run(repository(), options),
        ["soak", ref options @ ..] => soak::run(repository(), options),
        ["help" | "-h" | "--help"] => return usage(ExitCode::SUCCESS),
        _ => return usage(ExitCode::from(2)),
    };
    outcome.unwrap_or_else(|error: anyhow::Error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn usage(code: ExitCode) -> ExitCode {
    eprint!("{USAGE}");
    code
}

/// The top of the repository, wherever the chore was called from.
fn repository() -> &'static Path {
    let this_package = Path::new(env!("CARGO_MANIFEST_DIR"));
    this_package.parent().unwrap_or(this_package)
}

/// What chores return.
type Outcome = Result<ExitCode>;
