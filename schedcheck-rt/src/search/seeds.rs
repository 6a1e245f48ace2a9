//! Random executions, mixed in as a small share.
//!
//! Four ways in turn: a random walk; PCT (Burckhardt et al. 2010: random thread priorities, lowered
//! at one random step, for bugs of depth 2, or at two, for depth 3); POS (Yuan et al. 2018: random
//! priorities of pending operations, drawn anew for those that race with what just ran). Their
//! executions enter the same tree as everything else ([`super::adopt`]), so what they show is not run
//! again.

use super::dependence::dependent;
use super::rng::Rng;
use super::step::*;

/// Most priority changes of a PCT execution: bugs that need one more ordering than it has changes
/// are guaranteed a chance.
const CHANGES: usize = 2;

/// A way to choose at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Any thread that can run, at every step.
    Walk,
    /// Thread priorities, with this many changes.
    Pct(usize),
    /// Priorities of operations.
    Pos,
}

impl Way {
    /// Reads `walk`, `pct:2`, `pct:3` (the depth of the bug) or `pos`.
    pub fn parse(text: &str) -> Option<Way> {
        Some(match text {
            "walk" => Way::Walk,
            "pct:2" => Way::Pct(1),
            "pct:3" => Way::Pct(2),
            "pos" => Way::Pos,
            _ => return None,
        })
    }
}

/// Chooses at random.
#[derive(Debug)]
pub(super) struct Random {
    rng: Rng,
    way: Way,
    /// Priority of each thread or of its pending operation; larger runs first.
    priorities: Vec<u64>,
    changes: [StepIndex; CHANGES],
    pending: Vec<Pending>,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random {
            rng: Rng::new(seed),
            way: Way::Pos,
            priorities: Vec::new(),
            changes: [0; CHANGES],
            pending: Vec::new(),
        }
    }

    /// Prepares another execution of about `length` steps, in the given way or the next one.
    pub(super) fn restart(&mut self, length: usize, way: Option<Way>) {
        let next = match self.way {
            Way::Walk => Way::Pct(1),
            Way::Pct(1) => Way::Pos,
            Way::Pct(_) => Way::Walk,
            Way::Pos => Way::Pct(CHANGES),
        };
        self.way = way.unwrap_or(next);
        self.priorities.clear();
        self.changes = [(); CHANGES].map(|()| self.rng.below(length.max(1)) as StepIndex);
    }

    fn priority(&mut self, thread: ThreadId) -> u64 {
        let at = thread.0 as usize;
        if at >= self.priorities.len() {
            self.priorities.resize(at + 1, 0);
        }
        if self.priorities[at] == 0 {
            // Above all lowered priorities.
            self.priorities[at] = self.rng.number() | 1 << 63;
        }
        self.priorities[at]
    }
}

impl Guide for Random {
    fn is_fair(&self) -> bool {
        false
    }

    fn choose(&mut self, step: StepIndex, running: Option<ThreadId>, pending: &[Pending]) -> Decision {
        if let Way::Pct(changes) = self.way
            && let (Some(rank), Some(running)) =
                (self.changes[..changes].iter().position(|&change| change == step), running)
        {
            self.priority(running);
            self.priorities[running.0 as usize] = rank as u64 + 1;
        }
        self.pending.clear();
        self.pending.extend_from_slice(pending);
        let enabled = pending.iter().filter(|pending| pending.enabled);
        let count = enabled.clone().count();
        let chosen = if self.way == Way::Walk {
            if count == 0 { None } else { enabled.clone().nth(self.rng.below(count)) }
        } else {
            enabled.max_by_key(|pending| self.priority(pending.thread))
        };
        match chosen {
            Some(next) => Decision::Take(Choice { thread: next.thread, alt: Alt::DEFAULT }),
            None => Decision::Default,
        }
    }

    fn executed(&mut self, _step: StepIndex, event: &Event) {
        if self.way != Way::Pos {
            return;
        }
        for at in 0..self.pending.len() {
            let Pending { thread, accesses, .. } = self.pending[at];
            let redraw = thread == event.thread || dependent(&accesses, &event.accesses);
            if redraw && let Some(priority) = self.priorities.get_mut(thread.0 as usize) {
                *priority = 0;
            }
        }
    }
}
