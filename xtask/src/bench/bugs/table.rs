//! What was found, as tables, as JSON and as the curves of the chart.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Finding, Hunt, tools};
use crate::bench::figures::Spread;
use crate::bench::report::Section;
use crate::bench::short;

/// All attempts of one tool at one bug, in short.
enum Summary {
    Found { by: usize, of: usize, executions: Spread, seconds: Spread },
    Missed { executions: u64 },
    NotFound { executions: u64 },
    FalseAlarm(String),
    Unsupported(&'static str),
    Crashed(String),
}

impl Hunt {
    fn summary(&self, test: &str, tool: &'static str) -> Option<Summary> {
        let key = (test.to_owned(), tool);
        let attempts = self.attempts.get(&key)?;
        // Running into a limit of steps is the way in which the peers notice that a program goes on for ever.
        let found: Vec<(u64, f64)> = attempts
            .iter()
            .filter_map(|finding| match *finding {
                Finding::Found { executions, seconds } | Finding::StepLimit { executions, seconds } => {
                    Some((executions, seconds))
                }
                _ => None,
            })
            .collect();
        let executions = Spread::of(found.iter().map(|(executions, _)| *executions as f64));
        let seconds = Spread::of(found.iter().map(|(_, seconds)| *seconds));
        if let (Some(executions), Some(seconds)) = (executions, seconds) {
            if let Some(alarm) = self.false_alarms.get(&key) {
                return Some(Summary::FalseAlarm(alarm.clone()));
            }
            return Some(Summary::Found { by: found.len(), of: attempts.len(), executions, seconds });
        }
        Some(match attempts.first()? {
            Finding::Unsupported(reason) => Summary::Unsupported(reason),
            Finding::Crashed(how) => Summary::Crashed(how.clone()),
            Finding::Missed { executions } => Summary::Missed { executions: *executions },
            Finding::Found { executions, .. }
            | Finding::OutOfTime { executions }
            | Finding::StepLimit { executions, .. } => Summary::NotFound { executions: *executions },
        })
    }

    /// The median time to a bug that more than half of the attempts found.
    fn seconds(&self, test: &str, tool: &'static str) -> Option<f64> {
        match self.summary(test, tool)? {
            Summary::Found { by, of, seconds, .. } if 2 * by > of => Some(seconds.median),
            _ => None,
        }
    }
}

impl Summary {
    fn cell(&self) -> String {
        match self {
            Summary::Found { by, of, executions, seconds } => {
                let spread = match executions.least == executions.greatest {
                    true => format!("{:.0}", executions.median),
                    false => {
                        format!(
                            "{:.0} ({:.0}-{:.0})",
                            executions.median, executions.least, executions.greatest
                        )
                    }
                };
                let part = if by == of { String::new() } else { format!(", {by} of {of}") };
                format!("{spread}, {}{part}", time(seconds.median))
            }
            Summary::Missed { executions } => format!("MISSED after {executions}"),
            Summary::NotFound { executions } => format!("> {executions}"),
            Summary::FalseAlarm(_) => "false alarm".to_owned(),
            Summary::Unsupported(_) => "n/a".to_owned(),
            Summary::Crashed(_) => "crash".to_owned(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Summary::Found { by, of, executions, seconds } => json!({
                "end": "found", "by": by, "of": of,
                "executions": executions.json(), "seconds": seconds.json(),
            }),
            Summary::Missed { executions } => json!({ "end": "missed", "executions": executions }),
            Summary::NotFound { executions } => json!({ "end": "not found", "executions": executions }),
            Summary::FalseAlarm(why) => json!({ "end": "false alarm", "reason": why }),
            Summary::Unsupported(why) => json!({ "end": "n/a", "reason": why }),
            Summary::Crashed(why) => json!({ "end": "crash", "reason": why }),
        }
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.01 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.1} s"),
    }
}

/// The tools in one line each, and the bugs in one line each.
pub(in crate::bench) fn sections(hunt: &Hunt) -> Vec<Section> {
    let limit = hunt.limit.as_secs_f64();
    let title = format!("bugs found within {limit} s each");
    let attempts = match hunt.seeds {
        1 => "a single attempt".to_owned(),
        seeds => format!(
            "the median of {seeds} attempts; a bug counts as found if more than half of them found it"
        ),
    };
    let explanation = format!(
        "Where chance has a part, {attempts}. A false alarm is one that the twin without the bug raises, too. Missed: \
         the tool was done and reported no bug. An execution that has begun may end after the limit."
    );
    let mut bugs = Section::new("executions and time to each bug", rows(hunt));
    bugs.notes = reasons(hunt);
    vec![Section { title, rows: by_tool(hunt), notes: vec![explanation] }, bugs]
}

fn by_tool(hunt: &Hunt) -> Vec<Vec<String>> {
    let headings =
        ["tool", "found", "by some seeds", "missed", "not in time", "false alarms", "n/a", "crash or hang"];
    let last = ["median executions", "median time", "all of them"];
    let mut rows = vec![headings.into_iter().chain(last).map(str::to_owned).collect::<Vec<_>>()];
    for tool in tools() {
        let summaries: Vec<Summary> = hunt.kinds.keys().filter_map(|test| hunt.summary(test, tool)).collect();
        let count = |is: fn(&Summary) -> bool| summaries.iter().filter(|summary| is(summary)).count();
        let found = |summary: &&Summary| matches!(summary, Summary::Found { by, of, .. } if 2 * by > *of);
        let executions = summaries.iter().filter(found).filter_map(|summary| match summary {
            Summary::Found { executions, .. } => Some(executions.median),
            _ => None,
        });
        let seconds: Vec<f64> = hunt.kinds.keys().filter_map(|test| hunt.seconds(test, tool)).collect();
        let (executions, median) = (Spread::of(executions), Spread::of(seconds.iter().copied()));
        rows.push(vec![
            tool.to_owned(),
            format!("{} of {}", summaries.iter().filter(found).count(), hunt.kinds.len()),
            count(|summary| matches!(summary, Summary::Found { by, of, .. } if 2 * by <= *of)).to_string(),
            count(|summary| matches!(summary, Summary::Missed { .. })).to_string(),
            count(|summary| matches!(summary, Summary::NotFound { .. })).to_string(),
            count(|summary| matches!(summary, Summary::FalseAlarm(_))).to_string(),
            count(|summary| matches!(summary, Summary::Unsupported(_))).to_string(),
            count(|summary| matches!(summary, Summary::Crashed(_))).to_string(),
            executions.map_or("-".to_owned(), |all| format!("{:.0}", all.median)),
            median.map_or("-".to_owned(), |all| time(all.median)),
            time(seconds.iter().sum()),
        ]);
    }
    rows
}

fn rows(hunt: &Hunt) -> Vec<Vec<String>> {
    let headings = ["test", "bug"].into_iter().chain(tools());
    let mut rows = vec![headings.map(str::to_owned).collect::<Vec<_>>()];
    for (test, kind) in &hunt.kinds {
        let cells = tools().map(|tool| hunt.summary(test, tool).map_or("-".to_owned(), |all| all.cell()));
        rows.push([short(test).to_owned(), kind.clone()].into_iter().chain(cells).collect());
    }
    rows
}

/// Why a cell says `n/a`, `crash` or `false alarm`.
fn reasons(hunt: &Hunt) -> Vec<String> {
    let mut reasons = BTreeSet::new();
    for test in hunt.kinds.keys() {
        for tool in tools() {
            reasons.extend(match hunt.summary(test, tool) {
                Some(Summary::Unsupported(why)) => Some(format!("n/a: {why}")),
                Some(Summary::Crashed(why)) => Some(format!("crash of {tool} on {}: {why}", short(test))),
                Some(Summary::FalseAlarm(why)) => {
                    Some(format!("false alarm of {tool} on {}: {why}", short(test)))
                }
                _ => None,
            });
        }
    }
    reasons.into_iter().collect()
}

/// Everything, for programs.
pub(in crate::bench) fn json(hunt: &Hunt) -> Value {
    let bug = |test: &String| {
        let by_tool = tools().filter_map(|tool| Some((tool.to_owned(), hunt.summary(test, tool)?.json())));
        let by_tool: serde_json::Map<String, Value> = by_tool.collect();
        json!({ "test": test, "bug": hunt.kinds.get(test), "tools": by_tool })
    };
    let bugs: Vec<Value> = hunt.kinds.keys().map(bug).collect();
    json!({ "limit_s": hunt.limit.as_secs_f64(), "seeds": hunt.seeds, "bugs": bugs })
}

/// For each tool the times after which it has found one more bug.
pub(in crate::bench) fn curves(hunt: &Hunt) -> Vec<(&'static str, Vec<f64>)> {
    let curve = |tool| {
        let mut times: Vec<f64> = hunt.kinds.keys().filter_map(|test| hunt.seconds(test, tool)).collect();
        times.sort_by(f64::total_cmp);
        (tool, times)
    };
    tools().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::OURS;

    fn hunt(findings: Vec<Finding>) -> Hunt {
        let mut hunt = Hunt { seeds: findings.len() as u64, ..Hunt::default() };
        hunt.kinds.insert("m::tests::bug".to_owned(), "panic".to_owned());
        hunt.attempts.insert(("m::tests::bug".to_owned(), OURS), findings);
        hunt
    }

    fn cell(hunt: &Hunt) -> String {
        hunt.summary("m::tests::bug", OURS).expect("an attempt").cell()
    }

    #[test]
    fn cells_have_median_and_spread() {
        let found = |executions| Finding::Found { executions, seconds: 0.002 };
        assert_eq!(cell(&hunt(vec![found(4), found(9), found(5)])), "5 (4-9), 2.0 ms");
        let part = hunt(vec![found(4), Finding::OutOfTime { executions: 99 }]);
        assert_eq!(cell(&part), "4, 2.0 ms, 1 of 2");
        assert!(part.seconds("m::tests::bug", OURS).is_none(), "half of the seeds are not enough");
    }

    #[test]
    fn what_the_twin_fails_with_is_no_finding() {
        let mut hunt = hunt(vec![Finding::Found { executions: 1, seconds: 0.1 }]);
        hunt.false_alarms.insert(("m::tests::bug".to_owned(), OURS), "fails the twin".to_owned());
        assert_eq!(cell(&hunt), "false alarm");
        assert!(curves(&hunt).iter().all(|(_, times)| times.is_empty()));
    }
}
