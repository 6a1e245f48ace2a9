//! What the engine can be told about a search, from whatever source.
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use crate::cli::ExploreOpts;
use crate::cli::explore_opts::{Reduction, Switch, word};

/// Settings of one search; `None` means that this source says nothing about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub priority: Option<String>,
    pub bound: Option<u32>,
    pub reduction: Option<Reduction>,
    pub max_time: Option<Duration>,
    pub max_executions: Option<NonZeroU64>,
    pub max_steps: Option<NonZeroU32>,
    pub seed: Option<u64>,
    pub random_runs: Option<u32>,
    pub sample: Option<String>,
    pub hunts: Option<u32>,
    pub seq: Option<String>,
    pub reach: Option<String>,
    pub levels: Option<Switch>,
    pub symmetry: Option<Switch>,
    pub leaks: Option<Switch>,
    pub spurious: Option<u32>,
    pub timeouts: Option<u32>,
    pub weak_cas: Option<u32>,
    pub races: Option<Switch>,
    pub os_threads: Option<bool>,
    pub cooperative: Option<bool>,
    pub method: Vec<String>,
    pub var: Vec<String>,
    pub trust: Vec<String>,
    pub focus: Vec<String>,
    /// Changed lines, as `file:first-last`.
    pub changed: Vec<String>,
}

impl Limits {
    /// The documented defaults.
    pub fn built_in() -> Self {
        Self {
            priority: Some("mdpor,pb".to_owned()),
            bound: None,
            reduction: Some(Reduction::Optimal),
            max_time: Some(Duration::from_secs(60)),
            max_executions: None,
            max_steps: NonZeroU32::new(20_000),
            seed: Some(0),
            random_runs: Some(20_000),
            sample: None,
            hunts: Some(48),
            seq: None,
            reach: None,
            levels: Some(Switch::On),
            symmetry: Some(Switch::On),
            leaks: Some(Switch::Off),
            spurious: Some(1),
            timeouts: Some(1),
            weak_cas: Some(1),
            races: Some(Switch::On),
            os_threads: Some(false),
            cooperative: Some(false),
            method: Vec::new(),
            var: Vec::new(),
            trust: Vec::new(),
            focus: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// What the command line and its environment variables say.
    pub fn from_cli(opts: &ExploreOpts) -> Self {
        Self {
            priority: opts.priority.clone(),
            bound: opts.bound,
            reduction: opts.reduction,
            max_time: opts.max_time,
            max_executions: opts.max_executions,
            max_steps: opts.max_steps,
            seed: opts.seed,
            random_runs: opts.random_runs,
            sample: opts.sample.clone(),
            hunts: opts.hunts,
            seq: opts.seq.clone(),
            reach: opts.reach.clone(),
            // Nothing but random schedules: no bounded search beside them, unless that is asked for.
            levels: opts.levels.or(opts.sample.is_some().then_some(Switch::Off)),
            symmetry: opts.symmetry,
            leaks: opts.leaks,
            spurious: opts.spurious,
            timeouts: opts.timeouts,
            weak_cas: opts.weak_cas,
            races: opts.races,
            os_threads: opts.os_threads.then_some(true),
            cooperative: opts.cooperative.then_some(true),
            method: opts.method.clone(),
            var: opts.var.clone(),
            trust: opts.trust.clone(),
            focus: opts.focus.clone(),
            changed: Vec::new(),
        }
    }

    /// These settings, and where they say nothing those of `weaker`.
    pub fn or(self, weaker: Self) -> Self {
        let lists = |own: Vec<String>, other| if own.is_empty() { other } else { own };
        Self {
            priority: self.priority.or(weaker.priority),
            bound: self.bound.or(weaker.bound),
            reduction: self.reduction.or(weaker.reduction),
            max_time: self.max_time.or(weaker.max_time),
            max_executions: self.max_executions.or(weaker.max_executions),
            max_steps: self.max_steps.or(weaker.max_steps),
            seed: self.seed.or(weaker.seed),
            random_runs: self.random_runs.or(weaker.random_runs),
            sample: self.sample.or(weaker.sample),
            hunts: self.hunts.or(weaker.hunts),
            seq: self.seq.or(weaker.seq),
            reach: self.reach.or(weaker.reach),
            levels: self.levels.or(weaker.levels),
            symmetry: self.symmetry.or(weaker.symmetry),
            leaks: self.leaks.or(weaker.leaks),
            spurious: self.spurious.or(weaker.spurious),
            timeouts: self.timeouts.or(weaker.timeouts),
            weak_cas: self.weak_cas.or(weaker.weak_cas),
            races: self.races.or(weaker.races),
            os_threads: self.os_threads.or(weaker.os_threads),
            cooperative: self.cooperative.or(weaker.cooperative),
            method: lists(self.method, weaker.method),
            var: lists(self.var, weaker.var),
            trust: lists(self.trust, weaker.trust),
            focus: lists(self.focus, weaker.focus),
            changed: lists(self.changed, weaker.changed),
        }
    }

    /// As the keys and values of a request.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let number = |value: &dyn ToString| value.to_string();
        let yes_or_no = |value| if value { "yes" } else { "no" }.to_owned();
        let single = [
            ("priority", self.priority.clone()),
            ("bound", self.bound.map(|v| number(&v))),
            ("reduction", self.reduction.map(word)),
            ("max-time-ms", self.max_time.map(|v| number(&v.as_millis()))),
            ("max-executions", self.max_executions.map(|v| number(&v))),
            ("max-steps", self.max_steps.map(|v| number(&v))),
            ("seed", self.seed.map(|v| number(&v))),
            ("random-runs", self.random_runs.map(|v| number(&v))),
            ("sample", self.sample.clone()),
            ("hunts", self.hunts.map(|v| number(&v))),
            ("seq", self.seq.clone()),
            ("reach", self.reach.clone()),
            ("levels", self.levels.map(word)),
            ("symmetry", self.symmetry.map(word)),
            ("leaks", self.leaks.map(word)),
            ("spurious", self.spurious.map(|v| number(&v))),
            ("timeouts", self.timeouts.map(|v| number(&v))),
            ("weak-cas", self.weak_cas.map(|v| number(&v))),
            ("races", self.races.map(word)),
            ("os-threads", self.os_threads.map(yes_or_no)),
            ("cooperative", self.cooperative.map(yes_or_no)),
        ];
        let single = single.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let lists = [
            ("method", &self.method),
            ("var", &self.var),
            ("trust", &self.trust),
            ("focus", &self.focus),
            ("changed", &self.changed),
        ];
        let names =
            lists.into_iter().flat_map(|(key, list)| list.iter().map(move |name| (key, name.clone())));
        single.chain(names).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_schedules_have_no_bounded_search_beside_them() {
        let levels = |sample: Option<&str>, levels| {
            let sample = sample.map(str::to_owned);
            Limits::from_cli(&ExploreOpts { sample, levels, ..ExploreOpts::default() }).levels
        };
        assert_eq!(levels(Some("walk"), None), Some(Switch::Off));
        assert_eq!(levels(Some("walk"), Some(Switch::On)), Some(Switch::On));
        assert_eq!(levels(None, None), None);
    }
}
