//! The sources that test binaries were made of, by name and contents.
//!
//! These are, for every package that has its sources here (members of the workspace and packages named by path): its
//! manifest, all `*.rs` files below its folder, and whatever else the compiler read (`include_str!`); besides,
//! `Cargo.lock`, which pins everything that comes from elsewhere, and `.cargo/config.toml`. A new package can only
//! come in through a manifest or the lock file. What a build script reads is not known, nor are variables of the
//! environment.
//!
//! Paths are relative to the workspace, so that every checkout has the same.
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::fingerprint;
use crate::error::Result;

/// Files that need not be there.
const OF_THE_WORKSPACE: [&str; 4] = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", ".cargo/config"];
/// Written by builds.
const LOCK_FILE: &str = "Cargo.lock";

/// Files and the fingerprints of their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// Of all that follows.
    pub fingerprint: String,
    /// Folders of packages, relative to the workspace.
    packages: BTreeSet<Utf8PathBuf>,
    files: BTreeMap<Utf8PathBuf, String>,
}

/// How files differ from what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    Changed(Utf8PathBuf),
    Missing(Utf8PathBuf),
    New(Utf8PathBuf),
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed(path) => write!(f, "{path} has changed"),
            Self::Missing(path) => write!(f, "{path} is missing"),
            Self::New(path) => write!(f, "{path} is new"),
        }
    }
}

impl Sources {
    /// The sources of packages in the workspace at `root`, and other files that were read.
    pub fn read(root: &Utf8Path, packages: &[Utf8PathBuf], others: &[Utf8PathBuf]) -> Result<Self> {
        let packages = packages.iter().map(|dir| relative(root, dir)).collect();
        let others = others.iter().map(|path| relative(root, path));
        Self::gather(root, packages, others.collect())
    }

    fn gather(
        root: &Utf8Path,
        packages: BTreeSet<Utf8PathBuf>,
        mut paths: BTreeSet<Utf8PathBuf>,
    ) -> Result<Self> {
        paths.extend(OF_THE_WORKSPACE.map(Utf8PathBuf::from));
        for package in &packages {
            walk(root, package, &mut paths)?;
        }
        let mut files = BTreeMap::new();
        for path in paths {
            let place = root.join(&path);
            if place.is_file() {
                files.insert(path, fingerprint::of_file(&place)?);
            }
        }
        let fingerprint = Self::summed_up(&packages, &files);
        Ok(Self { fingerprint, packages, files })
    }

    /// A line for each name and each file; neither can contain the end of a line.
    fn summed_up(packages: &BTreeSet<Utf8PathBuf>, files: &BTreeMap<Utf8PathBuf, String>) -> String {
        let packages = packages.iter().map(|path| format!("package {path}\n"));
        let files = files.iter().map(|(path, print)| format!("{print} {path}\n"));
        fingerprint::of_bytes(packages.chain(files).collect::<String>().as_bytes())
    }

    /// How the workspace at `root` differs now.
    pub fn differences(&self, root: &Utf8Path) -> Result<Vec<Difference>> {
        let now = Self::gather(root, self.packages.clone(), self.files.keys().cloned().collect())?;
        let was = self.files.iter().filter_map(|(path, print)| match now.files.get(path) {
            None => Some(Difference::Missing(path.clone())),
            Some(found) => (found != print).then(|| Difference::Changed(path.clone())),
        });
        let new =
            now.files.keys().filter(|path| !self.files.contains_key(*path)).cloned().map(Difference::New);
        Ok(was.chain(new).collect())
    }

    /// The first file that was changed at or after a time.
    pub fn changed_since(&self, root: &Utf8Path, time: SystemTime) -> Result<Option<&Utf8Path>> {
        for path in self.files.keys().filter(|path| path.as_str() != LOCK_FILE) {
            if fs::metadata(root.join(path))?.modified()? >= time {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The paths of all files, relative to the workspace.
    pub fn paths(&self) -> impl Iterator<Item = &Utf8Path> {
        self.files.keys().map(Utf8PathBuf::as_path)
    }
}

/// Finds the sources below a package's folder, but not those of other packages in it.
fn walk(root: &Utf8Path, dir: &Utf8Path, paths: &mut BTreeSet<Utf8PathBuf>) -> Result<()> {
    let place = root.join(dir);
    if !place.is_dir() {
        return Ok(());
    }
    for entry in place.read_dir_utf8()? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), join(dir, entry.file_name()));
        if entry.file_type()?.is_dir() {
            let inside = |file: &str| entry.path().join(file).exists();
            let is_other = name.starts_with('.') || inside("Cargo.toml") || inside("CACHEDIR.TAG");
            if !is_other && name != "target" {
                walk(root, &path, paths)?;
            }
        } else if name == "Cargo.toml" || path.extension() == Some("rs") {
            paths.insert(path);
        }
    }
    Ok(())
}

/// `./a` and `a` are the same file.
fn join(dir: &Utf8Path, name: &str) -> Utf8PathBuf {
    if dir == Utf8Path::new(".") { name.into() } else { dir.join(name) }
}

/// A path as seen from `root`, with `..` where it lies elsewhere.
pub fn relative(root: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    let path = root.join(path);
    let (from, to): (Vec<_>, Vec<_>) = (root.components().collect(), plain(&path));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| Utf8Component::ParentDir);
    let relative: Utf8PathBuf = up.chain(to[common..].iter().copied()).collect();
    if relative.as_str().is_empty() { ".".into() } else { relative }
}

/// The parts of a path without `.` and `..`.
fn plain(path: &Utf8Path) -> Vec<Utf8Component<'_>> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Checkout(tempfile::TempDir);

    impl Checkout {
        fn new() -> Self {
            let checkout = Self(tempfile::tempdir().unwrap());
            for (path, text) in [
                ("ws/Cargo.toml", "[workspace]"),
                ("ws/Cargo.lock", "locked"),
                ("ws/.cargo/config.toml", "[build]"),
                ("ws/a/Cargo.toml", "[package]"),
                ("ws/a/src/lib.rs", "fn a() {}"),
                ("ws/a/build.rs", "fn main() {}"),
                ("ws/a/data.txt", "included"),
                ("ws/a/notes.txt", "read by nobody"),
                ("ws/a/inner/Cargo.toml", "another package"),
                ("ws/a/inner/src/lib.rs", "fn inner() {}"),
                ("ws/a/target/made.rs", "generated"),
                ("ws/a/.hidden/x.rs", "hidden"),
                ("ws/a/built/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"),
                ("ws/a/built/unpacked.rs", "a copy"),
                ("beside/Cargo.toml", "[package]"),
                ("beside/src/lib.rs", "fn beside() {}"),
            ] {
                checkout.write(path, text);
            }
            checkout
        }

        fn path(&self, path: &str) -> Utf8PathBuf {
            Utf8Path::from_path(self.0.path()).unwrap().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            fs::write(self.path(path), text).unwrap();
        }

        fn sources(&self) -> Sources {
            let packages = [self.path("ws/a"), self.path("ws/../beside")];
            Sources::read(&self.path("ws"), &packages, &[self.path("ws/a/data.txt")]).unwrap()
        }

        fn differences(&self, since: &Sources) -> Vec<String> {
            let differences = since.differences(&self.path("ws")).unwrap();
            differences.iter().map(ToString::to_string).collect()
        }
    }

    #[test]
    fn what_belongs_to_the_packages_is_found() {
        let sources = Checkout::new().sources();
        let paths: Vec<&str> = sources.paths().map(Utf8Path::as_str).collect();
        assert_eq!(
            paths,
            [
                "../beside/Cargo.toml",
                "../beside/src/lib.rs",
                ".cargo/config.toml",
                "Cargo.lock",
                "Cargo.toml",
                "a/Cargo.toml",
                "a/build.rs",
                "a/data.txt",
                "a/src/lib.rs",
            ]
        );
    }

    #[test]
    fn every_checkout_has_the_same_fingerprint() {
        assert_eq!(Checkout::new().sources(), Checkout::new().sources());
    }

    #[test]
    fn every_change_is_named() {
        type Change = fn(&Checkout);
        let cases: [(Change, &str); 7] = [
            (|c| c.write("ws/a/src/lib.rs", "fn a() { }"), "a/src/lib.rs has changed"),
            (|c| c.write("ws/Cargo.lock", "other"), "Cargo.lock has changed"),
            (|c| c.write("ws/a/data.txt", "Included"), "a/data.txt has changed"),
            (|c| c.write("beside/src/lib.rs", ""), "../beside/src/lib.rs has changed"),
            (|c| c.write("ws/a/src/new.rs", ""), "a/src/new.rs is new"),
            (|c| fs::remove_file(c.path("ws/a/build.rs")).unwrap(), "a/build.rs is missing"),
            (|c| fs::remove_dir_all(c.path("beside")).unwrap(), "../beside/Cargo.toml is missing"),
        ];
        for (change, expected) in cases {
            let checkout = Checkout::new();
            let before = checkout.sources();
            assert_eq!(checkout.differences(&before), Vec::<String>::new());
            change(&checkout);
            assert_eq!(checkout.differences(&before)[0], expected);
            assert_ne!(checkout.sources().fingerprint, before.fingerprint, "{expected}");
        }
    }

    #[test]
    fn what_does_not_matter_changes_nothing() {
        let checkout = Checkout::new();
        let before = checkout.sources();
        for path in ["ws/a/notes.txt", "ws/a/target/more.rs", "ws/a/inner/src/lib.rs", "ws/README.md"] {
            checkout.write(path, "something else");
        }
        assert_eq!(checkout.differences(&before), Vec::<String>::new());
        assert_eq!(checkout.sources(), before);
    }

    #[test]
    fn a_file_that_was_changed_during_a_build_is_found() {
        let checkout = Checkout::new();
        let root = checkout.path("ws");
        let hour = std::time::Duration::from_secs(3600);
        let sources = checkout.sources();
        assert_eq!(sources.changed_since(&root, SystemTime::now() + hour).unwrap(), None);
        assert!(sources.changed_since(&root, SystemTime::now() - hour).unwrap().is_some());
    }
}
