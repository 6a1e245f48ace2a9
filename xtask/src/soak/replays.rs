//! Every failure that is found comes again, step by step, as often as one likes.
//!
//! The command builds, finds and records; the replays then ask the test processes directly, without
//! cargo in between, which makes a thousand of them a matter of seconds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use schedcheck_tests::cli::Schedcheck;
use schedcheck_tests::project::Project;
use serde_json::Value;

/// Says whether all replays of all failures were the same.
pub(super) fn run(repository: &Path, number: u64) -> Result<bool> {
    let fixture = Project::copy_of("plain_tests");
    let demo = repository.join("tests/demo");
    let mut same = true;
    for folder in [demo.as_path(), fixture.path.as_std_path()] {
        let target = Project::empty();
        for failure in failures(folder, target.path.as_std_path())? {
            same &= replay(folder, &failure, target.path.as_std_path(), number)?;
        }
    }
    Ok(same)
}

/// Explores all tests of a package and loads the replay files of those that fail.
fn failures(folder: &Path, target: &Path) -> Result<Vec<toml::Table>> {
    let directory = folder.try_into().context("a path that is not UTF-8")?;
    let target = target.to_str().context("a path that is not UTF-8")?;
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json", "--target-dir", target];
    let output = Schedcheck::new(directory, &args).run().expect_code(100);
    let verdicts = output.verdicts();
    let files = verdicts.values().filter_map(|verdict| verdict["replay"].as_str());
    let load = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).with_context(|| file.to_owned())?;
        text.parse::<toml::Table>().with_context(|| file.to_owned())
    };
    files.map(load).collect()
}

/// Replays one failure and says whether it was always the recorded one.
fn replay(folder: &Path, failure: &toml::Table, target: &Path, number: u64) -> Result<bool> {
    let test = text(&failure["test"], "name")?;
    let executable = executable(target, &text(&failure["test"], "package")?)?;
    let expected =
        format!("{} {}", text(&failure["failure"], "outcome")?, text(&failure["schedule"], "fingerprint")?);
    let request = target.join("request");
    fs::write(&request, request_for(failure)?)?;
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..number {
        *ends.entry(end_of_replay(folder, &executable, &request)?).or_default() += 1;
    }
    let same = ends.get(&expected).copied().unwrap_or(0);
    eprintln!("{same} of {number} replays of {test} gave {expected}");
    for (end, times) in ends.iter().filter(|(end, _)| **end != expected) {
        eprintln!("  {times} gave {end}");
    }
    Ok(same == number)
}

/// Outcome and fingerprint.
fn end_of_replay(folder: &Path, executable: &Path, request: &Path) -> Result<String> {
    let output = Command::new(executable)
        .current_dir(folder)
        .env("SCHEDCHECK_REQUEST", request)
        .stdin(Stdio::null())
        .output()
        .context("the test process")?;
    let events = String::from_utf8(output.stdout)?;
    let mut events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(finished) = events.find(|event| event["event"] == "finished") else {
        return Ok(format!("no verdict, {}", output.status));
    };
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    Ok(format!("{} {}", word(&finished["outcome"]), word(&finished["schedule"]["fingerprint"])))
}

/// The request that the command would send, without what would let the decisions be placed anew: the steps must fit as they are.
fn request_for(failure: &toml::Table) -> Result<String> {
    let mut request = format!("schedcheck 1\ndo replay\ntest {}\n", text(&failure["test"], "name")?);
    let options = failure.get("options").and_then(toml::Value::as_table);
    for (strength, pairs) in options.into_iter().flatten() {
        for pair in pairs.as_array().into_iter().flatten() {
            if let Some([toml::Value::String(name), toml::Value::String(value)]) =
                pair.as_array().map(Vec::as_slice)
            {
                request.push_str(&format!("{strength}.{name} {value}\n"));
            }
        }
    }
    let deltas = failure["schedule"].get("deltas").and_then(toml::Value::as_array);
    for delta in deltas.into_iter().flatten() {
        let words = ["step", "thread", "alt", "op", "site", "nth"].map(|key| match &delta[key] {
            toml::Value::String(word) => word.replace(char::is_whitespace, "%20"),
            number => number.to_string(),
        });
        request.push_str(&format!("delta {}\n", words.join(" ")));
    }
    Ok(request)
}

fn text(table: &toml::Value, key: &str) -> Result<String> {
    let value = table.get(key).and_then(toml::Value::as_str);
    value.map(str::to_owned).with_context(|| format!("no {key} in the replay file"))
}

/// The only test executable of a package below a folder that nothing else was built in.
fn executable(folder: &Path, package: &str) -> Result<PathBuf> {
    let prefix = format!("{}-", package.replace('-', "_"));
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with(&prefix)
                && folder.ends_with("deps")
                && path.extension().is_none()
                && path.metadata()?.permissions().mode() & 0o100 != 0
            {
                return Ok(path);
            }
        }
    }
    bail!("there is no executable of {package}")
}
