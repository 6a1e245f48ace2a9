//! What was measured, and what follows from it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The tool of this repository, as it is named beside the others.
pub(super) const OURS: &str = "schedcheck";

/// The same while it also looks for data races on plain memory, which the others do not.
pub(super) const WITH_RACES: &str = "with races on";

/// How an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Every schedule was covered.
    Exhausted,
    OutOfTime,
    /// It found a bug.
    Failed,
}

/// One exploration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measurement {
    pub(super) end: End,
    /// Until the end.
    pub(super) executions: u64,
    /// Per second of time on a core.
    pub(super) rate: f64,
    /// Per second of the tool's own clock.
    pub(super) own_rate: f64,
    /// Memory of the search for one pending execution, where it is told.
    pub(super) bytes_per_pending: Option<f64>,
}

/// The explorations of one program by one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell(pub(super) Vec<Measurement>);

impl Cell {
    /// The measurement of the first round; counts do not depend on the round.
    pub(super) fn first(&self) -> Option<&Measurement> {
        self.0.first()
    }

    /// Median, least and greatest rate; nothing if it was too short to be measured.
    pub(super) fn rate(&self) -> Option<Spread> {
        Spread::of(self.0.iter().map(|measurement| measurement.rate))
    }

    /// As `rate`, by the tool's own clock.
    pub(super) fn own_rate(&self) -> Option<Spread> {
        Spread::of(self.0.iter().map(|measurement| measurement.own_rate))
    }
}

/// A figure that was measured several times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) greatest: f64,
}

impl Spread {
    /// Values that are no numbers come from runs too short to be measured.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (&least, &greatest) = (values.first()?, values.last()?);
        Some(Spread { least, median: values[values.len() / 2], greatest })
    }

    pub(super) fn json(&self) -> Value {
        json!({ "least": self.least, "median": self.median, "greatest": self.greatest })
    }
}

/// What it costs to look for data races: how many times as long an execution takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RacesCost {
    /// By the fastest run of either way. Other work on the machine only ever makes a run slower, so these are the two that
    /// it disturbed least.
    pub(super) fastest: f64,
    /// By runs that took turns.
    pub(super) pairs: Spread,
    /// How many of those there were.
    pub(super) count: usize,
}

/// All measurements.
#[derive(Debug, Default)]
pub(super) struct Figures {
    cells: BTreeMap<(String, String), Cell>,
}

impl Figures {
    pub(super) fn add(&mut self, program: &str, tool: &str, measurement: Measurement) {
        self.cells.entry((program.to_owned(), tool.to_owned())).or_default().0.push(measurement);
    }

    pub(super) fn cell(&self, program: &str, tool: &str) -> Cell {
        self.cells.get(&(program.to_owned(), tool.to_owned())).cloned().unwrap_or_default()
    }

    /// The median rate of the fastest of some tools.
    pub(super) fn best_rate(&self, program: &str, prefix: &str) -> Option<f64> {
        let cells = self.cells.iter().filter(|((of, tool), _)| of == program && tool.starts_with(prefix));
        cells.filter_map(|(_, cell)| Some(cell.rate()?.median)).max_by(f64::total_cmp)
    }

    /// How many times as fast as the fastest of other tools ours is.
    pub(super) fn ratio(&self, program: &str, prefix: &str) -> Option<f64> {
        Some(self.cell(program, OURS).rate()?.median / self.best_rate(program, prefix)?)
    }

    /// What it costs to look for races in `program`; nothing if it was too short to be measured.
    pub(super) fn cost_of_races(&self, program: &str) -> Option<RacesCost> {
        let [off, on] = [OURS, WITH_RACES].map(|tool| self.cell(program, tool));
        let ratios = off.0.iter().zip(&on.0).map(|(off, on)| off.rate / on.rate);
        let pairs = Spread::of(ratios.clone())?;
        let fastest = off.rate()?.greatest / on.rate()?.greatest;
        Some(RacesCost { fastest, pairs, count: ratios.filter(|ratio| ratio.is_finite()).count() })
    }

    /// Nanoseconds of an execution without its atomic operations, and of each of those.
    pub(super) fn costs(&self, prefix: &str) -> Option<(f64, f64)> {
        let points = super::PADDED
            .iter()
            .map(|&(program, operations)| Some((operations, 1e9 / self.best_rate(program, prefix)?)));
        Some(linear_fit(&points.collect::<Option<Vec<_>>>()?))
    }
}

/// Intercept and slope of the line with the least squares of errors.
fn linear_fit(points: &[(f64, f64)]) -> (f64, f64) {
    let number = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / number;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / number;
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let slope = covariance / variance;
    (mean_y - slope * mean_x, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rate: f64) -> Measurement {
        Measurement { end: End::Exhausted, executions: 1, rate, own_rate: rate, bytes_per_pending: None }
    }

    #[test]
    fn the_middle_of_what_was_measured_counts() {
        let spread = Spread::of([3.0, f64::INFINITY, 1.0, 2.0].into_iter()).unwrap();
        assert_eq!(spread, Spread { least: 1.0, median: 2.0, greatest: 3.0 });
        assert_eq!(Spread::of([f64::NAN].into_iter()), None);
    }

    #[test]
    fn a_line_is_fitted() {
        let (fixed, each) = linear_fit(&[(1.0, 12.0), (2.0, 14.0), (4.0, 18.0)]);
        assert!((fixed - 10.0).abs() < 1e-9 && (each - 2.0).abs() < 1e-9);
    }

    #[test]
    fn one_disturbed_run_does_not_change_the_cost_of_races() {
        let mut figures = Figures::default();
        for (off, on) in [(90.0, 60.0), (80.0, 20.0), (84.0, 56.0)] {
            for (tool, rate) in [(OURS, off), (WITH_RACES, on)] {
                figures.add("p", tool, measured(rate));
            }
        }
        let pairs = Spread { least: 1.5, median: 1.5, greatest: 4.0 };
        assert_eq!(figures.cost_of_races("p"), Some(RacesCost { fastest: 1.5, pairs, count: 3 }));
        assert_eq!(figures.cost_of_races("q"), None);
    }

    #[test]
    fn ours_is_compared_with_the_best_of_the_others() {
        let mut figures = Figures::default();
        for (tool, rate) in [(OURS, 90.0), ("shuttle dfs", 10.0), ("shuttle pct", 30.0), ("loom", 1.0)] {
            figures.add("p", tool, measured(rate));
        }
        assert_eq!((figures.ratio("p", "shuttle"), figures.ratio("p", "loom")), (Some(3.0), Some(90.0)));
        assert_eq!(figures.ratio("q", "loom"), None);
    }
}
