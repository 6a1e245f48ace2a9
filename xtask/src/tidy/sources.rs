//! The files that the rules look at.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Where code and documents are. Hidden folders in them are left out.
const FOLDERS: &[&str] =
    &["cargo-schedcheck", "schedcheck-rt", "schedcheck-attr", "tests", "xtask", "docs", "examples"];

const EXTENSIONS: &[&str] = &["rs", "md", "toml", "yml", "yaml", "sh"];

/// A file, with its path from the top of the repository, always with `/`.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Every file of interest, in the order of their paths.
    pub(crate) fn all(repository: &Path) -> Result<Vec<Source>> {
        let mut found = Vec::new();
        for entry in sorted_entries(repository)? {
            let path = repository.join(&entry);
            if path.is_dir() {
                if FOLDERS.contains(&entry.as_str()) {
                    collect(&path, &entry, &mut found)?;
                }
            } else {
                read_if_of_interest(&path, &entry, &mut found)?;
            }
        }
        Ok(found)
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

fn collect(folder: &Path, name: &str, found: &mut Vec<Source>) -> Result<()> {
    for entry in sorted_entries(folder)? {
        let path = folder.join(&entry);
        let name = format!("{name}/{entry}");
        if path.is_dir() {
            if entry != "target" && !entry.starts_with('.') {
                collect(&path, &name, found)?;
            }
        } else {
            read_if_of_interest(&path, &name, found)?;
        }
    }
    Ok(())
}

fn read_if_of_interest(path: &Path, name: &str, found: &mut Vec<Source>) -> Result<()> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
        let text = fs::read_to_string(path).with_context(|| name.to_owned())?;
        found.push(Source { path: name.to_owned(), text });
    }
    Ok(())
}

fn sorted_entries(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// A source as the tests of the rules write it.
#[cfg(test)]
pub(crate) fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
