//! Whether the test does the same in the same schedule.
//!
//! Executions repeat each other up to the point where their schedules part, and the search compares those steps. What
//! differs behind that point it cannot know. So some schedules are executed a second time, whole, at once: the first
//! one, the fourth, the sixteenth and so on, and the first one again at the end. A test that does something else with
//! every run is noticed by the first of these; one that changes later, only with some luck.

use super::explore::Run;
use super::report;
use crate::exec::outcome::{Divergence, Outcome};
use crate::exec::view::Done;
use crate::search::step::{Plan, StepIndex, Trace};
use crate::wire::json::Object;

/// What the first execution of this process did, and room for others.
#[derive(Debug, Default)]
pub(super) struct Again {
    first: Option<(Plan, Vec<Done>)>,
    steps: Vec<Done>,
    trace: Trace,
}

impl Run<'_> {
    /// Executes the last schedule again if it is its turn; a verdict if that was something else.
    pub(super) fn is_another(&mut self, trace: &Trace) -> Option<Object> {
        let is_due = self.executions.is_power_of_two() && self.executions.trailing_zeros().is_multiple_of(2);
        if !is_due {
            return None;
        }
        let mut steps = Vec::new();
        self.execution.steps_done(trace, &mut steps);
        let plan = Plan::repeating(trace);
        let differs = self.execute_another_time(&plan, &steps);
        self.again.first.get_or_insert((plan, steps));
        differs
    }

    /// Executes the first schedule again, at the end.
    pub(super) fn is_first_another(&mut self) -> Option<Object> {
        let (plan, steps) = self.again.first.take().filter(|_| self.executions > 1)?;
        self.execute_another_time(&plan, &steps)
    }

    fn execute_another_time(&mut self, plan: &Plan, steps: &[Done]) -> Option<Object> {
        if let Some(record) = &mut self.record {
            record.note(self.words.figures.executions, plan, self.execution.parents());
        }
        let again = &mut self.again;
        self.execution.run_with_view(plan, &mut again.trace);
        again.steps.clear();
        self.execution.steps_done(&again.trace, &mut again.steps);
        let as_before = steps.iter().zip(&again.steps).take_while(|(before, now)| before == now).count();
        let outcome = self.execution.outcome();
        let same = as_before == steps.len() && as_before == again.steps.len();
        let (expected, found) = match outcome {
            Outcome::Passed if same => return None,
            Outcome::Diverged(divergence) => (divergence.expected.clone(), divergence.found.clone()),
            outcome if same => {
                let word = outcome.word();
                ("the schedule passed".to_owned(), format!("executed again it ended as {word}"))
            }
            _ => {
                let described = |step: Option<&Done>| self.execution.describe_done(step);
                let (before, now) = (steps.get(as_before), again.steps.get(as_before));
                (described(before), format!("executed again it was {}", described(now)))
            }
        };
        let step = as_before as StepIndex;
        self.tell_owner_of_difference(step, &expected, &found);
        self.execution.cut_view(as_before);
        let outcome = Outcome::Diverged(Divergence { step, expected, found });
        Some(report::finished(&self.execution, &outcome, &self.figures(false), ""))
    }
}
