//! Variables that look like ours but are not: a typo there would otherwise pass in silence.
use std::ffi::OsString;

use crate::suggest;

/// Set by this command for its own phases, or read where no flag exists.
const WITHOUT_FLAG: [&str; 4] = [
    "SCHEDCHECK_CACHE",
    crate::build::wrapper::SYSROOT,
    crate::build::wrapper::INSTRUMENT,
    "SCHEDCHECK_REQUEST",
];

/// A warning for each of the given variables that begins like ours and means nothing.
pub fn warnings(variables: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let command = super::command();
    let commands = || std::iter::once(&command).chain(command.get_subcommands());
    let flags = commands().flat_map(clap::Command::get_arguments).filter_map(|arg| arg.get_env());
    let known: Vec<String> = flags
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
