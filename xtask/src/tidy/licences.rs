//! Every crate of the lock file, those for tests as well, has a licence of the list in `deny.toml`.
//!
//! `cargo deny check` looks at more (advisories, sources, bans); this needs nothing but cargo.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Finding;

const DOCUMENT: &str = "deny.toml";

/// Lists the packages of the lock file whose licence is not among those allowed.
pub(super) fn check(repository: &Path) -> Result<Vec<Finding>> {
    let document = fs::read_to_string(repository.join(DOCUMENT)).context(DOCUMENT)?;
    let document: toml::Table = document.parse().context(DOCUMENT)?;
    let allowed = document.get("licenses").and_then(|licences| licences.get("allow")?.as_array());
    let allowed: BTreeSet<&str> =
        allowed.context("no [licenses] allow")?.iter().flat_map(toml::Value::as_str).collect();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .current_dir(repository)
        .output()
        .context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        // What is not published has no licence of its own.
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or("no licence");
        if !is_allowed(licence, &allowed) {
            findings.push(Finding::new(DOCUMENT, 1, format!("{name} has {licence}, which is not allowed")));
        }
    }
    Ok(findings)
}

/// Whether an SPDX expression can be met with these licences: `A OR B`, `A AND B`, `(A OR B) AND C`; `A/B` is an old way
/// to write `A OR B`.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.replace('/', " OR ");
    let any = |text: &str| {
        let text = text.trim().trim_start_matches('(').trim_end_matches(')');
        text.split(" OR ").any(|licence| allowed.contains(licence.trim()))
    };
    if expression.contains('(') || !expression.contains(" OR ") {
        return expression.split(" AND ").all(any);
    }
    // `AND` binds more tightly than `OR`.
    expression.split(" OR ").any(|both| both.split(" AND ").all(any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_or_not() {
        let allowed = BTreeSet::from(["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]);
        for met in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT AND Unicode-3.0 OR GPL-3.0",
        ] {
            assert!(is_allowed(met, &allowed), "{met}");
        }
        for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", "no licence"] {
            assert!(!is_allowed(unmet, &allowed), "{unmet}");
        }
    }
}
