//! An archive: built tests and what they need, in one file, for machines without a compiler.
//!
//! A tar file, compressed by gzip: both are plain data to every system, and the compression carries a checksum, so that
//! a damaged file is noticed. Its first entry, [`MANIFEST`], describes the others:
//!
//! | folder | what |
//! |---|---|
//! | `binaries/` | the test binaries |
//! | `programs/`, `out/` | programs and `OUT_DIR` of the tested packages |
//! | `libraries/` | dynamic libraries that builds made |
//! | `workspace/`, `packages/` | sources, for messages, and the files named with `--include` |
//!
//! Packing is deterministic: the same build gives the same bytes.
pub mod pack;
pub mod unpack;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::build::sources::Sources;
use crate::certificate::Tool;

/// The version of the format that this command writes and reads.
const VERSION: i64 = 1;
/// The entry that describes the others.
const MANIFEST: &str = "schedcheck-archive.json";
/// Where files of the workspace are.
const WORKSPACE: &str = "workspace";

/// What is in an archive. Paths are relative to where it is unpacked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    version: i64,
    pub tool: Tool,
    /// Features and profile of the build, as flags of cargo.
    pub cargo_args: Vec<String>,
    /// Flags for every crate, from RUSTFLAGS or cargo's configuration.
    pub rustflags: Vec<String>,
    /// Whether memory accesses can be seen.
    pub races: bool,
    /// Crates that keep the real std.
    pub skip: Vec<String>,
    /// Folders with dynamic libraries.
    libraries: Vec<Utf8PathBuf>,
    binaries: Vec<Packed>,
    /// What the binaries were made of, or why that is not certain.
    pub sources: Result<Sources, String>,
}

/// A test binary.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Packed {
    package: String,
    target: String,
    executable: Utf8PathBuf,
    package_dir: Utf8PathBuf,
    env: Vec<(String, Value)>,
}

/// A value of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Value {
    Text(String),
    /// A path in the archive.
    Path(Utf8PathBuf),
}
