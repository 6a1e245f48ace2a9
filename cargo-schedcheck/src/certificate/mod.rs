//! The certificate: what was covered, of which sources, by which tool. It is written only when it is true.
//!
//! A TOML file, like replay files: people read it in a review. Its second line is a hash of all the rest, so that a
//! file which was edited or damaged is refused. That is no signature: who wants one signs the file.
pub mod issue;
pub mod verify;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::build::fingerprint;
use crate::build::sources::Sources;
use crate::error::{ExpectedError, Result};
use crate::reports::event::TestId;
use crate::reports::words::counted;
use crate::whole_file;

/// The version of the format that this command writes and reads.
const VERSION: i64 = 1;
const HEADER: &str =
    "# What cargo schedcheck has covered. `cargo schedcheck verify-certificate FILE` checks it.\n";
/// Far beyond any list of files; larger ones are not ours.
const LARGEST: u64 = 256 << 20;
/// Values are those of sequentially consistent executions.
const MEMORY_MODEL: &str = "sequential consistency";

/// How the engine says that a test met what is not under control.
const CONDITION: &str = ", as long as what is not controlled does the same in each";

/// A certificate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Certificate {
    version: i64,
    /// When the run began.
    date: String,
    memory_model: String,
    /// Flags and filters that selected the tests.
    selection: Vec<String>,
    /// The part of the selected tests that was explored here, such as `hash:1/4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    tool: Tool,
    build: BuiltWith,
    #[serde(rename = "test", default)]
    tests: Vec<Covered>,
    source: Sources,
}

/// What made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub schedcheck: String,
    /// Of the engine's sources.
    pub engine: String,
    pub rustc: String,
    pub target: String,
}

impl Tool {
    /// This command, with a compiler.
    pub fn new(rustc: &rustc_version::VersionMeta) -> Self {
        Self {
            schedcheck: env!("CARGO_PKG_VERSION").to_owned(),
            engine: crate::build::sysroot::engine_fingerprint(),
            rustc: rustc.short_version_string.clone(),
            target: rustc.host.clone(),
        }
    }
}

/// How the tests were built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BuiltWith {
    /// Features and profile, as flags of cargo.
    cargo_args: Vec<String>,
    /// Flags for every crate, from RUSTFLAGS or cargo's configuration.
    rustflags: Vec<String>,
    /// Whether plain memory accesses were visible.
    memory_accesses: bool,
    /// Crates that kept the real std: nothing in them was under control.
    skipped_crates: Vec<String>,
    /// The test binaries that were built: the tests were selected from theirs.
    binaries: Vec<String>,
    /// Those with a harness of their own: none of their tests was explored.
    left_out: Vec<String>,
}

/// What was covered of one test.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Covered {
    package: String,
    target: String,
    name: String,
    guarantee: Guarantee,
    /// Of a bounded guarantee: most preemptions of a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bound: Option<u32>,
    /// The engine's own words.
    coverage: String,
    executions: u64,
    traces: u64,
    elapsed_ms: u64,
    /// How many of each an execution may have.
    spurious: u32,
    timeouts: u32,
    weak_cas: u32,
    races: bool,
    reduction: String,
    /// Whether of interchangeable threads one order was explored.
    symmetry: bool,
    /// Whether threads were switched at labels only.
    cooperative: bool,
    /// Code that is not preempted inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trusted: Vec<String>,
    /// The only code that is preempted inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    focus: Vec<String>,
    /// What the engine met but does not control.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uncontrolled: Vec<String>,
}

/// What is known about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Guarantee {
    /// It passes in every schedule.
    AllSchedules,
    /// It passes in every schedule with at most so many preemptions.
    Bounded,
    /// It passes in every one of those schedules, as long as what is listed as not controlled does the same in each.
    Conditional,
    /// It passes in every schedule that the user wants to see: code is trusted, a scenario tells what happens.
    Restricted,
    /// It is to fail, and fails.
    ExpectedFailure,
    /// An execution was to be found that meets a scenario, and was.
    Found,
}

impl Guarantee {
    /// What the engine's own words amount to. It knows best what it has left out, and learns new ways to do so: the
    /// strong guarantees are for words that are known, and for words that are not there is none.
    fn of(coverage: &str, bound: Option<u32>) -> Option<Self> {
        let bounded = bound.map(|bound| counted(bound.into(), "preemption"));
        let bounded = bounded.map(|most| format!("all schedules with at most {most}"));
        let parts = coverage.split_once(" (each with at most ");
        let unconditional =
            parts.and_then(|(schedules, limits)| Some((schedules.strip_suffix(CONDITION)?, limits)));
        if let Some((schedules, limits)) = unconditional {
            let strong = Self::of(&format!("{schedules} (each with at most {limits}"), bound)?;
            let is_whole = matches!(strong, Self::AllSchedules | Self::Bounded);
            return Some(if is_whole { Self::Conditional } else { strong });
        }
        match parts {
            Some(("all schedules", limits)) if bound.is_none() && are_usual(limits) => {
                Some(Self::AllSchedules)
            }
            Some((schedules, limits)) if Some(schedules) == bounded.as_deref() && are_usual(limits) => {
                Some(Self::Bounded)
            }
            Some((schedules, _)) if schedules.starts_with("all schedules") => Some(Self::Restricted),
            Some(_) => None,
            None if coverage.starts_with("found the expected ") => Some(Self::ExpectedFailure),
            None if coverage.starts_with("found an execution ") => Some(Self::Found),
            None => None,
        }
    }
}

/// Whether these are the limits that a certificate has fields for, and no others.
fn are_usual(limits: &str) -> bool {
    let usual = ["spurious wake-up", "early time-out", "spurious CAS failure"];
    let Some(limits) = limits.strip_suffix(')') else { return false };
    let words = limits.split(", ").map(|limit| limit.split_once(' ').map_or("", |(_, what)| what));
    words.map(|what| what.trim_end_matches('s')).eq(usual)
}

impl Covered {
    fn id(&self) -> TestId {
        let (package, target, name) = (self.package.clone(), self.target.clone(), self.name.clone());
        TestId { package, target, name }
    }

    fn guaranteed(&self) -> &str {
        // What was left out may stand anywhere in it.
        let short = self.coverage.split_once(" (each with at most ").map(|(schedules, _)| schedules);
        short.filter(|_| self.guarantee != Guarantee::Restricted).unwrap_or(&self.coverage)
    }
}

impl Certificate {
    /// Writes the file, whole or not at all.
    fn save(&self, path: &Utf8Path) -> Result<()> {
        let text = self.text().map_err(|reason| ExpectedError::BadSetup(format!("{path}: {reason}")))?;
        Ok(whole_file::write(path, |file| file.write_all(text.as_bytes()))?)
    }

    fn text(&self) -> Result<String, String> {
        let body = toml::to_string(self).map_err(|error| error.to_string())?;
        Ok(format!("{HEADER}integrity = \"{}\"\n\n{body}", fingerprint::of_bytes(body.as_bytes())))
    }

    /// Reads a file; anything but a certificate that nobody has changed is refused.
    fn load(path: &Utf8Path) -> Result<Self> {
        let refuse = |reason: &str| ExpectedError::BadSetup(format!("{path}: {reason}"));
        let unreadable = |error: std::io::Error| ExpectedError::BadSetup(error.to_string());
        let size = fs::metadata(path).map_err(unreadable)?;
        if !size.is_file() || size.len() > LARGEST {
            return Err(refuse("this is not a certificate"));
        }
        let bytes = fs::read(path).map_err(unreadable)?;
        let text = String::from_utf8(bytes).map_err(|_| refuse("this is not a certificate: not UTF-8"))?;
        Self::parse(&text).map_err(|reason| refuse(&reason))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.strip_prefix(HEADER).and_then(|rest| {
            let (integrity, body) = rest.strip_prefix("integrity = \"")?.split_once("\"\n\n")?;
            Some((integrity, body))
        });
        let Some((integrity, body)) = parts else {
            return Err("this is not a certificate, or its first lines were changed".to_owned());
        };
        if fingerprint::of_bytes(body.as_bytes()) != integrity {
            return Err(
                "it was changed after it was written: its contents do not fit its integrity hash".to_owned()
            );
        }
        let version: Version = toml::from_str(body).map_err(|error| error.message().to_owned())?;
        if version.version != VERSION {
            let other = version.version;
            return Err(format!("version {other} is not known here; this command reads version {VERSION}"));
        }
        toml::from_str(body).map_err(|error| error.message().to_owned())
    }
}

/// The part of a file that every version has.
#[derive(Deserialize)]
struct Version {
    version: i64,
}

/// Removes the certificate of an earlier run, so that nobody takes it for this one's. A file that is something else is
/// left alone.
pub fn make_way(path: &Utf8PathBuf) -> Result<()> {
    if !path.exists() || whole_file::is_stream(path) {
        return Ok(());
    }
    let is_ours = fs::read(path).is_ok_and(|bytes| bytes.is_empty() || bytes.starts_with(HEADER.as_bytes()));
    if !is_ours {
        return Err(ExpectedError::BadSetup(format!(
            "{path} is not a certificate: name another file for --certificate, or remove this one"
        )));
    }
    Ok(fs::remove_file(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn example() -> Certificate {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        fs::write(root.join("Cargo.toml"), "[package]").unwrap();
        let covered = Covered {
            package: "bank".into(),
            target: "lib".into(),
            name: "tests::transfer".into(),
            guarantee: Guarantee::Bounded,
            bound: Some(2),
            coverage: "all schedules with at most 2 preemptions".into(),
            executions: 90,
            traces: 88,
            elapsed_ms: 1400,
            spurious: 1,
            timeouts: 1,
            weak_cas: 1,
            races: true,
            reduction: "optimal".into(),
            symmetry: true,
            cooperative: false,
            trusted: vec!["once_cell".into()],
            focus: Vec::new(),
            uncontrolled: vec!["file read at src/lib.rs:3:1".into()],
        };
        Certificate {
            version: VERSION,
            date: "2026-11-16T03:00:00Z".into(),
            memory_model: MEMORY_MODEL.into(),
            selection: vec!["--all-tests".into()],
            partition: Some("hash:1/4".into()),
            tool: Tool {
                schedcheck: "0.1.0".into(),
                engine: "ab".into(),
                rustc: "rustc 1.95.0".into(),
                target: "x86_64-unknown-linux-gnu".into(),
            },
            build: BuiltWith {
                cargo_args: Vec::new(),
                rustflags: Vec::new(),
                memory_accesses: true,
                skipped_crates: Vec::new(),
                binaries: vec!["bank::lib".into()],
                left_out: Vec::new(),
            },
            tests: vec![covered],
            source: Sources::read(root, &[root.to_owned()], &[]).unwrap(),
        }
    }

    #[test]
    fn only_known_words_are_strong_guarantees() {
        let limits = "(each with at most 1 spurious wake-up, 2 early time-outs, 0 spurious CAS failures)";
        let cases = [
            ("all schedules", None, Some(Guarantee::AllSchedules)),
            ("all schedules with at most 2 preemptions", Some(2), Some(Guarantee::Bounded)),
            ("all schedules with at most 1 preemption", Some(1), Some(Guarantee::Bounded)),
            ("all schedules with at most 1 preemption", Some(2), Some(Guarantee::Restricted)),
            ("all schedules, without preemptions inside `a`", None, Some(Guarantee::Restricted)),
            ("all schedules with at most 2 preemptions, and more", Some(2), Some(Guarantee::Restricted)),
            ("all schedules that the scenario allows", None, Some(Guarantee::Restricted)),
            ("all schedules", Some(2), Some(Guarantee::Restricted)),
            (
                "all schedules, as long as what is not controlled does the same in each",
                None,
                Some(Guarantee::Conditional),
            ),
            (
                "all schedules with at most 2 preemptions, as long as what is not controlled does the same in each",
                Some(2),
                Some(Guarantee::Conditional),
            ),
            (
                "all schedules, of threads that std starts, as long as what is not controlled does the same in each",
                None,
                Some(Guarantee::Restricted),
            ),
            ("some schedules, as long as what is not controlled does the same in each", None, None),
            ("some schedules", None, None),
            ("part 1/4 of all schedules", None, None),
        ];
        for (schedules, bound, expected) in cases {
            assert_eq!(Guarantee::of(&format!("{schedules} {limits}"), bound), expected, "{schedules}");
        }
        let counted = limits.replace(')', ", a few rounds of loops that count them and wait)");
        for limits in [counted.as_str(), "(each with at most 1 spurious wake-up)", &format!("{limits}; but")]
        {
            let text = format!("all schedules {limits}");
            assert_eq!(Guarantee::of(&text, None), Some(Guarantee::Restricted), "{text}");
        }
        let found = |text: &str| Guarantee::of(text, None);
        assert_eq!(found("found the expected panic"), Some(Guarantee::ExpectedFailure));
        assert_eq!(found("found an execution that meets the scenario"), Some(Guarantee::Found));
        assert_eq!((found(""), found("all schedules")), (None, None));
    }

    #[test]
    fn a_certificate_reads_back_the_same() {
        let text = example().text().unwrap();
        assert_eq!(Certificate::parse(&text).unwrap().text().unwrap(), text);
    }

    #[test]
    fn one_without_a_test_reads_back_too() {
        let text = Certificate { tests: Vec::new(), ..example() }.text().unwrap();
        assert_eq!(Certificate::parse(&text).unwrap().tests.len(), 0);
    }

    #[test]
    fn no_change_of_any_byte_goes_unnoticed() {
        let text = example().text().unwrap();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(Certificate::parse(&changed).is_err(), "{changed}");
            assert!(Certificate::parse(&text[..at]).is_err(), "cut at {at}");
        }
        assert!(Certificate::parse(&format!("{text}\n")).is_err());
    }

    #[test]
    fn an_older_certificate_makes_way_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("file");
        make_way(&path).unwrap();
        example().save(&path).unwrap();
        make_way(&path).unwrap();
        assert!(!path.exists());
        fs::write(&path, "[package]\n").unwrap();
        assert!(make_way(&path).is_err());
        assert!(path.exists());
        let nowhere = path.with_file_name("nowhere");
        std::os::unix::fs::symlink("/dev/null", &nowhere).unwrap();
        make_way(&nowhere).unwrap();
        assert!(nowhere.is_symlink());
    }
}
