//! Cargo's own flags, under cargo's own headings, and how they are forwarded.
use camino::Utf8PathBuf;
use clap::{ArgAction, Args, ValueEnum};

/// Flags with the same meaning as in `cargo test`.
#[derive(Clone, Debug, Default, Args)]
pub struct CargoOpts {
    /// Package to check (repeatable)
    #[arg(short, long = "package", value_name = "SPEC", help_heading = "Package Selection")]
    pub package: Vec<String>,
    /// Check all packages of the workspace
    #[arg(long, help_heading = "Package Selection")]
    pub workspace: bool,
    /// Leave out a package (repeatable)
    #[arg(long, value_name = "SPEC", requires = "workspace", help_heading = "Package Selection")]
    pub exclude: Vec<String>,

    /// Only this package's library unit tests
    #[arg(long, help_heading = "Target Selection")]
    pub lib: bool,
    /// Only this binary's unit tests (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Target Selection")]
    pub bin: Vec<String>,
    /// All binaries
    #[arg(long, help_heading = "Target Selection")]
    pub bins: bool,
    /// Only this integration test (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Target Selection")]
    pub test: Vec<String>,
    /// All targets that have `test = true` set
    #[arg(long, help_heading = "Target Selection")]
    pub tests: bool,
    /// Only this example (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Target Selection")]
    pub example: Vec<String>,
    /// All examples
    #[arg(long, help_heading = "Target Selection")]
    pub examples: bool,
    /// Only the tests in this benchmark (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Target Selection")]
    pub bench: Vec<String>,
    /// The tests in all benchmarks
    #[arg(long, help_heading = "Target Selection")]
    pub benches: bool,
    /// All targets
    #[arg(long, help_heading = "Target Selection")]
    pub all_targets: bool,

    /// Space or comma separated list of features to activate
    #[arg(short = 'F', long, value_name = "FEATURES", help_heading = "Feature Selection")]
    pub features: Vec<String>,
    /// Activate all available features
    #[arg(long, help_heading = "Feature Selection")]
    pub all_features: bool,
    /// Do not activate the `default` feature
    #[arg(long, help_heading = "Feature Selection")]
    pub no_default_features: bool,

    /// Build in release mode, with optimisations
    #[arg(short, long, conflicts_with = "profile", help_heading = "Compilation Options")]
    pub release: bool,
    /// Build with this cargo profile
    #[arg(long, value_name = "PROFILE-NAME", help_heading = "Compilation Options")]
    pub profile: Option<String>,
    /// Directory for all generated artifacts; ours go to its subfolder `schedcheck`
    #[arg(long, value_name = "DIRECTORY", help_heading = "Compilation Options")]
    pub target_dir: Option<Utf8PathBuf>,
    /// Parallel jobs of the build [default: as cargo decides]
    #[arg(long, value_name = "N", help_heading = "Compilation Options")]
    pub build_jobs: Option<String>,

    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", help_heading = "Manifest Options")]
    pub manifest_path: Option<Utf8PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long, help_heading = "Manifest Options")]
    pub locked: bool,
    /// Run without accessing the network
    #[arg(long, help_heading = "Manifest Options")]
    pub offline: bool,
    /// Equivalent to specifying both --locked and --offline
    #[arg(long, help_heading = "Manifest Options")]
    pub frozen: bool,

    /// Override a configuration value of cargo (repeatable)
    #[arg(long, value_name = "KEY=VALUE|PATH", help_heading = "Manifest Options")]
    pub config: Vec<String>,

    /// Print less
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Display Options")]
    pub quiet: bool,
    /// Print more; also what the tests write to stderr
    #[arg(short, long, action = ArgAction::Count, help_heading = "Display Options")]
    pub verbose: u8,
    /// Coloring [default: as cargo is configured]
    #[arg(long, value_name = "WHEN", help_heading = "Display Options")]
    pub color: Option<Color>,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl CargoOpts {
    /// What `cargo test --no-run` gets, apart from what the build itself decides (target and its directory).
    pub fn build_args(&self) -> Vec<String> {
        let mut args = Forwarded::default();
        args.each("--package", &self.package);
        args.flag("--workspace", self.workspace);
        args.each("--exclude", &self.exclude);
        args.flag("--lib", self.lib);
        args.each("--bin", &self.bin);
        args.flag("--bins", self.bins);
        args.each("--test", &self.test);
        args.flag("--tests", self.tests);
        args.each("--example", &self.example);
        args.flag("--examples", self.examples);
        args.each("--bench", &self.bench);
        args.flag("--benches", self.benches);
        args.flag("--all-targets", self.all_targets);
        args.each("--jobs", &self.build_jobs);
        args.0.extend(self.variant_args());
        args.0.extend(self.manifest_args());
        args.flag("--quiet", self.quiet);
        for _ in 0..self.verbose {
            args.flag("--verbose", true);
        }
        if let Some(color) = self.color {
            args.each("--color", &[super::explore_opts::word(color)]);
        }
        args.0
    }

    /// The flags that say what is built and how; with tests that are built already they mean nothing.
    pub fn of_the_build(&self) -> Vec<String> {
        Self { quiet: false, verbose: 0, color: None, ..self.clone() }.build_args()
    }

    /// What decides which variant of the code is built: a replay must repeat it.
    pub fn variant_args(&self) -> Vec<String> {
        let mut args = Forwarded::default();
        args.each("--features", &self.features);
        args.flag("--all-features", self.all_features);
        args.flag("--no-default-features", self.no_default_features);
        args.flag("--release", self.release);
        args.each("--profile", &self.profile);
        args.0
    }

    /// What switches link-time optimisation off in the profiles that are used, whoever switched it on: the libraries
    /// of the engine have no bitcode. On the command line, since that is stronger than the environment and manifests.
    pub fn without_lto(&self) -> Vec<String> {
        let profiles = match self.profile.as_deref() {
            _ if self.release => &["release"][..],
            None | Some("dev" | "test") => &["dev", "test"],
            Some(other) => &[other],
        };
        let mut args = Forwarded::default();
        args.each("--config", profiles.iter().map(|profile| format!("profile.{profile}.lto=\"off\"")));
        args.0
    }

    /// What `cargo metadata` needs to read the same project in the same way.
    pub fn manifest_args(&self) -> Vec<String> {
        let mut args = Forwarded::default();
        if let Some(path) = &self.manifest_path {
            args.each("--manifest-path", &[path.to_string()]);
        }
        args.flag("--locked", self.locked);
        args.flag("--offline", self.offline);
        args.flag("--frozen", self.frozen);
        args.each("--config", &self.config);
        args.0
    }

    /// Whether the network may not be used.
    pub fn is_offline(&self) -> bool {
        self.offline || self.frozen
    }
}

#[derive(Default)]
struct Forwarded(Vec<String>);

impl Forwarded {
    fn flag(&mut self, name: &str, given: bool) {
        if given {
            self.0.push(name.to_owned());
        }
    }

    fn each(&mut self, name: &str, values: impl IntoIterator<Item = impl AsRef<str>>) {
        for value in values {
            self.0.extend([name.to_owned(), value.as_ref().to_owned()]);
        }
    }
}
