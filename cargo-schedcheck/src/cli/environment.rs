//! Variables of the environment: which stand for flags, which have a wrong value, and which look like ours but are not.
use std::ffi::{OsStr, OsString};

use clap::ArgMatches;
use clap::error::ErrorKind;

use crate::suggest;

/// Set by this command for its own phases, or read where no flag exists.
const WITHOUT_FLAG: [&str; 4] = [
    "SCHEDCHECK_CACHE",
    crate::build::wrapper::SYSROOT,
    crate::build::wrapper::INSTRUMENT,
    "SCHEDCHECK_REQUEST",
];

/// Why a call cannot be understood.
#[derive(Debug)]
pub enum Refusal {
    OfArguments(clap::Error),
    /// The arguments are good; the message names the variable.
    OfVariable(String),
}

/// Reads the arguments of a call and the variables that stand for flags. An empty variable counts as not set.
pub fn parse(args: &[OsString]) -> Result<ArgMatches, Refusal> {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let without = |unwanted: &dyn Fn(&OsStr) -> bool| without_variables(unwanted).try_get_matches_from(args);
    let error = match without(&is_empty) {
        Ok(matches) => return Ok(matches),
        Err(error) => error,
    };
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_help || without(&|_| true).is_err() {
        return Err(Refusal::OfArguments(error));
    }
    // The one that is wrong by itself; there is none where two are at odds.
    let mut names = names();
    names.retain(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let wrong = names.iter().find_map(|name| Some((name, without(&|other| other != name).err()?)));
    let (name, error) = match wrong {
        Some((name, error)) => (name.to_string_lossy().into_owned(), error),
        None => {
            let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
            (names.join(", "), error)
        }
    };
    let text = error.to_string();
    let reason = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    Err(Refusal::OfVariable(format!("in the environment, {name}: {reason}")))
}

/// The command line, without the variables that are not wanted.
fn without_variables(unwanted: &dyn Fn(&OsStr) -> bool) -> clap::Command {
    let keep = |arg: clap::Arg| match arg.get_env() {
        Some(name) if unwanted(name) => arg.env(None),
        _ => arg,
    };
    super::command().mut_args(keep).mut_subcommands(|command| command.mut_args(keep))
}

/// The variables that stand for flags.
fn names() -> Vec<OsString> {
    let command = super::command();
    let commands = std::iter::once(&command).chain(command.get_subcommands());
    let flags = commands.flat_map(clap::Command::get_arguments).filter_map(|arg| arg.get_env());
    let mut names: Vec<OsString> = flags.map(OsStr::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// A warning for each of the given variables that begins like ours and means nothing.
pub fn warnings(variables: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let known: Vec<String> = names()
        .into_iter()
        .map(|name| name.to_string_lossy().into_owned())
        .chain(WITHOUT_FLAG.map(str::to_owned))
        .collect();
    variables
        .into_iter()
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("SCHEDCHECK_") && !known.contains(name))
        .filter(|name| !name.starts_with(crate::build::wrapper::SYSROOT))
        .map(|name| {
            format!("environment variable {name} is not known{}", suggest::did_you_mean(&name, &known))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::warnings;

    #[test]
    fn only_misspelt_variables_are_mentioned() {
        let names = ["SCHEDCHECK_BOUND", "SCHEDCHECK_CACHE", "SCHEDCHECK_BUOND", "PATH", "SCHEDCHECK_TRACE"];
        let warnings = warnings(names.map(Into::into));
        assert_eq!(
            warnings,
            ["environment variable SCHEDCHECK_BUOND is not known (did you mean `SCHEDCHECK_BOUND`?)"]
        );
    }
}
