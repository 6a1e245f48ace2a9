//! Places that a user names: `src/queue.rs:88`, or what an operation is called on.

use crate::model::Site;
use std::fmt;

/// One place of `--seq` or `--reach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A line, in every file whose path ends in this one.
    Line(String, u32),
    /// Operations on the static, field or variable of this name, and labels.
    Name(String),
}

impl Element {
    /// Reads one; the command has checked it.
    pub fn parse(text: &str) -> Element {
        let text = text.trim();
        let line = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        match line {
            Some((file, line)) => Element::Line(file.to_owned(), line),
            None => Element::Name(text.to_owned()),
        }
    }

    /// Whether an operation at `site` stands there, on what is called `receiver`.
    pub(super) fn is_at(&self, site: Site, receiver: impl FnOnce() -> Option<String>) -> bool {
        match self {
            Element::Line(file, line) => site.line() == *line && is_in(site, file),
            Element::Name(name) => receiver().as_ref() == Some(name),
        }
    }

    /// Whether it is called this.
    pub(super) fn is_named(&self, label: &str) -> bool {
        matches!(self, Element::Name(name) if name == label)
    }

    /// How many lines `site` is before it.
    pub(super) fn lines_after(&self, site: Site) -> Option<u32> {
        match self {
            Element::Line(file, line) if is_in(site, file) => {
                line.checked_sub(site.line()).filter(|&n| n > 0)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Line(file, line) => write!(f, "{file}:{line}"),
            Element::Name(name) => f.write_str(name),
        }
    }
}

/// Whether the path of a file ends in these elements.
fn is_in(site: Site, file: &str) -> bool {
    let path = site.file();
    path.strip_suffix(file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn files_match_by_their_last_elements() {
        let site: Site = Location::caller();
        let here = |file: &str| Element::parse(&format!("{file}:{}", site.line()));
        let at = |element: Element| element.is_at(site, || None);
        assert!(at(here("elements.rs")) && at(here("places/elements.rs")) && at(here(site.file())));
        assert!(!at(here("ments.rs")) && !at(here("other/elements.rs")));
        assert!(!at(Element::Line("elements.rs".into(), site.line() + 1)));
        assert_eq!(Element::Line("elements.rs".into(), site.line() + 3).lines_after(site), Some(3));
        assert_eq!(Element::parse("sold"), Element::Name("sold".into()));
        assert!(Element::parse("sold").is_at(site, || Some("sold".into())));
    }
}
