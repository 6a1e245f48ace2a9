//! No macro and no note of unfinished work stays behind.

use proc_macro2::{TokenStream, TokenTree};

use super::Finding;
use super::sources::Source;

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

/// In two halves, so that this file does not accuse itself.
const NOTE: &str = concat!("FIX", "ME");

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        if line.contains(NOTE) {
            let message = format!("`{NOTE}`: do it, or open an issue");
            findings.push(Finding::new(&source.path, index + 1, message));
        }
    }
    if source.is_rust() {
        match source.text.parse::<TokenStream>() {
            Ok(tokens) => leftover_macros(tokens, source, &mut findings),
            Err(error) => {
                let line = error.span().start().line;
                findings.push(Finding::new(&source.path, line, format!("no Rust: {error}")));
            }
        }
    }
    findings
}

/// By tokens, not by text: the words are allowed in strings and comments.
fn leftover_macros(tokens: TokenStream, source: &Source, findings: &mut Vec<Finding>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => leftover_macros(group.stream(), source, findings),
            TokenTree::Ident(name) if MACROS.iter().any(|known| name == known) => {
                let is_call = matches!(tokens.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '!');
                if is_call {
                    let message = format!("`{name}!` is left over");
                    findings.push(Finding::new(&source.path, name.span().start().line, message));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::source;

    fn check_text(path: &str, text: &str) -> Vec<String> {
        check(&source(path, text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn leftover_macros_are_found_in_any_depth() {
        let text = "fn f() {\n    if true { todo!() }\n    dbg!(unimplemented!());\n}\n";
        let expected = [
            "a.rs:2: `todo!` is left over",
            "a.rs:3: `dbg!` is left over",
            "a.rs:3: `unimplemented!` is left over",
        ];
        assert_eq!(check_text("a.rs", text), expected);
    }

    #[test]
    fn notes_are_found_in_every_kind_of_file() {
        for path in ["a.rs", "a.toml"] {
            let findings = check_text(path, &format!("\n# [{NOTE}]\n").replace('#', "//"));
            assert!(findings[0].starts_with(&format!("{path}:2: `{NOTE}`")), "{findings:?}");
        }
    }

    #[test]
    fn strings_comments_and_other_names_are_fine() {
        let text = "// todo!()\nconst HINT: &str = \"dbg!(x)\";\nfn todo(dbg: bool) -> bool { !dbg }";
        assert!(check_text("a.rs", text).is_empty());
    }

    #[test]
    fn a_file_that_is_no_rust_is_a_finding() {
        assert!(check_text("a.rs", "fn f() {\n    \"open\n")[0].contains("no Rust"));
    }
}
