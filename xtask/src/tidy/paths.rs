//! The paths that a file mentions, read from its tokens.
//!
//! Items would leave out what stands inside macros; the tokens of a path look the same everywhere.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// How a path starts, which decides what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// With `crate` or `super`; the segments count from the root of this crate.
    ThisCrate,
    /// With `std`, `core` or `alloc`, which is left out of the segments.
    Standard,
    /// With the name of another crate, in a `use`; that name is the only segment.
    OtherCrate,
}

/// A path and the line of its last segment.
#[derive(Debug)]
pub(super) struct FoundPath {
    pub(super) origin: Origin,
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// All paths in `tokens`, which are those of `module`.
pub(super) fn paths(tokens: TokenStream, module: &[String]) -> Vec<FoundPath> {
    let mut reader = Reader { found: Vec::new(), own_modules: Vec::new() };
    reader.read(tokens, module);
    let Reader { mut found, own_modules } = reader;
    found.retain(|path| path.origin != Origin::OtherCrate || !own_modules.contains(&path.segments[0]));
    found
}

struct Reader {
    found: Vec<FoundPath>,
    /// Modules declared in this file: a `use` may start with their names too.
    own_modules: Vec<String>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        while let [first, after @ ..] = rest {
            rest = match first {
                TokenTree::Group(group) => {
                    self.read(group.stream(), module);
                    after
                }
                TokenTree::Ident(word) if word == "mod" => self.read_module(after, module),
                TokenTree::Ident(word) if word == "use" => self.read_use(after, module),
                TokenTree::Ident(word) => self.read_path(word, after, module),
                TokenTree::Punct(_) | TokenTree::Literal(_) => after,
            };
        }
    }

    /// What follows `mod`: inside the braces, `super` means this module.
    fn read_module<'t>(&mut self, rest: &'t [TokenTree], module: &[String]) -> &'t [TokenTree] {
        let [TokenTree::Ident(name), after @ ..] = rest else {
            return rest;
        };
        self.own_modules.push(name.to_string());
        let [TokenTree::Group(body), after @ ..] = after else {
            return after;
        };
        let inner: Vec<String> = module.iter().cloned().chain([name.to_string()]).collect();
        self.read(body.stream(), &inner);
        after
    }

    /// What follows `use`, as far as it names another crate; the rest is a path like any other.
    fn read_use<'t>(&mut self, rest: &'t [TokenTree], module: &[String]) -> &'t [TokenTree] {
        let rest = behind_colons(rest).unwrap_or(rest);
        match rest {
            [TokenTree::Group(several), after @ ..] => {
                for member in split_at_commas(several) {
                    let member = self.read_use(&member, module).to_vec();
                    self.read(member.into_iter().collect(), module);
                }
                after
            }
            [TokenTree::Ident(name), ..] if may_be_other_crate(name) => {
                self.note(Origin::OtherCrate, &[name.to_string()], name);
                // To the end of the statement: the rest are names inside that crate.
                let end = rest.iter().position(|token| is_punct(token, ';'));
                &rest[end.unwrap_or(rest.len())..]
            }
            _ => rest,
        }
    }

    /// A path that starts with `first`, if that is a root; other words are skipped.
    fn read_path<'t>(
        &mut self,
        first: &Ident,
        mut rest: &'t [TokenTree],
        module: &[String],
    ) -> &'t [TokenTree] {
        match first.to_string().as_str() {
            "crate" => self.read_segments(Origin::ThisCrate, Vec::new(), rest),
            "std" | "core" | "alloc" => self.read_segments(Origin::Standard, Vec::new(), rest),
            "super" => {
                let mut base = module.to_vec();
                base.pop();
                while let Some([TokenTree::Ident(word), after @ ..]) = behind_colons(rest)
                    && word == "super"
                {
                    base.pop();
                    rest = after;
                }
                self.read_segments(Origin::ThisCrate, base, rest)
            }
            _ => rest,
        }
    }

    /// `::a::b` or `::{a, b::c}` behind what is already in `segments`.
    fn read_segments<'t>(
        &mut self,
        origin: Origin,
        mut segments: Vec<String>,
        mut rest: &'t [TokenTree],
    ) -> &'t [TokenTree] {
        let mut last = None;
        loop {
            match behind_colons(rest) {
                Some([TokenTree::Ident(name), after @ ..]) => {
                    segments.push(name.to_string());
                    last = Some(name);
                    rest = after;
                }
                Some([TokenTree::Group(group), after @ ..]) if group.delimiter() == Delimiter::Brace => {
                    for member in split_at_commas(group) {
                        self.read_member(origin, &segments, &member);
                    }
                    return after;
                }
                _ => break,
            }
        }
        if let Some(last) = last {
            self.note(origin, &segments, last);
        }
        rest
    }

    /// One member of `{a, b::c, self}`.
    fn read_member(&mut self, origin: Origin, base: &[String], member: &[TokenTree]) {
        let [TokenTree::Ident(first), rest @ ..] = member else {
            return;
        };
        let mut path = base.to_vec();
        if first != "self" {
            path.push(first.to_string());
        }
        match behind_colons(rest) {
            Some(_) => _ = self.read_segments(origin, path, rest),
            None => self.note(origin, &path, first),
        }
    }

    fn note(&mut self, origin: Origin, segments: &[String], last: &Ident) {
        let line = last.span().start().line;
        self.found.push(FoundPath { origin, segments: segments.to_vec(), line });
    }
}

/// Not a root of this or the standard crates, and no type: `use Kind::*` is about an enum.
fn may_be_other_crate(name: &Ident) -> bool {
    let name = name.to_string();
    let is_known = ["crate", "super", "self", "std", "core", "alloc"].contains(&name.as_str());
    !is_known && name.starts_with(|first: char| first.is_lowercase())
}

/// What follows `::`, if `rest` starts with it.
fn behind_colons(rest: &[TokenTree]) -> Option<&[TokenTree]> {
    match rest {
        [first, second, after @ ..] if is_punct(first, ':') && is_punct(second, ':') => Some(after),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn split_at_commas(group: &Group) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    tokens.split(|token| is_punct(token, ',')).map(<[TokenTree]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that `search/step.rs` would mention with this text, each with its origin.
    fn check(text: &str, expected: &[(Origin, &str)]) {
        let module = ["search".to_owned(), "step".to_owned()];
        let found = paths(text.parse().expect("the test's own tokens"), &module);
        let found: Vec<(Origin, String)> =
            found.iter().map(|path| (path.origin, path.segments.join("::"))).collect();
        let found: Vec<(Origin, &str)> =
            found.iter().map(|(origin, path)| (*origin, path.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn groups_are_taken_apart() {
        use Origin::{OtherCrate, Standard, ThisCrate};
        check(
            "use crate::a::{self, b, c::{D, E},};",
            &[(ThisCrate, "a"), (ThisCrate, "a::b"), (ThisCrate, "a::c::D"), (ThisCrate, "a::c::E")],
        );
        check(
            "use {std::fmt, libc::pid_t, crate::a,};",
            &[(Standard, "fmt"), (OtherCrate, "libc"), (ThisCrate, "a")],
        );
    }

    #[test]
    fn renamed_and_glob_imports_count() {
        check("use crate::a as b; use crate::c::*;", &[(Origin::ThisCrate, "a"), (Origin::ThisCrate, "c")]);
    }

    #[test]
    fn super_climbs_from_the_module_it_stands_in() {
        check(
            "use super::a; mod tests { use super::b; use super::super::c; }",
            &[
                (Origin::ThisCrate, "search::a"),
                (Origin::ThisCrate, "search::step::b"),
                (Origin::ThisCrate, "search::c"),
            ],
        );
    }

    #[test]
    fn expressions_and_types_count_as_well() {
        check(
            "fn f(a: crate::a::A<crate::b::B>) { crate::c::<u32>(); x.std() }",
            &[(Origin::ThisCrate, "a::A"), (Origin::ThisCrate, "b::B"), (Origin::ThisCrate, "c")],
        );
    }
}
