//! Which part of a divided run this is: `2/4`, or `auto` where a job system has numbered its jobs.
//!
//! Part 1 of 4 is `1/4`, as in nextest. Job systems count from 0, from 1, or from wherever the user begins; `auto` knows
//! each one's way. Running the wrong part, or a part twice, would leave tests out in silence: whatever is not certain is
//! an error.
use std::str::FromStr;

use crate::error::{ExpectedError, Result};

/// One of `count` parts; `index` counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub index: u32,
    pub count: u32,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// A part as the command line names it: `k/n`, `auto/n` or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSpec {
    /// `None`: ask the environment.
    index: Option<u32>,
    /// `None`: ask the environment.
    count: Option<u32>,
}

impl FromStr for PartSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a part: write for example `2/4`, or `auto/4` in a job of an array");
        let number = |text: &str| match text.parse::<u32>() {
            Ok(number) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
            _ => Err(wrong()),
        };
        let (index, count) = match text.split_once('/') {
            Some((index, count)) => (index, Some(number(count)?)),
            None => (text, None),
        };
        let index = match (index, count) {
            ("auto", _) => None,
            (_, None) => return Err(wrong()),
            (index, _) => Some(number(index)?),
        };
        if let (Some(index), Some(count)) = (index, count) {
            within(index, count)?;
        } else if count == Some(0) {
            return Err("there must be at least one part".to_owned());
        }
        Ok(Self { index, count })
    }
}

impl PartSpec {
    /// The part this process is to do, with the variables of its environment.
    pub fn resolve(self, variable: impl Fn(&str) -> Option<String>) -> Result<Part> {
        let refuse = |reason: String| ExpectedError::BadSetup(reason);
        if let (Some(index), Some(count)) = (self.index, self.count) {
            return Ok(Part { index, count });
        }
        let job = Job::find(variable).map_err(refuse)?;
        let count = match (self.count, job.count) {
            (Some(count), Some(told)) if count != told => {
                return Err(refuse(format!(
                    "{count} parts are asked for, but {} says that there are {told} jobs",
                    job.system
                )));
            }
            (Some(count), _) | (None, Some(count)) => count,
            (None, None) => {
                return Err(refuse(format!(
                    "{} does not say how many jobs there are: write `auto/N`",
                    job.system
                )));
            }
        };
        within(job.index, count).map_err(|reason| refuse(format!("{}: {reason}", job.system)))?;
        Ok(Part { index: job.index, count })
    }

    /// The part this process is to do.
    pub fn here(self) -> Result<Part> {
        self.resolve(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }
}

fn within(index: u32, count: u32) -> Result<(), String> {
    match index {
        _ if count == 0 => Err("there must be at least one part".to_owned()),
        0 => Err(format!("parts are counted from 1: there is no part 0 of {count}")),
        _ if index > count => Err(format!("there is no part {index} of {count}")),
        _ => Ok(()),
    }
}

/// What a job system says about this process.
struct Job {
    system: &'static str,
    /// Counts from 1.
    index: u32,
    count: Option<u32>,
}

impl Job {
    fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| -> Result<Option<u32>, String> {
            let Some(value) = variable(name) else { return Ok(None) };
            value.trim().parse().map(Some).map_err(|_| format!("{name} is `{value}`, which is not a number"))
        };
        let mut found = Vec::new();
        if let Some(index) = number("CI_NODE_INDEX")? {
            found.push(Self { system: "GitLab (CI_NODE_INDEX)", index, count: number("CI_NODE_TOTAL")? });
        }
        if let Some(index) = number("JOB_COMPLETION_INDEX")? {
            let system = "Kubernetes (JOB_COMPLETION_INDEX)";
            found.push(Self { system, index: index.saturating_add(1), count: None });
        }
        if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
            let system = "Slurm (SLURM_ARRAY_TASK_ID)";
            // `--array=10-40:10` numbers its four jobs 10, 20, 30, 40.
            let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(1);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let count = number("SLURM_ARRAY_TASK_COUNT")?;
            let place = id.checked_sub(first).filter(|distance| distance % step == 0);
            let Some(place) = place else {
                return Err(format!("{system}: {id} is not {first} plus a multiple of {step}"));
            };
            found.push(Self { system, index: (place / step).saturating_add(1), count });
        }
        let names: Vec<_> = found.iter().map(|job| job.system).collect();
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(format!("`auto` asks which part this is, but none of {} is set", KNOWN.join(", "))),
            _ => Err(format!(
                "`auto` is not clear here, several number this job: {}; write the part as K/N",
                names.join(", ")
            )),
        }
    }
}

/// The variables that number a job.
const KNOWN: [&str; 3] = ["CI_NODE_INDEX", "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables and their values.
    type Environment = &'static [(&'static str, &'static str)];

    fn resolve(text: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let spec: PartSpec = text.parse()?;
        let variable = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
        spec.resolve(variable).map(|part| part.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_part_that_is_written_out_needs_no_environment() {
        assert_eq!(resolve("2/4", &[]).as_deref(), Ok("2/4"));
        assert_eq!(resolve("2/4", &[("JOB_COMPLETION_INDEX", "0")]).as_deref(), Ok("2/4"));
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["", "2", "/", "2/", "/4", "0/4", "5/4", "auto/0", "0/0", "+1/4", "-1/4", "1/4/4", "a/4"]
        {
            assert!(resolve(text, &[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "9")]).is_err(), "{text}");
        }
    }

    #[test]
    fn every_job_system_counts_in_its_own_way() {
        let cases: [(&str, Environment, &str); 6] = [
            ("auto", &[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "3")], "1/3"),
            ("auto/3", &[("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", "3")], "3/3"),
            ("auto/4", &[("JOB_COMPLETION_INDEX", "0")], "1/4"),
            ("auto/4", &[("JOB_COMPLETION_INDEX", "3")], "4/4"),
            (
                "auto",
                &[
                    ("SLURM_ARRAY_TASK_ID", "0"),
                    ("SLURM_ARRAY_TASK_MIN", "0"),
                    ("SLURM_ARRAY_TASK_COUNT", "2"),
                ],
                "1/2",
            ),
            (
                "auto",
                &[
                    ("SLURM_ARRAY_TASK_ID", "30"),
                    ("SLURM_ARRAY_TASK_MIN", "10"),
                    ("SLURM_ARRAY_TASK_STEP", "10"),
                    ("SLURM_ARRAY_TASK_COUNT", "4"),
                ],
                "3/4",
            ),
        ];
        for (text, variables, part) in cases {
            assert_eq!(resolve(text, variables).as_deref(), Ok(part), "{variables:?}");
        }
    }

    #[test]
    fn what_is_not_certain_is_refused_with_the_reason() {
        let cases: [(&str, Environment, &str); 7] = [
            ("auto", &[], "none of CI_NODE_INDEX, JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID is set"),
            ("auto", &[("JOB_COMPLETION_INDEX", "0")], "write `auto/N`"),
            ("auto/4", &[("JOB_COMPLETION_INDEX", "4")], "there is no part 5 of 4"),
            ("auto/4", &[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "5")], "says that there are 5 jobs"),
            ("auto/4", &[("CI_NODE_INDEX", "1"), ("JOB_COMPLETION_INDEX", "0")], "several number this job"),
            ("auto/4", &[("JOB_COMPLETION_INDEX", "x")], "`x`, which is not a number"),
            (
                "auto/4",
                &[
                    ("SLURM_ARRAY_TASK_ID", "15"),
                    ("SLURM_ARRAY_TASK_MIN", "10"),
                    ("SLURM_ARRAY_TASK_STEP", "10"),
                ],
                "15 is not 10 plus a multiple of 10",
            ),
        ];
        for (text, variables, reason) in cases {
            let error = resolve(text, variables).unwrap_err();
            assert!(error.contains(reason), "{text} {variables:?}: {error}");
        }
    }
}
