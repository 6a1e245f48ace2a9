//! An endless schedule has the shape of a lasso: a way in, and a round that repeats.
use std::ops::Range;

use super::story::word;
use crate::run::wire::{Blocked, Finished, Outcome, Step};

/// Longer rounds are not recognised.
const LONGEST: usize = 2_000;
/// How many rounds must have been seen.
const ROUNDS: usize = 3;
/// So many steps the engine lets a thread wait that could run, for each thread that there is (`exec/fairness.rs`).
const PATIENCE: usize = 2_000;

/// The round at the end of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// Position in the trace of the first step of the first round.
    pub start: usize,
    /// Steps of one round.
    pub length: usize,
}

impl Lasso {
    /// Finds the shortest round that the trace of an execution ends with, and its first occurrence.
    pub fn of(finished: &Finished) -> Option<Self> {
        let trace = &finished.trace;
        let same = |left: usize, right: usize| same(&trace[left], &trace[right]);
        let total = trace.len();
        let length = (1..=LONGEST.min(total / ROUNDS))
            .find(|length| (total - (ROUNDS - 1) * length..total).all(|at| same(at, at - length)))?;
        let mut start = total - length;
        if !comes_back(&trace[start..]) {
            return None;
        }
        while start > 0 && same(start - 1, start - 1 + length) {
            start -= 1;
        }
        // Somebody else might end it, and has not had the time yet.
        let is_fair = total - start > PATIENCE * (finished.threads.len() + 1);
        let lasso = Self { start, length };
        (is_fair || !lasso.leaves_out_somebody(finished)).then_some(lasso)
    }

    /// Whether a thread that has not ended, and is not blocked, takes no part in it.
    fn leaves_out_somebody(self, finished: &Finished) -> bool {
        let round = self.round(finished);
        let ended = |thread| {
            finished
                .trace
                .iter()
                .any(|step| step.thread == thread && matches!(word(&step.op), "end" | "finish"))
        };
        // Whoever waits for what a round gives up again can run in every one of them.
        let given_up = |object: &Option<String>| {
            let gives_up = |step: &Step| step.object == *object && word(&step.op) == "unlock";
            object.is_some() && round.iter().any(gives_up)
        };
        let is_blocked = |blocked: &Blocked, thread| blocked.thread == thread && !given_up(&blocked.object);
        let can_run = |thread: &usize| {
            !finished.blocked.iter().any(|blocked| is_blocked(blocked, *thread))
                && !round.iter().any(|step| step.thread == *thread)
                && !ended(*thread)
        };
        (0..finished.threads.len()).any(|thread| can_run(&thread))
    }

    /// One round.
    pub fn round(self, finished: &Finished) -> &[Step] {
        &finished.trace[self.start..self.start + self.length]
    }
}

/// Whether references are given up as often as they are taken. If not, the steps look the same, but each round leaves another
/// state: somebody drops a long list.
fn comes_back(round: &[Step]) -> bool {
    let times = |op: &str, object: &Option<String>| {
        round.iter().filter(|step| word(&step.op) == op && step.object == *object).count()
    };
    round.iter().all(|Step { object, .. }| times("count_up", object) == times("count_down", object))
}

/// The steps that belong into a report, at most so many, the last ones: the rounds of a livelock are all the same.
pub fn worth_showing(finished: &Finished, most: usize) -> Range<usize> {
    let lasso = Lasso::of(finished).filter(|_| finished.outcome == Outcome::Livelock);
    let end = lasso.map_or(finished.trace.len(), |lasso| lasso.start + lasso.length);
    end.saturating_sub(most)..end
}

fn same(left: &Step, right: &Step) -> bool {
    (left.thread, &left.op, &left.object, &left.site) == (right.thread, &right.op, &right.object, &right.site)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn livelock(ops: &str) -> Finished {
        let steps: Vec<String> = ops.chars().map(|op| format!(r#"{{"thread":0,"op":"{op}"}}"#)).collect();
        let json = format!(r#"{{"outcome":"livelock","trace":[{}]}}"#, steps.join(","));
        serde_json::from_str(&json).unwrap()
    }

    fn lasso(ops: &str) -> Option<(usize, usize)> {
        Lasso::of(&livelock(ops)).map(|lasso| (lasso.start, lasso.length))
    }

    #[test]
    fn the_way_in_is_told_from_the_round() {
        assert_eq!(lasso("spawnabcabcabc"), Some((5, 3)));
        assert_eq!(lasso("spawnabcabcabca"), Some((5, 3)), "the last round may be cut anywhere");
        assert_eq!(lasso("xaaaa"), Some((1, 1)));
        assert_eq!(lasso("aaa"), Some((0, 1)));
    }

    #[test]
    fn a_round_during_which_somebody_else_had_no_turn_yet_says_nothing() {
        let beside = |rounds: usize, other: &str| {
            let mut steps = vec![r#"{"thread":0,"op":"spawn"}"#.to_owned(), other.to_owned()];
            steps.resize(rounds, r#"{"thread":0,"op":"yield"}"#.to_owned());
            let threads = r#"{"path":"0"},{"path":"0.1"}"#;
            let steps = steps.join(",");
            let json = format!(r#"{{"outcome":"livelock","threads":[{threads}],"trace":[{steps}]}}"#);
            Lasso::of(&serde_json::from_str(&json).unwrap()).is_some()
        };
        let (begins, ends) = (r#"{"thread":1,"op":"begin"}"#, r#"{"thread":1,"op":"end"}"#);
        assert!(!beside(100, begins));
        assert!(beside(100, ends));
        assert!(beside(10_000, begins), "it waits for something that nobody does");
    }

    #[test]
    fn who_waits_for_a_lock_that_every_round_gives_up_had_no_turn_yet_either() {
        let beside = |last: &str| {
            let rounds: Vec<String> = ["mutex.lock", last]
                .repeat(9)
                .iter()
                .map(|op| format!(r#"{{"thread":0,"op":"{op}","object":"mutex#1"}}"#))
                .collect();
            let json = format!(
                r#"{{"outcome":"livelock","threads":[{{"path":"0"}},{{"path":"0.1"}}],"trace":[{}],
                "blocked":[{{"thread":1,"op":"mutex.lock","object":"mutex#1"}}]}}"#,
                rounds.join(",")
            );
            Lasso::of(&serde_json::from_str(&json).unwrap()).is_some()
        };
        assert!(!beside("mutex.unlock"));
        assert!(beside("mutex.try_lock"));
    }

    #[test]
    fn one_round_is_shown_and_not_too_much_before_it() {
        assert_eq!(worth_showing(&livelock("spawnabcabcabcabc"), 100), 0..8);
        assert_eq!(worth_showing(&livelock("spawnabcabcabcabc"), 5), 3..8);
        assert_eq!(worth_showing(&livelock("abcdef"), 100), 0..6);
    }

    #[test]
    fn a_list_that_is_dropped_is_no_round() {
        let counting = |ops: &[&str]| {
            let steps: Vec<String> = ops
                .iter()
                .map(|op| format!(r#"{{"thread":0,"op":"atomic.{op}","object":"atomic#1"}}"#))
                .collect();
            let json = format!(r#"{{"outcome":"livelock","trace":[{}]}}"#, steps.join(","));
            Lasso::of(&serde_json::from_str(&json).unwrap())
        };
        assert_eq!(counting(&["count_down"; 9]), None);
        assert!(counting(&["count_up", "count_down"].repeat(9)).is_some());
    }

    #[test]
    fn without_three_rounds_there_is_no_lasso() {
        assert_eq!(lasso(""), None);
        assert_eq!(lasso("abcdef"), None);
        assert_eq!(lasso("abab"), None);
    }
}
