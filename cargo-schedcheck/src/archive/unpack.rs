//! `--archive FILE`: tests that were built elsewhere.
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use flate2::read::GzDecoder;
use fs_err as fs;

use super::{MANIFEST, Manifest, VERSION, Value, WORKSPACE};
use crate::build::{Build, LIBRARY_PATH, Origin, TestBinary, fingerprint};
use crate::error::{ExpectedError, Result};
use crate::{paths, recently_used};

/// How many unpacked archives are kept beside the current one.
const KEPT: usize = 2;
/// Far beyond any list of tests and sources.
const LARGEST_MANIFEST: u64 = 1 << 28;

/// An archive in its unpacked form.
#[derive(Debug)]
pub struct Archive {
    dir: Utf8PathBuf,
    pub manifest: Manifest,
}

impl Archive {
    /// Unpacks a file below `output_dir`, unless that has been done before. The folder appears by one rename.
    pub fn open(file: &Utf8Path, output_dir: &Utf8Path) -> Result<Self> {
        let refuse = |reason: String| ExpectedError::BadSetup(format!("{file}: {reason}"));
        let print = fingerprint::of_file(file).map_err(|error| ExpectedError::BadSetup(error.to_string()))?;
        let all = output_dir.join("archives");
        let dir = all.join(&print[..16]);
        if !is_whole(&dir) {
            fs::create_dir_all(&all)?;
            // Neither backups nor fingerprints of sources look into folders with this mark.
            fs::write(output_dir.join("CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n")?;
            let work = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(&all)?;
            let damaged = |error: io::Error| {
                refuse(format!("this is not an archive of cargo schedcheck, or it is damaged: {error}"))
            };
            extract(file, work.path()).map_err(damaged)?;
            if !is_whole(&dir) && dir.is_dir() {
                fs::remove_dir_all(&dir)?;
            }
            // Another process may have been faster.
            if fs::rename(work.path(), &dir).is_err() && !dir.is_dir() {
                return Err(refuse(format!("cannot be unpacked into {dir}")));
            }
        }
        let text = fs::read(dir.join(MANIFEST));
        let text = text.map_err(|_| refuse("this is not an archive of cargo schedcheck".to_owned()))?;
        let manifest = Manifest::parse(&text).map_err(refuse)?;
        if let Some(missing) = manifest.missing_in(&dir) {
            return Err(refuse(format!("it is damaged: {missing} is missing")));
        }
        recently_used::mark(&dir)?;
        recently_used::remove_others(&all, &dir, KEPT);
        Ok(Self { dir: paths::absolute(&dir)?, manifest })
    }

    /// The folder of the workspace.
    pub fn root(&self) -> Utf8PathBuf {
        self.dir.join(WORKSPACE)
    }

    /// The binaries with the surroundings that they had.
    pub fn build(&self) -> Build {
        let Manifest { races, skip, sources, .. } = self.manifest.clone();
        let binaries = self.manifest.binaries.iter().map(|packed| TestBinary {
            package: packed.package.clone(),
            target: packed.target.clone(),
            executable: self.dir.join(&packed.executable),
            package_dir: self.dir.join(&packed.package_dir),
            env: packed
                .env
                .iter()
                .map(|(name, value)| (name.clone(), self.value(value)))
                .chain(self.library_path())
                .collect(),
        });
        Build { binaries: binaries.collect(), skip, races, origin: Origin::Packed(sources) }
    }

    fn value(&self, value: &Value) -> String {
        match value {
            Value::Text(text) => text.clone(),
            Value::Path(path) => self.dir.join(path).to_string(),
        }
    }

    fn library_path(&self) -> Option<(String, String)> {
        let before = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
        let own = self.manifest.libraries.iter().map(|dir| self.dir.join(dir).into_std_path_buf());
        let paths = std::env::join_paths(own.chain(std::env::split_paths(&before))).ok()?;
        Some((LIBRARY_PATH.to_owned(), paths.to_string_lossy().into_owned()))
    }
}

impl Manifest {
    fn parse(text: &[u8]) -> Result<Self, String> {
        #[derive(serde::Deserialize)]
        struct Version {
            version: i64,
        }
        let damaged = |error: serde_json::Error| format!("its description cannot be read: {error}");
        let Version { version } = serde_json::from_slice(text).map_err(damaged)?;
        if version != VERSION {
            return Err(format!("version {version} is not known here; this command reads version {VERSION}"));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(damaged)?;
        manifest.fits()?;
        Ok(manifest)
    }

    /// A test binary that is not in the folder where all of them should be.
    fn missing_in(&self, dir: &Utf8Path) -> Option<&Utf8Path> {
        let mut executables = self.binaries.iter().map(|binary| binary.executable.as_path());
        executables.find(|executable| !dir.join(executable).is_file())
    }

    /// An engine is always that of its command, on a machine of its kind.
    fn fits(&self) -> Result<(), String> {
        let was = &self.tool;
        let (schedcheck, engine) = (env!("CARGO_PKG_VERSION"), crate::build::sysroot::engine_fingerprint());
        if was.schedcheck != schedcheck || was.engine != engine {
            return Err(format!(
                "it was packed by cargo schedcheck {} with engine {:.8}; this is {schedcheck} with engine {engine:.8}: \
                 use the same on all machines",
                was.schedcheck, was.engine
            ));
        }
        let machine = std::env::consts::ARCH;
        if was.target.split('-').next() != Some(machine) {
            return Err(format!("its tests are for {}, this machine is {machine}", was.target));
        }
        Ok(())
    }
}

/// Whether nothing needs to be unpacked: somebody may have removed a part of what was. An archive that is not for this
/// command is none the more so for being unpacked again.
fn is_whole(dir: &Utf8Path) -> bool {
    let manifest = fs::read(dir.join(MANIFEST)).map(|text| Manifest::parse(&text));
    manifest.is_ok_and(|manifest| manifest.map_or(true, |manifest| manifest.missing_in(dir).is_none()))
}

fn extract(file: &Utf8Path, to: &std::path::Path) -> io::Result<()> {
    let mut tar = tar::Archive::new(GzDecoder::new(fs::File::open(file)?));
    for (number, entry) in tar.entries()?.enumerate() {
        let mut entry = entry?;
        let is_manifest = &*entry.path_bytes() == MANIFEST.as_bytes();
        if number == 0 && (!is_manifest || entry.size() > LARGEST_MANIFEST) {
            return Err(io::Error::other("it does not begin as one"));
        }
        if !entry.unpack_in(to)? {
            return Err(io::Error::other("it has a file that would lie outside of it"));
        }
    }
    // The checksum is at the end.
    io::copy(&mut tar.into_inner(), &mut io::sink())?;
    Ok(())
}
