//! The names of the priority functions are the same in the three crates that have a list of them.
//!
//! None can take it from another: the command does not link the engine, and the attribute depends on neither.

use std::collections::BTreeSet;

use super::Finding;
use super::sources::Source;

/// Files and the constants in them, that of the engine first.
const LISTS: [(&str, &str); 3] = [
    ("schedcheck-rt/src/search/priority.rs", "NAMES"),
    ("cargo-schedcheck/src/cli/priority.rs", "NAMES"),
    ("schedcheck-attr/src/args.rs", "PRIORITIES"),
];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut of_the_engine = None;
    for (path, constant) in LISTS {
        let source = sources.iter().find(|source| source.path == path);
        let Some((line, names)) = source.and_then(|source| names(&source.text, constant)) else {
            findings.push(Finding::new(
                path,
                1,
                format!("there is no constant `{constant}` with the priorities"),
            ));
            continue;
        };
        let expected = of_the_engine.get_or_insert_with(|| names.clone());
        if names != *expected {
            let differ: Vec<&str> = names.symmetric_difference(expected).copied().collect();
            let message =
                format!("`{constant}` is not the engine's list of priorities: {}", differ.join(", "));
            findings.push(Finding::new(path, line, message));
        }
    }
    findings
}

/// The line of a constant, and the names in its texts: one in each, or several with commas. A seed does not count.
fn names<'t>(text: &'t str, constant: &str) -> Option<(usize, BTreeSet<&'t str>)> {
    let (before, rest) = text.split_once(&format!("const {constant}: "))?;
    let (value, _) = rest.split_once('=')?.1.split_once(';')?;
    let texts = value.split('"').skip(1).step_by(2);
    let names = texts.flat_map(|text| text.split(", ")).filter_map(|name| name.split(':').next());
    Some((before.lines().count() + 1, names.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::source;

    fn check_lists(of_the_attribute: &str) -> Vec<String> {
        let texts = [
            "//! Names.\nconst NAMES: &str = \"pb, rand, rand:SEED\";\n",
            "const NAMES: [&str; 2] =\n    [\"rand\", \"pb\"];\n",
            of_the_attribute,
        ];
        let sources: Vec<Source> =
            LISTS.iter().zip(texts).map(|((path, _), text)| source(path, text)).collect();
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_that_differ_are_found() {
        assert_eq!(check_lists("const PRIORITIES: &[&str] = &[\"pb\", \"rand\"];"), Vec::<String>::new());
        let differ =
            "schedcheck-attr/src/args.rs:2: `PRIORITIES` is not the engine's list of priorities: dfs, rand";
        assert_eq!(check_lists("\nconst PRIORITIES: &[&str] = &[\"pb\", \"dfs\"];"), [differ]);
        assert!(check_lists("")[0].contains("there is no constant `PRIORITIES`"));
    }
}
