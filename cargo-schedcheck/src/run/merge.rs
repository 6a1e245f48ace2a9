//! `cargo schedcheck merge`: joins what the parts of searches have done, and says what is still open.
use crate::cli::share_opts::MergeArgs;
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::paths::{absolute, utf8};
use crate::reports::say;

use super::checkpoints::Checkpoints;
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
    let (mut joined, mut open) = (0, 0);
    for (binary, test) in &discovered.tests {
        let id = session::id(binary, test.name.clone());
        let parts = checkpoints.parts(&id, &files)?;
        if parts.is_empty() {
            continue;
        }
        let work = tempfile::tempdir()?;
        let out = checkpoints.file(&id, None);
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
        joined += 1;
        open += usize::from(!merged.complete);
        say(&told(&id.to_string(), &merged));
    }
    if joined == 0 {
        return Err(ExpectedError::Usage("there are no parts to join".to_owned()));
    }
    if open > 0 {
        say(
            "what is open is explored by `cargo schedcheck --resume`, or dealt out anew by `cargo schedcheck split`",
        );
        return Ok(ExitCode::Incomplete);
    }
    say("all schedules are covered; `cargo schedcheck --resume` reports on them without executing any again");
    Ok(ExitCode::Passed)
}

fn told(test: &str, merged: &Merged) -> String {
    let Merged { executions, traces, pending, parts, missing, complete } = merged;
    let there = parts - missing.len() as u64;
    let mut text =
        format!("MERGED {test}: {there} of {parts} parts, {executions} executions, {traces} traces");
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(u64::to_string).collect();
        text.push_str(&format!(", part {} missing", missing.join(", ")));
    }
    text.push_str(&if *complete { ", complete".to_owned() } else { format!(", {pending} schedules open") });
    text
}
