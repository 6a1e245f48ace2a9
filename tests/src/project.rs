//! A fixture, copied to a directory of its own.
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::Schedcheck;

/// A copy of a fixture that lives as long as this value.
#[derive(Debug)]
pub struct Project {
    _dir: tempfile::TempDir,
    /// Its root.
    pub path: Utf8PathBuf,
}

impl Project {
    /// Copies the fixture of this name.
    pub fn copy_of(fixture: &str) -> Self {
        let project = Self::empty();
        let source = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
        copy(&source, &project.path);
        project
    }

    /// A directory with nothing in it.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = fs::canonicalize(dir.path()).expect("it exists");
        Self { path: Utf8PathBuf::from_path_buf(path).expect("a UTF-8 path"), _dir: dir }
    }

    /// Writes a file of the project.
    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) -> Utf8PathBuf {
        let path = self.path.join(file);
        fs::create_dir_all(path.parent().expect("a file in the project")).expect("a folder");
        fs::write(&path, text).expect("a writable file");
        path
    }

    /// Reads a file of the project.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path.join(file)).expect("a readable file")
    }

    /// `cargo schedcheck ARGS` in this project, not yet started.
    pub fn schedcheck(&self, args: &[&str]) -> Schedcheck {
        Schedcheck::new(&self.path, args)
    }
}

fn copy(from: &Utf8Path, to: &Utf8Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in from.read_dir_utf8().expect("a fixture") {
        let entry = entry.expect("a readable entry");
        let name = match entry.file_name() {
            "target" | "Cargo.lock" => continue,
            "Cargo_test.toml" => "Cargo.toml",
            name => name,
        };
        if entry.file_type().expect("a type").is_dir() {
            copy(entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).expect("a copy");
        }
    }
}
