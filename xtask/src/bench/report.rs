//! The figures as text, Markdown and JSON.

use serde_json::{Value, json};

use super::figures::{End, Figures, OURS, Spread, WITH_RACES};
use super::targets::{RATED, Target};
use super::{COMPARED, peers, programs};

pub(super) type Rows = Vec<Vec<String>>;

/// A table of the report, the first row with its headings.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) rows: Rows,
    /// What is to be said below it.
    pub(super) notes: Vec<String>,
}

impl Section {
    pub(super) fn new(title: &str, rows: Rows) -> Section {
        Section { title: title.to_owned(), rows, notes: Vec::new() }
    }
}

const HEADINGS: [&str; 7] = [
    "program",
    "tool",
    "executions to exhaust",
    "executions/s",
    "least to greatest",
    "by own clock",
    "ours is",
];

/// One table after the other, for a terminal.
pub(super) fn text(sections: &[Section]) -> String {
    let section = |section: &Section| {
        let notes: String = section.notes.iter().map(|note| format!("{note}\n")).collect();
        format!("{}\n\n{}{notes}\n", section.title.to_uppercase(), aligned(&section.rows))
    };
    sections.iter().map(section).collect()
}

/// The same for a document.
pub(super) fn markdown(sections: &[Section]) -> String {
    let section = |section: &Section| {
        let notes: String = section.notes.iter().map(|note| format!("\n{note}\n")).collect();
        format!("### {}\n\n{}{notes}\n", section.title, as_markdown(&section.rows))
    };
    sections.iter().map(section).collect()
}

/// The tables of the rates.
pub(super) fn sections(figures: &Figures, targets: &[Target]) -> Vec<Section> {
    vec![
        Section::new("executions per second, and to exhaust", comparison(figures)),
        Section::new("cost of an execution", costs(figures)),
        cost_of_races(figures),
        Section::new("targets", verdicts(targets)),
    ]
}

/// Everything that was measured.
pub(super) fn json(figures: &Figures, targets: &[Target]) -> Value {
    let measurement = |program: &str, tool: &str| {
        let cell = figures.cell(program, tool);
        let spread = |spread: Option<Spread>| spread.map(|spread| spread.json());
        json!({
            "program": program, "tool": tool,
            "executions": cell.first().map(|first| first.executions),
            "exhausted": cell.first().map(|first| first.end == End::Exhausted),
            "rate": spread(cell.rate()), "own_rate": spread(cell.own_rate()),
        })
    };
    let measurements: Vec<Value> = programs()
        .flat_map(|program| tools().map(move |tool| (program, tool)))
        .map(|(p, t)| measurement(p, t))
        .collect();
    let targets = targets.iter().map(|target| {
        json!({
            "what": target.what, "wanted": target.wanted,
            "measured": target.measured, "reached": target.reached,
        })
    });
    let races = RATED.iter().filter_map(|program| Some((program, figures.cost_of_races(program)?)));
    let races = races.map(|(program, cost)| {
        json!({
            "program": program, "fastest": cost.fastest, "pairs": cost.pairs.json(), "count": cost.count,
        })
    });
    json!({
        "measurements": measurements, "cost_of_races": races.collect::<Vec<_>>(),
        "targets": targets.collect::<Vec<_>>(),
    })
}

fn tools() -> impl Iterator<Item = &'static str> {
    [OURS, WITH_RACES].into_iter().chain(peers::TOOLS)
}

/// Where and of what the figures are.
pub(super) fn facts(machine: &[(&str, String)]) -> Section {
    let rows = machine.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]);
    Section::new("machine and versions", [row(&["what", "which"])].into_iter().chain(rows).collect())
}

fn comparison(figures: &Figures) -> Rows {
    let mut rows = vec![row(&HEADINGS)];
    for program in COMPARED {
        for tool in tools() {
            let cell = figures.cell(program, tool);
            let to_exhaust = cell.first().map_or("-".to_owned(), |first| match first.end {
                End::Exhausted => first.executions.to_string(),
                End::Failed => format!("found at {}", first.executions),
                End::OutOfTime
                    if tool == OURS || tool == WITH_RACES || matches!(tool, "loom" | "shuttle dfs") =>
                {
                    format!("> {}", first.executions)
                }
                End::OutOfTime => "-".to_owned(),
            });
            let rate = cell.rate();
            let range = |rate: Spread| format!("{:.0} to {:.0}", rate.least, rate.greatest);
            let ratio = match tool {
                OURS => None,
                WITH_RACES => figures.cost_of_races(program).map(|cost| cost.fastest),
                _ => figures.ratio(program, tool),
            };
            rows.push(vec![
                program.to_owned(),
                tool.to_owned(),
                to_exhaust,
                rate.map_or("-".to_owned(), |rate| format!("{:.0}", rate.median)),
                rate.map_or("-".to_owned(), range),
                cell.own_rate().map_or("-".to_owned(), |rate| format!("{:.0}", rate.median)),
                ratio.map_or(String::new(), |ratio| format!("{ratio:.2} times as fast")),
            ]);
        }
    }
    rows
}

fn costs(figures: &Figures) -> Rows {
    let mut rows = vec![row(&["tool", "ns fixed per execution of two threads", "ns per atomic operation"])];
    for tool in tools() {
        let (fixed, each) = figures.costs(tool).map_or(("-".to_owned(), "-".to_owned()), |(fixed, each)| {
            (format!("{fixed:.0}"), format!("{each:.0}"))
        });
        rows.push(vec![tool.to_owned(), fixed, each]);
    }
    rows
}

/// How many times as long an execution takes if data races are looked for.
fn cost_of_races(figures: &Figures) -> Section {
    let headings =
        ["program", "times as long, fastest runs", "median of pairs", "least to greatest", "pairs"];
    let mut rows = vec![row(&headings)];
    for program in RATED {
        let cells = figures.cost_of_races(program).map(|cost| {
            let pairs = cost.pairs;
            [
                format!("{:.2}", cost.fastest),
                format!("{:.2}", pairs.median),
                format!("{:.2} to {:.2}", pairs.least, pairs.greatest),
                cost.count.to_string(),
            ]
        });
        let cells = cells.unwrap_or_else(|| std::array::from_fn(|_| "-".to_owned()));
        rows.push([program.to_owned()].into_iter().chain(cells).collect());
    }
    let note = "Explored with races off and on in turn, by time on a core. Other work on the machine makes single runs \
                slower, never faster: so the first figure compares the fastest run of either way, and it is the one that \
                counts for the target and beside \"with races on\". The other figures are of runs right after each other.";
    Section { notes: vec![note.to_owned()], ..Section::new("cost of looking for data races", rows) }
}

fn verdicts(targets: &[Target]) -> Rows {
    let mut rows = vec![row(&["target", "wanted", "measured", ""])];
    for target in targets {
        let verdict = match target.reached {
            Some(true) => "reached",
            Some(false) => "missed",
            None => "not measured",
        };
        rows.push(vec![
            target.what.clone(),
            target.wanted.clone(),
            target.measured.clone(),
            verdict.to_owned(),
        ]);
    }
    rows
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

pub(super) fn as_markdown(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let Some((headings, rest)) = rows.split_first() else { return String::new() };
    let rule = format!("|{}\n", "---|".repeat(headings.len()));
    line(headings) + &rule + &rest.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_or_markdown() {
        let rows = [row(&["a", "b"]), row(&["long", "x"])];
        assert_eq!(aligned(&rows), "a     b\nlong  x\n");
        assert_eq!(as_markdown(&rows), "| a | b |\n|---|---|\n| long | x |\n");
    }
}
