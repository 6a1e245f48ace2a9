//! The options of one exploration: the command line over the attribute over the config file.

use super::bad_option;
use crate::exec::places::{ChangedLines, Element, Names};
use crate::exec::{Execution, Test};
use crate::search::Reduction;
use crate::search::priority;
use crate::search::route::Wanted;
use crate::search::seeds::Way;
use crate::search::step::Budget;
use crate::wire::request::{BadRequest, Request};
use std::time::Duration;

/// Everything that can be set about an exploration.
#[derive(Debug)]
pub(super) struct Settings {
    /// A list that `priority::parse` takes.
    pub(super) priority: String,
    pub(super) bound: Option<u32>,
    pub(super) reduction: Reduction,
    pub(super) max_time: Duration,
    pub(super) max_executions: Option<u64>,
    pub(super) max_steps: u32,
    pub(super) seed: u64,
    /// Most random executions that are mixed in; their races feed the search.
    pub(super) random_runs: u32,
    /// Most executions that are steered to what was predicted.
    pub(super) hunts: u32,
    /// Nothing but random executions of this kind.
    pub(super) sample: Option<Way>,
    /// Nothing but predictions is wanted.
    pub(super) predict_only: bool,
    /// Whether a bounded search goes along with an unbounded one.
    pub(super) levels: bool,
    /// Whether threads that are declared interchangeable are treated so.
    pub(super) symmetry: bool,
    /// Whether threads that outlive the test are a failure.
    pub(super) leaks: bool,
    pub(super) budget: Budget,
    pub(super) expect: Option<String>,
    /// Targets of `method` and `var`, trusted code, code to focus on.
    pub(super) names: Names,
    /// Where executions are to go first: places of `names`.
    pub(super) wanted: Option<Wanted>,
    /// Look for data races on plain memory.
    pub(super) races: bool,
    /// Every thread of the test on a thread of the system of its own.
    pub(super) os_threads: bool,
    /// Threads are switched only at labels and where they block.
    pub(super) cooperative: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            priority: "mdpor,pb".to_owned(),
            bound: None,
            reduction: Reduction::Optimal,
            max_time: Duration::from_secs(60),
            max_executions: None,
            max_steps: 20_000,
            seed: 0,
            random_runs: 20_000,
            hunts: 48,
            sample: None,
            predict_only: false,
            levels: true,
            symmetry: true,
            leaks: false,
            budget: Budget::default(),
            expect: None,
            names: Names::default(),
            wanted: None,
            races: false,
            os_threads: false,
            cooperative: false,
        }
    }
}

impl Settings {
    /// What executes `test` as these settings want.
    pub(super) fn execution(&self, test: Test) -> Execution {
        let mut execution = Execution::new(test, self.max_steps);
        if self.os_threads {
            execution.use_os_threads();
        }
        if self.cooperative {
            execution.cooperate();
        }
        if self.leaks {
            execution.detect_leaks();
        }
        if !self.symmetry {
            execution.ignore_symmetry();
        }
        if self.races {
            execution.detect_races();
        }
        execution
    }

    /// The settings for a request about a test with this attribute.
    pub(super) fn gather(request: &Request, attribute: Option<&str>) -> Result<Settings, BadRequest> {
        let mut settings = Settings::default();
        let pairs = |list: &[(String, String)]| list.to_vec();
        let attribute = attribute.into_iter().flat_map(arguments);
        let attribute = attribute.map(|(name, value)| (name.replace('_', "-"), value.to_owned()));
        for source in [pairs(&request.default), attribute.collect(), pairs(&request.set)] {
            settings.take(&source)?;
        }
        Ok(settings)
    }

    /// Takes over what one source says. Lists of names replace those of weaker sources.
    fn take(&mut self, source: &[(String, String)]) -> Result<(), BadRequest> {
        for key in ["method", "var", "trust", "focus", "changed"] {
            let values =
                source.iter().filter(|(name, _)| name == key).flat_map(|(_, value)| value.split(','));
            let values: Vec<String> = values.map(|value| value.trim().to_owned()).collect();
            if !values.is_empty() {
                match key {
                    "method" => self.names.methods = values,
                    "var" => self.names.variables = values,
                    "trust" => self.names.trusted = values,
                    "changed" => {
                        let parsed = values.iter().map(|value| {
                            ChangedLines::parse(value).ok_or_else(|| bad_option("changed", value))
                        });
                        self.names.changed = parsed.collect::<Result<_, _>>()?;
                    }
                    _ => self.names.focus = values,
                }
            }
        }
        source.iter().try_for_each(|(name, value)| self.set(name, value))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadRequest> {
        fn parse<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, BadRequest> {
            value.parse().map_err(|_| bad_option(name, value))
        }
        match name {
            "priority" => {
                priority::parse(value).map_err(BadRequest::new)?;
                value.clone_into(&mut self.priority);
            }
            "bound" => self.bound = Some(parse(name, value)?),
            "reduction" => self.reduction = reduction(value).ok_or_else(|| bad_option(name, value))?,
            "max-time-ms" => self.max_time = Duration::from_millis(parse(name, value)?),
            "max-time" => self.max_time = duration(value).ok_or_else(|| bad_option(name, value))?,
            "max-executions" => self.max_executions = Some(parse(name, value)?),
            "max-steps" => self.max_steps = parse(name, value)?,
            "seed" => self.seed = parse(name, value)?,
            "random-runs" => self.random_runs = parse(name, value)?,
            "hunts" => self.hunts = parse(name, value)?,
            "sample" => self.sample = Some(Way::parse(value).ok_or_else(|| bad_option(name, value))?),
            "predict-only" => self.predict_only = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "levels" => self.levels = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "leaks" => self.leaks = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "symmetry" => self.symmetry = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "spurious" => self.budget.spurious = parse(name, value)?,
            "timeouts" => self.budget.timeouts = parse(name, value)?,
            "weak-cas" => self.budget.weak_failures = parse(name, value)?,
            "expect" => self.expect = Some(value.to_owned()),
            "os-threads" => self.os_threads = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "races" => self.races = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "seq" => {
                self.names.elements = value.split("->").map(Element::parse).collect();
                self.wanted = Some(Wanted::Sequence(self.names.elements.len() as u32));
            }
            "reach" => {
                self.names.elements = value.split('&').map(Element::parse).collect();
                self.wanted = Some(Wanted::Meeting(self.names.elements.len() as u32));
            }
            "cooperative" => self.cooperative = yes_or_no(value).ok_or_else(|| bad_option(name, value))?,
            "method" | "var" | "trust" | "focus" | "changed" => {}
            _ => return Err(bad_option(name, value)),
        }
        Ok(())
    }
}

fn reduction(name: &str) -> Option<Reduction> {
    Some(match name {
        "optimal" => Reduction::Optimal,
        "source" => Reduction::Source,
        "classic" => Reduction::Classic,
        "none" => Reduction::None,
        _ => return None,
    })
}

fn yes_or_no(word: &str) -> Option<bool> {
    match word {
        "yes" | "true" | "on" => Some(true),
        "no" | "false" | "off" => Some(false),
        _ => None,
    }
}

/// `a=1;b=2` as pairs.
fn arguments(attribute: &str) -> impl Iterator<Item = (&str, &str)> {
    attribute.split(';').filter_map(|argument| argument.split_once('='))
}

/// `10s`, `500ms`, `2m`, `1h`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let milliseconds = match unit.trim() {
        "ms" => 1,
        "s" | "sec" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(milliseconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_attribute_and_that_over_the_config_file() {
        let request = Request::parse(
            "schedcheck 1\ndefault.bound 1\ndefault.seed 1\ndefault.max-steps 9\nset.bound 3\n\
             default.method a\ndefault.method b\ndefault.var x\n",
        )
        .unwrap();
        let attribute = "bound=2;seed=2;max_time=2m;method=c, D::d";
        let settings = Settings::gather(&request, Some(attribute)).unwrap();
        assert_eq!(
            (settings.names.methods, settings.names.variables),
            (vec!["c".into(), "D::d".into()], vec!["x".into()])
        );
        assert_eq!((settings.bound, settings.seed, settings.max_steps), (Some(3), 2, 9));
        assert_eq!(settings.max_time, Duration::from_secs(120));
    }

    #[test]
    fn a_value_that_cannot_be_used_is_an_error() {
        let request = Request::parse("schedcheck 1\nset.bound many\n").unwrap();
        assert!(Settings::gather(&request, None).is_err());
    }
}
