//! The replay file: small, readable, versioned TOML.
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::build::fingerprint;
use crate::error::{ExpectedError, Result};
use crate::reports::event::TestId;
use crate::run::wire::{Location, Outcome, Schedule};
use crate::whole_file;

/// The version of the format that this command writes and reads.
const VERSION: i64 = 1;
/// Far beyond any schedule; larger files are not ours.
const LARGEST: u64 = 32 << 20;
/// In bytes. File systems take 255, but there are endings still to come.
const LONGEST_STEM: usize = 120;

/// One recorded failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayFile {
    version: i64,
    /// How many deltas follow: a file that was cut short must not look whole.
    choices: usize,
    pub test: RecordedTest,
    pub tool: Tool,
    pub failure: Failure,
    #[serde(default)]
    pub options: Options,
    pub schedule: Schedule,
}

/// Which test, and how it was built.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordedTest {
    pub package: String,
    pub target: String,
    pub name: String,
    /// Features and profile, as flags of cargo.
    #[serde(default)]
    pub cargo_args: Vec<String>,
}

/// What found it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub schedcheck: String,
    pub rustc: String,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub outcome: Outcome,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

/// Settings that were in force, as keys and values of a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Stronger than the attribute of the test.
    pub set: Vec<(String, String)>,
    /// Weaker than the attribute of the test.
    pub default: Vec<(String, String)>,
}

impl ReplayFile {
    /// A file of the current version.
    pub fn new(
        test: RecordedTest,
        tool: Tool,
        failure: Failure,
        options: Options,
        schedule: Schedule,
    ) -> Self {
        Self { version: VERSION, choices: schedule.deltas.len(), test, tool, failure, options, schedule }
    }

    /// The identity of the recorded test.
    pub fn id(&self) -> TestId {
        TestId {
            package: self.test.package.clone(),
            target: self.test.target.clone(),
            name: self.test.name.clone(),
        }
    }

    /// Whether data races were looked for when it was recorded: that takes another build.
    pub fn detects_races(&self) -> bool {
        let mut options = self.options.set.iter().chain(&self.options.default);
        options.find(|(key, _)| key == "races").is_none_or(|(_, value)| value != "off")
    }

    /// Writes the file into `dir`, whole or not at all, and returns its path.
    pub fn save(&self, dir: &Utf8Path) -> Result<Utf8PathBuf> {
        let path = dir.join(file_name(&self.id()));
        let text = toml::to_string(self).map_err(|error| {
            ExpectedError::BadSetup(format!("cannot write the schedule to {path}: {error}"))
        })?;
        whole_file::write(&path, |file| {
            writeln!(file, "# One failing schedule. Repeat it with `cargo schedcheck replay FILE`.")?;
            file.write_all(text.as_bytes())
        })?;
        Ok(path)
    }

    /// Reads a file; anything that is not a whole file of this version is refused with its place.
    pub fn load(path: &Utf8Path) -> Result<Self> {
        let refuse = |reason: String| ExpectedError::BadSetup(format!("{path}: {reason}"));
        let size = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
        if !size.is_file() {
            return Err(refuse("this is not a replay file: not a file at all".to_owned()));
        }
        if size.len() > LARGEST {
            let most = LARGEST >> 20;
            return Err(refuse(format!("this is not a replay file: it is larger than {most} MiB")));
        }
        let bytes = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| refuse("this is not a replay file: not UTF-8".to_owned()))?;
        Self::parse(&text).map_err(refuse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let at = |error: &toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1;
            match error.message().strip_prefix("missing field ") {
                // Where it should be is at no place.
                Some(field) => format!("this is not a whole replay file: {field} is missing"),
                None => format!("line {line}: {}", error.message()),
            }
        };
        let file = match toml::from_str::<Self>(text) {
            Ok(file) => file,
            Err(error) => {
                // A file of another version may look quite different: the version is the better reason then.
                let version = toml::from_str::<Version>(text).map_err(|error| at(&error))?;
                return Err(version.complaint().unwrap_or_else(|| at(&error)));
            }
        };
        if let Some(complaint) = (Version { version: Some(file.version.into()) }).complaint() {
            return Err(complaint);
        }
        if file.failure.outcome == Outcome::Passed {
            return Err("it records no failure".to_owned());
        }
        let found = file.schedule.deltas.len();
        if found != file.choices {
            return Err(format!("it has {found} of {} choices; was it cut short?", file.choices));
        }
        Ok(file)
    }
}

/// The part of a file that every version has.
#[derive(Deserialize)]
struct Version {
    version: Option<toml::Value>,
}

impl Version {
    /// Why a file of this version cannot be read.
    fn complaint(&self) -> Option<String> {
        match &self.version {
            Some(toml::Value::Integer(VERSION)) => None,
            Some(other) => {
                Some(format!("version {other} is not known here; this command reads version {VERSION}"))
            }
            None => Some("this is not a replay file: it has no `version`".to_owned()),
        }
    }
}

/// `PACKAGE.TARGET.TEST.toml`.
fn file_name(id: &TestId) -> String {
    format!("{}.toml", file_stem(id))
}

/// `PACKAGE.TARGET.TEST`, with dashes for everything that does not belong into a file name. The name of a test may be
/// longer than that of a file: what is cut off leaves a fingerprint of the whole behind.
pub fn file_stem(id: &TestId) -> String {
    let plain = |text: &str| {
        let dashed: String =
            text.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
        dashed.replace("--", "-")
    };
    // A program `x` is not an integration test `bin-x`.
    let target: Vec<String> = id.target.split('/').map(plain).collect();
    let stem = format!("{}.{}.{}", plain(&id.package), target.join("."), plain(&id.name));
    if stem.len() <= LONGEST_STEM {
        return stem;
    }
    let fingerprint = fingerprint::of_bytes(id.to_string().as_bytes());
    format!("{}-{}", &stem[..stem.floor_char_boundary(LONGEST_STEM)], &fingerprint[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::wire::Delta;

    fn example() -> ReplayFile {
        let delta = |step| Delta {
            step,
            thread: "0.2".into(),
            alt: "0".into(),
            op: "mutex.lock".into(),
            site: "src/lib.rs:8:17".into(),
            nth: 1,
            instead: None,
        };
        ReplayFile::new(
            RecordedTest {
                package: "bank".into(),
                target: "lib".into(),
                name: "tests::transfer".into(),
                cargo_args: vec!["--release".into()],
            },
            Tool { schedcheck: "0.1.0".into(), rustc: "rustc 1.95.0".into() },
            Failure { outcome: Outcome::Deadlock, message: "two\nlines".into(), location: None },
            Options { set: vec![("seed".into(), "7".into())], default: Vec::new() },
            Schedule {
                fingerprint: "ab".into(),
                steps: 7,
                lines: [("src/lib.rs:8".to_owned(), "    a.lock();".to_owned())].into(),
                deltas: vec![delta(5), delta(6)],
            },
        )
    }

    #[test]
    fn a_saved_file_reads_back_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let path = example().save(&dir.join("new")).unwrap();
        assert!(path.as_str().ends_with("bank.lib.tests-transfer.toml"), "{path}");
        let read = ReplayFile::load(&path).unwrap();
        assert_eq!(read.schedule, example().schedule);
        assert_eq!(read.options.set, example().options.set);
        assert_eq!(read.failure.message, "two\nlines");
    }

    #[test]
    fn long_names_make_short_file_names_that_differ() {
        let stem = |name: String| file_stem(&TestId { package: "p".into(), target: "lib".into(), name });
        let (one, two) = (stem("ä".repeat(242)), stem("ä".repeat(243)));
        assert!(one.starts_with("p.lib.ää") && one.len() < 140, "{one}");
        assert_ne!(one, two);
        assert_eq!(stem("tests::short".into()), "p.lib.tests-short");
    }

    #[test]
    fn targets_of_different_kinds_have_different_files() {
        let stem = |target: &str| {
            file_stem(&TestId { package: "p".into(), target: target.into(), name: "a::b".into() })
        };
        assert_eq!((stem("bin/x"), stem("bin-x")), ("p.bin.x.a-b".into(), "p.bin-x.a-b".into()));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_or_still_whole() {
        let text = toml::to_string(&example()).unwrap();
        for end in 0..text.len() {
            if let Ok(cut) = ReplayFile::parse(&text[..end]) {
                assert_eq!(cut.schedule.deltas.len(), 2);
                assert_eq!(cut.test.name, "tests::transfer");
            }
        }
    }

    #[test]
    fn foreign_files_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "no `version`"),
            ("version = 2", "version 2 is not known"),
            ("version = 1\n", "this is not a whole replay file: `choices` is missing"),
            ("[package]\nname = 'x'", "no `version`"),
            ("version = 1\n[test\n", "line 2"),
        ] {
            let error = ReplayFile::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }
}
