//! `cargo schedcheck merge`: joins what the parts of searches have done, and says what is still open.
use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::share_opts::MergeArgs;
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::paths::{absolute, as_typed, utf8};
use crate::reports::say;
use crate::reports::words::counted;
use crate::whole_file;

use super::checkpoints::{Checkpoints, Head, is_newer};
use super::child::{self, Heard};
use super::request::Request;
use super::session::{self, Session};
use super::wire::{ChildEvent, Merged};

/// How long joining may take: it executes nothing.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

/// Joins the parts of every test that has some.
pub fn merge(args: &MergeArgs) -> Result<ExitCode> {
    let session = Session::start(&args.from, &args.cargo, &args.config, &args.explore)?;
    let build = session.build(&args.cargo)?;
    let discovered = session::discover(&build.binaries)?;
    let dir = args.checkpoints.clone().unwrap_or_else(|| session.project.checkpoints_dir());
    // Children read and write them in folders of their own.
    let checkpoints = Checkpoints::in_dir(absolute(&dir)?);
    let files = args.files.iter().map(absolute).collect::<Result<Vec<_>>>()?;
    let mut unused: BTreeSet<&Utf8PathBuf> = files.iter().collect();
    let mut open = 0;
    // What each search is to cover.
    let mut asked = Vec::new();
    let mut searches = Vec::new();
    for (binary, test) in &discovered.tests {
        let id = session::id(binary, test.name.clone());
        let parts = checkpoints.parts(&id, &files)?;
        unused.retain(|file| !parts.contains(file));
        if !parts.is_empty() {
            searches.push((binary, id, parts));
        }
    }
    // To leave one out in silence would pass for having joined it.
    let refuse =
        |path: &Utf8PathBuf, problem: String| Err(ExpectedError::Checkpoint { path: path.clone(), problem });
    if let Some(file) = unused.first() {
        return refuse(file, "by its name it is no part of a test that is here".to_owned());
    }
    for file in &files {
        if let Err(error) = std::fs::metadata(file) {
            return refuse(file, error.to_string());
        }
    }
    for (binary, id, parts) in searches {
        let work = tempfile::tempdir()?;
        // Elsewhere at first: the whole may have gone on since its parts were merged.
        let out = utf8(work.path())?.join("whole");
        let request = Request::merge(&id.name, &parts, &out)
            .settings("set", session.settings.set.pairs())
            .settings("default", session.settings.defaults_for(&id.name).pairs());
        let (mut merged, mut refusal) = (None, None);
        let deadline = std::time::Instant::now() + PATIENCE;
        child::run(binary, &request, utf8(work.path())?, false, deadline, |heard, _| match heard {
            Heard::Event(ChildEvent::Merged(it)) => merged = Some(it),
            Heard::Event(ChildEvent::Refused { message }) => refusal = Some(message),
            _ => {}
        })?;
        let Some(merged) = merged else {
            let problem = refusal.unwrap_or_else(|| "the test process ended while it joined them".to_owned());
            return Err(ExpectedError::Checkpoint { path: parts[0].clone(), problem });
        };
        let head = Head::read(&out).unwrap_or_default();
        asked.push(head.schedules());
        let whole = checkpoints.file(&id, None);
        if let Some(kept) = gone_on(&whole, &head, &parts) {
            open += usize::from(!kept.complete);
            let Head { executions, traces, .. } = kept;
            let rest = rest(kept.complete, kept.pending, kept.bound());
            say(&format!(
                "KEPT {id}: {} has gone on since its parts were merged: {executions} executions, {traces} traces{rest}",
                as_typed(&whole)
            ));
            continue;
        }
        let bytes = fs::read(&out)?;
        whole_file::write(&whole, |file| file.write_all(&bytes))?;
        open += usize::from(!merged.complete);
        say(&told(&id.to_string(), &merged, head.bound()));
    }
    if asked.is_empty() {
        return Err(ExpectedError::Usage("there are no parts to join".to_owned()));
    }
    if open > 0 {
        say(
            "what is open is explored by `cargo schedcheck --resume`, or dealt out anew by `cargo schedcheck split`",
        );
        return Ok(ExitCode::Incomplete);
    }
    let covered = in_all(&asked);
    say(&format!(
        "{covered} are covered; `cargo schedcheck --resume` reports on them without executing any again"
    ));
    Ok(ExitCode::Passed)
}

/// The state of the whole, if it has done more than its parts together and did so after them.
fn gone_on(whole: &Utf8Path, merged: &Head, parts: &[Utf8PathBuf]) -> Option<Head> {
    let kept = Head::read(whole)?;
    (kept.is_ahead_of(merged) && parts.iter().all(|part| is_newer(whole, part))).then_some(kept)
}

/// What all these searches together cover, each of which covers what it says.
fn in_all(asked: &[String]) -> &str {
    match asked {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => first,
        // Each test has said what its own are.
        _ => "all schedules that were asked for",
    }
}

/// What is left to do.
fn rest(complete: bool, pending: u64, bound: Option<u64>) -> String {
    match bound {
        _ if !complete => format!(", {pending} schedules open"),
        Some(bound) => format!(", complete up to {}", counted(bound, "preemption")),
        None => ", complete".to_owned(),
    }
}

fn told(test: &str, merged: &Merged, bound: Option<u64>) -> String {
    let Merged { executions, traces, pending, parts, missing, complete } = merged;
    let there = parts - missing.len() as u64;
    let mut text =
        format!("MERGED {test}: {there} of {parts} parts, {executions} executions, {traces} traces");
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(u64::to_string).collect();
        text.push_str(&format!(", part {} missing", missing.join(", ")));
    }
    text.push_str(&rest(*complete, *pending, bound));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_search_is_said_to_cover_what_only_another_one_does() {
        let asked =
            |all: &[&str]| in_all(&all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>()).to_owned();
        let (all, two) = ("all schedules", "all schedules with at most 2 preemptions");
        assert_eq!(asked(&[two, two]), two);
        assert_eq!(asked(&[all, all]), all);
        assert_eq!(asked(&[all, two]), "all schedules that were asked for");
    }
}
