//! `cargo schedcheck verify-certificate`: do certificates belong to these sources, and are they the whole?
use std::collections::BTreeSet;
use std::io::Write;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Certificate, Tool};
use crate::build::project::Project;
use crate::build::toolchain::Toolchain;
use crate::cli::part::Part;
use crate::cli::{Partition, VerifyArgs};
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::reports::words::counted;

/// How many files are named as the reason.
const NAMED: usize = 5;

/// Checks certificates and prints what they guarantee.
pub fn verify(args: &VerifyArgs) -> Result<ExitCode> {
    let read = |path: &Utf8PathBuf| Ok((path.clone(), Certificate::load(path)?));
    let certificates = args.files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let toolchain = Toolchain::find()?;
    let project = Project::load(&toolchain, &args.cargo)?;
    let tool = Tool::new(&toolchain.rustc);
    for (path, certificate) in &certificates {
        certificate.check(path, &tool, project.root())?;
    }
    if args.whole {
        whole(&certificates).map_err(ExpectedError::BadSetup)?;
    }
    if args.cargo.quiet {
        return Ok(ExitCode::Passed);
    }
    let mut out = std::io::stdout().lock();
    let mut tests = 0;
    for (path, certificate) in &certificates {
        let part = certificate.partition.as_ref();
        let part = part.map_or_else(String::new, |part| format!(", part {part}"));
        writeln!(out, "{path} belongs to these sources ({}{part})", certificate.date)?;
        let skipped = &certificate.build.skipped_crates;
        if !skipped.is_empty() {
            writeln!(out, "  not controlled: what these crates do: {}", skipped.join(", "))?;
        }
        for test in &certificate.tests {
            writeln!(out, "  {}: {}", test.id(), test.guaranteed())?;
            for thing in &test.uncontrolled {
                writeln!(out, "    not controlled: {thing}")?;
            }
        }
        tests += certificate.tests.len();
    }
    writeln!(out, "{}", counted(tests as u64, "test"))?;
    out.flush()?;
    Ok(ExitCode::Passed)
}

/// Insists that the certificates are all parts of one selection, built in one way. That they are of the same sources
/// and the same tool is known already.
fn whole(certificates: &[(Utf8PathBuf, Certificate)]) -> Result<(), String> {
    let Some((first_path, first)) = certificates.first() else { return Ok(()) };
    let mut parts: BTreeSet<u32> = BTreeSet::new();
    for (path, certificate) in certificates {
        if certificate.selection != first.selection || certificate.build != first.build {
            return Err(format!("{path} and {first_path} are of different selections of tests, or builds"));
        }
        match (divided(first), divided(certificate)) {
            (Some((how, whole)), Some((own, part))) if how == own && whole.count == part.count => {
                parts.insert(part.index);
            }
            // One that is whole by itself needs no other.
            (_, None) => return Ok(()),
            _ => return Err(format!("{path} and {first_path} are parts of different partitions")),
        }
    }
    let count = divided(first).map_or(1, |(_, part)| part.count);
    let missing: Vec<String> =
        (1..=count).filter(|part| !parts.contains(part)).map(|part| part.to_string()).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("of {count} parts these are missing: {}", missing.join(", "))),
    }
}

/// How the tests were dealt out, and which part this is.
fn divided(certificate: &Certificate) -> Option<(&'static str, Part)> {
    let partition: Partition = certificate.partition.as_ref()?.parse().ok()?;
    Some((partition.how.word(), partition.spec.resolve(|_| None).ok()?))
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

    #[test]
    fn parts_are_the_whole_when_none_is_missing() {
        let check = |parts: &[Option<&str>]| {
            let certificates: Vec<_> = parts
                .iter()
                .map(|part| {
                    let partition = part.map(str::to_owned);
                    (Utf8PathBuf::from(part.unwrap_or("whole")), Certificate { partition, ..example() })
                })
                .collect();
            whole(&certificates)
        };
        assert_eq!(check(&[Some("hash:2/3"), Some("hash:1/3"), Some("hash:3/3")]), Ok(()));
        assert_eq!(check(&[None]), Ok(()));
        assert_eq!(check(&[Some("hash:1/1")]), Ok(()));
        let reason = "of 3 parts these are missing: 1, 3";
        assert_eq!(check(&[Some("hash:2/3"), Some("hash:2/3")]).unwrap_err(), reason);
        let reason = "count:2/2 and hash:1/2 are parts of different partitions";
        assert_eq!(check(&[Some("hash:1/2"), Some("count:2/2")]).unwrap_err(), reason);
        assert!(check(&[Some("hash:1/2"), Some("hash:2/3")]).is_err());
        let mut other = example();
        other.selection.clear();
        let different = whole(&[("a".into(), example()), ("b".into(), other)]).unwrap_err();
        assert_eq!(different, "b and a are of different selections of tests, or builds");
    }
}
