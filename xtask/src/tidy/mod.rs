//! Rules of this repository that the compiler does not check.

mod file_map;
mod imports;
mod leftovers;
mod length;
mod licences;
mod paths;
mod priorities;
mod sources;

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::{Outcome, docs};
use sources::Source;

/// One broken rule, with its place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks every rule and lists what breaks one.
pub(crate) fn run(repository: &Path) -> Outcome {
    let sources = Source::all(repository)?;
    let mut findings = Vec::new();
    for source in &sources {
        findings.extend(imports::check(source));
        findings.extend(length::check(source));
        findings.extend(leftovers::check(source));
    }
    findings.extend(priorities::check(&sources));
    findings.extend(check_file_map(repository, &sources)?);
    findings.extend(check_help(repository)?);
    findings.extend(licences::check(repository)?);
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => eprintln!("tidy: {} files, nothing to complain about", sources.len()),
        1 => eprintln!("tidy: 1 finding"),
        many => eprintln!("tidy: {many} findings"),
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_file_map(repository: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let path = repository.join(file_map::DOCUMENT);
    if !path.exists() {
        return Ok(vec![Finding::new(file_map::DOCUMENT, 1, "the file is missing")]);
    }
    let document = fs::read_to_string(path).context(file_map::DOCUMENT)?;
    let files: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    Ok(file_map::check(&document, &files))
}

fn check_help(repository: &Path) -> anyhow::Result<Vec<Finding>> {
    let help = docs::current_help(repository)?;
    let mut findings = Vec::new();
    for name in docs::DOCUMENTS {
        let path = repository.join(name);
        if !path.exists() {
            findings.push(Finding::new(name, 1, "the file is missing"));
            continue;
        }
        let document = fs::read_to_string(path).context(name)?;
        let line = docs::line_of_help(&document);
        match docs::with_help(&document, &help) {
            Ok(updated) if updated == document => {}
            Ok(_) => {
                let message = "the help text is not the current one: run `cargo xtask docs`";
                findings.push(Finding::new(name, line, message));
            }
            Err(error) => findings.push(Finding::new(name, line, error.to_string())),
        }
    }
    Ok(findings)
}
