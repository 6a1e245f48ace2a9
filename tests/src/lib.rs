//! What the end-to-end tests share: copy a fixture, run the command in a scrubbed environment, look at what it said.
pub mod browser;
pub mod cli;
pub mod project;
pub mod watch;

use camino::Utf8Path;

/// The top of the repository.
pub fn repository() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package is a folder of the repository")
}
