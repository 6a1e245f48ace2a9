//! The help text of the command inside the README, between two markers.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

const OPENING: &str = "<!-- help -->";
const CLOSING: &str = "<!-- /help -->";

/// Rewrites the README if its help text is not the current one.
pub(crate) fn run(repository: &Path) -> Result<()> {
    let path = repository.join("README.md");
    let readme = fs::read_to_string(&path).context("README.md")?;
    let updated = with_help(&readme, &current_help(repository)?)?;
    if updated == readme {
        eprintln!("README.md is up to date");
    } else {
        fs::write(&path, updated).context("README.md")?;
        eprintln!("README.md: help text rewritten");
    }
    Ok(())
}

/// What `cargo schedcheck --help` prints, independent of the terminal.
pub(crate) fn current_help(repository: &Path) -> Result<String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--package", "cargo-schedcheck", "--"])
        .args(["schedcheck", "--help"])
        .current_dir(repository)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .context("cargo run --package cargo-schedcheck")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("`cargo schedcheck --help` ended with {}\n{errors}", output.status);
    }
    String::from_utf8(output.stdout).context("the help text is not UTF-8")
}

/// The README with this help text between its markers.
pub(crate) fn with_help(readme: &str, help: &str) -> Result<String> {
    let Some((before, rest)) = readme.split_once(OPENING) else {
        bail!("README.md has no `{OPENING}`");
    };
    let Some((_, after)) = rest.split_once(CLOSING) else {
        bail!("README.md has no `{CLOSING}` after `{OPENING}`");
    };
    // Trailing blanks come from clap's layout and would only trip editors.
    let help: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
    let help = help.join("\n");
    Ok(format!("{before}{OPENING}\n```text\n{help}\n```\n{CLOSING}{after}"))
}

/// The line of the README on which the help text starts, if it has one.
pub(crate) fn line_of_help(readme: &str) -> usize {
    readme.lines().position(|line| line.contains(OPENING)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_between_the_markers_is_replaced_and_the_rest_kept() {
        let readme = "# top\n<!-- help -->\nold\n<!-- /help -->\nend\n";
        let updated = with_help(readme, "\nUsage: x  \n\n  -h\n").unwrap();
        let expected = "# top\n<!-- help -->\n```text\nUsage: x\n\n  -h\n```\n<!-- /help -->\nend\n";
        assert_eq!(updated, expected);
        assert_eq!(with_help(&updated, "Usage: x\n\n  -h").unwrap(), updated);
        assert_eq!(line_of_help(readme), 2);
    }

    #[test]
    fn a_missing_marker_is_named() {
        assert!(with_help("# top", "x").unwrap_err().to_string().contains(OPENING));
        assert!(with_help("<!-- help -->", "x").unwrap_err().to_string().contains(CLOSING));
    }
}
