//! From sources to test binaries: `cargo test --no-run` with this binary as the compiler's wrapper.
mod c_library;
pub mod compiled;
pub mod dep_info;
pub mod fingerprint;
mod mentions;
mod panic_handler;
pub mod project;
pub mod scope;
pub mod sources;
pub mod sysroot;
pub mod toolchain;
pub mod wrapper;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Artifact, Message, PackageId, TargetKind};
use fs_err as fs;

use crate::cli::CargoOpts;
use crate::error::{ExpectedError, Result};
use crate::recently_used;
use crate::run::interrupt;
use compiled::{Compiled, Product};
use project::Project;
use sources::Sources;
use sysroot::Sysroot;
use toolchain::Toolchain;
use wrapper::{Instructions, Instrument};

/// How many build directories (of other toolchains, versions, modes) are kept beside the current one.
const KEPT_BUILDS: usize = 3;

/// The variable that says where dynamic libraries are.
pub const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else if cfg!(windows) {
    "PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// One test binary and the surroundings `cargo test` would give it.
#[derive(Debug)]
pub struct TestBinary {
    pub package: String,
    /// `lib`, `bin/NAME`, `example/NAME`, `bench/NAME`, or the name of an integration test (`test/lib` if that is `lib`).
    pub target: String,
    pub executable: Utf8PathBuf,
    /// The folder of the package: working directory of its tests, base of its source paths.
    pub package_dir: Utf8PathBuf,
    pub env: Vec<(String, String)>,
}

#[cfg(test)]
impl TestBinary {
    /// That of a target of the package `bank`.
    pub fn example(target: &str) -> Self {
        Self {
            package: "bank".to_owned(),
            target: target.to_owned(),
            executable: format!("{target}-1").into(),
            package_dir: ".".into(),
            env: Vec::new(),
        }
    }
}

impl TestBinary {
    /// What people call it: `PACKAGE::TARGET`.
    pub fn name(&self) -> String {
        format!("{}::{}", self.package, self.target)
    }
}

/// What came out of a build, and what went into it.
#[derive(Debug)]
pub struct Build {
    pub binaries: Vec<TestBinary>,
    /// Crates that keep the real std.
    pub skip: Vec<String>,
    /// Whether memory accesses can be seen.
    pub races: bool,
    pub origin: Origin,
}

/// Where test binaries come from.
#[derive(Debug)]
pub enum Origin {
    /// They were built now.
    Compiled(Compiled),
    /// They are out of an archive, which knows their sources.
    Packed(Result<Sources, String>),
}

impl Build {
    /// The sources of the binaries, or why they are not certain. A file that changes while it is compiled may have been
    /// read before or after.
    pub fn sources(&self, root: &Utf8Path) -> Result<Sources, String> {
        let compiled = match &self.origin {
            Origin::Compiled(compiled) => compiled,
            Origin::Packed(sources) => return sources.clone(),
        };
        let read = || {
            let sources = Sources::read(root, &self.package_dirs(), &self.files_read())?;
            let changed = sources.changed_since(root, compiled.started)?.map(Utf8Path::to_owned);
            Ok::<_, ExpectedError>((sources, changed, compiled.doubt()?))
        };
        match read() {
            Ok((sources, None, None)) => Ok(sources),
            Ok((_, None, Some(doubt))) => Err(doubt),
            Ok((_, Some(path), _)) => {
                Err(format!("{path} was changed while the tests were built: run it again"))
            }
            Err(error) => Err(format!("the sources cannot be read: {error}")),
        }
    }

    /// Folders of the packages that have their sources here.
    pub fn package_dirs(&self) -> Vec<Utf8PathBuf> {
        let Origin::Compiled(compiled) = &self.origin else { return Vec::new() };
        let dirs: BTreeSet<_> = compiled.products.iter().map(|product| product.package_dir.clone()).collect();
        dirs.into_iter().collect()
    }

    /// Files that the compiler read for those packages.
    pub fn files_read(&self) -> Vec<Utf8PathBuf> {
        match &self.origin {
            Origin::Compiled(compiled) => compiled.files_read(),
            Origin::Packed(_) => Vec::new(),
        }
    }
}

/// Builds all selected tests. Cargo's own output goes to stderr unchanged.
pub fn build(
    toolchain: &Toolchain,
    project: &Project,
    cargo: &CargoOpts,
    skip: &[String],
    races: bool,
) -> Result<Build> {
    let started = SystemTime::now();
    let sysroot = sysroot::prepare(toolchain, cargo.is_offline(), cargo.quiet)?;
    let instrument = Instrument::wanted(races);
    let skip = project.skipped_crates(skip);
    let inner = toolchain.rustc_wrapper.clone();
    let mut instructions = Instructions {
        sysroot: sysroot.dir.clone(),
        instrument,
        skip: skip.clone(),
        c_library: false,
        inner,
    };
    instructions.c_library = c_library::is_wanted(toolchain, project, cargo, &instructions)?;
    let target_dir = build_dir(project, &sysroot, &instructions)?;

    let mut command = toolchain.cargo();
    command
        .args([
            "test",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
            "--target",
            toolchain.host(),
        ])
        .arg("--target-dir")
        .arg(&target_dir)
        .args(cargo.build_args())
        // After those of the user: of several, the last one counts.
        .args(without_build_dir(&target_dir, here().as_deref()))
        .args(cargo.without_lto())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    instructions.apply(&mut command)?;

    let mut child =
        command.spawn().map_err(|source| ExpectedError::Start { program: toolchain.cargo_name(), source })?;
    let messages = child.stdout.take().map(BufReader::new);
    let products = interrupt::ends(&mut child, || Products::read(messages))?;
    let status = child.wait()?;
    // Also of a build that failed: what it has compiled is fresh in the next one.
    let (root, target) = (project.root().to_owned(), target_dir);
    let compiled = Compiled { root, target, products: products.local.clone(), started };
    let noted = compiled.note();
    if interrupt::is_requested() {
        return Err(ExpectedError::Interrupted);
    }
    if !status.success() {
        return Err(ExpectedError::BuildFailed);
    }
    noted?;
    let binaries = products.into_binaries(project, toolchain);
    Ok(Build { binaries, skip, races, origin: Origin::Compiled(compiled) })
}

/// The flag by which cargo keeps also what it makes on the way below a directory. That may go elsewhere otherwise
/// (`build.build-dir`), where cargo would take products of other wrappers and other flags for ours, and ours for others.
/// `here` is where cargo is started.
fn without_build_dir(dir: &Utf8Path, here: Option<&Utf8Path>) -> Vec<String> {
    let has_braces = |path: &Utf8Path| path.as_str().contains(['{', '}']);
    // Braces stand for variables there; most paths can be written without those that lead to the project.
    let seen_from_here = || here.map(|here| sources::relative(here, dir));
    let path = Some(dir.to_owned()).filter(|path| !has_braces(path)).or_else(seen_from_here);
    let Some(path) = path.filter(|path| !has_braces(path)) else { return Vec::new() };
    vec!["--config".to_owned(), format!("build.build-dir={}", toml::Value::String(path.into_string()))]
}

/// Where this command was started, and cargo is.
fn here() -> Option<Utf8PathBuf> {
    Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?).ok()
}

/// Our own directory below the target directory; another one whenever old products would not fit.
fn build_dir(project: &Project, sysroot: &Sysroot, instructions: &Instructions) -> Result<Utf8PathBuf> {
    let mut hasher = DefaultHasher::new();
    (&sysroot.id, &instructions.skip, instructions.c_library).hash(&mut hasher);
    let builds = project.output_dir.join("build");
    let dir = builds.join(format!("{}-{:016x}", instructions.instrument.name(), hasher.finish()));
    fs::create_dir_all(&dir).map_err(|error| {
        ExpectedError::BadSetup(format!(
            "cannot write to the target directory: {error}\nUse --target-dir to name another one."
        ))
    })?;
    recently_used::mark(&dir)?;
    recently_used::remove_others(&builds, &dir, KEPT_BUILDS);
    Ok(dir)
}

/// What cargo says it made.
#[derive(Default)]
struct Products {
    tests: Vec<Artifact>,
    /// What was made of packages that have their sources here.
    local: Vec<Product>,
    /// Binaries that integration tests may start.
    programs: Vec<(PackageId, String, Utf8PathBuf)>,
    out_dirs: BTreeMap<PackageId, Utf8PathBuf>,
    linked_paths: Vec<Utf8PathBuf>,
}

impl Products {
    fn read(pipe: Option<impl BufRead>) -> Result<Self> {
        let mut products = Self::default();
        for message in pipe.into_iter().flat_map(Message::parse_stream) {
            products.take(message?);
        }
        Ok(products)
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::CompilerArtifact(artifact) => {
                // Other packages come from registries and repositories, which the lock file pins.
                if artifact.package_id.repr.contains("path+file:") {
                    self.local.push(Product {
                        package_dir: folder_of(&artifact.manifest_path).to_owned(),
                        files: artifact.filenames.clone(),
                        fresh: artifact.fresh,
                    });
                }
                match &artifact.executable {
                    Some(_) if artifact.profile.test => self.tests.push(artifact),
                    Some(path) => {
                        self.programs.push((artifact.package_id, artifact.target.name, path.clone()));
                    }
                    None => {}
                }
            }
            Message::BuildScriptExecuted(script) => {
                let plain = |path: &Utf8PathBuf| {
                    let path = path.as_str();
                    Utf8PathBuf::from(path.split_once('=').map_or(path, |(_, path)| path))
                };
                self.linked_paths.extend(script.linked_paths.iter().map(plain));
                self.out_dirs.insert(script.package_id, script.out_dir);
            }
            _ => {}
        }
    }

    fn into_binaries(self, project: &Project, toolchain: &Toolchain) -> Vec<TestBinary> {
        let of_toolchain = toolchain.libraries();
        let mut binaries: Vec<TestBinary> = Vec::new();
        for artifact in &self.tests {
            let Some(executable) = artifact.executable.clone() else {
                continue;
            };
            let package_dir = folder_of(&artifact.manifest_path).to_owned();
            binaries.push(TestBinary {
                package: project.package_name(&artifact.package_id),
                target: target_name(&artifact.target),
                env: self.env_of(artifact, &executable, project, toolchain, of_toolchain.as_deref()),
                executable,
                package_dir,
            });
        }
        binaries.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
        binaries
    }

    /// The environment of a test binary, as `cargo test` sets it.
    fn env_of(
        &self,
        artifact: &Artifact,
        executable: &Utf8Path,
        project: &Project,
        toolchain: &Toolchain,
        of_toolchain: Option<&Utf8Path>,
    ) -> Vec<(String, String)> {
        let mut env = project.package_env(&artifact.package_id);
        env.extend(
            toolchain.env.iter().map(|(name, value)| (name.clone(), value.to_string_lossy().into_owned())),
        );
        if let Some(dir) = self.out_dirs.get(&artifact.package_id) {
            env.push(("OUT_DIR".to_owned(), dir.to_string()));
        }
        for (package, name, path) in &self.programs {
            if *package == artifact.package_id {
                env.push((format!("CARGO_BIN_EXE_{name}"), path.to_string()));
            }
        }
        let deps = executable.parent().map(Utf8Path::to_owned);
        let before = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
        let of_toolchain = of_toolchain.map(Utf8Path::to_owned);
        let paths = self.linked_paths.iter().cloned().chain(deps).chain(of_toolchain);
        let paths = paths.map(Utf8PathBuf::into_std_path_buf);
        if let Ok(paths) = std::env::join_paths(paths.chain(std::env::split_paths(&before))) {
            env.push((LIBRARY_PATH.to_owned(), paths.to_string_lossy().into_owned()));
        }
        env
    }
}

fn folder_of(manifest: &Utf8Path) -> &Utf8Path {
    manifest.parent().unwrap_or(Utf8Path::new(""))
}

fn target_name(target: &cargo_metadata::Target) -> String {
    let name = &target.name;
    match target.kind.first() {
        Some(TargetKind::Bin) => format!("bin/{name}"),
        Some(TargetKind::Example) => format!("example/{name}"),
        Some(TargetKind::Bench) => format!("bench/{name}"),
        // A file tests/lib.rs must not be taken for the library.
        Some(TargetKind::Test) if name == "lib" => format!("test/{name}"),
        Some(TargetKind::Test) => name.clone(),
        _ => "lib".to_owned(),
    }
}

/// The cargo flags that select one target by the name we gave it.
pub fn target_args(target: &str) -> Vec<String> {
    let (kind, name) = target.split_once('/').unwrap_or(("test", target));
    match (kind, name) {
        ("test", "lib") if !target.contains('/') => vec!["--lib".to_owned()],
        (kind, name) => vec![format!("--{kind}"), name.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_paths_are_no_variables_of_cargo() {
        let flags = |dir: &str, here: &str| without_build_dir(Utf8Path::new(dir), Some(Utf8Path::new(here)));
        assert_eq!(flags("/a b/t", "/a b"), ["--config", "build.build-dir=\"/a b/t\""]);
        assert_eq!(flags("/{a}/t/x", "/{a}/src"), ["--config", "build.build-dir=\"../t/x\""]);
        assert_eq!(flags("/{a}/t", "/b"), Vec::<String>::new());
    }
}
