//! The unbounded search: one execution per happens-before class, in any order.
//!
//! Races are found on complete executions and inserted as wakeup sequences ([`super::wakeup`]);
//! the fringe decides which of the resulting lines is executed next.

use super::fringe::Fringe;
use super::history::History;
use super::options::Options;
use super::priority::{Candidate, rank};
use super::races::Races;
use super::step::*;
use super::tree::{LineId, ROOT, Tree};
use super::wakeup::{Inserter, Source};

/// The state of the search.
#[derive(Debug)]
pub(super) struct Optimal {
    tree: Tree,
    fringe: Fringe<LineId>,
    current: Option<LineId>,
    path: Vec<LineId>,
    plan: Plan,
    pub(super) history: History,
    races: Races,
    inserter: Inserter,
    preemptions: Vec<u32>,
}

impl Optimal {
    pub(super) fn new() -> Self {
        let mut fringe = Fringe::new();
        fringe.push([0; 4], ROOT);
        Optimal {
            tree: Tree::new(),
            fringe,
            current: None,
            path: Vec::new(),
            plan: Plan::default(),
            history: History::default(),
            races: Races::default(),
            inserter: Inserter::default(),
            preemptions: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<&Plan> {
        let line = self.fringe.pop()?;
        self.current = Some(line);
        self.tree.path(line, &mut self.path);
        self.tree.plan(&self.path, &mut self.plan);
        Some(&self.plan)
    }

    /// Takes in the execution of the plan given out last.
    pub(super) fn learn(&mut self, options: &mut Options, trace: &Trace) {
        let Some(line) = self.current.take() else {
            return;
        };
        self.tree.executed(line, &trace.events);
        self.insert_reversals(options, trace);
        self.tree.settle(line);
        debug_assert_eq!(self.tree.check(), Ok(()));
        debug_assert_eq!(self.tree.pending(), self.fringe.len());
    }

    fn insert_reversals(&mut self, options: &mut Options, trace: &Trace) {
        count_preemptions(trace, &mut self.preemptions);
        let reversals = self.races.find(trace, &mut self.history);
        for reversal in reversals {
            let source = Source { trace, history: &self.history, path: &self.path, budget: options.budget };
            let before = self.preemptions[reversal.at as usize];
            let branch = self.inserter.reverse(&mut self.tree, source, reversal, before);
            let Some(branch) = branch else { continue };
            let releases = |access: &Access| matches!(access.mode, Mode::Release | Mode::ReleaseShared);
            let candidate = Candidate {
                trace,
                step: branch.step,
                choice: branch.first,
                preemptions: branch.preemptions,
                redundant: false,
                conservative: reversal.instead_of == NO_STEP || reversal.accesses.iter().any(releases),
                asleep: false,
            };
            let rank = rank(&mut options.priority, options.places.as_deref(), &candidate);
            self.fringe.push(rank, branch.line);
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.fringe.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + self.fringe.len() * size_of::<LineId>()
    }
}

/// `sums[s]`: preemptions among the first `s` steps.
pub(super) fn count_preemptions(trace: &Trace, sums: &mut Vec<u32>) {
    sums.clear();
    sums.push(0);
    let mut running = None;
    let mut total = 0;
    for event in &trace.events {
        let switched = running.is_some_and(|running| running != event.thread);
        total += u32::from(switched && event.previous_enabled);
        sums.push(total);
        running = Some(event.thread);
    }
}
