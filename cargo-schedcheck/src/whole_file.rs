//! Files that appear whole or not at all, whatever happens while they are written.
use std::io::{self, BufWriter, Write};

use camino::Utf8Path;
use fs_err as fs;

/// Writes a file under another name, makes sure that it is on the disk, and renames it. Into what is no file it writes at once.
pub fn write(path: &Utf8Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if is_stream(path) {
        let mut stream = BufWriter::new(fs::OpenOptions::new().append(true).open(path)?);
        fill(&mut stream)?;
        return stream.flush();
    }
    let dir = path.parent().filter(|dir| !dir.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    fs::create_dir_all(dir)?;
    let mut builder = tempfile::Builder::new();
    // Hidden, so that nobody who collects files takes it for one.
    builder.prefix(".schedcheck-");
    // A temporary file is private; this one is what everybody may read whom the user's mask allows to.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = BufWriter::new(builder.tempfile_in(dir)?);
    fill(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The rename itself; a folder cannot be opened everywhere.
    if let Ok(dir) = fs::File::open(dir) {
        dir.sync_all()?;
    }
    Ok(())
}

/// Whether what stands there is no file, but something to write to: a device, a pipe, a stream of this process.
pub fn is_stream(path: &Utf8Path) -> bool {
    // A stream of this process may have been sent to a file, which is not to be replaced under it.
    let own = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    own.iter().any(|own| path.starts_with(own))
        || fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_written_to_and_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("nowhere");
        // Whoever is root could rename something over the device itself.
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        write(&path, |file| file.write_all(b"gone")).unwrap();
        assert_eq!(fs::read_link(&path).unwrap().to_str(), Some("/dev/null"));
        assert!(["/dev/stdout", "/dev/fd/2", "/dev/null"].iter().all(|path| is_stream(Utf8Path::new(path))));
        assert!(!is_stream(path.parent().unwrap()) && !is_stream(&path.with_file_name("new")));
    }

    #[test]
    fn a_file_that_could_not_be_finished_leaves_the_old_one_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("new/file");
        write(&path, |file| file.write_all(b"first")).unwrap();
        let failed = write(&path, |file| {
            file.write_all(b"second, but")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write(&path, |file| file.write_all(b"third")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(path.parent().unwrap().read_dir_utf8().unwrap().count(), 1, "nothing is left beside it");
    }
}
