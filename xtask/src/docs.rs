//! The help text of the command inside the README and the book, between two markers.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

const OPENING: &str = "<!-- help -->";
const CLOSING: &str = "<!-- /help -->";

/// What has the help text in it.
pub(crate) const DOCUMENTS: [&str; 2] = ["README.md", "docs/src/flags.md"];

/// Rewrites documents whose help text is not the current one.
pub(crate) fn run(repository: &Path) -> Result<()> {
    let help = current_help(repository)?;
    for name in DOCUMENTS {
        let path = repository.join(name);
        let document = fs::read_to_string(&path).context(name)?;
        let updated = with_help(&document, &help).context(name)?;
        if updated == document {
            eprintln!("{name} is up to date");
        } else {
            fs::write(&path, updated).context(name)?;
            eprintln!("{name}: help text rewritten");
        }
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

/// A document with this help text between its markers.
pub(crate) fn with_help(document: &str, help: &str) -> Result<String> {
    // Trailing blanks come from clap's layout and would only trip editors.
    let help: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
    let help = help.join("\n");
    with_between(document, [OPENING, CLOSING], &format!("```text\n{help}\n```\n"))
}

/// A document with these lines between two markers, each on a line of its own.
pub(crate) fn with_between(document: &str, [opening, closing]: [&str; 2], lines: &str) -> Result<String> {
    let Some((before, rest)) = document.split_once(opening) else {
        bail!("there is no `{opening}`");
    };
    let Some((_, after)) = rest.split_once(closing) else {
        bail!("there is no `{closing}` after `{opening}`");
    };
    Ok(format!("{before}{opening}\n{lines}{closing}{after}"))
}

/// The line of a document on which the help text starts, if it has one.
pub(crate) fn line_of_help(document: &str) -> usize {
    document.lines().position(|line| line.contains(OPENING)).map_or(1, |index| index + 1)
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
