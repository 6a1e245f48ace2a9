//! Memory of the search over time, on a test without a bug: GAMBIT's Figure 5.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use schedcheck_tests::project::Project;
use serde_json::Value;

use super::arguments::Arguments;
use super::chart::{self, Line, Panel};
use super::report::{Section, aligned};
use crate::Outcome;

/// As long as the test in the paper.
const LONG: &str = "blocking_collection_long_fixed";
/// Shorter, with more threads.
const WIDE: &str = "blocking_collection_large_fixed";

/// What GAMBIT has for a node, and what a node for each step would take at least.
const NODE: f64 = 16.0;

const UNBOUNDED: &[&str] = &["--priority", "mdpor,pb", "--random-runs", "0", "--levels", "off"];

/// The two parts of the figure, and the first one on another test.
const PARTS: [(&str, &str, &[&str]); 3] = [
    ("unbounded, BF(mdpor,pb)", LONG, UNBOUNDED),
    ("at most 2 preemptions, BF(mdpor)", LONG, &["--bound", "2", "--priority", "mdpor"]),
    ("unbounded, more threads", WIDE, UNBOUNDED),
];

/// The search at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    seconds: f64,
    executions: u64,
    pending: u64,
    /// Of the tree and the fringe.
    bytes: u64,
    /// Of the points that a bounded search remembers.
    remembered: u64,
    step_nodes: Option<u64>,
}

impl Point {
    /// What a `test-progress` line says.
    fn of(line: &Value) -> Point {
        let number = |key: &str| line[key].as_u64().unwrap_or_default();
        Point {
            seconds: number("elapsed_ms") as f64 / 1000.0,
            executions: number("executions"),
            pending: number("pending"),
            bytes: number("bytes") - number("remembered_bytes"),
            remembered: number("remembered_bytes"),
            step_nodes: line["step_nodes"].as_u64(),
        }
    }

    /// Bytes of all that the search keeps.
    fn all(&self) -> u64 {
        self.bytes + self.remembered
    }
}

/// The curves of all parts.
pub(super) type Curves = Vec<(&'static str, Vec<Point>)>;

/// Explores and draws.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let arguments = Arguments::read(arguments, &["--seconds", "--svg"])?;
    let svg = arguments.file("--svg")?;
    let curves = measure(arguments.number("--seconds", 30)?)?;
    for (title, points) in &curves {
        eprintln!("{title}\n{}\n{}", graph(points, 72, 16), aligned(&rows(points)));
    }
    if let Some(file) = svg {
        fs::write(&file, chart::drawing(&[panel(&curves).into()])).context(file)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Explores for some seconds in each way.
pub(super) fn measure(seconds: u64) -> Result<Curves> {
    let project = Project::copy_of("gambit");
    let curve = |(title, test, args)| Ok((title, explore(&project, test, seconds, args)?));
    PARTS.into_iter().map(curve).collect()
}

pub(super) fn sections(curves: &Curves) -> Vec<Section> {
    let section = |(title, points): &(&str, Vec<Point>)| {
        Section::new(&format!("memory of the search over time: {title}"), rows(points))
    };
    curves.iter().map(section).collect()
}

pub(super) fn json(curves: &Curves) -> Value {
    let point = |point: &Point| {
        serde_json::json!({
            "seconds": point.seconds, "executions": point.executions, "pending": point.pending,
            "bytes": point.bytes, "remembered_bytes": point.remembered, "step_nodes": point.step_nodes,
        })
    };
    let curve = |(title, points): &(&str, Vec<Point>)| serde_json::json!({ "search": title, "points": points.iter().map(point).collect::<Vec<_>>() });
    curves.iter().map(curve).collect()
}

/// Megabytes over seconds, thinned out: a screen does not show more.
pub(super) fn panel(curves: &Curves) -> Panel {
    let line = |(title, points): &(&str, Vec<Point>)| {
        let every = points.len().div_ceil(200).max(1);
        let points = points.iter().step_by(every);
        Line {
            name: (*title).to_owned(),
            points: points.map(|point| (point.seconds, point.all() as f64 / 1e6)).collect(),
        }
    };
    Panel {
        title: "memory of the search, MB".to_owned(),
        below: "seconds".to_owned(),
        lines: curves.iter().map(line).collect(),
        log_x: false,
        steps: false,
    }
}

fn explore(project: &Project, test: &str, seconds: u64, args: &[&str]) -> Result<Vec<Point>> {
    let limit = format!("{seconds}s");
    let test = format!("blocking_collection::tests::{test}");
    let common =
        ["--all-tests", "--release", "--exact", &test, "--message-format", "json", "--max-time", &limit];
    let output = project.schedcheck(&[&common, args].concat()).run();
    let lines = output.json();
    let points: Vec<Point> =
        lines.iter().filter(|line| line["type"] == "test-progress").map(Point::of).collect();
    if points.is_empty() {
        bail!("the search was too short to be measured: {}", output.stderr);
    }
    Ok(points)
}

/// Points at which a tree with one node for each step was measured, too.
fn rows(points: &[Point]) -> Vec<Vec<String>> {
    let headings =
        ["s", "executions", "pending", "tree and fringe, MB", "B/pending", "one node per step, MB", "ratio"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    let bounded = points.iter().any(|point| point.remembered > 0);
    rows[0].extend(bounded.then(|| "points remembered, MB".to_owned()));
    let compared: Vec<(&Point, u64)> =
        points.iter().filter_map(|point| point.step_nodes.map(|nodes| (point, nodes))).collect();
    let every = compared.len().div_ceil(12).max(1);
    for (point, nodes) in compared.into_iter().step_by(every) {
        let by_steps = nodes as f64 * NODE;
        rows.push(vec![
            format!("{:.1}", point.seconds),
            point.executions.to_string(),
            point.pending.to_string(),
            format!("{:.2}", point.bytes as f64 / 1e6),
            format!("{:.1}", point.bytes as f64 / point.pending.max(1) as f64),
            format!("{:.2}", by_steps / 1e6),
            format!("{:.1}", by_steps / point.bytes.max(1) as f64),
        ]);
        let remembered = bounded.then(|| format!("{:.2}", point.remembered as f64 / 1e6));
        rows.last_mut().expect("just added").extend(remembered);
    }
    rows
}

/// The greatest value in each of `columns` stretches of time; one without a point has the value before it.
fn sampled(points: &[Point], columns: usize) -> Vec<u64> {
    let end = points.last().map_or(1.0, |point| point.seconds).max(1e-3);
    let mut values = vec![None; columns];
    for point in points {
        let column = (point.seconds / end * columns as f64) as usize;
        let value = &mut values[column.min(columns - 1)];
        *value = Some(point.all().max(value.unwrap_or(0)));
    }
    let mut last = 0;
    let mut known = |value: Option<u64>| {
        last = value.unwrap_or(last);
        last
    };
    values.into_iter().map(&mut known).collect()
}

/// The curve in letters.
fn graph(points: &[Point], columns: usize, lines: usize) -> String {
    let values = sampled(points, columns);
    let most = values.iter().max().copied().unwrap_or(1).max(1);
    let mut text = String::new();
    for line in (1..=lines).rev() {
        let reached = |value: &u64| *value as u128 * lines as u128 >= most as u128 * line as u128;
        let row: String = values.iter().map(|value| if reached(value) { '█' } else { ' ' }).collect();
        let label = if line == lines { format!("{:.1} MB", most as f64 / 1e6) } else { String::new() };
        text.push_str(&format!("{label:>9} |{row}\n"));
    }
    let end = points.last().map_or(0.0, |point| point.seconds);
    text.push_str(&format!(
        "{:>9} +{}\n{:>11}{:>width$}\n",
        "",
        "-".repeat(columns),
        "0 s",
        format!("{end:.0} s"),
        width = columns
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Point> {
        let point = |at: u64| Point {
            seconds: at as f64,
            executions: at * 10,
            pending: 10,
            bytes: 500 * at,
            remembered: 0,
            step_nodes: (at == 2).then_some(1000),
        };
        (0..4).map(point).collect()
    }

    #[test]
    fn the_curve_rises_to_its_greatest_value() {
        let text = graph(&points(), 4, 3);
        assert!(text.lines().next().is_some_and(|line| line.ends_with("|   █")), "{text}");
        assert_eq!(sampled(&points(), 2), [500, 1500]);
        assert_eq!(sampled(&points(), 6), [0, 0, 500, 500, 1000, 1500], "as long as nothing else is told");
        let drawn = panel(&vec![("part", points())]);
        assert_eq!(drawn.lines[0].points[1], (1.0, 0.0005));
    }

    #[test]
    fn memory_is_compared_with_one_node_for_each_step() {
        let rows = rows(&points());
        assert_eq!(rows[1][4..], ["100.0", "0.02", "16.0"]);
    }
}
