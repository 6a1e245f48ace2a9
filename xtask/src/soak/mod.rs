//! Checks that take too long for every change.

mod memory;
mod programs;
mod replays;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::Outcome;

const USAGE: &str = "\
Usage: cargo xtask soak <CHECK>...

  --programs N    N random programs: the search against brute force [--seed N: the first of them]
  --memory N      N million executions of one test must not grow its process
  --replays N     N replays of every failure of the demo and of a fixture must all be the same
";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    programs: Option<u64>,
    seed: u64,
    memory: Option<u64>,
    replays: Option<u64>,
}

/// Runs the checks that are asked for.
pub(crate) fn run(repository: &Path, arguments: &[&str]) -> Outcome {
    if matches!(arguments, ["help" | "-h" | "--help"]) {
        eprint!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::parse(arguments)?;
    let mut passed = true;
    if let Some(number) = options.programs {
        passed &= programs::run(repository, options.seed, number)?;
    }
    if let Some(millions) = options.memory {
        passed &= memory::run(repository, millions)?;
    }
    if let Some(number) = options.replays {
        passed &= replays::run(repository, number)?;
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter().copied().peekable();
        while let Some(name) = arguments.next() {
            let value = arguments.next_if(|argument| !argument.starts_with("--"));
            let number = |default: u64| -> Result<u64> {
                value.map_or(Ok(default), |value| value.parse().with_context(|| format!("{name} {value}")))
            };
            match name {
                "--programs" => options.programs = Some(number(1_000_000)?),
                "--seed" => options.seed = number(0)?,
                "--memory" => options.memory = Some(number(10)?),
                "--replays" => options.replays = Some(number(1000)?),
                _ => bail!("{name} is not known\n{USAGE}"),
            }
        }
        if options == (Options { seed: options.seed, ..Options::default() }) {
            bail!("nothing to check\n{USAGE}");
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_left_out() {
        let options = Options::parse(&["--memory", "--programs", "7", "--seed", "3"]).unwrap();
        let expected = Options { programs: Some(7), seed: 3, memory: Some(10), replays: None };
        assert_eq!(options, expected);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for arguments in [&[][..], &["--seed", "3"], &["--everything"], &["--memory", "much"]] {
            assert!(Options::parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
