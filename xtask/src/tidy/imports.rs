//! Import directions between the folders of the runtime.
//!
//! ```text
//! facade → exec → model → search::step        entry → {search, exec}        wire → std only
//! ```
//! An arrow also permits what lies further along it. `search` imports none of the others.
//!
//! The check reads tokens, not items, so that paths inside macros count too.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::Finding;
use super::sources::Source;

const ROOT: &str = "schedcheck-rt/src/";

/// Each folder or file below the root with the modules that it may import besides its own.
const LAYERS: &[(&str, &[&str])] = &[
    ("facade", &["exec", "model", "search::step"]),
    ("exec", &["model", "search::step"]),
    ("model", &["search::step"]),
    ("entry", &["search", "exec"]),
    ("search", &[]),
    ("wire", &[]),
];

/// What `wire` may use: the command shares it, without the engine's dependencies.
const STANDARD_CRATES: &[&str] = &["std", "core", "alloc"];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let Some(module) = module_of(&source.path) else {
        return Vec::new();
    };
    let Some((layer, permitted)) = LAYERS
        .iter()
        .find(|(layer, _)| module.first().is_some_and(|first| first == layer))
    else {
        return Vec::new();
    };
    // What cannot be read as tokens is reported with the leftovers.
    let Ok(tokens) = source.text.parse::<TokenStream>() else {
        return Vec::new();
    };
    let mut reader = PathReader { found: Vec::new() };
    reader.read(tokens, &module);
    reader
        .found
        .iter()
        .filter_map(|path| {
            let problem = match &path.origin {
                Origin::ThisCrate => forbidden_module(layer, permitted, &path.segments),
                Origin::Use => forbidden_crate(layer, &path.segments),
            }?;
            Some(Finding::new(&source.path, path.line, problem))
        })
        .collect()
}

fn forbidden_module(layer: &str, permitted: &[&str], target: &[String]) -> Option<String> {
    let first = target.first()?;
    let is_layer = LAYERS.iter().any(|(name, _)| name == first);
    if first == layer || !(is_layer || layer == "wire") {
        return None;
    }
    let is_permitted = permitted.iter().any(|permitted| {
        let permitted: Vec<&str> = permitted.split("::").collect();
        target.len() >= permitted.len() && permitted.iter().zip(target).all(|(p, t)| p == t)
    });
    let target = target.join("::");
    (!is_permitted).then(|| match permitted {
        [] => format!("`{layer}` must not import `crate::{target}`: it imports no other module"),
        _ => format!(
            "`{layer}` must not import `crate::{target}`: it may import {}",
            permitted.join(", ")
        ),
    })
}

fn forbidden_crate(layer: &str, path: &[String]) -> Option<String> {
    let name = path.first()?;
    let is_forbidden = layer == "wire" && !STANDARD_CRATES.contains(&name.as_str());
    is_forbidden.then(|| format!("`wire` must not use the crate `{name}`: only std"))
}

/// The module that a file of the runtime holds: `search/step.rs` is `search::step`.
fn module_of(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix(ROOT)?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let is_root = path == "lib";
    Some(if is_root {
        Vec::new()
    } else {
        path.split('/').map(str::to_owned).collect()
    })
}

/// How a path starts, which decides what it names.
enum Origin {
    /// With `crate` or `super`; the segments count from the root of this crate.
    ThisCrate,
    /// With the name of another crate, in a `use`.
    Use,
}

struct FoundPath {
    origin: Origin,
    segments: Vec<String>,
    line: usize,
}

struct PathReader {
    found: Vec<FoundPath>,
}

impl PathReader {
    fn read(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Group(group) => {
                    self.read(group.stream(), module);
                    at + 1
                }
                TokenTree::Ident(word) if word == "mod" => self.read_module(&tokens, at, module),
                TokenTree::Ident(word) if word == "use" => self.read_use(&tokens, at, module),
                TokenTree::Ident(_) => self.read_path(&tokens, at, module),
                _ => at + 1,
            };
        }
    }

    /// `mod name { … }`: inside it, `super` means this module.
    fn read_module(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        if let [TokenTree::Ident(name), TokenTree::Group(body), ..] = &tokens[at + 1..] {
            let inner: Vec<String> = module.iter().cloned().chain([name.to_string()]).collect();
            self.read(body.stream(), &inner);
            return at + 3;
        }
        at + 1
    }

    /// `use` of another crate; a `use` of this one is left to [`Self::read_path`].
    fn read_use(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let mut start = at + 1;
        while matches!(tokens.get(start), Some(TokenTree::Punct(p)) if p.as_char() == ':') {
            start += 1;
        }
        match tokens.get(start) {
            Some(TokenTree::Ident(name))
                if name != "crate" && name != "super" && name != "self" =>
            {
                let path = FoundPath {
                    origin: Origin::Use,
                    segments: vec![name.to_string()],
                    line: name.span().start().line,
                };
                self.found.push(path);
                // To the end of the statement: the rest are names inside that crate.
                let end = tokens[start..].iter().position(is_semicolon);
                end.map_or(tokens.len(), |end| start + end)
            }
            Some(TokenTree::Group(several)) => {
                for member in split_at_commas(several) {
                    let mut statement = vec![tokens[at].clone()];
                    statement.extend(member);
                    self.read_use(&statement, 0, module);
                    self.read_path(&statement, 1, module);
                }
                start + 1
            }
            _ => start,
        }
    }

    /// A path from `crate` or `super` on, with the groups of a `use`; other words are skipped.
    fn read_path(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let mut base = module.to_vec();
        let mut next = at;
        match &tokens[at] {
            TokenTree::Ident(word) if word == "crate" => {
                base.clear();
                next += 1;
            }
            TokenTree::Ident(word) if word == "super" => {
                base.pop();
                next += 1;
                while let Some(TokenTree::Ident(word)) = after_colons(tokens, next)
                    && word == "super"
                {
                    base.pop();
                    next += 3;
                }
            }
            _ => return at + 1,
        }
        self.read_segments(tokens, next, &base)
    }

    /// `:: a :: b` or `:: { a, b::c }` behind `base`; notes every full path.
    fn read_segments(&mut self, tokens: &[TokenTree], mut at: usize, base: &[String]) -> usize {
        let mut segments = base.to_vec();
        let mut line = None;
        loop {
            match after_colons(tokens, at) {
                Some(TokenTree::Ident(name)) => {
                    segments.push(name.to_string());
                    line = Some(name.span().start().line);
                    at += 3;
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    for member in split_at_commas(group) {
                        self.read_member(&member, &segments);
                    }
                    return at + 3;
                }
                _ => break,
            }
        }
        if let Some(line) = line {
            self.found.push(FoundPath {
                origin: Origin::ThisCrate,
                segments,
                line,
            });
        }
        at
    }

    /// One member of `{ a, b::c }`.
    fn read_member(&mut self, member: &[TokenTree], base: &[String]) {
        let Some(TokenTree::Ident(first)) = member.first() else {
            return;
        };
        let mut path = base.to_vec();
        if first != "self" {
            path.push(first.to_string());
        }
        let found_before = self.found.len();
        self.read_segments(member, 1, &path);
        if self.found.len() == found_before {
            let line = first.span().start().line;
            self.found.push(FoundPath {
                origin: Origin::ThisCrate,
                segments: path,
                line,
            });
        }
    }
}

/// The token behind `::`, if `::` stands at `at`.
fn after_colons(tokens: &[TokenTree], at: usize) -> Option<&TokenTree> {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let has_colons = is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1));
    if has_colons { tokens.get(at + 2) } else { None }
}

fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';')
}

fn split_at_commas(group: &Group) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let members =
        tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','));
    members.map(<[TokenTree]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::source;

    /// The findings of one file of the runtime, as `line: message`.
    fn check_file(path: &str, text: &str) -> Vec<String> {
        let findings = check(&source(&format!("{ROOT}{path}"), text));
        findings
            .iter()
            .map(|found| format!("{}: {}", found.line, found.message))
            .collect()
    }

    fn assert_fine(path: &str, text: &str) {
        assert_eq!(
            check_file(path, text),
            Vec::<String>::new(),
            "{path}: {text}"
        );
    }

    /// Exactly one finding, on this line, that names this target.
    fn assert_forbidden(path: &str, text: &str, line: usize, target: &str) {
        let findings = check_file(path, text);
        assert_eq!(findings.len(), 1, "{path}: {text}: {findings:?}");
        let start = format!("{line}: ");
        let is_named = findings[0].contains(&format!("import `crate::{target}`"));
        assert!(findings[0].starts_with(&start) && is_named, "{findings:?}");
    }

    #[test]
    fn permitted_directions_are_fine() {
        assert_fine(
            "facade/sync/mutex.rs",
            "use crate::exec::active;\nuse crate::model::Op;",
        );
        assert_fine(
            "facade/hint.rs",
            "use crate::search::step::Alt; use super::sync::Mutex;",
        );
        assert_fine(
            "exec/mod.rs",
            "use crate::{model::Op, search::step::{Model, Trace}};",
        );
        assert_fine("model/mutex.rs", "use super::Op; use crate::search::step;");
        assert_fine(
            "entry.rs",
            "use crate::search::explore; use crate::exec::Execution;",
        );
        assert_fine(
            "search/expand.rs",
            "use super::step::Trace; use crate::search::bound;",
        );
        assert_fine(
            "wire/event.rs",
            "use std::fmt; use super::schedule::Schedule;",
        );
        assert_fine("lib.rs", "pub use crate::facade::sync;");
    }

    #[test]
    fn forbidden_directions_are_found_with_their_line() {
        assert_forbidden("search/mod.rs", "\nuse crate::exec::run;", 2, "exec::run");
        assert_forbidden("search/mod.rs", "use crate::model;", 1, "model");
        assert_forbidden(
            "model/mod.rs",
            "use crate::exec::Active;",
            1,
            "exec::Active",
        );
        assert_forbidden("exec/run.rs", "use crate::facade::sync;", 1, "facade::sync");
        assert_forbidden(
            "exec/run.rs",
            "use crate::search::expand;",
            1,
            "search::expand",
        );
        assert_forbidden(
            "facade/hint.rs",
            "use crate::entry::explore;",
            1,
            "entry::explore",
        );
        assert_forbidden("entry.rs", "use crate::facade::sync;", 1, "facade::sync");
        assert_forbidden(
            "wire/event.rs",
            "use crate::search::step;",
            1,
            "search::step",
        );
    }

    #[test]
    fn paths_are_followed_through_groups_super_expressions_and_macros() {
        let grouped = "use crate::{\n    search::step,\n    search::{step::Alt, expand},\n};";
        assert_forbidden("model/mod.rs", grouped, 3, "search::expand");
        assert_forbidden(
            "search/step.rs",
            "use super::super::exec::run;",
            1,
            "exec::run",
        );
        assert_forbidden("search/mod.rs", "use super::exec;", 1, "exec");
        let expression = "fn f() {\n    let x = crate::exec::run();\n}";
        assert_forbidden("search/mod.rs", expression, 2, "exec::run");
        let in_macro = "macro_rules! m { () => { $crate::facade::sync::f!() } }";
        assert_forbidden("model/mod.rs", in_macro, 1, "facade::sync::f");
    }

    #[test]
    fn super_inside_an_inline_module_means_its_file() {
        assert_fine(
            "search/step.rs",
            "mod tests { use super::*; use super::exec; }",
        );
        let outside = "mod tests {\n    use super::super::super::exec;\n}";
        assert_forbidden("search/step.rs", outside, 2, "exec");
    }

    #[test]
    fn comments_strings_and_visibilities_are_no_imports() {
        let text =
            "//! See `crate::exec`.\npub(crate) fn f() -> &'static str { \"crate::exec::x\" }";
        assert_fine("search/mod.rs", text);
        assert_fine("search/mod.rs", "pub(in crate::search) struct S;");
    }

    #[test]
    fn wire_uses_no_crate_but_std() {
        let findings = check_file("wire/event.rs", "use std::io;\nuse serde::Serialize;");
        assert_eq!(
            findings,
            ["2: `wire` must not use the crate `serde`: only std"]
        );
        let findings = check_file(
            "wire/mod.rs",
            "use ::libc::c_int; use {std::fmt, libc::pid_t};",
        );
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_fine("exec/switch.rs", "use corosensei::Coroutine;");
    }
}
