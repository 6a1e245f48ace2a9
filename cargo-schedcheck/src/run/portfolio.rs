//! Different searches of one test side by side; the first that has the answer stops the others.
//!
//! After GAMBIT's advice to run different priority functions and seeds at once. They share nothing: each is a search
//! of its own, so what one of them says about coverage is true by itself.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use super::allotment::Allotment;
use super::explore::{self, Plan, Sign, Verdict};
use super::wire::{Outcome, Progress};
use crate::error::Result;

/// What the members search by, after the first, which does as the user says.
const PRIORITIES: [&str; 6] = ["rand", "pb", "ss,mdpor", "dpor,pb", "dfs", "bfs"];

/// What members tell.
enum Note {
    Progress(Progress),
    Said(String),
    Done(Box<Result<Verdict>>),
}

/// Explores one test with so many searches at once.
pub fn explore(
    plan: &Plan<'_>,
    members: usize,
    hear_stderr: bool,
    mut on_sign: impl FnMut(Sign<'_>),
) -> Result<Verdict> {
    let (send, notes) = channel();
    let answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for member in 0..members {
            let (send, answered) = (send.clone(), &answered);
            scope.spawn(move || {
                // The receiver may have heard enough.
                let tell = |note| drop(send.send(note));
                let plan = varied(plan, member);
                let alone = Allotment::new(1);
                let verdict = explore::explore(&plan, &alone, hear_stderr, answered, |sign| match sign {
                    Sign::Progress(progress) if member == 0 => tell(Note::Progress(progress.clone())),
                    Sign::Progress(_) => {}
                    Sign::Stderr(text) => tell(Note::Said(text.to_owned())),
                    Sign::Warning(text) => tell(Note::Said(format!("warning: {text}\n"))),
                });
                tell(Note::Done(Box::new(verdict)));
            });
        }
        drop(send);
        let mut best: Option<Verdict> = None;
        for note in notes {
            match note {
                Note::Progress(progress) => on_sign(Sign::Progress(&progress)),
                Note::Said(text) => on_sign(Sign::Stderr(&text)),
                // What those say that were told to stop is not asked for.
                Note::Done(_) if answered.load(Ordering::SeqCst) => {}
                Note::Done(verdict) => {
                    let verdict = verdict.inspect_err(|_| answered.store(true, Ordering::SeqCst))?;
                    if is_answer(&verdict) {
                        answered.store(true, Ordering::SeqCst);
                        best = Some(verdict);
                    } else if best.as_ref().is_none_or(|best| covered(best) <= covered(&verdict)) {
                        best = Some(verdict);
                    }
                }
            }
        }
        Ok(best.unwrap_or_else(|| Verdict::Stopped(Progress::default())))
    })
}

/// A failure, or a complete search.
fn is_answer(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Finished { finished, .. } => finished.outcome != Outcome::Passed || finished.complete,
        Verdict::Stopped(_) => true,
    }
}

fn covered(verdict: &Verdict) -> (Option<u32>, u64) {
    match verdict {
        Verdict::Finished { finished, .. } => (finished.bound_done, finished.traces),
        Verdict::Stopped(_) => (None, 0),
    }
}

/// The search of one member.
fn varied<'a>(plan: &Plan<'a>, member: usize) -> Plan<'a> {
    let mut plan = plan.clone();
    // States of different searches have nothing to do with each other.
    plan.checkpoint = None;
    plan.resume = None;
    if let Some(at) = member.checked_sub(1) {
        let seed = plan.set.seed.or(plan.default.seed).unwrap_or(0).wrapping_add(member as u64);
        plan.set.seed = Some(seed);
        plan.set.priority = Some(match PRIORITIES[at % PRIORITIES.len()] {
            "rand" => format!("rand:{seed}"),
            other => other.to_owned(),
        });
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::TestBinary;

    #[test]
    fn the_largest_seed_has_others_beside_it() {
        let binary = TestBinary::example("lib");
        let mut plan = Plan::example(&binary, "a");
        plan.set.seed = Some(u64::MAX);
        let seeds = (0..3).map(|member| varied(&plan, member).set.seed);
        assert_eq!(seeds.collect::<Vec<_>>(), [Some(u64::MAX), Some(0), Some(1)]);
    }
}
