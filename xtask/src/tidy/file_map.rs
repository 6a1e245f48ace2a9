//! The file map of ARCHITECTURE.md names every source file of the three crates, and nothing else.
//!
//! It stands between two markers. A line that starts at the margin names a folder, the indented lines
//! below it name paths inside; what follows the first word is explanation. Braces list several names:
//!
//! ```text
//! schedcheck-rt/src/                  the runtime
//!   search/step.rs                    the vocabulary
//!   model/{mutex,condvar}.rs          state machines
//! ```

use super::Finding;

pub(super) const DOCUMENT: &str = "ARCHITECTURE.md";

const OPENING: &str = "<!-- file map -->";
const CLOSING: &str = "<!-- /file map -->";

/// Where the files are that must be on the map.
const MAPPED: &[&str] = &["cargo-schedcheck/src/", "schedcheck-rt/src/", "schedcheck-attr/src/"];

/// A path on the map and its line in the document.
struct Entry {
    path: String,
    line: usize,
}

/// Compares the map with the files of the repository.
pub(super) fn check(document: &str, files: &[&str]) -> Vec<Finding> {
    let Some(opening) = document.lines().position(|line| line.trim() == OPENING) else {
        return vec![Finding::new(DOCUMENT, 1, format!("there is no `{OPENING}`"))];
    };
    let mut lines = document.lines().enumerate().skip(opening + 1);
    let map: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| line.trim() != CLOSING).collect();
    let entries = entries(&map);
    let mut findings = Vec::new();
    for Entry { path, line } in &entries {
        let exists = match path.strip_suffix('/') {
            Some(_) => files.iter().any(|file| file.starts_with(path)),
            None => files.contains(&path.as_str()),
        };
        if !exists {
            findings.push(Finding::new(DOCUMENT, *line, format!("`{path}` does not exist")));
        }
    }
    for file in files {
        let is_mapped = MAPPED.iter().any(|folder| file.starts_with(folder));
        if is_mapped && file.ends_with(".rs") && !entries.iter().any(|entry| entry.path == *file) {
            let message = format!("`{file}` is not on the file map");
            findings.push(Finding::new(DOCUMENT, opening + 1, message));
        }
    }
    findings
}

fn entries(map: &[(usize, &str)]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut folder = String::new();
    for (index, text) in map {
        let Some(name) = text.split_whitespace().next() else {
            continue;
        };
        if name.starts_with("```") {
            continue;
        }
        let is_indented = text.starts_with(char::is_whitespace);
        if !is_indented {
            folder = if name.ends_with('/') { name.to_owned() } else { String::new() };
        }
        let base = if is_indented { folder.as_str() } else { "" };
        for path in expand_braces(name) {
            entries.push(Entry { path: format!("{base}{path}"), line: index + 1 });
        }
    }
    entries
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`; several braces give all combinations.
fn expand_braces(text: &str) -> Vec<String> {
    let parts = text.split_once('{').and_then(|(before, rest)| {
        let (list, after) = rest.split_once('}')?;
        Some((before, list, after))
    });
    let Some((before, list, after)) = parts else {
        return vec![text.to_owned()];
    };
    let afters = expand_braces(after);
    let combined =
        list.split(',').flat_map(|middle| afters.iter().map(move |after| format!("{before}{middle}{after}")));
    combined.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[&str] = &[
        "README.md",
        "schedcheck-attr/src/lib.rs",
        "schedcheck-rt/src/lib.rs",
        "schedcheck-rt/src/model/condvar.rs",
        "schedcheck-rt/src/model/mutex.rs",
        "xtask/src/main.rs",
    ];

    fn check_map(map: &str) -> Vec<String> {
        let document = format!("# Title\n{OPENING}\n```text\n{map}\n```\n{CLOSING}\nend\n");
        check(&document, FILES).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_complete_map_is_fine() {
        let map = "schedcheck-rt/src/    the runtime\n  lib.rs\n  model/    states\n  \
                   model/{mutex,condvar}.rs   one each\n\nschedcheck-attr/src/lib.rs\n";
        assert_eq!(check_map(map), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_not_named_is_found() {
        let map = "schedcheck-rt/src/\n  lib.rs\n  model/mutex.rs\nschedcheck-attr/src/lib.rs";
        let message = "`schedcheck-rt/src/model/condvar.rs` is not on the file map";
        assert_eq!(check_map(map), [format!("ARCHITECTURE.md:2: {message}")]);
    }

    #[test]
    fn a_name_without_a_file_is_found_on_its_line() {
        let map = "schedcheck-rt/src/\n  lib.rs\n  model/{mutex,condvar,once}.rs\n  wire/\n\
                   schedcheck-attr/src/lib.rs";
        let expected = [
            "ARCHITECTURE.md:6: `schedcheck-rt/src/model/once.rs` does not exist",
            "ARCHITECTURE.md:7: `schedcheck-rt/src/wire/` does not exist",
        ];
        assert_eq!(check_map(map), expected);
    }

    #[test]
    fn a_document_without_a_map_is_found() {
        let findings = check("# Title\n", FILES);
        assert!(findings[0].to_string().contains("there is no `<!-- file map -->`"));
    }

    #[test]
    fn braces_multiply() {
        assert_eq!(expand_braces("{a,b}/{c,d}.rs"), ["a/c.rs", "a/d.rs", "b/c.rs", "b/d.rs"]);
        assert_eq!(expand_braces("a{b"), ["a{b"]);
    }
}
