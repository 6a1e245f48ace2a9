//! `cargo schedcheck verify-certificate`: does it belong to these sources?
use std::io::Write;

use camino::Utf8Path;

use super::{Certificate, Tool};
use crate::build::project::Project;
use crate::build::toolchain::Toolchain;
use crate::cli::VerifyArgs;
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;

/// How many files are named as the reason.
const NAMED: usize = 5;

/// Checks a certificate and prints what it guarantees.
pub fn verify(args: &VerifyArgs) -> Result<ExitCode> {
    let path = &args.file;
    let certificate = Certificate::load(path)?;
    let toolchain = Toolchain::find()?;
    let project = Project::load(&toolchain, &args.cargo)?;
    certificate.check(path, &Tool::new(&toolchain.rustc), project.root())?;
    if args.cargo.quiet {
        return Ok(ExitCode::Passed);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{path} belongs to these sources ({})", certificate.date)?;
    for test in &certificate.tests {
        writeln!(out, "{}::{} {}: {}", test.package, test.target, test.name, test.guaranteed())?;
    }
    let part = certificate.partition.as_ref();
    let part = part.map_or_else(String::new, |part| format!(" of part {part}"));
    match certificate.tests.len() {
        1 => writeln!(out, "1 test{part}")?,
        count => writeln!(out, "{count} tests{part}")?,
    }
    out.flush()?;
    Ok(ExitCode::Passed)
}

impl Certificate {
    /// Insists that tool and sources are those it was made with.
    fn check(&self, path: &Utf8Path, tool: &Tool, root: &Utf8Path) -> Result<()> {
        let refuse = |reason: String| Err(ExpectedError::BadSetup(format!("{path}: {reason}")));
        let (was, is) = (&self.tool, tool);
        let pairs = [
            ("cargo schedcheck", &was.schedcheck, &is.schedcheck),
            ("the engine", &was.engine, &is.engine),
            ("rustc", &was.rustc, &is.rustc),
            ("the target", &was.target, &is.target),
        ];
        if let Some((what, was, is)) = pairs.into_iter().find(|(_, was, is)| was != is) {
            return refuse(format!("it was made with another version of {what}: {was}, here it is {is}"));
        }
        let differences = self.source.differences(root)?;
        if differences.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = differences.iter().take(NAMED).map(ToString::to_string).collect();
        let more = match differences.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        refuse(format!("it belongs to other sources: {}{more}", named.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn tool_and_sources_must_be_the_same() {
        let certificate = example();
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        let check =
            |tool: &Tool| certificate.check(Utf8Path::new("c.toml"), tool, root).map_err(|e| e.to_string());
        let tool = certificate.tool.clone();
        assert_eq!(check(&tool).unwrap_err(), "c.toml: it belongs to other sources: Cargo.toml is missing");
        fs_err::write(root.join("Cargo.toml"), "[package]").unwrap();
        assert_eq!(check(&tool), Ok(()));
        let newer = Tool { rustc: "rustc 1.96.0".into(), ..tool };
        let reason =
            "c.toml: it was made with another version of rustc: rustc 1.95.0, here it is rustc 1.96.0";
        assert_eq!(check(&newer).unwrap_err(), reason);
    }
}
