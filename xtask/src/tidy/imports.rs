//! Import directions between the folders of the runtime.
//!
//! ```text
//! {api, scenario} → facade → exec → races → model → search::step    entry → {search, exec, model, wire}    wire → std only
//! ```
//! An arrow also permits what lies further along it. `intercept` stands beside `exec`: what a program calls leads from the
//! first to the second, and the second needs the real functions. `exec` also reads `search::dependence`: virtual time follows
//! the same relation. `search` imports none of the others, and from `std`
//! nothing that could make two searches differ: it is a pure function.
//!
//! The check reads tokens, not items, so that paths inside macros count too.

use proc_macro2::TokenStream;

use super::Finding;
use super::paths::{Origin, paths};
use super::sources::Source;

const ROOT: &str = "schedcheck-rt/src/";

/// Each folder or file below the root with the modules that it may import besides its own.
const LAYERS: &[(&str, &[&str])] = &[
    ("api", &["facade", "exec", "model", "search::step"]),
    ("scenario", &["facade", "exec", "model", "search::step"]),
    ("facade", &["exec", "races", "model", "search::step"]),
    ("intercept", &["exec", "races", "model", "search::step"]),
    ("exec", &["intercept", "races", "model", "search::step", "search::dependence"]),
    ("races", &["model", "search::step"]),
    ("model", &["search::step"]),
    ("entry", &["search", "exec", "model", "wire"]),
    ("search", &[]),
    ("wire", &[]),
];

/// Threads, clocks, I/O and shared state: what `search` must not see of `std`.
const IMPURE: &[&str] =
    &["env", "fs", "io", "net", "process", "sync", "thread", "time::Instant", "time::SystemTime"];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let Some(module) = module_of(&source.path) else {
        return Vec::new();
    };
    let Some((layer, permitted)) =
        LAYERS.iter().find(|(layer, _)| module.first().is_some_and(|first| first == layer))
    else {
        return Vec::new();
    };
    // What cannot be read as tokens is reported with the leftovers.
    let Ok(tokens) = source.text.parse::<TokenStream>() else {
        return Vec::new();
    };
    paths(tokens, &module)
        .iter()
        .filter_map(|path| {
            let problem = match path.origin {
                Origin::ThisCrate => forbidden_module(layer, permitted, &path.segments),
                Origin::Standard => impurity(&module, &path.segments),
                Origin::OtherCrate => forbidden_crate(layer, &path.segments),
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
    let is_permitted = permitted.iter().any(|module| lies_in(target, module));
    let target = target.join("::");
    (!is_permitted).then(|| match permitted {
        [] => format!("`{layer}` must not import `crate::{target}`: it imports no other module"),
        _ => format!("`{layer}` must not import `crate::{target}`: it may import {}", permitted.join(", ")),
    })
}

/// Whether a path names a module, or something in it.
fn lies_in(path: &[String], module: &str) -> bool {
    let module: Vec<&str> = module.split("::").collect();
    path.len() >= module.len() && module.iter().zip(path).all(|(module, path)| module == path)
}

fn impurity(module: &[String], path: &[String]) -> Option<String> {
    let is_impure = lies_in(module, "search") && IMPURE.iter().any(|module| lies_in(path, module));
    is_impure.then(|| format!("`search` is pure: it must not use `std::{}`", path.join("::")))
}

fn forbidden_crate(layer: &str, path: &[String]) -> Option<String> {
    let name = path.first()?;
    (layer == "wire").then(|| format!("`wire` must not use the crate `{name}`: only std"))
}

/// The module that a file of the runtime holds: `search/step.rs` is `search::step`.
fn module_of(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix(ROOT)?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let is_root = path == "lib";
    Some(if is_root { Vec::new() } else { path.split('/').map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::source;

    /// The findings of one file of the runtime, as `line: message`.
    fn check_file(path: &str, text: &str) -> Vec<String> {
        let findings = check(&source(&format!("{ROOT}{path}"), text));
        findings.iter().map(|found| format!("{}: {}", found.line, found.message)).collect()
    }

    fn assert_fine(path: &str, text: &str) {
        assert_eq!(check_file(path, text), Vec::<String>::new(), "{path}: {text}");
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
        assert_fine("facade/sync/mutex.rs", "use crate::exec::active;\nuse crate::model::Op;");
        assert_fine("facade/hint.rs", "use crate::search::step::Alt; use super::sync::Mutex;");
        assert_fine("exec/mod.rs", "use crate::{model::Op, search::step::{Model, Trace}};");
        assert_fine("model/mutex.rs", "use super::Op; use crate::search::step;");
        assert_fine("entry/mod.rs", "use crate::search::explore; use crate::exec::Execution;");
        assert_fine("entry/settings.rs", "use crate::wire::request::Request;");
        assert_fine("search/expand.rs", "use super::step::Trace; use crate::search::bound;");
        assert_fine("wire/event.rs", "use std::fmt; use super::schedule::Schedule;");
        assert_fine("lib.rs", "pub use crate::facade::sync;");
    }

    #[test]
    fn forbidden_directions_are_found_with_their_line() {
        assert_forbidden("search/mod.rs", "\nuse crate::exec::run;", 2, "exec::run");
        assert_forbidden("search/mod.rs", "use crate::model;", 1, "model");
        assert_forbidden("model/mod.rs", "use crate::exec::Active;", 1, "exec::Active");
        assert_forbidden("exec/run.rs", "use crate::facade::sync;", 1, "facade::sync");
        assert_forbidden("intercept/clock.rs", "use crate::facade::hint;", 1, "facade::hint");
        assert_forbidden("facade/thread/mod.rs", "use crate::scenario::check;", 1, "scenario::check");
        assert_forbidden("exec/run.rs", "use crate::search::expand;", 1, "search::expand");
        assert_forbidden("facade/hint.rs", "use crate::entry::explore;", 1, "entry::explore");
        assert_forbidden("entry.rs", "use crate::facade::sync;", 1, "facade::sync");
        assert_forbidden("wire/event.rs", "use crate::search::step;", 1, "search::step");
    }

    #[test]
    fn paths_are_followed_through_groups_super_expressions_and_macros() {
        let grouped = "use crate::{\n    search::step,\n    search::{step::Alt, expand},\n};";
        assert_forbidden("model/mod.rs", grouped, 3, "search::expand");
        assert_forbidden("search/step.rs", "use super::super::exec::run;", 1, "exec::run");
        assert_forbidden("search/mod.rs", "use super::exec;", 1, "exec");
        let expression = "fn f() {\n    let x = crate::exec::run();\n}";
        assert_forbidden("search/mod.rs", expression, 2, "exec::run");
        let in_macro = "macro_rules! m { () => { $crate::facade::sync::f!() } }";
        assert_forbidden("model/mod.rs", in_macro, 1, "facade::sync::f");
    }

    #[test]
    fn super_inside_an_inline_module_means_its_file() {
        assert_fine("search/step.rs", "mod tests { use super::*; use super::exec; }");
        let outside = "mod tests {\n    use super::super::super::exec;\n}";
        assert_forbidden("search/step.rs", outside, 2, "exec");
    }

    #[test]
    fn comments_strings_and_visibilities_are_no_imports() {
        let text = "//! See `crate::exec`.\npub(crate) fn f() -> &'static str { \"crate::exec::x\" }";
        assert_fine("search/mod.rs", text);
        assert_fine("search/mod.rs", "pub(in crate::search) struct S;");
    }

    #[test]
    fn search_is_pure() {
        let text = "use std::{\n    mem,\n    time::{Duration, Instant},\n};";
        let findings = check_file("search/budget.rs", text);
        assert_eq!(findings, ["3: `search` is pure: it must not use `std::time::Instant`"]);
        let findings = check_file("search/mod.rs", "fn f() { std::thread::yield_now() }");
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_fine("search/mod.rs", "use std::rc::Rc; use core::time::Duration;");
        assert_fine("exec/threads.rs", "use std::thread;");
    }

    #[test]
    fn wire_uses_no_crate_but_std() {
        let findings = check_file("wire/event.rs", "use std::io;\nuse serde::Serialize;");
        assert_eq!(findings, ["2: `wire` must not use the crate `serde`: only std"]);
        let findings = check_file("wire/mod.rs", "use ::libc::c_int; use {std::fmt, libc::pid_t};");
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_fine("exec/switch.rs", "use corosensei::Coroutine;");
        assert_fine("wire/mod.rs", "mod event; pub use event::Event; use Event::*;");
    }
}
