//! No file is long without saying why.

use super::Finding;
use super::sources::Source;

const LIMIT: usize = 700;
const REASON: &str = "// LONG: ";

pub(super) fn check(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let has_reason = source
        .text
        .lines()
        .any(|line| line.trim_start().strip_prefix(REASON).is_some_and(|reason| !reason.trim().is_empty()));
    let is_too_long = source.is_rust() && lines > LIMIT && !has_reason;
    is_too_long.then(|| {
        let message = format!(
            "{lines} lines, the limit is {LIMIT}: split the file, or add a line `{REASON}…` \
             with the reason"
        );
        Finding::new(&source.path, LIMIT + 1, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::source;

    #[test]
    fn a_long_file_needs_a_reason() {
        let long = "fn f() {}\n".repeat(LIMIT + 1);
        let finding = check(&source("a/src/b.rs", &long)).unwrap();
        assert!(finding.to_string().starts_with("a/src/b.rs:701: 701 lines"), "{finding}");
        assert!(check(&source("a.rs", &format!("{REASON}\n{long}"))).is_some());
        assert_eq!(check(&source("a.rs", &format!("{REASON}one table\n{long}"))), None);
    }

    #[test]
    fn the_limit_itself_and_other_files_are_fine() {
        let at_the_limit = "x\n".repeat(LIMIT);
        assert_eq!(check(&source("a.rs", &at_the_limit)), None);
        assert_eq!(check(&source("a.md", &format!("{at_the_limit}x\n"))), None);
    }
}
