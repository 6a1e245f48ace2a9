//! The types of `.config/schedcheck.toml`, and errors with positions for what does not fit them.
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use super::limits::Limits;
use crate::cli::KeepOpts;
use crate::cli::explore_opts::{Reduction, Switch};
use crate::error::{ExpectedError, Result};
use crate::suggest;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConfigFile {
    /// Crates that keep the real std.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Code that is not preempted inside, unless a preset says otherwise.
    #[serde(default)]
    pub trusted: Vec<String>,
    #[serde(default)]
    pub preset: BTreeMap<String, Section>,
}

/// A preset, or an override inside one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Section {
    pub inherits: Option<String>,
    pub overrides: Vec<Section>,
    /// Of an override: the tests it applies to, by the same substring rule as on the command line.
    pub filter: Option<String>,
    pub fail_fast: Option<bool>,
    pub require_complete: Option<bool>,
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Files that outlive a run, relative to the workspace.
    pub certificate: Option<Utf8PathBuf>,
    pub trend: Option<Utf8PathBuf>,
    pub summary: Option<Utf8PathBuf>,
    pub priority: Option<Priority>,
    pub bound: Option<u32>,
    pub reduction: Option<Reduction>,
    pub max_time: Option<Budget>,
    pub max_executions: Option<NonZeroU64>,
    pub max_steps: Option<NonZeroU32>,
    pub seed: Option<u64>,
    pub random_runs: Option<u32>,
    pub hunts: Option<u32>,
    pub levels: Option<Switch>,
    pub symmetry: Option<Switch>,
    pub leaks: Option<Switch>,
    pub spurious: Option<u32>,
    pub timeouts: Option<u32>,
    pub weak_cas: Option<u32>,
    pub races: Option<Switch>,
    pub os_threads: Option<bool>,
    pub cooperative: Option<bool>,
    pub method: Vec<String>,
    pub var: Vec<String>,
    pub trusted: Vec<String>,
    pub focus: Vec<String>,
}

impl Section {
    /// The files it names.
    pub fn keep(&self) -> KeepOpts {
        KeepOpts {
            certificate: self.certificate.clone(),
            trend: self.trend.clone(),
            summary: self.summary.clone(),
        }
    }

    /// A key that it has and that means nothing for single tests.
    fn of_the_whole_run(&self) -> Option<&'static str> {
        let keys = [
            ("fail-fast", self.fail_fast.is_some()),
            ("require-complete", self.require_complete.is_some()),
            ("jobs", self.jobs.is_some()),
            ("certificate", self.certificate.is_some()),
            ("trend", self.trend.is_some()),
            ("summary", self.summary.is_some()),
        ];
        keys.into_iter().find_map(|(key, given)| given.then_some(key))
    }

    /// What it says about the search.
    pub fn limits(&self) -> Limits {
        Limits {
            priority: self.priority.clone().map(|priority| priority.0),
            bound: self.bound,
            reduction: self.reduction,
            max_time: self.max_time.map(|budget| budget.0),
            max_executions: self.max_executions,
            max_steps: self.max_steps,
            seed: self.seed,
            random_runs: self.random_runs,
            hunts: self.hunts,
            // About a bug at hand or a comparison, not about a project.
            sample: None,
            seq: None,
            reach: None,
            levels: self.levels,
            symmetry: self.symmetry,
            leaks: self.leaks,
            spurious: self.spurious,
            timeouts: self.timeouts,
            weak_cas: self.weak_cas,
            races: self.races,
            os_threads: self.os_threads,
            cooperative: self.cooperative,
            method: self.method.clone(),
            var: self.var.clone(),
            trust: self.trusted.clone(),
            focus: self.focus.clone(),
            changed: Vec::new(),
        }
    }
}

/// A checked list of priority functions.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Priority(String);

impl TryFrom<String> for Priority {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        crate::cli::priority::parse(&text).map(Self)
    }
}

/// A time such as `60s`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Budget(Duration);

impl TryFrom<String> for Budget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        crate::cli::explore_opts::parse_duration(&text).map(Self)
    }
}

/// Presets that need not be written down.
pub const BUILT_IN: [&str; 3] = ["default", "ci", "nightly"];

/// What a built-in preset says.
pub fn built_in(name: &str) -> Option<Section> {
    let every_test = Section { fail_fast: Some(false), ..Section::default() };
    match name {
        "default" => Some(Section::default()),
        "ci" => Some(every_test),
        "nightly" => Some(Section { max_time: Some(Budget(Duration::from_secs(600))), ..every_test }),
        _ => None,
    }
}

impl ConfigFile {
    /// Parses the text of the file at `path`.
    pub fn parse(text: &str, path: &Utf8Path) -> Result<Self> {
        let file: Self = toml::from_str(text).map_err(|error| describe(&error, text, path))?;
        for (name, preset) in &file.preset {
            let misplaced = |what: &str| ExpectedError::BadSetup(format!("{path}: [preset.{name}]: {what}"));
            if preset.filter.is_some() {
                return Err(misplaced("`filter` belongs into [[preset.NAME.overrides]]"));
            }
            for inner in &preset.overrides {
                if inner.filter.is_none() {
                    return Err(misplaced("every override needs a `filter`"));
                }
                if let Some(key) = inner.of_the_whole_run() {
                    return Err(misplaced(&format!(
                        "`{key}` is about the whole run: name it outside of `overrides`"
                    )));
                }
                if inner.inherits.is_some() || !inner.overrides.is_empty() {
                    return Err(misplaced("an override cannot inherit or have overrides"));
                }
            }
        }
        Ok(file)
    }
}

/// One line with the place, one with the text found there, and a suggestion for a misspelt key.
fn describe(error: &toml::de::Error, text: &str, path: &Utf8Path) -> ExpectedError {
    let message = error.message();
    // serde says: unknown field `x`, expected one of `a`, `b`
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = match (message.starts_with("unknown"), quoted.next()) {
        (true, Some(given)) => suggest::did_you_mean(given, quoted),
        _ => String::new(),
    };
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
    let source = text.lines().nth(line - 1).unwrap_or_default().trim_end();
    ExpectedError::BadSetup(format!("{path}:{line}:{column}: {message}{hint}\n  | {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ConfigFile, String> {
        ConfigFile::parse(text, Utf8Path::new("c.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_a_suggestion() {
        let error = parse("[preset.default]\nmax-tiem = \"3s\"\n").unwrap_err();
        assert!(error.starts_with("c.toml:2:1: unknown field `max-tiem`"), "{error}");
        assert!(error.contains("did you mean `max-time`?"), "{error}");
        assert!(error.ends_with("| max-tiem = \"3s\""), "{error}");
    }

    #[test]
    fn bad_values_are_refused_with_their_line() {
        for text in [
            "[preset.a]\nmax-time = 3",
            "[preset.a]\npriority = 'x'",
            "[preset.a]\nbound = -1",
            "[preset.a]\nmax-executions = 0",
            "[preset.a]\nmax-steps = 0",
            "[preset.a]\nmax-steps = 4294967296",
            "[preset.a]\nmax-time = '1us'",
            "[preset.a\n",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with("c.toml:"), "{error}");
        }
    }

    #[test]
    fn filters_and_overrides_have_their_places() {
        assert!(parse("[preset.a]\nfilter = 'x'").is_err());
        assert!(parse("[[preset.a.overrides]]\nbound = 1").is_err());
        for of_the_run in ["fail-fast = false", "require-complete = true", "jobs = 2", "trend = 't'"] {
            let error = parse(&format!("[[preset.a.overrides]]\nfilter = 'q'\n{of_the_run}")).unwrap_err();
            let key = of_the_run.split(' ').next().unwrap();
            assert!(error.contains(&format!("[preset.a]: `{key}` ")), "{error}");
        }
        let file = parse("[[preset.a.overrides]]\nfilter = 'q'\nbound = 1").unwrap();
        assert_eq!(file.preset["a"].overrides[0].limits().bound, Some(1));
    }
}
