//! Source files as reports quote them: looked up where the compiler's paths may lead, never trusted to be unchanged.
use std::ops::Range;

use camino::{Utf8Path, Utf8PathBuf};

use crate::run::wire::Location;

/// A file that places point into.
#[derive(Debug)]
pub struct SourceFile {
    /// As the compiler wrote it.
    pub path: String,
    /// Nothing when it cannot be read, or was changed so that a place lies beyond its end.
    pub text: Option<String>,
}

/// The files of `places`, in order of appearance.
pub fn load(dirs: &[Utf8PathBuf], places: &[&Location]) -> Vec<SourceFile> {
    let mut files: Vec<SourceFile> = Vec::new();
    for place in places {
        let index = files.iter().position(|file| file.path == place.file).unwrap_or_else(|| {
            files.push(SourceFile { path: place.file.clone(), text: read(dirs, &place.file) });
            files.len() - 1
        });
        let file = &mut files[index];
        if file.text.as_ref().is_some_and(|text| place.line > text.lines().count()) {
            file.text = None;
        }
    }
    files
}

/// Where a file is that the compiler named: relative to one of the folders, or absolute.
pub fn find(dirs: &[Utf8PathBuf], path: &str) -> Option<Utf8PathBuf> {
    dirs.iter().map(|dir| dir.join(path)).find(|path| path.is_file())
}

/// The path of a file relative to `root`, with slashes; absolute when it lies elsewhere.
pub fn relative_to(root: &Utf8Path, dirs: &[Utf8PathBuf], path: &str) -> String {
    let found = find(dirs, path).unwrap_or_else(|| path.into());
    found.strip_prefix(root).unwrap_or(&found).as_str().replace('\\', "/")
}

/// The text of a file; rustc writes paths relative to the workspace for its members.
pub fn read(dirs: &[Utf8PathBuf], path: &str) -> Option<String> {
    dirs.iter().find_map(|dir| fs_err::read_to_string(dir.join(path)).ok())
}

/// The bytes of a call at a place: the word there and, if arguments follow, those.
pub fn span(text: &str, site: &Location) -> Range<usize> {
    let line_start: usize = text.split_inclusive('\n').take(site.line.saturating_sub(1)).map(str::len).sum();
    let line = text[line_start..].lines().next().unwrap_or_default();
    let from = line.char_indices().nth(site.column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let rest = &line[from..];
    let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!')).unwrap_or(rest.len());
    // The name of a function may be qualified.
    let mut word = word;
    while let Some(tail) = rest[word..].strip_prefix("::") {
        let more = tail.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(tail.len());
        if more == 0 {
            break;
        }
        word += 2 + more;
    }
    let mut depth = 0usize;
    let mut end = word;
    for (at, character) in rest[word..].char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            end = if at == 0 && character != '(' { word } else { word + at + character.len_utf8() };
            break;
        }
        end = rest.len();
    }
    let end = end.max(1).min(rest.len());
    line_start + from..line_start + from + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_covers_the_call() {
        let text = "fn f() {\n    let g = a.lock(x(1)).unwrap();\n    b += 1;\n    thread::spawn(c);\n    äö.é(1);\n}\n";
        let at = |line, column| &text[span(text, &Location { file: String::new(), line, column })];
        assert_eq!(at(2, 15), "lock(x(1))");
        assert_eq!(at(3, 5), "b");
        assert_eq!(at(3, 99), "");
        assert_eq!(at(2, 13), "a");
        assert_eq!(at(4, 5), "thread::spawn(c)");
        assert_eq!(at(5, 8), "é(1)");
    }

    #[test]
    fn a_file_that_has_become_too_short_is_not_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = [Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap()];
        fs_err::write(dirs[0].join("a.rs"), "one\ntwo\n").unwrap();
        let place = |file: &str, line| Location { file: file.to_owned(), line, column: 1 };
        let texts = |places: &[Location]| -> Vec<bool> {
            load(&dirs, &places.iter().collect::<Vec<_>>()).iter().map(|file| file.text.is_some()).collect()
        };
        assert_eq!(texts(&[place("a.rs", 1), place("b.rs", 1), place("a.rs", 2)]), [true, false]);
        assert_eq!(texts(&[place("a.rs", 1), place("a.rs", 3)]), [false]);
    }
}
