//! A fixture, copied to a directory of its own.
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::{Schedcheck, scrub};
use crate::repository;

/// A copy of a fixture that lives as long as this value.
#[derive(Debug)]
pub struct Project {
    _dir: Option<tempfile::TempDir>,
    /// Its root.
    pub path: Utf8PathBuf,
}

impl Project {
    /// Copies the fixture of this name.
    pub fn copy_of(fixture: &str) -> Self {
        let project = Self::empty();
        copy(&source(fixture), &project.path);
        project
    }

    /// The fixture of this name, for tests that change nothing in it: copied once, built once, in the target directory.
    pub fn shared(fixture: &'static str) -> &'static Self {
        static SHARED: Mutex<BTreeMap<&str, &Project>> = Mutex::new(BTreeMap::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.entry(fixture).or_insert_with(|| {
            let path = crate::cli::scratch().join("shared").join(fixture);
            copy(&source(fixture), &path);
            Box::leak(Box::new(Self { path, _dir: None }))
        })
    }

    /// A fixture in which a deadlock was found, and its replay file.
    pub fn with_a_deadlock() -> (Self, String) {
        let project = Self::copy_of("unmodified");
        let args = ["--all-tests", "opposite_order", "--message-format", "json"];
        let verdicts = project.schedcheck(&args).run().expect_code(100).verdicts();
        let file =
            verdicts["unmodified::lib tests::opposite_order"]["replay"].as_str().expect("a file").to_owned();
        (project, file)
    }

    /// A directory with nothing in it.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = fs::canonicalize(dir.path()).expect("it exists");
        Self { path: Utf8PathBuf::from_path_buf(path).expect("a UTF-8 path"), _dir: Some(dir) }
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

    /// Every file but those that builds make, with its contents.
    pub fn sources(&self) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let mut sources = BTreeMap::new();
        collect(&self.path, &mut sources);
        sources
    }

    /// `cargo ARGS` in this project, not yet started.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.args(args).current_dir(&self.path);
        scrub(&mut command);
        command
    }

    /// `cargo schedcheck ARGS` in this project, not yet started.
    pub fn schedcheck(&self, args: &[&str]) -> Schedcheck {
        Schedcheck::new(&self.path, args)
    }
}

/// Where a fixture stands.
fn source(fixture: &str) -> Utf8PathBuf {
    repository().join("tests/fixtures").join(fixture)
}

fn collect(dir: &Utf8Path, sources: &mut BTreeMap<Utf8PathBuf, Vec<u8>>) {
    for entry in dir.read_dir_utf8().expect("a folder") {
        let entry = entry.expect("a readable entry");
        if entry.file_type().expect("a type").is_file() {
            sources.insert(entry.path().to_owned(), fs::read(entry.path()).expect("a readable file"));
        } else if entry.file_name() != "target" {
            collect(entry.path(), sources);
        }
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
        } else if name == "Cargo.toml" {
            let manifest = fs::read_to_string(entry.path()).expect("a manifest");
            let runtime = repository().join("schedcheck-rt");
            fs::write(to.join(name), manifest.replace("@SCHEDCHECK_RT@", runtime.as_str())).expect("a copy");
        } else {
            fs::copy(entry.path(), to.join(name)).expect("a copy");
        }
    }
}
