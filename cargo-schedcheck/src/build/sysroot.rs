//! The engine's own small sysroot: built once per toolchain and version from sources inside this binary.
//!
//! A finished sysroot is a folder `KEY/` with a `manifest` and the libraries; it appears by one rename, so a reader sees
//! all of it or nothing. Builders exclude each other with a lock file; what a killed one leaves behind is removed by the next.
use std::fs::TryLockError;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use schedcheck_rt::sources::{Dir, ENGINE, SYSROOT};

use super::toolchain::Toolchain;
use crate::error::{ExpectedError, Result};
use crate::paths::absolute;
use crate::recently_used;
use crate::reports::progress::Spinner;
use crate::run::interrupt;

/// Engines that nobody has used for so long belong to compilers that are gone.
const KEPT_UNUSED: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The facade crates, in the order of the manifest.
const FACADES: [&str; 3] = ["std", "core", "schedcheck_test"];

/// A finished sysroot.
#[derive(Debug)]
pub struct Sysroot {
    /// Its folder.
    pub dir: Utf8PathBuf,
    /// Changes whenever crates compiled against it must be compiled again.
    pub id: String,
}

/// What the wrapper needs of a sysroot.
#[derive(Debug, PartialEq, Eq)]
pub struct Manifest {
    id: String,
    pub std: Utf8PathBuf,
    pub core: Utf8PathBuf,
    pub test: Utf8PathBuf,
    /// The folder with all libraries.
    pub lib: Utf8PathBuf,
    /// Their names and sizes.
    libraries: Vec<(String, u64)>,
}

impl Manifest {
    /// Reads the manifest in a sysroot's folder; `None` when there is none or it is not ours.
    pub fn read(dir: &Utf8Path) -> Option<Self> {
        let text = fs::read_to_string(dir.join("manifest")).ok()?;
        let lib = dir.join("lib");
        let mut lines = text.lines();
        let id = lines.next()?.to_owned();
        let mut facade = || Some(lib.join(lines.next()?));
        let (std, core, test) = (facade()?, facade()?, facade()?);
        let sized = |line: &str| {
            let (size, name) = line.split_once(' ')?;
            Some((name.to_owned(), size.parse().ok()?))
        };
        let libraries = lines.map(sized).collect::<Option<Vec<_>>>()?;
        Some(Self { id, std, core, test, lib, libraries })
    }

    /// The same, if all libraries are there as they were built. The cache may lie on a disk that was full, or be cleared
    /// by somebody file by file; the compiler would tell of it in dozens of errors.
    fn read_whole(dir: &Utf8Path) -> Option<Self> {
        let manifest = Self::read(dir)?;
        let is_whole = |(name, size): &(String, u64)| {
            fs::metadata(manifest.lib.join(name)).is_ok_and(|file| file.len() == *size)
        };
        (!manifest.libraries.is_empty() && manifest.libraries.iter().all(is_whole)).then_some(manifest)
    }
}

/// The sysroot for this toolchain, built now if there is none yet.
pub fn prepare(toolchain: &Toolchain, offline: bool, quiet: bool) -> Result<Sysroot> {
    let root = engines_dir()?;
    let key = key(toolchain);
    let dir = root.join(&key);
    if let Some(manifest) = Manifest::read_whole(&dir) {
        // The cache may be one that is only read.
        let _ = recently_used::mark(&dir);
        return Ok(Sysroot { dir, id: manifest.id });
    }
    fs::create_dir_all(&root)?;
    let _lock = lock(&root, quiet)?;
    // Another command may have built it while this one waited.
    if let Some(manifest) = Manifest::read_whole(&dir) {
        return Ok(Sysroot { dir, id: manifest.id });
    }
    remove_leftovers(&root)?;
    recently_used::remove_unused_for(&root, KEPT_UNUSED);
    // The same path every time: cargo derives crate identities from it, so a rebuilt engine fits what was built with it.
    let work = root.join(format!(".building-{key}"));
    build(toolchain, &work, offline, quiet)?;
    collect(&work, toolchain.host())?;
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::rename(work.join("finished"), &dir)?;
    fs::remove_dir_all(&work)?;
    let id = Manifest::read(&dir).ok_or(ExpectedError::EngineIncomplete { name: "manifest" })?.id;
    Ok(Sysroot { dir, id })
}

/// Removes every engine that was ever built.
pub fn clean(quiet: bool) -> Result<()> {
    let root = engines_dir()?;
    if !root.exists() {
        return Ok(());
    }
    let _lock = lock(&root, quiet)?;
    for entry in root.read_dir_utf8()? {
        let entry = entry?;
        // The lock itself stays: somebody may be waiting for it.
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Waits until nobody else builds or removes engines. Dropping the file lets the next one in.
fn lock(root: &Utf8Path, quiet: bool) -> Result<fs::File> {
    let lock = fs::File::create(root.join("lock"))?;
    let mut spinner = None;
    loop {
        match lock.file().try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if interrupt::is_requested() => {
                return Err(ExpectedError::Interrupted);
            }
            Err(TryLockError::WouldBlock) => {
                let what = "for another cargo schedcheck that builds the engine";
                spinner.get_or_insert_with(|| Spinner::start("Waiting", what, quiet));
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
    if let Some(spinner) = spinner {
        spinner.finish();
    }
    Ok(lock)
}

fn engines_dir() -> Result<Utf8PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(std::path::PathBuf::from);
    let cache = set("SCHEDCHECK_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("schedcheck")))
        .or_else(|| Some(set("LOCALAPPDATA")?.join("schedcheck").join("cache")))
        .or_else(|| {
            let home = std::env::home_dir()?;
            let caches = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
            Some(home.join(caches).join("schedcheck"))
        })
        .ok_or(ExpectedError::NoCacheDir)?;
    Ok(absolute(cache)?.join("engines"))
}

fn key(toolchain: &Toolchain) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", toolchain.rustc).hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    for source in [&ENGINE, &SYSROOT] {
        hash_dir(source, &mut hasher);
    }
    format!("{}-{}-{:016x}", env!("CARGO_PKG_VERSION"), toolchain.rustc.semver, hasher.finish())
}

/// What identifies the engine's sources.
pub fn engine_fingerprint() -> String {
    fn list(dir: &Dir<'_>, lines: &mut Vec<String>) {
        lines.extend(dir.files().map(|file| {
            format!("{} {}\n", super::fingerprint::of_bytes(file.contents()), file.path().display())
        }));
        dir.dirs().for_each(|dir| list(dir, lines));
    }
    let mut lines = Vec::new();
    list(&ENGINE, &mut lines);
    list(&SYSROOT, &mut lines);
    lines.sort();
    super::fingerprint::of_bytes(lines.concat().as_bytes())
}

fn hash_dir(dir: &Dir<'_>, hasher: &mut DefaultHasher) {
    for file in dir.files() {
        file.path().hash(hasher);
        file.contents().hash(hasher);
    }
    for dir in dir.dirs() {
        hash_dir(dir, hasher);
    }
}

fn remove_leftovers(root: &Utf8Path) -> Result<()> {
    for entry in root.read_dir_utf8()? {
        let entry = entry?;
        if entry.file_name().starts_with(".building-") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a folder of embedded sources to where `place` wants each, taking the suffix `.in` off the names.
fn extract(source: &Dir<'_>, place: &dyn Fn(&Utf8Path) -> Utf8PathBuf) -> Result<()> {
    for file in source.files() {
        let path = Utf8Path::from_path(file.path())
            .ok_or_else(|| ExpectedError::NotUtf8 { path: file.path().into() })?;
        let path = place(Utf8Path::new(path.as_str().strip_suffix(".in").unwrap_or(path.as_str())));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, file.contents())?;
    }
    source.dirs().try_for_each(|dir| extract(dir, place))
}

fn build(toolchain: &Toolchain, work: &Utf8Path, offline: bool, quiet: bool) -> Result<()> {
    let package = |path: &Utf8Path| if path.starts_with("search") { "search" } else { "schedcheck-engine" };
    extract(&ENGINE, &|path| work.join(package(path)).join("src").join(path))?;
    extract(&SYSROOT, &|path| work.join(path))?;

    let rustc = format!("rustc {}", toolchain.rustc.semver);
    let spinner = Spinner::start("Preparing", &format!("the engine for {rustc} (once per toolchain)"), quiet);
    let mut command = toolchain.cargo();
    scrub(&mut command);
    command
        .args(["build", "--release", "--target", toolchain.host(), "--target-dir"])
        .arg(work.join("target"))
        .args(super::without_build_dir(&work.join("target"), Some(work)))
        .args(offline.then_some("--offline"))
        .current_dir(work)
        // Only these crates may use features that are not stable.
        .env("RUSTC_BOOTSTRAP", "schedcheck_test,std")
        .env("CARGO_ENCODED_RUSTFLAGS", "-Cforce-frame-pointers=yes")
        // Overrides a wrapper in the user's configuration: the engine is never wrapped.
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|source| ExpectedError::Start { program: toolchain.cargo_name(), source })?;
    let lines = child.stderr.take().map(BufReader::new);
    let stderr = interrupt::ends(&mut child, || listen(lines, &spinner))?;
    let status = child.wait()?;
    spinner.finish();
    if status.success() {
        return Ok(());
    }
    if interrupt::is_requested() {
        return Err(ExpectedError::Interrupted);
    }
    Err(ExpectedError::EngineBuild { rustc, stderr, dir: work.to_owned() })
}

/// Shows what cargo does, and keeps it in case it fails.
fn listen(lines: Option<impl BufRead>, spinner: &Spinner) -> Result<String> {
    let mut text = String::new();
    for line in lines.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        spinner.say(line.trim());
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Removes everything from the environment that would make this build differ from anyone else's.
fn scrub(command: &mut Command) {
    // How to reach the registry stays as the user has it.
    const KEEP: [&str; 5] = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_linker = text.starts_with("CARGO_TARGET_") && text.ends_with("_LINKER");
        let of_cargo =
            text.starts_with("CARGO_") && !KEEP.iter().any(|kept| text.starts_with(kept)) && !is_linker;
        let of_rustc = matches!(&*text, "RUSTFLAGS" | "RUSTDOCFLAGS" | "RUSTC_LOG");
        if of_cargo || of_rustc || text.starts_with("SCHEDCHECK_") {
            command.env_remove(&name);
        }
    }
}

/// Gathers the built libraries in `finished/` and describes them in its manifest.
fn collect(work: &Utf8Path, host: &str) -> Result<()> {
    let finished = work.join("finished");
    fs::create_dir_all(finished.join("lib"))?;
    let mut libraries: Vec<String> = Vec::new();
    for entry in work.join("target").join(host).join("release/deps").read_dir_utf8()? {
        let entry = entry?;
        if entry.path().extension() == Some("rlib") {
            libraries.push(entry.file_name().to_owned());
        }
    }
    libraries.sort();
    let mut hasher = DefaultHasher::new();
    for name in &libraries {
        let from = work.join("target").join(host).join("release/deps").join(name);
        fs::read(&from)?.hash(&mut hasher);
        fs::rename(&from, finished.join("lib").join(name))?;
    }
    let mut manifest = format!("{:016x}\n", hasher.finish());
    for name in FACADES {
        let prefix = format!("lib{name}-");
        let library = libraries.iter().find(|library| library.starts_with(&prefix));
        manifest.push_str(library.ok_or(ExpectedError::EngineIncomplete { name })?);
        manifest.push('\n');
    }
    for name in &libraries {
        let size = fs::metadata(finished.join("lib").join(name))?.len();
        manifest.push_str(&format!("{size} {name}\n"));
    }
    fs::write(finished.join("manifest"), manifest)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_without_all_of_its_libraries_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let deps = dir.join("target/host/release/deps");
        fs::create_dir_all(&deps).unwrap();
        for name in FACADES {
            fs::write(deps.join(format!("lib{name}-12ab.rlib")), name).unwrap();
        }
        collect(dir, "host").unwrap();
        let finished = dir.join("finished");
        let manifest = Manifest::read_whole(&finished).unwrap();
        assert_eq!(manifest.core, finished.join("lib/libcore-12ab.rlib"));
        fs::write(&manifest.core, "co").unwrap();
        assert_eq!(Manifest::read_whole(&finished), None, "cut short");
        fs::write(&manifest.core, "core").unwrap();
        assert!(Manifest::read_whole(&finished).is_some());
        fs::remove_file(&manifest.std).unwrap();
        assert_eq!(Manifest::read_whole(&finished), None, "missing");
    }
}
