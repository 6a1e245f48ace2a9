//! Which cargo and which rustc this project is built with.
use std::ffi::{OsStr, OsString};
use std::process::Command;

use camino::Utf8PathBuf;
use rustc_version::VersionMeta;

use crate::error::{ExpectedError, Result};

/// The user's toolchain and cargo configuration.
#[derive(Debug)]
pub struct Toolchain {
    cargo: OsString,
    /// What `rustc -vV` says.
    pub rustc: VersionMeta,
    /// The compiler wrapper of the user's own configuration or environment.
    pub rustc_wrapper: Option<OsString>,
    /// Variables of the section `[env]` of cargo's configuration.
    pub env: Vec<(String, OsString)>,
    /// What cargo is told about colours.
    pub color: Option<cargo_config2::Color>,
}

impl Toolchain {
    /// Asks the environment, as cargo itself would.
    pub fn find() -> Result<Self> {
        let config = cargo_config2::Config::load().map_err(|e| ExpectedError::CargoConfig(e.to_string()))?;
        // Set by cargo for its subcommands; it is the cargo of `cargo +toolchain`.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let rustc = Command::from(config.rustc());
        let program = rustc.get_program().to_string_lossy().into_owned();
        let rustc = VersionMeta::for_command(rustc).map_err(|e| ExpectedError::Unreadable {
            program: format!("{program} -vV"),
            reason: e.to_string(),
        })?;
        let wanted = |(name, value): (&String, &cargo_config2::EnvConfigValue)| {
            let applies = value.force || std::env::var_os(name).is_none();
            applies.then(|| (name.clone(), value.value.clone()))
        };
        Ok(Self {
            cargo,
            rustc,
            rustc_wrapper: config.build.rustc_wrapper.clone().map(Into::into),
            env: config.env.iter().filter_map(wanted).collect(),
            color: config.term.color,
        })
    }

    /// The target triple of this machine.
    pub fn host(&self) -> &str {
        &self.rustc.host
    }

    /// The compiler flags of the user's configuration and environment.
    pub fn rustflags(&self) -> Result<Vec<String>> {
        let refuse = |error: cargo_config2::Error| ExpectedError::CargoConfig(error.to_string());
        let config = cargo_config2::Config::load().map_err(refuse)?;
        Ok(config.rustflags(self.host()).map_err(refuse)?.map(|flags| flags.flags).unwrap_or_default())
    }

    /// Where the compiler has std as a dynamic library, which a program needs as soon as one of its crates is dynamic.
    pub fn libraries(&self) -> Option<Utf8PathBuf> {
        let mut rustc = Command::from(cargo_config2::Config::load().ok()?.rustc());
        let asked = rustc.args(["--print", "target-libdir", "--target", self.host()]).output().ok()?;
        let dir = String::from_utf8(asked.stdout).ok()?;
        asked.status.success().then(|| dir.trim().into())
    }

    /// A call of cargo, not yet started.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        for (name, _) in std::env::vars_os() {
            if is_of_a_package(&name) {
                command.env_remove(name);
            }
        }
        command
    }

    /// For messages: the program that [`Self::cargo`] starts.
    pub fn cargo_name(&self) -> String {
        self.cargo.to_string_lossy().into_owned()
    }
}

/// Whether a variable was set by a `cargo run` that started us: it describes our package, not the user's.
pub fn is_of_a_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_BIN_")
        || matches!(
            &*name,
            "CARGO_MANIFEST_DIR"
                | "CARGO_MANIFEST_PATH"
                | "CARGO_CRATE_NAME"
                | "CARGO_PRIMARY_PACKAGE"
                | "OUT_DIR"
        )
}
