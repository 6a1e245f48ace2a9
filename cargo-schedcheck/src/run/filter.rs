//! Which of the listed tests are explored.
use super::wire::ListedTest;
use crate::cli::SelectArgs;

impl SelectArgs {
    /// Whether the path of a test fits the filters, marked or not, ignored or not.
    pub fn names(&self, test: &str) -> bool {
        let fits = |filter: &String| {
            if self.exact { test == filter } else { test.contains(filter.as_str()) }
        };
        (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skip.iter().any(fits)
    }

    /// The selection as flags and filters, without the part of this machine.
    pub fn words(&self) -> Vec<String> {
        let flags = [
            ("--all-tests", self.all_tests),
            ("--exact", self.exact),
            ("--ignored", self.ignored),
            ("--include-ignored", self.include_ignored),
        ];
        let flags = flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag.to_owned());
        let skip = self.skip.iter().flat_map(|filter| ["--skip".to_owned(), filter.clone()]);
        flags.chain(skip).chain(self.filters.iter().cloned()).collect()
    }

    /// Whether a test is to be explored.
    pub fn selects(&self, test: &ListedTest) -> bool {
        let wanted_kind = test.marked || self.all_tests;
        let wanted_state = match test.ignored {
            true => self.ignored || self.include_ignored,
            false => !self.ignored,
        };
        wanted_kind && wanted_state && self.names(&test.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(change: impl FnOnce(&mut SelectArgs)) -> impl Fn(&str, bool, bool) -> bool {
        let mut args = SelectArgs::default();
        change(&mut args);
        move |name, marked, ignored| {
            let options = String::new();
            args.selects(&ListedTest { name: name.to_owned(), marked, ignored, options })
        }
    }

    #[test]
    fn by_default_only_marked_tests_run() {
        let selects = select(|_| {});
        assert!(selects("a", true, false));
        assert!(!selects("a", false, false));
        assert!(!selects("a", true, true));
        assert!(select(|args| args.all_tests = true)("a", false, false));
    }

    #[test]
    fn filters_are_substrings_and_any_of_them_suffices() {
        let selects = select(|args| args.filters = vec!["queue".into(), "::two".into()]);
        assert!(selects("queue::one", true, false));
        assert!(selects("stack::two", true, false));
        assert!(!selects("stack::one", true, false));
    }

    #[test]
    fn exact_applies_to_filters_and_to_skip() {
        let selects = select(|args| {
            args.exact = true;
            args.skip = vec!["a".into()];
        });
        assert!(!selects("a", true, false));
        assert!(selects("ab", true, false));
    }

    #[test]
    fn ignored_tests_are_asked_for() {
        assert!(select(|args| args.ignored = true)("a", true, true));
        assert!(!select(|args| args.ignored = true)("a", true, false));
        assert!(select(|args| args.include_ignored = true)("a", true, false));
    }
}
