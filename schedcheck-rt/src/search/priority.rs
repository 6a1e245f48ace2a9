//! Priority functions: which of the pending executions comes first (GAMBIT section 4).
//!
//! Any function is admissible: it changes the order of the search, never what is covered.

use super::fringe::{MAX_PRIORITIES, Rank};
use super::options::Options;
use super::rng::Rng;
use super::step::{Choice, Event, Places, StepIndex, Trace};
use std::fmt;

/// A pending execution as priority functions see it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The execution it was found in.
    pub trace: &'a Trace,
    /// The step at which it departs from that execution.
    pub step: StepIndex,
    /// What it does there.
    pub choice: Choice,
    /// Preemptions of the new schedule.
    pub preemptions: u32,
    /// Dynamic partial-order reduction would not have added it.
    pub redundant: bool,
    /// Reduction adds it only to be on the safe side.
    pub conservative: bool,
    /// It is in the sleep set, and choosing it is a preemption.
    pub asleep: bool,
}

/// A priority function of one's own.
///
/// ```
/// use schedcheck_rt::search::priority::{Candidate, Prioritize, Priority};
///
/// /// What departs at even steps comes first.
/// struct Even;
///
/// impl Prioritize for Even {
///     fn rank(&mut self, candidate: &Candidate<'_>) -> i32 {
///         i32::from(candidate.step % 2 == 1)
///     }
/// }
///
/// let list = vec![Priority::Custom(Box::new(Even)), Priority::Preemptions];
/// assert_eq!(format!("{list:?}"), "[custom, pb]");
/// ```
pub trait Prioritize {
    /// Smaller runs first.
    fn rank(&mut self, candidate: &Candidate<'_>) -> i32;
}

/// The built-in priority functions, and a door for others.
pub enum Priority {
    /// `pb`: fewest preemptions.
    Preemptions,
    /// `dpor`: what partial-order reduction asks for.
    Dpor,
    /// `mdpor`: as `dpor`, but not what it asks for only to be on the safe side.
    ModifiedDpor,
    /// `ss`: what sleep sets do not rule out.
    Sleep,
    /// `rand`, `rand:SEED`.
    Random(Rng),
    /// `dfs`: deepest branching point.
    Deepest,
    /// `bfs`: shallowest branching point.
    Shallowest,
    /// `method`: preempted and preempting operation in a function of interest, then one of them.
    Method,
    /// `var`: the same for the objects they use.
    Variable,
    /// `changed`: the same for changed lines.
    Changed,
    /// `seq`: fewest places of the sequence left to come by.
    Sequence,
    /// `distance`: nearest to the next of them.
    Distance,
    /// A function of one's own.
    Custom(Box<dyn Prioritize>),
}

const NAMES: &str = "pb, dpor, mdpor, ss, rand, rand:SEED, dfs, bfs, method, var, changed, seq, distance";

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Priority::Preemptions => "pb",
            Priority::Dpor => "dpor",
            Priority::ModifiedDpor => "mdpor",
            Priority::Sleep => "ss",
            Priority::Random(_) => "rand",
            Priority::Deepest => "dfs",
            Priority::Shallowest => "bfs",
            Priority::Method => "method",
            Priority::Variable => "var",
            Priority::Sequence => "seq",
            Priority::Distance => "distance",
            Priority::Changed => "changed",
            Priority::Custom(_) => "custom",
        };
        f.write_str(name)
    }
}

/// Reads a list such as `mdpor,pb` or `rand:7`.
///
/// # Errors
/// Says which name is wrong and which ones there are.
pub fn parse(list: &str) -> Result<Vec<Priority>, String> {
    seeded(list, 0)
}

/// The same; `rand` without a seed of its own has this one.
///
/// # Errors
/// As [`parse`].
pub fn seeded(list: &str, seed: u64) -> Result<Vec<Priority>, String> {
    let one = |name: &str| parse_one(name.trim(), seed);
    let priorities: Vec<_> = list.split(',').map(one).collect::<Result<_, _>>()?;
    if priorities.len() > MAX_PRIORITIES {
        return Err(format!("at most {MAX_PRIORITIES} priorities can be combined, not {}", priorities.len()));
    }
    Ok(priorities)
}

fn parse_one(name: &str, seed: u64) -> Result<Priority, String> {
    let (kind, argument) = match name.split_once(':') {
        Some((kind, argument)) => (kind, Some(argument)),
        None => (name, None),
    };
    let plain = |priority: Priority| match argument {
        None => Ok(priority),
        Some(argument) => Err(format!("priority `{kind}` takes no argument, but `:{argument}` was given")),
    };
    match kind {
        "pb" => plain(Priority::Preemptions),
        "dpor" => plain(Priority::Dpor),
        "mdpor" => plain(Priority::ModifiedDpor),
        "ss" => plain(Priority::Sleep),
        "dfs" => plain(Priority::Deepest),
        "bfs" => plain(Priority::Shallowest),
        "rand" => {
            let number = |own: &str| {
                own.parse().map_err(|_| format!("the seed of `rand` must be a number, not `{own}`"))
            };
            Ok(Priority::Random(Rng::new(argument.map_or(Ok(seed), number)?)))
        }
        "method" => plain(Priority::Method),
        "var" => plain(Priority::Variable),
        "seq" => plain(Priority::Sequence),
        "distance" => plain(Priority::Distance),
        "changed" => plain(Priority::Changed),
        _ => Err(format!("unknown priority `{name}`; there are {NAMES}, combined by commas")),
    }
}

/// Puts `changed` first unless it is in the list. The last of a full list gives way: whatever the list
/// says, only the order depends on it.
pub fn put_changed_first(priorities: &mut Vec<Priority>) {
    if !priorities.iter().any(|priority| matches!(priority, Priority::Changed)) {
        priorities.insert(0, Priority::Changed);
        priorities.truncate(MAX_PRIORITIES);
    }
}

/// Ranks a candidate by every function of the list.
pub(super) fn rank(options: &mut Options, candidate: &Candidate<'_>) -> Rank {
    let mut ranks = Rank::default();
    for (rank, priority) in ranks.iter_mut().zip(&mut options.priority) {
        *rank = match (&*priority, &options.route) {
            (Priority::Sequence, Some(route)) => {
                route.borrow().left_after(candidate.trace, candidate.step, candidate.choice) as i32
            }
            (Priority::Distance, Some(route)) => {
                route.borrow_mut().distance_after(candidate.trace, candidate.step, candidate.choice) as i32
            }
            _ => priority.rank(options.places.as_deref(), candidate),
        };
    }
    ranks
}

impl Priority {
    fn rank(&mut self, places: Option<&dyn Places>, candidate: &Candidate<'_>) -> i32 {
        match self {
            Priority::Preemptions => candidate.preemptions.min(i32::MAX as u32) as i32,
            Priority::Dpor => i32::from(candidate.redundant),
            Priority::ModifiedDpor => {
                if candidate.redundant {
                    2
                } else {
                    i32::from(candidate.conservative)
                }
            }
            Priority::Sleep => i32::from(candidate.asleep),
            Priority::Random(rng) => (rng.number() >> 33) as i32,
            Priority::Deepest => -(candidate.step as i32),
            Priority::Shallowest => candidate.step as i32,
            Priority::Method => {
                involved(candidate, |event| places.is_some_and(|places| places.in_method(event.site)))
            }
            Priority::Variable => involved(candidate, |event| {
                places.is_some_and(|p| event.accesses.iter().any(|access| p.is_named(access.object)))
            }),
            // Without a sequence all are alike.
            Priority::Sequence | Priority::Distance => 0,
            Priority::Changed => {
                involved(candidate, |event| places.is_some_and(|places| places.is_changed(event.site)))
            }
            Priority::Custom(function) => function.rank(candidate),
        }
    }
}

/// 0 if both the preempted and the preempting operation match, 1 if one does, 2 if none.
fn involved(candidate: &Candidate<'_>, matches: impl Fn(&Event) -> bool) -> i32 {
    let events = &candidate.trace.events;
    let step = candidate.step as usize;
    let preempted = events.get(step).is_some_and(&matches);
    let later = events.iter().skip(step).find(|event| event.thread == candidate.choice.thread);
    let preempting = later.is_some_and(matches);
    2 - i32::from(preempted) - i32::from(preempting)
}

#[cfg(test)]
mod tests {
    use super::super::step::{Alt, ThreadId};
    use super::*;

    #[test]
    fn lists_are_read_in_order() {
        let names = |list| format!("{:?}", parse(list).unwrap());
        assert_eq!(names("mdpor,pb"), "[mdpor, pb]");
        assert_eq!(names("rand:7"), "[rand]");
        assert_eq!(names("method, var"), "[method, var]");
    }

    #[test]
    fn the_seed_of_the_search_is_that_of_rand_unless_it_has_its_own() {
        let first = |list, seed| match seeded(list, seed).unwrap().remove(0) {
            Priority::Random(mut rng) => rng.number(),
            other => panic!("{other:?}"),
        };
        assert_eq!(first("rand", 7), first("rand:7", 0));
        assert_eq!(first("rand:7", 3), first("rand:7", 0));
        assert_ne!(first("rand", 7), first("rand", 0));
    }

    #[test]
    fn a_function_of_ones_own_has_its_place_in_the_list() {
        struct Late;
        impl Prioritize for Late {
            fn rank(&mut self, candidate: &Candidate<'_>) -> i32 {
                -(candidate.step as i32)
            }
        }
        let mut options = Options {
            priority: vec![Priority::Custom(Box::new(Late)), Priority::Preemptions],
            ..Options::default()
        };
        let trace = Trace::default();
        let choice = Choice { thread: ThreadId(0), alt: Alt::DEFAULT };
        let mut rank_of = |step, preemptions| {
            let (redundant, conservative, asleep) = (false, false, false);
            let candidate =
                Candidate { trace: &trace, step, choice, preemptions, redundant, conservative, asleep };
            rank(&mut options, &candidate)
        };
        assert!(rank_of(7, 3) < rank_of(2, 0), "it comes first");
        assert!(rank_of(7, 0) < rank_of(7, 3), "then the others");
    }

    #[test]
    fn changed_lines_come_first_unless_they_have_a_place() {
        let names = |list| {
            let mut priorities = parse(list).unwrap();
            put_changed_first(&mut priorities);
            format!("{priorities:?}")
        };
        assert_eq!(names("mdpor,pb"), "[changed, mdpor, pb]");
        assert_eq!(names("pb,changed"), "[pb, changed]");
        assert_eq!(names("ss,mdpor,pb,rand"), "[changed, ss, mdpor, pb]");
    }

    #[test]
    fn errors_say_what_would_have_been_right() {
        let error = |list| parse(list).unwrap_err();
        assert!(error("dporr").contains("there are pb, dpor, mdpor"));
        assert!(error("rand:x").contains("must be a number"));
        assert!(error("pb:3").contains("takes no argument"));
        assert!(error("method:push").contains("takes no argument"));
        assert!(error("pb,pb,pb,pb,pb").contains("at most 4"));
    }
}
