//! The figures as one picture, in SVG: bars and lines, nothing else.

use super::figures::{Figures, OURS, WITH_RACES};
use super::targets::RATED;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 60.0;
const LEGEND: f64 = 260.0;
const TITLE: f64 = 40.0;
const BELOW: f64 = 50.0;

/// Colours that people who see few of them can tell apart (Okabe and Ito).
const COLOURS: [&str; 9] =
    ["#0072b2", "#d55e00", "#e69f00", "#cc79a7", "#f0c808", "#8c510a", "#009e73", "#56b4e9", "#999999"];

/// Values over another value, a line for each series.
pub(super) struct Panel {
    pub(super) title: String,
    /// What the other value is.
    pub(super) below: String,
    pub(super) lines: Vec<Line>,
    pub(super) log_x: bool,
    /// A value holds until the next one, rather than changing evenly.
    pub(super) steps: bool,
}

pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Groups of values to be compared with each other.
pub(super) struct Bars {
    title: String,
    series: Vec<&'static str>,
    groups: Vec<(&'static str, Vec<Option<f64>>)>,
}

/// A part of the picture.
pub(super) enum Part {
    Lines(Panel),
    Bars(Bars),
}

impl From<Panel> for Part {
    fn from(panel: Panel) -> Part {
        Part::Lines(panel)
    }
}

/// Executions per second, beside the best of shuttle and loom.
pub(super) fn rates(figures: &Figures) -> Part {
    let group = |program: &'static str| {
        let of = |tool| figures.cell(program, tool).rate().map(|rate| rate.median);
        let peers = ["shuttle", "loom"].map(|peer| figures.best_rate(program, peer));
        (program, [of(OURS), of(WITH_RACES)].into_iter().chain(peers).collect())
    };
    Part::Bars(Bars {
        title: "executions per second of time on a core".to_owned(),
        series: vec!["schedcheck, races off", "schedcheck, races on", "shuttle, its fastest way", "loom"],
        groups: RATED.map(group).to_vec(),
    })
}

/// How many bugs each tool has found after how long.
pub(super) fn found(curves: &[(&'static str, Vec<f64>)]) -> Part {
    // What is quicker than the clock of ours is as quick as that.
    const LEAST: f64 = 1e-3;
    let line = |(tool, times): &(&'static str, Vec<f64>)| Line {
        name: format!("{tool} ({})", times.len()),
        points: times.iter().enumerate().map(|(at, time)| (time.max(LEAST), at as f64 + 1.0)).collect(),
    };
    Part::Lines(Panel {
        title: "bugs found, each within so many seconds".to_owned(),
        below: "seconds (median of the seeds)".to_owned(),
        lines: curves.iter().map(line).collect(),
        log_x: true,
        steps: true,
    })
}

/// The parts below each other.
pub(super) fn drawing(parts: &[Part]) -> String {
    let each = TITLE + HEIGHT + BELOW;
    let height = each * parts.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, part) in parts.iter().enumerate() {
        let top = each * at as f64 + TITLE;
        text.push_str(&match part {
            Part::Lines(panel) => lines(panel, top),
            Part::Bars(bars) => columns(bars, top),
        });
    }
    text + "</svg>\n"
}

/// Title, axes and the greatest value.
fn frame(title: &str, top: f64, right: f64, most: f64) -> String {
    format!(
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"15\" font-weight=\"bold\">{}</text>\n\
         <path d=\"M{LEFT} {top} V{bottom} H{right}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n<text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n",
        top - 16.0,
        escaped(title),
        LEFT - 6.0,
        top + 10.0,
        short(most),
        LEFT - 6.0,
        bottom = top + HEIGHT,
    )
}

fn legend(names: impl Iterator<Item = String>, top: f64) -> String {
    let entry = |(at, name): (usize, String)| {
        let (x, y) = (WIDTH - LEGEND + 20.0, top + 16.0 * at as f64);
        let colour = COLOURS[at % COLOURS.len()];
        format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>\n",
            x + 18.0,
            y + 10.0,
            escaped(&name)
        )
    };
    names.enumerate().map(entry).collect()
}

fn lines(panel: &Panel, top: f64) -> String {
    let all = || panel.lines.iter().flat_map(|line| &line.points);
    let most = all().map(|(_, y)| *y).fold(1.0, f64::max);
    let scale = |x: f64| if panel.log_x { x.log10() } else { x };
    let first = if panel.log_x { all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min) } else { 0.0 };
    let last = all().map(|(x, _)| *x).fold(f64::MIN_POSITIVE, f64::max);
    let (from, to) = (scale(first.min(last)), scale(last));
    let right = WIDTH - LEGEND;
    let x = |value: f64| LEFT + (scale(value) - from) / (to - from).max(1e-9) * (right - LEFT);
    let y = |value: f64| top + HEIGHT - value / most * HEIGHT;
    let mut text = frame(&panel.title, top, right, most);
    for (at, line) in panel.lines.iter().enumerate() {
        let mut path = String::new();
        for (number, &(along, up)) in line.points.iter().enumerate() {
            let command = match number {
                0 => format!("M{:.1} {:.1}", x(along), y(up)),
                _ if panel.steps => format!("H{:.1}V{:.1}", x(along), y(up)),
                _ => format!("L{:.1} {:.1}", x(along), y(up)),
            };
            path.push_str(&command);
        }
        if panel.steps && !path.is_empty() {
            path.push_str(&format!("H{right:.1}"));
        }
        let (colour, width) = (COLOURS[at % COLOURS.len()], if at == 0 { 3.0 } else { 1.5 });
        text.push_str(&format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\n"
        ));
    }
    let marks: Vec<f64> = if panel.log_x {
        (from.ceil() as i32..=to.floor() as i32).map(|power| 10f64.powi(power)).collect()
    } else {
        vec![0.0, last]
    };
    for mark in marks {
        let y = top + HEIGHT + 16.0;
        text.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>\n",
            x(mark),
            short(mark)
        ));
    }
    text.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        f64::midpoint(LEFT, right),
        top + HEIGHT + 32.0,
        escaped(&panel.below)
    ));
    text + &legend(panel.lines.iter().map(|line| line.name.clone()), top)
}

fn columns(bars: &Bars, top: f64) -> String {
    let most = bars.groups.iter().flat_map(|(_, values)| values).flatten().fold(1.0, |a: f64, b| a.max(*b));
    let right = WIDTH - LEGEND;
    let group = (right - LEFT) / bars.groups.len().max(1) as f64;
    let bar = (group - 20.0) / bars.series.len().max(1) as f64;
    let mut text = frame(&bars.title, top, right, most);
    for (number, (name, values)) in bars.groups.iter().enumerate() {
        let start = LEFT + 10.0 + group * number as f64;
        text.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            start + (group - 20.0) / 2.0,
            top + HEIGHT + 16.0,
            escaped(name)
        ));
        for (at, value) in values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let (height, x) = (value / most * HEIGHT, start + bar * at as f64);
            let (y, colour) = (top + HEIGHT - height, COLOURS[at % COLOURS.len()]);
            text.push_str(&format!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{}</text>\n",
                bar - 2.0,
                x + bar / 2.0,
                y - 3.0,
                short(value)
            ));
        }
    }
    text + &legend(bars.series.iter().map(|name| (*name).to_owned()), top)
}

/// A number in few letters.
fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.1} M", value / 1e6),
        value if value >= 1e4 => format!("{:.0} k", value / 1e3),
        value if value >= 1e3 => format!("{:.1} k", value / 1e3),
        value if value == value.round() => format!("{value:.0}"),
        value => format!("{}", (value * 1e4).round() / 1e4),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_of_findings_is_a_staircase_to_the_right() {
        let text = drawing(&[found(&[("tool", vec![0.001, 0.1]), ("other", vec![])])]);
        assert!(text.contains("<path d=\"M60.0 160.0H700.0V40.0H700.0\""), "{text}");
        assert!(text.contains("other (0)") && text.ends_with("</svg>\n"), "{text}");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [1_234_567.0, 54_321.0, 1500.0, 12.0, 0.001].map(short),
            ["1.2 M", "54 k", "1.5 k", "12", "0.001"]
        );
    }
}
