//! What `cargo metadata` says about the project.
use std::collections::BTreeSet;
use std::process::Stdio;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Metadata, MetadataCommand, Package, PackageId};

use super::toolchain::Toolchain;
use crate::cli::CargoOpts;
use crate::error::{ExpectedError, Result};
use crate::paths::absolute;

/// The workspace that is checked.
#[derive(Debug)]
pub struct Project {
    root: Utf8PathBuf,
    /// Nothing where the tests come out of an archive.
    metadata: Option<Metadata>,
    /// The only folder of the project that this command writes to.
    pub output_dir: Utf8PathBuf,
}

impl Project {
    /// Reads the project in the current directory, or that of `--manifest-path`.
    pub fn load(toolchain: &Toolchain, cargo: &CargoOpts) -> Result<Self> {
        let output = toolchain
            .cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .args(cargo.manifest_args())
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ExpectedError::Start { program: toolchain.cargo_name(), source })?;
        if !output.status.success() {
            return Err(ExpectedError::Metadata {
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let metadata = MetadataCommand::parse(text).map_err(|e| ExpectedError::Unreadable {
            program: "cargo metadata".to_owned(),
            reason: e.to_string(),
        })?;
        let target = match &cargo.target_dir {
            Some(dir) => absolute(dir)?,
            None => metadata.target_directory.clone(),
        };
        let root = metadata.workspace_root.clone();
        Ok(Self { output_dir: target.join("schedcheck"), root, metadata: Some(metadata) })
    }

    /// The project of an archive that was unpacked at `root`.
    pub fn unpacked(root: Utf8PathBuf, output_dir: Utf8PathBuf) -> Self {
        Self { root, metadata: None, output_dir }
    }

    /// The folder of the workspace's Cargo.toml.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// What relative names in the config file are relative to: an unpacked archive is no place to keep anything.
    pub fn base(&self) -> &Utf8Path {
        if self.metadata.is_some() { &self.root } else { Utf8Path::new("") }
    }

    /// Where the states of searches go.
    pub fn checkpoints_dir(&self) -> Utf8PathBuf {
        self.output_dir.join("checkpoints")
    }

    /// Where replay files go.
    pub fn failures_dir(&self) -> Utf8PathBuf {
        self.output_dir.join("failures")
    }

    /// The crates that keep the real std: those that a config file names, and those of manifests.
    pub fn skipped_crates(&self, configured: &[String]) -> Vec<String> {
        let all = self.skipped_by_manifests().chain(configured.iter().cloned());
        let all: BTreeSet<String> = all.map(|name| name.replace('-', "_")).collect();
        all.into_iter().collect()
    }

    /// Names in `[package.metadata.schedcheck] skip` and `[workspace.metadata.schedcheck] skip`.
    fn skipped_by_manifests(&self) -> impl Iterator<Item = String> {
        let workspace = self.metadata.iter().map(|metadata| &metadata.workspace_metadata);
        let packages = self.packages().map(|package| &package.metadata);
        packages
            .chain(workspace)
            .filter_map(|metadata| metadata.get("schedcheck")?.get("skip")?.as_array())
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
    }

    /// Whether it is known that no package of the workspace has a target that we call so.
    pub fn lacks_target(&self, package: &str, target: &str) -> bool {
        let mut packages = self.packages().filter(|known| known.name.as_str() == package);
        let has_it =
            packages.any(|known| known.targets.iter().any(|known| super::target_name(known) == target));
        self.metadata.is_some() && !has_it
    }

    /// The name of a package.
    pub fn package_name(&self, id: &PackageId) -> String {
        self.package(id).map_or_else(|| id.repr.clone(), |package| package.name.to_string())
    }

    /// The variables that cargo sets for everything it runs for a package.
    pub fn package_env(&self, id: &PackageId) -> Vec<(String, String)> {
        let Some(package) = self.package(id) else {
            return Vec::new();
        };
        let dir = package.manifest_path.parent().unwrap_or(Utf8Path::new(""));
        let version = &package.version;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let path = |value: &Option<Utf8PathBuf>| value.as_ref().map(ToString::to_string).unwrap_or_default();
        [
            ("CARGO_MANIFEST_DIR", dir.to_string()),
            ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
            ("CARGO_PKG_NAME", package.name.to_string()),
            ("CARGO_PKG_VERSION", version.to_string()),
            ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
            ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
            ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
            ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
            ("CARGO_PKG_AUTHORS", package.authors.join(":")),
            ("CARGO_PKG_DESCRIPTION", text(&package.description)),
            ("CARGO_PKG_HOMEPAGE", text(&package.homepage)),
            ("CARGO_PKG_REPOSITORY", text(&package.repository)),
            ("CARGO_PKG_LICENSE", text(&package.license)),
            ("CARGO_PKG_LICENSE_FILE", path(&package.license_file)),
            ("CARGO_PKG_README", path(&package.readme)),
            (
                "CARGO_PKG_RUST_VERSION",
                package.rust_version.as_ref().map(ToString::to_string).unwrap_or_default(),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    fn package(&self, id: &PackageId) -> Option<&Package> {
        self.packages().find(|package| package.id == *id)
    }

    fn packages(&self) -> impl Iterator<Item = &Package> {
        self.metadata.iter().flat_map(|metadata| &metadata.packages)
    }
}

/// Our folder in the target directory of a project that cargo is not asked about.
pub fn output_dir_without_cargo(cargo: &CargoOpts) -> Result<Utf8PathBuf> {
    let set = || std::env::var("CARGO_TARGET_DIR").ok().filter(|dir| !dir.is_empty()).map(Utf8PathBuf::from);
    let target = cargo.target_dir.clone().or_else(set).unwrap_or_else(|| "target".into());
    Ok(absolute(&target)?.join("schedcheck"))
}
