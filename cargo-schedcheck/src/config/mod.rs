//! Where every setting comes from: command line > environment > attribute of the test > override > preset > default.
pub mod file;
pub mod limits;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::{ConfigArgs, ExploreOpts};
use crate::error::{ExpectedError, Result};
use crate::suggest;
use file::{ConfigFile, Section};
pub use limits::Limits;

/// Everything the user has said, sorted by strength.
#[derive(Debug)]
pub struct Settings {
    /// From the command line or the environment: stronger than the attribute of a test.
    pub set: Limits,
    /// Presets, the nearest first.
    presets: Vec<Section>,
    /// Crates that keep the real std.
    pub skip: Vec<String>,
    pub fail_fast: bool,
    pub require_complete: bool,
    pub jobs: usize,
}

impl Settings {
    /// Merges the command line with the config file of the workspace at `root`.
    pub fn load(root: &Utf8Path, args: &ConfigArgs, opts: &ExploreOpts) -> Result<Self> {
        let (path, file) = read(root, args)?;
        let wanted = args.preset.as_deref();
        let mut presets = chain(&file, &path, wanted)?;
        presets.push(Section { trusted: file.trusted.clone(), ..Section::default() });
        let first = |get: fn(&Section) -> Option<bool>| presets.iter().find_map(get);
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            set: Limits::from_cli(opts),
            skip: file.skip,
            fail_fast: !opts.no_fail_fast && first(|p| p.fail_fast).unwrap_or(true),
            require_complete: opts.require_complete || first(|p| p.require_complete).unwrap_or(false),
            jobs: opts
                .jobs
                .or_else(|| presets.iter().find_map(|p| p.jobs))
                .map_or_else(cores, |jobs| jobs.get()),
            presets,
        })
    }

    /// What holds for a test unless its own attribute says otherwise.
    pub fn defaults_for(&self, test: &str) -> Limits {
        let overrides = self.presets.iter().flat_map(|preset| &preset.overrides);
        let fitting =
            overrides.filter(|inner| inner.filter.as_ref().is_some_and(|filter| test.contains(filter)));
        fitting
            .chain(&self.presets)
            .map(Section::limits)
            .fold(Limits::default(), Limits::or)
            .or(Limits::built_in())
    }

    /// What holds for tests about which nothing special is said.
    pub fn general(&self) -> Limits {
        let presets = self.presets.iter().map(Section::limits).fold(Limits::default(), Limits::or);
        self.set.clone().or(presets).or(Limits::built_in())
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

/// The wanted preset and those it inherits from; every preset ends at `default`.
fn chain(file: &ConfigFile, path: &Utf8Path, wanted: Option<&str>) -> Result<Vec<Section>> {
    let mut chain = Vec::new();
    let mut seen = vec![];
    let mut next = Some(wanted.unwrap_or("default"));
    while let Some(name) = next {
        if seen.contains(&name) {
            return Err(ExpectedError::BadSetup(format!("{path}: [preset.{name}] inherits from itself")));
        }
        seen.push(name);
        let Some(preset) = file.preset.get(name) else {
            // A default preset need not be written down.
            if name == "default" {
                break;
            }
            let known: Vec<&str> = file.preset.keys().map(String::as_str).collect();
            let hint = suggest::did_you_mean(name, known.iter().copied());
            let list = if known.is_empty() { "none is defined".to_owned() } else { known.join(", ") };
            return Err(ExpectedError::BadSetup(format!(
                "{path}: unknown preset `{name}`{hint}; presets: {list}"
            )));
        };
        chain.push(preset.clone());
        next = match &preset.inherits {
            Some(parent) => Some(parent),
            None => (name != "default").then_some("default"),
        };
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(settings.general().max_steps, Some(7));
        assert_eq!(settings.general().weak_cas, Some(1));
    }

    #[test]
    fn unknown_presets_and_circles_are_refused() {
        let unknown = settings("[preset.nightly]", Some("nightli")).unwrap_err().to_string();
        assert!(unknown.contains("did you mean `nightly`?"), "{unknown}");
        assert!(settings("[preset.a]\ninherits = 'b'\n[preset.b]\ninherits = 'a'", Some("a")).is_err());
    }
}
