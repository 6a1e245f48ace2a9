//! The unbounded search: one execution per happens-before class, in any order.
//!
//! Races are found on complete executions and inserted as wakeup sequences ([`super::wakeup`]);
//! the fringe decides which of the resulting lines is executed next.
//!
//! **No `bound_done` here.** A pending line is known by a prefix and by the preemptions of that one
//! schedule of it. Its class, and classes found only below it, may have schedules with fewer. What
//! would be needed is the least number over all linearisations of every pending prefix, and a proof
//! that no class needs fewer than the prefix it is found below, up to a known slack. For depth-first
//! searches over execution graphs there is one (Marmanis et al., TACAS 2023); for wakeup sequences
//! in any order there is only evidence that a slack of one is enough. Coverage by preemptions is
//! claimed by a bounded search, where it is exact, and one goes along with this one
//! ([`super::levels`]).
//!
//! **What executions share.** An execution repeats the one before it up to the step where their lines
//! part. What was learnt from those steps is kept (clocks, races, and which of the races are covered
//! by a branch of one step: [`super::quick`] says why that remains so), so learning costs as much as
//! what is new. The steps themselves are compared: if they differ, something decides the test's
//! behaviour that the model does not control, and no verdict about coverage would hold.
//!
//! **Executions that were stopped.** A plan that could not be followed to its end because it asks
//! for an idle round is no execution ([`super::wakeup`]). One that stopped later, as its guide or
//! an assumption of the test wanted, is learnt from like any other: the operations that were
//! pending compete with what was executed. What the threads would have done after those is not
//! known, so a model that drops executions stops the thread whose assumption failed and lets
//! the others go on to their end.

use super::adopt::Adopted;
use super::dive::Diver;
use super::engine::Order;
use super::fringe::{Fringe, Rank};
use super::history::History;
use super::hunt::Hunter;
use super::invariants::{LARGEST, check};
use super::lines::AWAY;
use super::options::Options;
use super::points::Points;
use super::priority::{Candidate, rank};
use super::progress::Progress;
use super::races::{Races, Reversal};
use super::seeds::Random;
use super::share::Shares;
use super::step::*;
use super::tree::{Edge, LineId, ROOT, Tree};
use super::wakeup::{Inserter, Insertion, Source, Spinner};

/// Steps of executed lines that are kept for the sake of random executions, besides one for each that is
/// pending.
const FEW_STEPS: usize = 4096;

/// The state of the search.
#[derive(Debug)]
pub(super) struct Optimal {
    pub(super) tree: Tree,
    pub(super) fringe: Fringe,
    current: Option<LineId>,
    path: Vec<LineId>,
    /// The path and the steps of the execution learnt from last, if the next one repeats some.
    last_path: Vec<LineId>,
    last_events: Vec<Event>,
    /// How many of them.
    shared: StepIndex,
    /// The line at the end of that path, if it turned out to do something else than was planned.
    corrected: Option<LineId>,
    plan: Plan,
    pub(super) history: History,
    races: Races,
    inserter: Inserter,
    points: Points,
    preemptions: Vec<u32>,
    pub(super) progress: Progress,
    pub(super) seeds: Random,
    pub(super) seeds_run: u32,
    /// Executions that were asked for.
    pub(super) systematic: u32,
    /// What the first execution did first.
    pub(super) root: Option<Edge>,
    order: Vec<StepIndex>,
    adopted: Trace,
    pub(super) hunter: Box<Hunter>,
    pub(super) diver: Box<Diver>,
    pub(super) length: usize,
    pub(super) spinners: Vec<Spinner>,
    pub(super) shares: Shares,
    /// How often it started again: what was given away before is of no use any more.
    pub(super) epoch: u32,
    /// A share that found a reason to start again: nothing of it is of use.
    pub(super) is_stale: bool,
}

impl Optimal {
    pub(super) fn new(options: &Options) -> Self {
        let mut tree = Tree::new();
        tree.keeps_all = options.hunts > 0 || options.route.is_some();
        let mut fringe = Fringe::new();
        fringe.push(Rank::default(), ROOT);
        let mut progress = Progress::default();
        progress.queue(0);
        Optimal {
            tree,
            fringe,
            current: None,
            path: Vec::new(),
            last_path: Vec::new(),
            last_events: Vec::new(),
            shared: 0,
            corrected: None,
            plan: Plan::default(),
            history: History::default(),
            races: Races::default(),
            inserter: Inserter::default(),
            points: Points::default(),
            preemptions: Vec::new(),
            progress,
            seeds: Random::new(options.seed),
            seeds_run: 0,
            systematic: 0,
            root: None,
            order: Vec::new(),
            adopted: Trace::default(),
            length: 0,
            spinners: Vec::new(),
            hunter: Box::new(Hunter::new(options.hunts)),
            diver: Box::new(Diver::new(options.route.clone(), options.seed)),
            shares: Shares::default(),
            epoch: 0,
            is_stale: false,
        }
    }

    pub(super) fn next(&mut self, options: &Options) -> Option<Order<'_>> {
        self.tree.lines.drop_unused_ways();
        let may_steer = self.tree.keeps_all && self.root.is_some() && !options.predict_only;
        if may_steer && self.fringe.len() > 0 && self.diver.choose() {
            self.plan.deltas.clear();
            self.plan.prefix = 0;
            return Some(Order { plan: &self.plan, guide: Some(&mut *self.diver), places: true });
        }
        if may_steer && self.hunter.choose(self.fringe.len()) {
            self.plan.deltas.clear();
            self.plan.prefix = 0;
            return Some(Order { plan: &self.plan, guide: Some(self.hunter.guide()), places: true });
        }
        if self.wants_seed(options) {
            self.seeds_run += 1;
            self.seeds.restart(self.length, options.sample);
            self.plan.deltas.clear();
            self.plan.prefix = 0;
            return Some(Order { plan: &self.plan, guide: Some(&mut self.seeds), places: false });
        }
        let line = self.fringe.pop()?;
        self.systematic = self.systematic.saturating_add(1);
        self.progress.start(self.tree.preemptions(line));
        self.current = Some(line);
        let common = self.tree.path_beside(line, &self.last_path, &mut self.path);
        self.shared = shared_steps(&self.tree, &self.last_path, &self.path, common);
        let parting = common.checked_sub(1).map(|last| self.path[last]);
        let same = match parting {
            // Its chain was spelled out in the last plan as it was thought to be then.
            Some(line) if self.corrected == Some(line) => self.tree.start(line),
            _ => self.shared,
        };
        self.tree.plan(&self.path, common, same, &mut self.plan);
        debug_assert!({
            let (mut path, mut plan) = (Vec::new(), Plan::default());
            self.tree.path(line, &mut path);
            self.tree.plan(&path, 0, 0, &mut plan);
            path == self.path && plan == self.plan
        });
        Some(Order { plan: &self.plan, guide: None, places: self.hunter.is_looking() })
    }

    /// Small tests are done before random runs could be of use; in large ones they are a share.
    fn wants_seed(&self, options: &Options) -> bool {
        if self.shares.share.is_some() {
            return false;
        }
        if options.sample.is_some() {
            return self.root.is_some() && self.fringe.len() > 0;
        }
        let due = self.systematic.saturating_sub(options.seed_after) / options.seed_every.max(1);
        self.seeds_run < due.min(options.seed_runs) && self.fringe.len() > 0
    }

    /// Takes in the execution of the plan given out last. If it does not repeat what it should, says
    /// from which step on.
    pub(super) fn learn(&mut self, options: &mut Options, trace: &Trace) -> Option<StepIndex> {
        let steered = self.diver.is_diving() || self.hunter.current().is_some();
        let Some(line) = self.current.take() else {
            self.last_path.clear();
            let is_new = self.adopt(options, trace);
            if steered {
                if !is_new && !self.diver.is_diving() {
                    self.hunter.repeated();
                }
                self.look_for_prey(trace);
            }
            return None;
        };
        let differs = first_difference(&self.last_events[..self.shared as usize], &trace.events);
        let shared = if differs.is_none() { self.shared } else { 0 };
        self.last_path.clear();
        let end = trace.events.len() as StepIndex;
        if trace.end == End::Stopped && end < self.tree.start(line) {
            // The model refuses what it has done before.
            self.history.read(trace);
            return differs.or(Some(end));
        }
        if trace.end == End::Stopped && end < self.tree.free(line) {
            self.history.read(trace);
            self.refused(line, trace);
            return differs;
        }
        if line == ROOT {
            self.root = trace.events.first().map(Edge::of);
            self.length = trace.events.len();
        }
        self.corrected = self.tree.executed(line, &trace.events).then_some(line);
        self.points.follow(&self.tree, &self.path, trace.events.len(), shared);
        self.insert_reversals(options, trace, shared, StepIndex::MAX);
        self.keep_steps(options, line, &trace.events);
        self.look_for_prey(trace);
        self.last_events.truncate(shared as usize);
        self.last_events.extend_from_slice(&trace.events[shared as usize..]);
        self.last_path.extend_from_slice(&self.path);
        self.progress.finish();
        self.settle(line);
        differs
    }

    /// The model refused a step of the plan as an idle round.
    fn refused(&mut self, line: LineId, trace: &Trace) {
        let step = trace.events.len() as StepIndex;
        let Edge { thread, comes_round, .. } = self.tree.chained(line, step);
        let waits = trace.pending.iter().find(|pending| pending.thread == thread);
        let object = waits.map_or(ObjectId::NONE, |pending| pending.accesses[0].object);
        let object = if comes_round && object.is_stable() { object } else { ObjectId::NONE };
        let spinner = Spinner { thread, object, anywhere: !comes_round };
        if !self.spinners.contains(&spinner) {
            self.spinners.push(spinner);
            self.start_again();
        } else if self.shares.must_leave(&self.tree, line) {
            self.leave(line);
        } else if self.tree.refuse(line, step) {
            self.fringe.push(Rank::default(), line);
            self.progress.queue(self.tree.preemptions(line));
        } else {
            self.settle(line);
        }
    }

    /// Keeps what executions that nobody asks for need to find their place.
    fn keep_steps(&mut self, options: &Options, line: LineId, events: &[Event]) {
        let random = self.seeds_run < options.seed_runs && options.sample.is_none();
        let most = match () {
            () if self.shares.share.is_some() => 0,
            () if self.tree.keeps_all => usize::MAX,
            () if random => FEW_STEPS + self.fringe.len(),
            () => 0,
        };
        if most > 0 {
            self.tree.keep_steps(line, events, most);
        } else {
            self.tree.lines.forget_kept();
        }
    }

    /// Lets the hunter look, and lets go of what only hunting needs.
    fn look_for_prey(&mut self, trace: &Trace) {
        if !self.tree.keeps_all {
            return;
        }
        if !self.diver.is_diving() {
            self.hunter.learn(trace);
        }
        self.diver.learn(trace);
        if !self.hunter.is_active() && !self.diver.is_active() {
            self.stop_steering();
        }
    }

    /// From now on no execution is steered: what is known of others ends where somebody else's share
    /// begins.
    pub(super) fn stop_steering(&mut self) {
        self.tree.keeps_all = false;
    }

    pub(super) fn start_again(&mut self) {
        if self.shares.share.is_some() {
            self.is_stale = true;
            self.fringe = Fringe::new();
            return;
        }
        // Its lines are those of the tree that goes.
        self.forget_last();
        let keeps_all = self.tree.keeps_all;
        self.epoch += 1;
        self.shares = Shares::default();
        self.tree = Tree::new();
        self.tree.keeps_all = keeps_all;
        self.root = None;
        self.fringe = Fringe::new();
        self.fringe.push(Rank::default(), ROOT);
        self.progress.forget_queue();
        self.progress.queue(0);
    }

    pub(super) fn settle(&mut self, line: LineId) {
        self.tree.settle(line);
        debug_assert_eq!(check(&self.tree, self.fringe.len(), &self.shares), Ok(()));
    }

    /// Leaves a line, which it was to execute, to the owner of the tree.
    pub(super) fn leave(&mut self, line: LineId) {
        self.progress.put_back(self.tree.preemptions(line));
        self.shares.left.push(line);
    }

    /// The execution of the plan given out last is not to be learnt from: the owner has to do it.
    pub(super) fn leave_last(&mut self) {
        self.forget_last();
        if let Some(line) = self.current.take() {
            self.leave(line);
        }
    }

    /// What was kept of the last execution is not to be relied on.
    pub(super) fn forget_last(&mut self) {
        self.last_path.clear();
    }

    /// Gives an execution that nobody asked for its place in the tree; false if its class has been executed.
    ///
    /// None has one that goes round in a loop that waits. The tree may have its steps in another order, and there the model
    /// may refuse such a round a little earlier (`exec/spin.rs`): what begins in that way could not be executed. Left alone
    /// it may be done again, like others whose place is not known.
    fn adopt(&mut self, options: &mut Options, trace: &Trace) -> bool {
        self.history.read(trace);
        if trace.end != End::Passed || options.sample.is_some() || goes_round_in_vain(trace) {
            return true;
        }
        let source = Source::new(options, trace, &self.history, &[ROOT]).among(&self.spinners);
        let Some(adopted) = self.inserter.adopt(&mut self.tree, source, &mut self.order) else {
            return false;
        };
        let mut events = std::mem::take(&mut self.adopted);
        reorder(trace, &self.order, &mut events);
        let line = match adopted {
            Adopted::New(line) => line,
            Adopted::First(line) => {
                self.fringe.remove(line);
                self.progress.start(self.tree.preemptions(line));
                self.tree.spell_out(line, &events.events);
                line
            }
        };
        self.tree.path(line, &mut self.path);
        self.tree.executed(line, &events.events);
        self.points.follow(&self.tree, &self.path, events.events.len(), 0);
        self.insert_reversals(options, &events, 0, StepIndex::MAX);
        self.keep_steps(options, line, &events.events);
        self.adopted = events;
        self.progress.finish();
        self.settle(line);
        true
    }

    /// Inserts what an execution of the region of `top`, which is back from a share, asks for outside of
    /// it. `kept`: how many steps are as in the one before.
    pub(super) fn reverse_outside(
        &mut self,
        options: &mut Options,
        top: LineId,
        trace: &Trace,
        kept: StepIndex,
    ) {
        self.tree.path(top, &mut self.path);
        self.points.follow(&self.tree, &self.path, trace.events.len(), 0);
        self.insert_reversals(options, trace, kept, self.tree.free(top));
    }

    /// In a share: keeps an execution of the region of `top` that leads out of it.
    pub(super) fn keep_for_owner(&mut self, top: LineId, trace: &Trace) {
        self.shares.outside.keep(top, trace);
        // If it cannot come back, it makes the lines itself from now on.
        self.tree.is_closed = !self.shares.outside.is_full();
    }

    /// `kept`: how many steps are as in the execution that reversals were inserted from last. Only what
    /// is to come before a step ahead of `until` is inserted.
    fn insert_reversals(&mut self, options: &mut Options, trace: &Trace, kept: StepIndex, until: StepIndex) {
        let mut leads_out = false;
        debug_assert_eq!(self.points, Points::of(&self.tree, &self.path, trace.events.len()));
        // They are counted as far as somebody asks.
        self.preemptions.truncate(kept as usize + 1);
        self.races.find(trace, &mut self.history, kept);
        debug_assert_eq!(self.first_wrongly_settled(options, trace), None);
        let mut next = 0;
        while let Some(at) = self.races.next_open(next) {
            next = at + 1;
            let reversal = self.races.found()[at];
            if reversal.at >= until {
                continue;
            }
            let source = Source::new(options, trace, &self.history, &self.path).among(&self.spinners);
            let Optimal { tree, inserter, points, .. } = self;
            let ahead = reversal.at as usize;
            if ahead >= self.preemptions.len() {
                count_preemptions(&trace.events[..ahead], &mut self.preemptions);
            }
            let before = self.preemptions[ahead];
            let branch = match inserter.reverse(tree, source, points, &reversal, before) {
                Insertion::New(branch) => branch,
                Insertion::Covered => continue,
                Insertion::Settled => {
                    self.races.settle(at);
                    continue;
                }
                Insertion::Outside(name) => {
                    leads_out |= self.shares.outside.is_new(name);
                    continue;
                }
            };
            self.points.note(self.tree.parent(branch.line), branch.step, branch.line);
            let releases = |access: &Access| {
                matches!(
                    access.mode,
                    Mode::Release | Mode::ReleaseShared | Mode::Downgrade | Mode::ReleaseInTurn
                )
            };
            let candidate = Candidate {
                trace,
                step: branch.step,
                choice: branch.first,
                preemptions: branch.preemptions,
                redundant: false,
                conservative: reversal.instead_of == NO_STEP || reversal.accesses.iter().any(releases),
                asleep: false,
            };
            let rank = rank(options, &candidate);
            if self.shares.takes(&mut self.tree, branch.line, rank) {
                self.fringe.push(rank, branch.line);
                self.progress.queue(branch.preemptions);
            }
        }
        if leads_out {
            // The last one: the path may come through the chain of another line that was given.
            let given = |line: &&LineId| self.tree.lines.get(**line).is(AWAY);
            let top = *self.path.iter().rfind(given).expect("a share executes only what was given");
            self.keep_for_owner(top, trace);
        }
    }

    /// For checks: a race that counts as covered and is not.
    fn first_wrongly_settled(&mut self, options: &Options, trace: &Trace) -> Option<Reversal> {
        if self.tree.len() > LARGEST {
            return None;
        }
        let source = Source::new(options, trace, &self.history, &self.path).among(&self.spinners);
        let Optimal { tree, inserter, points, races, .. } = self;
        let settled = (0..races.found().len()).filter(|&at| races.is_settled(at)).map(|at| races.found()[at]);
        settled.into_iter().find(|reversal| !inserter.is_covered(tree, source, points, reversal))
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn pending(&self) -> usize {
        self.fringe.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + self.fringe.bytes()
    }
}

/// Whether a thread does something again that changes nothing.
fn goes_round_in_vain(trace: &Trace) -> bool {
    let in_vain = |event: &Event| {
        event.comes_round
            && event.accesses.iter().all(|access| matches!(access.mode, Mode::None | Mode::Read))
    };
    trace.events.iter().any(in_vain)
}

/// The same execution with its steps in another order.
fn reorder(trace: &Trace, order: &[StepIndex], into: &mut Trace) {
    into.clear();
    into.pending.extend_from_slice(&trace.pending);
    let mut moved = vec![NO_STEP; trace.events.len()];
    for (&old, new) in order.iter().zip(0..) {
        moved[old as usize] = new;
    }
    into.waiting.extend(trace.waiting.iter().map(|&(step, pending)| (moved[step as usize], pending)));
    for &step in order {
        let mut event = trace.events[step as usize];
        event.enabler = moved.get(event.enabler as usize).copied().unwrap_or(NO_STEP);
        into.events.push(event);
    }
}

/// How many steps an execution of one path repeats of the execution of another with so many `common` lines.
fn shared_steps(tree: &Tree, last: &[LineId], next: &[LineId], common: usize) -> StepIndex {
    let leaves = |path: &[LineId]| path.get(common).map(|&line| tree.start(line));
    match (common, leaves(last), leaves(next)) {
        (0, ..) | (_, None, None) => 0,
        (_, last, next) => last.unwrap_or(StepIndex::MAX).min(next.unwrap_or(StepIndex::MAX)),
    }
}

/// The first of `expected` that was not executed.
#[inline]
fn first_difference(expected: &[Event], events: &[Event]) -> Option<StepIndex> {
    let same = |(expected, event): (&Event, &Event)| {
        expected.choice() == event.choice()
            && expected.accesses[0] == event.accesses[0]
            && expected.accesses[1] == event.accesses[1]
            && expected.enabler == event.enabler
    };
    let equal = expected.iter().zip(events).position(|pair| !same(pair)).unwrap_or(events.len());
    (equal < expected.len()).then_some(equal as StepIndex)
}

/// `sums[s]`: preemptions among the first `s` steps. Goes on where it was, to the end of `events`.
pub(super) fn count_preemptions(events: &[Event], sums: &mut Vec<u32>) {
    if sums.is_empty() {
        sums.push(0);
    }
    let counted = sums.len() - 1;
    let mut total = sums[counted];
    let mut running = events.get(counted.saturating_sub(1)).map(|event| event.thread);
    for event in &events[counted..] {
        total += u32::from(running != Some(event.thread) && event.previous_enabled);
        running = Some(event.thread);
        sums.push(total);
    }
}
