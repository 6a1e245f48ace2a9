//! Memory of the search over time, on a test without a bug: GAMBIT's Figure 5.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use schedcheck_tests::project::Project;
use serde_json::Value;

use super::report::aligned;
use crate::Outcome;

const TEST: &str = "blocking_collection::tests::blocking_collection_large_fixed";

/// What GAMBIT has for a node, and what a node for each step would take at least.
const NODE: f64 = 16.0;

/// The two parts of the figure.
const PARTS: [(&str, &[&str]); 2] = [
    ("unbounded, BF(mdpor,pb)", &["--priority", "mdpor,pb", "--random-runs", "0", "--levels", "off"]),
    ("at most 2 preemptions, BF(mdpor)", &["--bound", "2", "--priority", "mdpor"]),
];

/// The search at one moment.
#[derive(Clone, Copy, Debug)]
struct Point {
    seconds: f64,
    executions: u64,
    pending: u64,
    bytes: u64,
    step_nodes: Option<u64>,
}

/// Explores and draws.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let (mut seconds, mut svg) = (30, None);
    for pair in arguments.chunks(2) {
        match *pair {
            ["--seconds", value] => seconds = value.parse().context("--seconds")?,
            ["--svg", file] => svg = Some(file),
            _ => bail!("{} is not known, or needs a value", pair.join(" ")),
        }
    }
    let project = Project::copy_of("gambit");
    let mut parts = Vec::new();
    for (title, args) in PARTS {
        let points = explore(&project, seconds, args)?;
        eprintln!("{title}\n{}\n{}", graph(&points, 72, 16), aligned(&rows(&points)));
        parts.push((title, points));
    }
    if let Some(file) = svg {
        fs::write(file, draw(&parts)).context(file.to_owned())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn explore(project: &Project, seconds: u64, args: &[&str]) -> Result<Vec<Point>> {
    let limit = format!("{seconds}s");
    let common = ["--all-tests", "--exact", TEST, "--message-format", "json", "--max-time", &limit];
    let output = project.schedcheck(&[&common, args].concat()).run();
    let mut points = Vec::new();
    for line in output.stdout.lines() {
        let event: Value = serde_json::from_str(line).context("a line of JSON")?;
        if event["type"] == "test-progress" {
            let number = |key: &str| event[key].as_u64().unwrap_or_default();
            points.push(Point {
                seconds: number("elapsed_ms") as f64 / 1000.0,
                executions: number("executions"),
                pending: number("pending"),
                bytes: number("bytes"),
                step_nodes: event["step_nodes"].as_u64(),
            });
        }
    }
    if points.is_empty() {
        bail!("the search was too short to be measured: {}", output.stderr);
    }
    Ok(points)
}

/// Points at which a tree with one node for each step was measured, too.
fn rows(points: &[Point]) -> Vec<Vec<String>> {
    let headings = ["s", "executions", "pending", "MB", "B/pending", "one node per step, MB", "ratio"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
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
    }
    rows
}

/// The greatest value in each of `columns` stretches of time.
fn sampled(points: &[Point], columns: usize) -> Vec<u64> {
    let end = points.last().map_or(1.0, |point| point.seconds).max(1e-3);
    let mut values = vec![0; columns];
    for point in points {
        let column = (point.seconds / end * columns as f64) as usize;
        let value = &mut values[column.min(columns - 1)];
        *value = point.bytes.max(*value);
    }
    values
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

/// The curves as a picture.
fn draw(parts: &[(&str, Vec<Point>)]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 240.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n",
        WIDTH + 80.0,
        (HEIGHT + 60.0) * parts.len() as f64
    );
    for (at, (title, points)) in parts.iter().enumerate() {
        let top = (HEIGHT + 60.0) * at as f64 + 30.0;
        let end = points.last().map_or(1.0, |point| point.seconds).max(1e-3);
        let most = points.iter().map(|point| point.bytes).max().unwrap_or(1).max(1) as f64;
        let place = |point: &Point| {
            let x = 60.0 + point.seconds / end * WIDTH;
            let y = top + HEIGHT - point.bytes as f64 / most * HEIGHT;
            format!("{x:.1},{y:.1}")
        };
        let line: Vec<String> = points.iter().map(place).collect();
        text.push_str(&format!(
            "<text x=\"60\" y=\"{}\">{title}</text>\n\
             <path d=\"M60 {top} V{bottom} H{right}\" fill=\"none\" stroke=\"black\"/>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"steelblue\"/>\n\
             <text x=\"2\" y=\"{}\">{:.1} MB</text><text x=\"{}\" y=\"{}\">{end:.0} s</text>\n",
            top - 8.0,
            line.join(" "),
            top + 10.0,
            most / 1e6,
            WIDTH + 30.0,
            top + HEIGHT + 16.0,
            bottom = top + HEIGHT,
            right = 60.0 + WIDTH,
        ));
    }
    text + "</svg>\n"
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
            step_nodes: (at == 2).then_some(1000),
        };
        (0..4).map(point).collect()
    }

    #[test]
    fn the_curve_rises_to_its_greatest_value() {
        let text = graph(&points(), 4, 3);
        assert!(text.lines().next().is_some_and(|line| line.ends_with("|   █")), "{text}");
        assert_eq!(sampled(&points(), 2), [500, 1500]);
        assert!(draw(&[("part", points())]).contains("polyline"));
    }

    #[test]
    fn memory_is_compared_with_one_node_for_each_step() {
        let rows = rows(&points());
        assert_eq!(rows[1][4..], ["100.0", "0.02", "16.0"]);
    }
}
