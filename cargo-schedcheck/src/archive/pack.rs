//! `cargo schedcheck archive`: builds the tests and packs them.
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;

use super::{MANIFEST, Manifest, Packed, VERSION, Value, WORKSPACE};
use crate::build::sources::{Sources, relative};
use crate::build::{Build, LIBRARY_PATH, TestBinary};
use crate::cli::{ArchiveArgs, ExploreOpts};
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::paths::make_room_for;
use crate::regressions::saved;
use crate::reports::say;
use crate::run::session::{Session, discover};
use crate::whole_file;

/// Builds and packs.
pub fn archive(args: &ArchiveArgs) -> Result<ExitCode> {
    make_room_for(&args.file)?;
    let explore = ExploreOpts { races: args.races, ..ExploreOpts::default() };
    let session = Session::open(&args.cargo, &args.config, &explore)?;
    let build = session.build(&args.cargo)?;
    let discovered = discover(&build.binaries)?;
    discovered.mention_skipped(args.cargo.quiet);
    let root = session.project.root();
    let mut content = Content::new(root, &build);
    let binaries = build.binaries.iter().map(|binary| content.binary(binary)).collect();
    let libraries = content.libraries(&build, &session.project.output_dir)?;
    content.sources(&build)?;
    let target = session.project.output_dir.parent();
    let left_out = [Some(args.file.as_path()), target].into_iter().flatten();
    let left_out: Vec<_> = left_out.filter_map(|path| fs::canonicalize(path).ok()).collect();
    for path in &args.include {
        content.included(path, &left_out)?;
    }
    let manifest = Manifest {
        version: VERSION,
        tool: session.tool(),
        cargo_args: args.cargo.variant_args(),
        rustflags: session.rustflags()?,
        races: build.races,
        skip: build.skip.clone(),
        libraries,
        binaries,
        sources: build.sources(root),
    };
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?;
    whole_file::write(&args.file, |file| content.write(&text, file))?;
    if !args.cargo.quiet {
        let size = fs::metadata(&args.file)?.len() as f64 / f64::from(1 << 20);
        let count = build.binaries.len();
        say(&format!("note: packed {count} test binaries into {} ({size:.1} MiB)", args.file));
    }
    Ok(ExitCode::Passed)
}

/// The files that go into an archive, by their places in it.
struct Content<'a> {
    root: &'a Utf8Path,
    package_dirs: Vec<Utf8PathBuf>,
    files: BTreeMap<Utf8PathBuf, Utf8PathBuf>,
}

impl<'a> Content<'a> {
    fn new(root: &'a Utf8Path, build: &Build) -> Self {
        Self { root, package_dirs: build.package_dirs(), files: BTreeMap::new() }
    }

    /// Where a file of a package goes; nowhere if it belongs to none.
    fn place(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        let below = |dir: &Utf8Path, name: &str| {
            let rest = path.strip_prefix(dir).ok()?;
            Some(if rest.as_str().is_empty() { name.into() } else { Utf8Path::new(name).join(rest) })
        };
        let packages = self.package_dirs.iter().enumerate();
        let mut others = packages.filter_map(|(number, dir)| below(dir, &format!("packages/{number}")));
        below(self.root, WORKSPACE).or_else(|| others.next())
    }

    fn add(&mut self, place: Utf8PathBuf, file: Utf8PathBuf) -> Utf8PathBuf {
        self.files.insert(place.clone(), file);
        place
    }

    fn binary(&mut self, binary: &TestBinary) -> Packed {
        let name = binary.executable.file_name().unwrap_or_default();
        let executable = self.add(Utf8Path::new("binaries").join(name), binary.executable.clone());
        let package_dir = self.place(&binary.package_dir).unwrap_or_else(|| WORKSPACE.into());
        let env = binary.env.iter().filter(|(name, _)| name != LIBRARY_PATH);
        let env = env.map(|(name, value)| (name.clone(), self.value(&binary.package, name, value))).collect();
        Packed {
            package: binary.package.clone(),
            target: binary.target.clone(),
            executable,
            package_dir,
            env,
        }
    }

    fn value(&mut self, package: &str, name: &str, value: &str) -> Value {
        let path = Utf8Path::new(value);
        if name.starts_with("CARGO_BIN_EXE_") {
            let place = Utf8Path::new("programs").join(package).join(path.file_name().unwrap_or_default());
            return Value::Path(self.add(place, path.to_owned()));
        }
        if name == "OUT_DIR" {
            let place = Utf8Path::new("out").join(package);
            return Value::Path(self.add(place, path.to_owned()));
        }
        match self.place(path) {
            Some(place) if path.is_absolute() => Value::Path(place),
            _ => Value::Text(value.to_owned()),
        }
    }

    /// Dynamic libraries that were made by builds below `made`; the machine has the others.
    fn libraries(&mut self, build: &Build, made: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
        let paths = build.binaries.iter().flat_map(|binary| &binary.env);
        let paths = paths.filter(|(name, _)| name == LIBRARY_PATH);
        let dirs: BTreeSet<_> = paths.flat_map(|(_, value)| std::env::split_paths(value)).collect();
        let dirs = dirs.into_iter().filter_map(|dir| Utf8PathBuf::from_path_buf(dir).ok());
        let mut places = Vec::new();
        for (number, dir) in dirs.filter(|dir| dir.starts_with(made) && dir.is_dir()).enumerate() {
            let place = Utf8Path::new("libraries").join(number.to_string());
            let before = self.files.len();
            for entry in dir.read_dir_utf8()? {
                let entry = entry?;
                if is_library(entry.file_name()) && entry.path().is_file() {
                    self.add(place.join(entry.file_name()), entry.into_path());
                }
            }
            places.extend((self.files.len() > before).then_some(place));
        }
        Ok(places)
    }

    /// What messages quote, the config file, and kept failures.
    fn sources(&mut self, build: &Build) -> Result<()> {
        let mut paths = Vec::new();
        let sources = Sources::read(self.root, &build.package_dirs(), &build.files_read())?;
        paths.extend(sources.paths().map(|path| self.root.join(path)));
        paths.push(self.root.join(".config/schedcheck.toml"));
        for binary in &build.binaries {
            paths.extend(saved::load(&binary.package_dir)?.into_iter().map(|saved| saved.path));
        }
        let dirs: Vec<_> = [self.root.to_owned()].into_iter().chain(self.package_dirs.clone()).collect();
        for path in paths.into_iter().filter(|path| path.is_file()) {
            // Without `..`, which must not be in a name. Files outside of all packages are needed by nobody.
            let plain = |dir: &Utf8PathBuf| {
                let rest = relative(dir, &path);
                (!rest.starts_with("..")).then(|| dir.join(rest))
            };
            if let Some(path) = dirs.iter().find_map(plain)
                && let Some(place) = self.place(&path)
            {
                self.add(place, path);
            }
        }
        Ok(())
    }

    /// A file or folder that the user names, without what is to be left out of it. What is in a folder is looked up before
    /// the archive is begun, which may be among it.
    fn included(&mut self, path: &Utf8Path, left_out: &[PathBuf]) -> Result<()> {
        let refuse = |reason: &str| Err(ExpectedError::BadSetup(format!("--include {path}: {reason}")));
        let Ok(found) = fs::canonicalize(self.root.join(path)) else {
            return refuse("there is no such file or folder in the workspace");
        };
        match Utf8PathBuf::from_path_buf(found).ok().and_then(|found| Some((self.place(&found)?, found))) {
            Some((place, found)) => self.all_of(place, found, left_out),
            None => refuse("it is not in the workspace"),
        }
    }

    fn all_of(&mut self, place: Utf8PathBuf, path: Utf8PathBuf, left_out: &[PathBuf]) -> Result<()> {
        if !path.is_dir() {
            self.add(place, path);
            return Ok(());
        }
        for entry in path.read_dir_utf8()? {
            let entry = entry?;
            if !left_out.iter().any(|path| path == entry.path()) {
                self.all_of(place.join(entry.file_name()), entry.into_path(), left_out)?;
            }
        }
        Ok(())
    }

    fn write(&self, manifest: &[u8], file: &mut dyn Write) -> io::Result<()> {
        let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        tar.mode(tar::HeaderMode::Deterministic);
        let mut header = tar::Header::new_gnu();
        header.set_size(manifest.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, MANIFEST, manifest)?;
        // Test binaries are started in their package's folder.
        for dir in self.package_dirs.iter().filter_map(|dir| self.place(dir)) {
            tar.append_dir(dir, self.root)?;
        }
        let mut done = BTreeSet::new();
        for (place, path) in &self.files {
            append(&mut tar, place, path, &mut done)?;
        }
        tar.into_inner()?.finish()?;
        Ok(())
    }
}

/// A file, or a folder with all that is in it, in the order of names. No place is filled twice.
fn append(
    tar: &mut tar::Builder<impl Write>,
    place: &Utf8Path,
    path: &Utf8Path,
    done: &mut BTreeSet<Utf8PathBuf>,
) -> io::Result<()> {
    if path.is_dir() {
        let entries = path.read_dir_utf8()?.map(|entry| Ok(entry?.file_name().to_owned()));
        let mut names = entries.collect::<io::Result<Vec<String>>>()?;
        names.sort();
        return names.iter().try_for_each(|name| append(tar, &place.join(name), &path.join(name), done));
    }
    // Sockets and links that lead nowhere are not needed by anyone.
    if path.is_file() && done.insert(place.to_owned()) {
        tar.append_path_with_name(path, place)?;
    }
    Ok(())
}

/// `libx.so`, `libx.so.1`, `libx.dylib`, `x.dll`.
fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib") || name.ends_with(".dll")
}
