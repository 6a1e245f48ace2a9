//! This crate's own sources as data: how the engine travels inside the installed command.
pub use include_dir::Dir;
use include_dir::include_dir;

/// The folder `src/` of this crate.
pub static ENGINE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src");

/// The folder `sysroot/`: manifests and facade crates that turn [`ENGINE`] into a small sysroot.
///
/// A package cannot contain another file named `Cargo.toml`, so manifests are stored as `Cargo.toml.in`.
pub static SYSROOT: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/sysroot");
