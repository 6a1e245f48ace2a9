//! What every subcommand that runs tests needs: toolchain, project, settings, and the tests in the binaries.
use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::changes;
use super::explore::Plan;
use super::list::list;
use super::wire::{Finished, ListedTest};
use crate::archive::unpack::Archive;
use crate::build::project::{Project, output_dir_without_cargo};
use crate::build::toolchain::Toolchain;
use crate::build::wrapper::Instrument;
use crate::build::{self, Build, TestBinary};
use crate::certificate::{self, issue::Draft};
use crate::cli::explore_opts::Switch;
use crate::cli::{CargoOpts, ConfigArgs, ExploreOpts, FromArchive, SelectArgs};
use crate::config::{Limits, Settings};
use crate::error::{ExpectedError, Result};
use crate::paths::as_typed;
use crate::regressions::file::{Failure, Options, RecordedTest, ReplayFile, Tool};
use crate::regressions::saved::Saved;
use crate::regressions::sites;
use crate::reports::event::{TestId, TestResult};
use crate::reports::say;
use crate::reports::words::counted;

/// The surroundings of a run.
#[derive(Debug)]
pub struct Session {
    pub project: Project,
    pub settings: Settings,
    supply: Supply,
    /// What leads another call to the same tests.
    flags: Vec<String>,
}

/// Where test binaries come from.
#[derive(Debug)]
enum Supply {
    Compiler(Box<Toolchain>),
    Archive(Box<Archive>),
}

impl Session {
    /// Reads the project and its settings; nothing is built yet.
    pub fn open(cargo: &CargoOpts, config: &ConfigArgs, explore: &ExploreOpts) -> Result<Self> {
        let toolchain = Toolchain::find()?;
        crate::color::choose(cargo.color, toolchain.color);
        let project = Project::load(&toolchain, cargo)?;
        let mut settings = Settings::load(project.root(), config, explore)?;
        settings.set.changed = changes::lines(project.root(), explore)?;
        let flags = repeating(None, cargo, config);
        Ok(Self { project, settings, supply: Supply::Compiler(Box::new(toolchain)), flags })
    }

    /// Reads the project, or the archive that was made of one.
    pub fn start(
        from: &FromArchive,
        cargo: &CargoOpts,
        config: &ConfigArgs,
        explore: &ExploreOpts,
    ) -> Result<Self> {
        let Some(file) = &from.archive else { return Self::open(cargo, config, explore) };
        let target_dir = CargoOpts { target_dir: None, ..cargo.clone() };
        if let Some(flag) = target_dir.of_the_build().first() {
            return Err(ExpectedError::Usage(format!(
                "{flag} does not go with --archive: its tests are built already"
            )));
        }
        crate::color::choose(cargo.color, None);
        let output_dir = output_dir_without_cargo(cargo)?;
        let archive = Archive::open(file, &output_dir)?;
        let project = Project::unpacked(archive.root(), output_dir);
        let mut settings = Settings::load(project.root(), config, explore)?;
        settings.set.changed = changes::lines(project.root(), explore)?;
        if !archive.manifest.races {
            if settings.want_races() && !cargo.quiet {
                say("note: data races are not looked for: the archive was packed without");
            }
            settings.set.races = Some(Switch::Off);
        }
        let flags = repeating(Some(file), cargo, config);
        Ok(Self { project, settings, supply: Supply::Archive(Box::new(archive)), flags })
    }

    /// What the tests were, or will be, built with.
    pub fn tool(&self) -> certificate::Tool {
        match &self.supply {
            Supply::Compiler(toolchain) => certificate::Tool::new(&toolchain.rustc),
            Supply::Archive(archive) => archive.manifest.tool.clone(),
        }
    }

    /// Flags for every crate that the tests were, or will be, built with.
    pub fn rustflags(&self) -> Result<Vec<String>> {
        match &self.supply {
            Supply::Compiler(toolchain) => toolchain.rustflags(),
            Supply::Archive(archive) => Ok(archive.manifest.rustflags.clone()),
        }
    }

    /// The variant of the code, as flags of cargo.
    fn variant_args(&self, cargo: &CargoOpts) -> Vec<String> {
        match &self.supply {
            Supply::Compiler(_) => cargo.variant_args(),
            Supply::Archive(archive) => archive.manifest.cargo_args.clone(),
        }
    }

    /// Builds the selected test binaries.
    pub fn build(&self, cargo: &CargoOpts) -> Result<Build> {
        let toolchain = match &self.supply {
            Supply::Compiler(toolchain) => toolchain,
            Supply::Archive(archive) => return Ok(archive.build()),
        };
        let wanted = self.settings.want_races();
        let races = wanted && Instrument::sees_memory_on(toolchain.host());
        if wanted && !races && !cargo.quiet {
            say(&format!(
                "note: data races are not looked for: the compiler cannot show memory accesses on {}",
                toolchain.host()
            ));
        }
        build::build(toolchain, &self.project, cargo, &self.settings.skip, races)
    }

    /// What a certificate says about all tests of a build.
    pub fn draft(&self, build: &Build, discovered: &Discovered<'_>, cargo: &CargoOpts) -> Result<Draft> {
        Ok(Draft {
            tool: self.tool(),
            cargo_args: self.variant_args(cargo),
            rustflags: self.rustflags()?,
            races: build.races,
            skipped_crates: build.skip.clone(),
            binaries: build.binaries.iter().map(TestBinary::name).collect(),
            left_out: discovered.left_out(),
            sources: build.sources(self.project.root()),
        })
    }

    /// Completes a verdict with what people need to act on it; writes the replay file of a failure.
    pub fn result(
        &self,
        plan: &Plan<'_>,
        mut finished: Finished,
        pending: u64,
        cargo: &CargoOpts,
    ) -> TestResult {
        finished.shorten_places(self.project.root());
        let mut result = TestResult {
            id: plan.id.clone(),
            pending,
            replayed: false,
            replay: None,
            replay_command: None,
            source_dirs: self.source_dirs(plan.binary),
            finished,
        };
        if let (true, Some(mut schedule)) = (result.failed(), result.finished.schedule.clone()) {
            schedule.lines = sites::lines(&schedule, &result.source_dirs);
            let owned = |limits: &Limits| {
                limits.pairs().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            };
            let file = ReplayFile::new(
                RecordedTest {
                    package: plan.id.package.clone(),
                    target: plan.id.target.clone(),
                    name: plan.id.name.clone(),
                    cargo_args: self.variant_args(cargo),
                },
                Tool { schedcheck: env!("CARGO_PKG_VERSION").to_owned(), rustc: self.tool().rustc },
                Failure {
                    outcome: result.finished.outcome,
                    message: result.finished.message.clone(),
                    location: result.finished.location.clone(),
                },
                Options { set: owned(&plan.set), default: owned(&plan.default) },
                schedule,
            );
            match file.save(&self.project.failures_dir()) {
                Ok(path) => {
                    let path = as_typed(&path);
                    result.replay_command = Some(self.replay_command(&path));
                    result.replay = Some(path);
                }
                // A full disk takes the file, not the failure.
                Err(error) => {
                    let lost = format!("this failure could not be kept for a replay: {error}");
                    result.finished.notes.push(lost);
                }
            }
        }
        result
    }

    /// The command that repeats a recorded failure, as one would type it.
    pub fn replay_command(&self, path: &Utf8Path) -> String {
        let words = [path.as_str()].into_iter().chain(self.flags.iter().map(String::as_str));
        let words: Vec<String> = words.map(quoted).collect();
        format!("cargo schedcheck replay {}", words.join(" "))
    }

    /// Folders that relative source paths of a binary may be relative to.
    pub fn source_dirs(&self, binary: &TestBinary) -> Vec<Utf8PathBuf> {
        vec![self.project.root().to_owned(), binary.package_dir.clone()]
    }
}

/// The flags that say where tests come from and how they are built, but for what replay files have.
fn repeating(archive: Option<&Utf8PathBuf>, cargo: &CargoOpts, config: &ConfigArgs) -> Vec<String> {
    let path = |path: Option<&Utf8PathBuf>| path.map(ToString::to_string);
    let single = [
        ("--archive", path(archive)),
        ("--manifest-path", path(cargo.manifest_path.as_ref())),
        ("--target-dir", path(cargo.target_dir.as_ref())),
        ("--config-file", path(config.config_file.as_ref())),
    ];
    let single = single.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
    let several = cargo.config.iter().map(|value| ("--config", value.clone()));
    let pairs = single.chain(several).flat_map(|(flag, value)| [flag.to_owned(), value]);
    pairs.chain(config.no_config.then(|| "--no-config".to_owned())).collect()
}

/// A word of a command line, as a shell reads it back.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The identity of a test in a binary.
pub fn id(binary: &TestBinary, name: String) -> TestId {
    TestId { package: binary.package.clone(), target: binary.target.clone(), name }
}

/// All tests that the binaries have.
#[derive(Debug)]
pub struct Discovered<'a> {
    binaries: &'a [TestBinary],
    pub tests: Vec<(&'a TestBinary, ListedTest)>,
    /// Binaries with a harness that does not know us.
    foreign: Vec<&'a TestBinary>,
}

/// Asks all binaries for their tests.
pub fn discover(binaries: &[TestBinary]) -> Result<Discovered<'_>> {
    let mut discovered = Discovered { binaries, tests: Vec::new(), foreign: Vec::new() };
    for binary in binaries {
        match list(binary)? {
            Some(tests) => discovered.tests.extend(tests.into_iter().map(|test| (binary, test))),
            None => discovered.foreign.push(binary),
        }
    }
    Ok(discovered)
}

impl<'a> Discovered<'a> {
    /// The tests to explore; an error when there are none. One part of several may have none.
    pub fn selected(&self, args: &SelectArgs) -> Result<Vec<(&'a TestBinary, ListedTest)>> {
        Ok(self.chosen(args)?.into_iter().cloned().collect())
    }

    /// The tests to explore, with the arguments of their attributes.
    pub fn with_attributes(&self, args: &SelectArgs) -> Result<Vec<(TestId, String)>> {
        let chosen = self.chosen(args)?.into_iter();
        Ok(chosen.map(|(binary, test)| (id(binary, test.name.clone()), test.options.clone())).collect())
    }

    fn chosen(&self, args: &SelectArgs) -> Result<Vec<&(&'a TestBinary, ListedTest)>> {
        let selected = self.tests.iter().filter(|(_, test)| args.selects(test));
        let selected: Vec<_> = selected.collect();
        if selected.is_empty() {
            return Err(ExpectedError::NoTests(self.why_none(args)));
        }
        let Some(partition) = args.partition else { return Ok(selected) };
        let part = partition.spec.here()?;
        let total = selected.len();
        let own =
            partition.how.part(part, selected, |(binary, test)| id(binary, test.name.clone()).to_string());
        if own.is_empty() {
            say(&format!("note: none of the {total} selected tests is in part {part}"));
        }
        Ok(own)
    }

    /// The names of binaries with a harness that does not know us.
    pub fn left_out(&self) -> Vec<String> {
        self.foreign.iter().map(|binary| binary.name()).collect()
    }

    /// The binary that has a test.
    pub fn binary_with(&self, id: &TestId) -> Option<&'a TestBinary> {
        let is_it = |(binary, test): &&(&TestBinary, ListedTest)| {
            binary.package == id.package && binary.target == id.target && test.name == id.name
        };
        self.tests.iter().find(is_it).map(|(binary, _)| *binary)
    }

    /// Says which binaries were left out, and why.
    pub fn mention_skipped(&self, quiet: bool) {
        for binary in self.foreign.iter().filter(|_| !quiet) {
            say(&format!(
                "warning: {} has a test harness of its own (or is a proc macro): left out",
                binary.name()
            ));
        }
    }

    /// Says which kept failures are of tests that do not exist.
    pub fn mention_orphans(&self, project: &Project, saved: &[Saved]) {
        for orphan in saved.iter().filter(|saved| self.is_gone(project, &saved.file.id())) {
            say(&format!(
                "warning: {} is of a test that does not exist (any more): {}",
                orphan.shown(),
                orphan.file.id()
            ));
        }
    }

    /// Whether there is no such test: its binary, if it was built, does not have it, or there is no such target.
    fn is_gone(&self, project: &Project, id: &TestId) -> bool {
        let is_its = |binary: &&TestBinary| binary.package == id.package && binary.target == id.target;
        match self.binaries.iter().find(is_its) {
            Some(_) if self.foreign.iter().any(is_its) => false,
            Some(_) => self.binary_with(id).is_none(),
            None => project.lacks_target(&id.package, &id.target),
        }
    }

    fn why_none(&self, args: &SelectArgs) -> String {
        let binaries: BTreeSet<_> = self.tests.iter().map(|(binary, _)| &binary.executable).collect();
        let named = || self.tests.iter().filter(|(_, test)| args.names(&test.name));
        let plain = named()
            .filter(|(_, test)| !test.marked && (!test.ignored || args.ignored || args.include_ignored));
        let (plain, ignored) = (plain.count(), named().filter(|(_, test)| test.ignored).count());
        if self.tests.is_empty() {
            return "no test selected: there are no tests in the selected packages and targets".to_owned();
        }
        if named().next().is_none() {
            let filters: Vec<String> = args.filters.iter().map(|filter| format!("`{filter}`")).collect();
            let filters = if filters.is_empty() { "the filters".to_owned() } else { filters.join(" or ") };
            return format!(
                "no test selected: none of {} in {} matches {filters}",
                counted(self.tests.len() as u64, "test"),
                counted(binaries.len() as u64, "binary")
            );
        }
        if plain > 0 && !args.all_tests {
            return format!(
                "no test selected: none is marked #[schedcheck], but {} would be explored with --all-tests",
                counted(plain as u64, "plain #[test]")
            );
        }
        if ignored > 0 {
            return "no test selected: all that match are ignored; use --include-ignored or --ignored"
                .to_owned();
        }
        "no test selected: none that matches is ignored; leave out --ignored".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_paths_back_as_they_are() {
        for path in [
            "a/b-1.toml",
            "a b",
            "it's",
            "a(1)",
            "a&b;c",
            "*",
            "~a",
            "a#b",
            "#b",
            "$a`b`",
            "a\\b\n",
            "!a",
            "ä",
            "",
        ] {
            assert_eq!(shlex::split(&quoted(path)), Some(vec![path.to_owned()]), "{path}");
            let line = format!("printf %s {}", quoted(path));
            let told = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&told.stdout), path);
        }
        assert_eq!(quoted("target/a_b-1.toml"), "target/a_b-1.toml");
    }
}
