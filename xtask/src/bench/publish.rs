//! The figures where readers see them: all of them in `docs/bench`, the shortest form in the README.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::figures::{Figures, OURS, WITH_RACES};
use super::report::{Rows, Section, as_markdown, markdown};
use super::targets::{RATED, Target};
use crate::docs::with_between;

/// Between these the README has its figures.
const MARKERS: [&str; 2] = ["<!-- bench -->", "<!-- /bench -->"];

/// What was measured.
pub(super) struct Measured<'a> {
    pub(super) machine: &'a [(&'static str, String)],
    pub(super) figures: &'a Figures,
    pub(super) targets: &'a [Target],
    /// The table of the bugs, by tool.
    pub(super) bugs: &'a Section,
}

/// Writes the tables, the figures and the chart, and what the README says of them.
pub(super) fn publish(
    repository: &Path,
    sections: &[Section],
    figures: &Value,
    chart: &str,
    measured: &Measured<'_>,
) -> Result<()> {
    let folder = repository.join("docs/bench");
    fs::create_dir_all(&folder).context("docs/bench")?;
    let tables = format!("# Figures\n\nWritten by `cargo xtask bench --publish`.\n\n{}", markdown(sections));
    fs::write(folder.join("tables.md"), tables.trim_end().to_owned() + "\n")?;
    fs::write(folder.join("figures.json"), serde_json::to_string_pretty(figures)? + "\n")?;
    fs::write(folder.join("chart.svg"), chart)?;
    let path = repository.join("README.md");
    let readme = fs::read_to_string(&path).context("README.md")?;
    fs::write(&path, with_between(&readme, MARKERS, &summary(measured)).context("README.md")?)?;
    Ok(())
}

fn summary(measured: &Measured<'_>) -> String {
    let fact = |name: &str| {
        let value = measured.machine.iter().find(|(of, _)| *of == name);
        value.map_or("", |(_, value)| value.as_str())
    };
    let machine = format!(
        "Measured on: {}; {}; loom {}, shuttle {}; load of the machine before (1 and 5 minutes): {}; by \
         `{}`.",
        fact("processor"),
        fact("rustc"),
        fact("loom"),
        fact("shuttle"),
        fact("load (1 and 5 minutes)"),
        fact("command"),
    );
    let bugs = &measured.bugs;
    format!(
        "{machine}\n\nExecutions per second of time on a core:\n\n{}\nThe {}:\n\n{}\n{}\n\n{}",
        as_markdown(&rates(measured.figures)),
        bugs.title,
        as_markdown(&bugs.rows),
        bugs.notes.join("\n"),
        missed(measured.targets),
    )
}

fn rates(figures: &Figures) -> Rows {
    let headings = ["program", "races off", "races on", "shuttle, its fastest way", "loom", "beside them"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    for program in RATED {
        let of = |tool| figures.cell(program, tool).rate().map(|rate| rate.median);
        let peers = ["shuttle", "loom"].map(|peer| figures.best_rate(program, peer));
        let number = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        let times = ["shuttle", "loom"].map(|peer| {
            figures.ratio(program, peer).map_or("-".to_owned(), |ratio| format!("{ratio:.1} × {peer}"))
        });
        rows.push(vec![
            program.to_owned(),
            number(of(OURS)),
            number(of(WITH_RACES)),
            number(peers[0]),
            number(peers[1]),
            times.join(", "),
        ]);
    }
    rows
}

/// Which targets are missed, and by how much.
fn missed(targets: &[Target]) -> String {
    let reached = targets.iter().filter(|target| target.reached == Some(true)).count();
    let mut text = format!("Of {} targets that were set beforehand {reached} are reached.", targets.len());
    let missed: Vec<&Target> = targets.iter().filter(|target| target.reached != Some(true)).collect();
    if missed.is_empty() {
        return text + "\n";
    }
    text.push_str(" Missed:\n\n");
    for target in missed {
        text.push_str(&format!("- {}: {}, wanted {}\n", target.what, target.measured, target.wanted));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_targets_are_named_with_their_figures() {
        let target = |what: &str, reached| Target {
            what: what.to_owned(),
            wanted: "at most 60".to_owned(),
            measured: "73".to_owned(),
            reached: Some(reached),
        };
        let text = missed(&[target("ns per operation", false), target("bytes", true)]);
        assert_eq!(
            text,
            "Of 2 targets that were set beforehand 1 are reached. Missed:\n\n- ns per operation: 73, wanted at most 60\n"
        );
    }
}
