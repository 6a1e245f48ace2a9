//! `schedcheck-regressions/` beside a package's manifest: failures that must not come back, replayed first on every run.
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use super::file::ReplayFile;
use super::replay::{Once, Replayed, State};
use crate::build::TestBinary;
use crate::error::Result;
use crate::paths::as_typed;
use crate::reports::event::TestId;
use crate::reports::say;
use crate::run::wire::Outcome;
use crate::whole_file;

/// Beside the manifest of the package, never searched anywhere else.
const FOLDER: &str = "schedcheck-regressions";

/// A failure that was kept.
#[derive(Clone, Debug)]
pub struct Saved {
    pub path: Utf8PathBuf,
    pub file: ReplayFile,
}

/// All that a package has kept, in the order of their names. A file that cannot be read is an error, not a fixed bug.
pub fn load(package_dir: &Utf8Path) -> Result<Vec<Saved>> {
    let folder = package_dir.join(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in folder.read_dir_utf8()? {
        let path = entry?.into_path();
        if path.extension() == Some("toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.into_iter().map(|path| Ok(Saved { file: ReplayFile::load(&path)?, path })).collect()
}

impl Saved {
    /// Whether it is a failure of this test.
    pub fn is_of(&self, id: &TestId) -> bool {
        self.file.id() == *id
    }

    /// Whether a build without race detection can show it; one that cannot would pass for fixed.
    pub fn shows_without_race_detection(&self) -> bool {
        let shows = self.file.failure.outcome != Outcome::DataRace;
        if !shows {
            say(&format!("warning: {} is a data race and not replayed: --races is off", self.shown()));
        }
        shows
    }

    /// Its path as the user would write it.
    pub fn shown(&self) -> Utf8PathBuf {
        as_typed(&self.path)
    }

    /// Replays it.
    pub fn replay(&self, binary: &TestBinary, source_dirs: &[Utf8PathBuf]) -> Result<Replayed> {
        Once { file: &self.file, binary, source_dirs }.run(false)
    }

    /// Removes the file of a failure that does not come any more.
    pub fn prune(&self, state: State, prune: bool) -> Result<bool> {
        let gone = prune && state != State::Fails;
        if gone {
            fs::remove_file(&self.path)?;
        }
        Ok(gone)
    }
}

/// Copies a replay file to where it is replayed on every run, and says where that is. It takes the place of no other one.
pub fn keep(file: &Utf8Path, package_dir: &Utf8Path) -> Result<Utf8PathBuf> {
    let folder = package_dir.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let bytes = fs::read(file)?;
    let stem = file.file_stem().unwrap_or("failure");
    let mut target = folder.join(format!("{stem}.toml"));
    for number in 2.. {
        match fs::read(&target) {
            Ok(kept) if kept == bytes => break,
            Ok(_) => target = folder.join(format!("{stem}-{number}.toml")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                whole_file::write(&target, |kept| kept.write_all(&bytes))?;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(as_typed(&target))
}
