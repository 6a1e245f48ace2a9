//! What an operation is called on, as its source says it: `self.items.lock()` is about `items`.

use crate::model::Site;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Source files, read when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Sources(FxHashMap<&'static str, Option<String>>);

impl Sources {
    /// The field or variable on which the method at `site` is called.
    pub(super) fn receiver(&mut self, site: Site) -> Option<String> {
        let text = self.0.entry(site.file()).or_insert_with(|| read(site.file())).as_deref()?;
        let line_start = match site.line() {
            1 => 0,
            line => text.match_indices('\n').nth(line as usize - 2)?.0 + 1,
        };
        let column = site.column() as usize - 1;
        let at = line_start + text[line_start..].char_indices().nth(column)?.0;
        receiver_before(&text[..at]).map(str::to_owned)
    }
}

/// Paths are relative to the workspace, which is the package or lies above it.
fn read(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|folder| folder.join(Path::new(file)))
        .find_map(|path| std::fs::read_to_string(path).ok())
}

/// The last name in front of the `.` with which `text` ends, brackets skipped.
fn receiver_before(text: &str) -> Option<&str> {
    let mut text = text.trim_end().strip_suffix('.')?.trim_end();
    while text.ends_with([')', ']']) {
        text = &text[..opening(text)?];
    }
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let start = text.trim_end_matches(is_part).len();
    Some(&text[start..]).filter(|name| !name.is_empty())
}

/// Position of the bracket that the last character closes.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' | ']' => depth += 1,
            '(' | '[' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn the_name_in_front_of_the_call_counts() {
        let name = |text| receiver_before(text).unwrap_or("none");
        assert_eq!(name("let x = self.items."), "items");
        assert_eq!(name("self\n    .slots[i % (n + 1)]\n    ."), "slots");
        assert_eq!(name("queue.head(0)."), "head");
        assert_eq!(name("HEAD."), "HEAD");
        assert_eq!(name("spawn"), "none");
        assert_eq!(name("(a, b)."), "none");
    }

    #[track_caller]
    fn touch(_: &str) -> Site {
        Location::caller()
    }

    trait Touch {
        #[track_caller]
        fn touch(&self) -> Site;
    }

    impl Touch for u32 {
        fn touch(&self) -> Site {
            Location::caller()
        }
    }

    #[test]
    fn source_files_are_found_from_the_package() {
        let counter = 3_u32;
        let mut sources = Sources::default();
        assert_eq!(sources.receiver(counter.touch()).as_deref(), Some("counter"));
        assert_eq!(sources.receiver(touch("")), None, "no method call");
    }
}
