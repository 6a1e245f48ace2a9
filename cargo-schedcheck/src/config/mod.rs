//! Where every setting comes from: command line > environment > attribute of the test > override > preset > default.
pub mod file;
pub mod limits;
pub mod show;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::explore_opts::Switch;
use crate::cli::{ConfigArgs, ExploreOpts, KeepOpts};
use crate::error::{ExpectedError, Result};
use crate::paths::as_typed;
use crate::suggest;
use file::{ConfigFile, Section};
pub use limits::Limits;

/// Everything the user has said, sorted by strength.
#[derive(Debug)]
pub struct Settings {
    /// From the command line or the environment: stronger than the attribute of a test.
    pub set: Limits,
    /// Presets, the nearest first.
    presets: Vec<Preset>,
    /// Crates that keep the real std.
    pub skip: Vec<String>,
    pub fail_fast: bool,
    pub require_complete: bool,
    pub jobs: usize,
}

/// A preset and where it stands, in words.
#[derive(Clone, Debug)]
struct Preset {
    origin: String,
    section: Section,
}

impl Settings {
    /// Merges the command line with the config file of the workspace at `root`.
    pub fn load(root: &Utf8Path, args: &ConfigArgs, opts: &ExploreOpts) -> Result<Self> {
        let (path, file) = read(root, args)?;
        let wanted = args.preset.as_deref();
        let mut presets = chain(&file, &path, wanted)?;
        presets.push(Preset {
            origin: format!("top of {}", as_typed(&path)),
            section: Section { trusted: file.trusted.clone(), ..Section::default() },
        });
        let first =
            |get: fn(&Section) -> Option<bool>| presets.iter().find_map(|preset| get(&preset.section));
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            set: Limits::from_cli(opts),
            skip: file.skip,
            fail_fast: !opts.no_fail_fast && first(|p| p.fail_fast).unwrap_or(true),
            require_complete: opts.require_complete || first(|p| p.require_complete).unwrap_or(false),
            jobs: opts
                .jobs
                .or_else(|| presets.iter().find_map(|preset| preset.section.jobs))
                .map_or_else(cores, |jobs| jobs.get()),
            presets,
        })
    }

    /// What holds for a test unless its own attribute says otherwise.
    pub fn defaults_for(&self, test: &str) -> Limits {
        self.layers_for(test).into_iter().map(|(_, limits)| limits).fold(Limits::default(), Limits::or)
    }

    /// The files that outlive a run: those of the command line, else those of the presets, relative to `base`.
    pub fn keep(&self, given: &KeepOpts, base: &Utf8Path) -> KeepOpts {
        let presets = self.presets.iter().map(|preset| preset.section.keep());
        given.clone().or(presets.fold(KeepOpts::default(), KeepOpts::or).below(base))
    }

    /// What holds for tests about which nothing special is said.
    pub fn general(&self) -> Limits {
        let presets = self.presets.iter().map(|preset| preset.section.limits());
        self.set.clone().or(presets.fold(Limits::default(), Limits::or)).or(Limits::built_in())
    }

    /// Whether data races are to be looked for in any test: all are built then so that they can be seen.
    pub fn want_races(&self) -> bool {
        let mut overrides = self.presets.iter().flat_map(|preset| &preset.section.overrides);
        match self.set.races {
            Some(races) => races == Switch::On,
            None => {
                self.general().races == Some(Switch::On)
                    || overrides.any(|inner| inner.races == Some(Switch::On))
            }
        }
    }

    /// Everything weaker than the attribute of a test, the strongest first, each with its origin in words.
    fn layers_for(&self, test: &str) -> Vec<(String, Limits)> {
        let overrides = self.presets.iter().flat_map(|preset| {
            let fitting = preset.section.overrides.iter().filter_map(|inner| {
                let filter = inner.filter.as_ref().filter(|filter| test.contains(filter.as_str()))?;
                Some((format!("override for `{filter}` in {}", preset.origin), inner.limits()))
            });
            fitting.collect::<Vec<_>>()
        });
        let presets = self.presets.iter().map(|preset| (preset.origin.clone(), preset.section.limits()));
        overrides.chain(presets).chain([("default".to_owned(), Limits::built_in())]).collect()
    }
}

fn read(root: &Utf8Path, args: &ConfigArgs) -> Result<(Utf8PathBuf, ConfigFile)> {
    let usual = root.join(".config/schedcheck.toml");
    let path = match &args.config_file {
        _ if args.no_config => return Ok((usual, ConfigFile::default())),
        Some(path) => path.clone(),
        None if !usual.exists() => return Ok((usual, ConfigFile::default())),
        None => usual,
    };
    let bytes = fs::read(&path).map_err(|error| ExpectedError::BadSetup(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
        ExpectedError::BadSetup(format!("{path}:{line}: the file is not valid UTF-8"))
    })?;
    let file = ConfigFile::parse(&text, &path)?;
    Ok((path, file))
}

/// The wanted preset and those it inherits from; every preset ends at `default`. A preset of the file adds to the
/// built-in one of the same name.
fn chain(file: &ConfigFile, path: &Utf8Path, wanted: Option<&str>) -> Result<Vec<Preset>> {
    let mut chain = Vec::new();
    let mut seen = vec![];
    let mut next = Some(wanted.unwrap_or("default"));
    while let Some(name) = next {
        if seen.contains(&name) {
            return Err(ExpectedError::BadSetup(format!("{path}: [preset.{name}] inherits from itself")));
        }
        seen.push(name);
        let (written, built_in) = (file.preset.get(name), file::built_in(name));
        if written.is_none() && built_in.is_none() {
            let known = file.preset.keys().map(String::as_str).chain(file::BUILT_IN);
            let known: BTreeSet<&str> = known.collect();
            let hint = suggest::did_you_mean(name, known.iter().copied());
            let list: Vec<&str> = known.into_iter().collect();
            // A file that is not there is not to blame.
            let place = if path.exists() { format!("{path}: ") } else { String::new() };
            return Err(ExpectedError::BadSetup(format!(
                "{place}unknown preset `{name}`{hint}; presets: {}",
                list.join(", ")
            )));
        }
        next = match written.and_then(|preset| preset.inherits.as_deref()) {
            Some(parent) => Some(parent),
            None => (name != "default").then_some("default"),
        };
        let at = format!("preset `{name}` of {}", as_typed(path));
        chain.extend(written.map(|section| Preset { origin: at, section: section.clone() }));
        let at = format!("built-in preset `{name}`");
        chain.extend(built_in.map(|section| Preset { origin: at, section }));
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;
    use std::time::Duration;

    fn settings(text: &str, preset: Option<&str>) -> Result<Settings> {
        let path = Utf8Path::new("c.toml");
        let file = ConfigFile::parse(text, path)?;
        let presets = chain(&file, path, preset)?;
        Ok(Settings {
            set: Limits { seed: Some(9), ..Limits::default() },
            presets,
            skip: file.skip,
            fail_fast: true,
            require_complete: false,
            jobs: 1,
        })
    }

    #[test]
    fn nearer_sources_win() {
        let text = "
            [preset.default]
            bound = 1
            seed = 3
            [preset.ci]
            max-steps = 7
            [[preset.ci.overrides]]
            filter = 'queue::'
            bound = 5
        ";
        let settings = settings(text, Some("ci")).unwrap();
        assert_eq!(settings.defaults_for("queue::drain").bound, Some(5));
        assert_eq!(settings.defaults_for("stack::drain").bound, Some(1));
        assert_eq!(settings.general().seed, Some(9));
        assert_eq!(settings.general().max_steps, NonZeroU32::new(7));
        assert_eq!(settings.general().weak_cas, Some(1));
    }

    #[test]
    fn presets_of_the_file_add_to_the_built_in_ones() {
        assert_eq!(settings("", Some("nightly")).unwrap().general().max_time, Some(Duration::from_secs(600)));
        let file = "[preset.nightly]\nbound = 4\n[preset.default]\nmax-steps = 7";
        let general = settings(file, Some("nightly")).unwrap().general();
        assert_eq!((general.bound, general.max_steps), (Some(4), NonZeroU32::new(7)));
        assert_eq!(general.max_time, Some(Duration::from_secs(600)));
        let general = settings("[preset.nightly]\nmax-time = '5s'", Some("nightly")).unwrap().general();
        assert_eq!(general.max_time, Some(Duration::from_secs(5)));
    }

    #[test]
    fn unknown_presets_and_circles_are_refused() {
        let unknown = settings("[preset.nightly]", Some("nightli")).unwrap_err().to_string();
        assert!(unknown.starts_with("unknown preset `nightli` (did you mean `nightly`?)"), "{unknown}");
        assert!(settings("[preset.a]\ninherits = 'b'\n[preset.b]\ninherits = 'a'", Some("a")).is_err());
    }
}
