//! Paths: as text, absolute, as one would type them, and whether a file can be written there.
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::error::{ExpectedError, Result};

/// A path that can be written into text files.
pub fn utf8(path: &Path) -> Result<&Utf8Path> {
    Utf8Path::from_path(path).ok_or_else(|| ExpectedError::NotUtf8 { path: path.to_owned() })
}

/// A path that leads to the same place from every folder.
pub fn absolute(path: impl AsRef<Path>) -> Result<Utf8PathBuf> {
    Ok(utf8(&std::path::absolute(path)?)?.to_owned())
}

/// A path relative to the current directory where that is shorter.
pub fn as_typed(path: &Utf8Path) -> Utf8PathBuf {
    let here = std::env::current_dir().ok().and_then(|dir| Utf8PathBuf::from_path_buf(dir).ok());
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_owned()
}

/// Makes sure that a file can be written here: makes the folder it goes into, and refuses a folder in its place.
pub fn make_room_for(file: &Utf8Path) -> Result<()> {
    if file.is_dir() {
        return Err(ExpectedError::BadSetup(format!("{file} is a folder: name a file")));
    }
    if let Some(folder) = file.parent().filter(|folder| *folder != Utf8Path::new("")) {
        fs::create_dir_all(folder)?;
    }
    Ok(())
}
