//! `--partition`: which of the selected tests are dealt to this machine.
//!
//! Every part of a run selects the same tests and takes its own share. Whatever the way, each test is in exactly one of
//! `1/n` … `n/n`; this needs nothing but that all parts see the same list.
use std::str::FromStr;

use super::part::{Part, PartSpec};
use crate::build::fingerprint;

/// A way to deal out tests, and the share of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    pub how: How,
    pub spec: PartSpec,
}

/// Ways to deal out tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// In turn: parts are of equal size, but a new test moves others.
    Count,
    /// By name: a test stays in its part, whatever comes or goes beside it.
    Hash,
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (how, part) = text.split_once(':').unwrap_or((text, ""));
        let how = match how {
            "count" => How::Count,
            "hash" => How::Hash,
            _ => return Err(format!("`{text}`: write for example `count:2/4`, `hash:2/4` or `hash:auto/4`")),
        };
        Ok(Self { how, spec: part.parse()? })
    }
}

impl How {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Hash => "hash",
        }
    }

    /// The share of one part.
    pub fn part<T>(self, part: Part, tests: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
        let own = u64::from(part.index - 1);
        let is_own = |(position, test): (usize, T)| {
            let number = match self {
                Self::Count => position as u64,
                Self::Hash => number_of(&name(&test)),
            };
            (number % u64::from(part.count) == own).then_some(test)
        };
        tests.into_iter().enumerate().filter_map(is_own).collect()
    }
}

/// A number that is the same for a name everywhere and in all versions.
fn number_of(name: &str) -> u64 {
    let digits = fingerprint::of_bytes(name.as_bytes());
    u64::from_str_radix(&digits[..16], 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_in_exactly_one_part() {
        let tests: Vec<String> = (0..50).map(|number| format!("bank::lib tests::number_{number}")).collect();
        for how in [How::Count, How::Hash] {
            for count in 1..8 {
                let parts =
                    (1..=count).map(|index| how.part(Part { index, count }, tests.clone(), String::clone));
                let parts: Vec<Vec<String>> = parts.collect();
                let mut all = parts.concat();
                all.sort();
                let mut expected = tests.clone();
                expected.sort();
                assert_eq!(all, expected, "{how:?} {count}");
                if how == How::Count {
                    assert!(parts.iter().all(|part| part.len() - 50 / count as usize <= 1), "{count}");
                }
            }
        }
    }

    #[test]
    fn a_name_keeps_its_part_whatever_is_beside_it_and_in_every_version() {
        let part = |tests: &str| {
            let tests = tests.chars().map(String::from).collect();
            How::Hash.part(Part { index: 2, count: 3 }, tests, String::clone).concat()
        };
        assert_eq!(part("abcdef"), "ab");
        assert_eq!(part("baca"), "baa");
    }

    #[test]
    fn a_way_that_is_not_known_is_refused() {
        for text in ["", "2/4", "slice:1/2", "count", "count:", "hash:0/4"] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
        assert_eq!("hash:auto/4".parse::<Partition>().map(|partition| partition.how), Ok(How::Hash));
    }
}
