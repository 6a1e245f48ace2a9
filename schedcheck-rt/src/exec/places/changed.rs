//! Lines that were changed, as the command names them.

use crate::model::Site;

/// Lines of a file, from the first to the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedLines {
    /// As the compiler calls it.
    file: String,
    first: u32,
    last: u32,
}

impl ChangedLines {
    /// Reads `src/lib.rs:10-12`.
    pub fn parse(text: &str) -> Option<ChangedLines> {
        let (file, lines) = text.rsplit_once(':')?;
        let (first, last) = lines.split_once('-')?;
        Some(ChangedLines { file: file.to_owned(), first: first.parse().ok()?, last: last.parse().ok()? })
    }

    /// Whether an operation stands at one of them, or next to one: what is between two operations is a
    /// matter of both.
    pub(super) fn contain(&self, site: Site) -> bool {
        let line = site.line();
        self.file == site.file()
            && self.first <= line.saturating_add(1)
            && line <= self.last.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;

    #[test]
    fn a_line_and_its_neighbours_are_found() {
        let here = Location::caller();
        let around = |from: i64, to: i64| {
            let line = |offset| i64::from(here.line()) + offset;
            ChangedLines::parse(&format!("{}:{}-{}", here.file(), line(from), line(to))).unwrap()
        };
        assert!(around(0, 0).contain(here));
        assert!(around(1, 3).contain(here) && around(-3, -1).contain(here));
        assert!(!around(2, 3).contain(here) && !around(-3, -2).contain(here));
        assert!(!ChangedLines::parse("elsewhere.rs:1-9999").unwrap().contain(here));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "a.rs", "a.rs:1", "a.rs:x-2", "a.rs:1-"] {
            assert_eq!(ChangedLines::parse(text), None, "{text}");
        }
    }
}
