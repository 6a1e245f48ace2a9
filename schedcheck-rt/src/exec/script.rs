//! Scenarios: a thread that directs others, one of which runs at a time.
//!
//! What the director says is made of ordinary operations on an ordinary object, the right to run
//! (`model/baton.rs`): a thread that is not to run is blocked on it like a thread that waits for a
//! lock. The search knows nothing of scenarios. Why that is sound: [`crate::scenario`].
//!
//! Three things need the engine. A thread that is blocked in the middle of an operation must stop
//! there and go on later: the operation is put aside, and announced again when the thread may run.
//! Its director must notice: it gets the right to run back when nothing else can happen, as a timed
//! wait gives up then. And an end at which nothing can run is a deadlock unless a thread that is held
//! back could go on; then the scenario has not been met.

use super::Active;
use super::controller::{DefaultTurn, Slot, World};
use super::deadlock;
use super::outcome::Outcome;
use super::view::thread_name;
use crate::model::{BLOCKED, Kind, NEVER, ObjectKind, Op, Site};
use crate::search::step::{Alt, BudgetKind, BudgetKinds, ObjectId};

/// Where a thread is to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nowhere by itself.
    #[default]
    Never,
    /// At labels of this name.
    Label,
    /// At any label.
    AnyLabel,
    /// At any label or not: a choice.
    SomeLabel,
    /// Before any operation.
    Step,
}

/// How far a thread is to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Until {
    pub(crate) stop: Stop,
    /// The name of the labels.
    pub(crate) label: String,
    /// How often it is to come there.
    pub(crate) count: u32,
    /// Coming to a halt counts as coming there, and so does ending.
    pub(crate) blocked: bool,
    pub(crate) ended: bool,
    /// The director looks at a condition wherever it stops.
    pub(crate) condition: bool,
}

impl Until {
    /// As the test says it.
    fn text(&self) -> String {
        let point = match self.stop {
            _ if self.condition => "when(..)".to_owned(),
            Stop::Label => format!("label({:?})", self.label),
            Stop::AnyLabel => "next()".to_owned(),
            Stop::SomeLabel => "any_point()".to_owned(),
            Stop::Step => "step()".to_owned(),
            Stop::Never if self.ended => "end()".to_owned(),
            Stop::Never => "blocked()".to_owned(),
        };
        if self.count > 1 { format!("{point}.count({})", self.count) } else { point }
    }
}

/// Why the director has its turn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The thread stands where it was to stop.
    There,
    /// It is blocked.
    Blocked,
    /// It has ended.
    Ended,
}

/// A statement of a scenario that an execution did not meet.
#[derive(Clone, Debug)]
pub struct Unmet {
    /// The statement.
    pub statement: String,
    /// Where it stands.
    pub site: Site,
    /// Why it was not met.
    pub reason: String,
    /// How many statements had been met before.
    depth: u32,
}

/// What became of the scenario of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// There was none.
    #[default]
    None,
    /// It was not met, or the execution failed before.
    Unmet,
    /// It was met.
    Met,
}

/// The scenario of an execution.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Threads are held back.
    pub(super) active: bool,
    /// One successful execution is all that is asked for.
    pub(super) exists: bool,
    pub(super) fate: Fate,
    /// How many there were in this execution.
    count: usize,
    /// The right to run.
    baton: Option<ObjectId>,
    director: Slot,
    /// Who was given it last, where, until when, and how often it is still to come there.
    actor: Slot,
    site: Option<Site>,
    until: Until,
    left: u32,
    /// It is still to stop by itself, and it was blocked when it was given the right to run.
    armed: bool,
    was_blocked: bool,
    /// Statements that were met.
    depth: u32,
    /// The thread whose panic ended the execution.
    pub(super) broken_off: Option<Slot>,
    /// Of all executions that did not meet it, the one that came furthest.
    pub(super) furthest: Option<Unmet>,
}

impl Script {
    /// The next execution begins.
    pub(super) fn begin(&mut self) {
        let furthest = self.furthest.take();
        *self = Script { furthest, ..Script::default() };
    }

    /// Whether the running thread may be to stop before any operation.
    #[inline]
    pub(super) fn counts_steps(&self) -> bool {
        self.armed && self.until.stop == Stop::Step
    }
}

/// What cannot be asked of a thread that is held back: it neither times out nor wakes by itself.
pub(super) fn without_waking(kinds: BudgetKinds) -> BudgetKinds {
    let weak = kinds.contains(BudgetKind::WeakFailure);
    if weak { BudgetKinds::NONE.with(BudgetKind::WeakFailure) } else { BudgetKinds::NONE }
}

impl World {
    /// Whether the thread in `slot` takes part in the scenario that is going on.
    #[inline]
    pub(super) fn is_directed(&self, slot: Slot) -> bool {
        self.script.active && self.threads[slot].directed
    }

    /// Whether the running thread may be to stop before `op`.
    #[cold]
    pub(super) fn stops_before(&self, op: &Op) -> bool {
        self.is_directed(self.current) && !matches!(op.kind, Kind::HandBack | Kind::Resume)
    }

    /// Whether there are threads that nobody directs and that need not have come to their end: that one
    /// has ended in this execution says nothing about others of its class, unless it was joined.
    fn has_others(&self) -> bool {
        let others = |slot: &Slot| !self.threads[*slot].directed && !self.threads[*slot].joined;
        (0..self.threads.len()).filter(|slot| *slot != self.script.director).any(|slot| others(&slot))
    }

    /// Whether the thread in `slot`, which is held back, could go on if it was not.
    fn could_go_on(&self, slot: Slot) -> bool {
        let thread = &self.threads[slot];
        let waits = thread.aside.as_ref().is_some_and(|op| {
            let free = self.objects.ready(thread.id, op).enabled || op.timed();
            !free || self.is_gated(slot)
        });
        self.is_directed(slot) && !thread.ended && !waits
    }

    fn holder(&self) -> Option<Slot> {
        let id = self.script.baton.and_then(|baton| self.objects.holder(baton))?;
        self.threads.iter().position(|thread| thread.id == id)
    }

    fn another_could_go_on(&self) -> bool {
        let holder = self.holder();
        (0..self.threads.len()).any(|slot| Some(slot) != holder && self.could_go_on(slot))
    }

    /// Nothing can run: the director takes the right to run back, or a thread goes through its gate.
    #[cold]
    pub(super) fn turn_in_script(&self) -> Option<DefaultTurn> {
        let forced = |slot| DefaultTurn { slot, alt: Alt::DEFAULT, forced: true };
        let holder = self.holder();
        if !self.another_could_go_on() {
            let may_go = |slot: Slot| !self.threads[slot].directed || Some(slot) == holder;
            if let Some(slot) = self.next_through_gate(may_go) {
                return Some(forced(slot));
            }
        }
        let Script { director, until, left, was_blocked, .. } = &self.script;
        let waits = self.threads[*director].op;
        holder.filter(|_| waits.kind == Kind::Regain && waits.arg != NEVER)?;
        let moved = !was_blocked || !matches!(self.notes.last()?.kind, Kind::Transfer | Kind::Resume);
        // Threads beside the scenario may be what blocks it, and they could have come later.
        let counts = until.blocked && *left <= 1 && moved && !self.has_others();
        counts.then(|| forced(*director))
    }

    /// How an end at which nothing can run is to be judged while threads are held back.
    #[cold]
    pub(super) fn end_in_script(&mut self) -> Outcome {
        let held_back = self.another_could_go_on();
        for slot in 0..self.threads.len() {
            if let Some(op) = self.threads[slot].aside.take() {
                self.threads[slot].op = op;
            }
        }
        let deadlock = deadlock::analyse(self);
        if !held_back || !deadlock.cycle.is_empty() {
            return Outcome::Deadlock(deadlock);
        }
        let waiting = self.holder().unwrap_or(self.script.director);
        let op = self.threads[waiting].op;
        let name = thread_name(self, waiting);
        let reason = match (self.is_gated(waiting), op.kind) {
            (_, Kind::Regain) => "no thread that may be chosen can run".to_owned(),
            (true, _) => format!("thread '{name}' goes round in a loop at {}", op.site),
            (false, kind) => format!("thread '{name}' is blocked at `{}` ({})", kind.name(), op.site),
        };
        self.note_unmet(reason);
        Outcome::Abandoned
    }

    /// An execution of a scenario has become too long. That is no livelock while others are held back.
    #[cold]
    pub(super) fn too_long_for_script(&mut self) -> Outcome {
        let steps = self.max_steps;
        if !self.another_could_go_on() {
            return Outcome::Livelock { steps };
        }
        self.note_unmet(format!("there was no end after {steps} steps"));
        Outcome::Abandoned
    }

    /// The statement that is being executed was not met.
    fn note_unmet(&mut self, reason: String) {
        let Script { depth, site, actor, until, .. } = &self.script;
        if self.script.furthest.as_ref().is_some_and(|furthest| furthest.depth >= *depth) {
            return;
        }
        let Some(site) = *site else { return };
        let statement = format!("transfer({}).until({})", thread_name(self, *actor), until.text());
        self.script.furthest = Some(Unmet { statement, site, reason, depth: *depth });
    }

    fn note_unmet_assumption(&mut self, site: Site) {
        let depth = self.script.depth;
        if self.script.furthest.as_ref().is_none_or(|furthest| furthest.depth < depth) {
            let reason = "it never held".to_owned();
            self.script.furthest = Some(Unmet { statement: "assume(..)".to_owned(), site, reason, depth });
        }
    }

    /// The operation that the thread in `slot` is about to do waits until it may run again.
    fn put_aside(&mut self, slot: Slot, baton: ObjectId) {
        let thread = &mut self.threads[slot];
        let resume = Op::new(Kind::Resume, baton, thread.op.site);
        thread.aside = Some(std::mem::replace(&mut thread.op, resume));
    }
}

impl Active {
    /// A scenario begins; the running thread directs it.
    pub(crate) fn begin_script(&self, exists: bool) {
        let world = self.world();
        assert!(!world.script.active, "one scenario at a time: this one begins inside of another");
        self.in_engine(|world| {
            let count = world.script.count + 1;
            // Like threads, they have no address.
            let baton = Some(world.object_at(count, ObjectKind::Baton));
            let (director, fate) = (world.current, Fate::Unmet);
            let furthest = world.script.furthest.take();
            world.script =
                Script { active: true, exists, fate, count, baton, director, furthest, ..Script::default() };
        });
    }

    /// The thread in `slot`, which has not begun, runs only when it is told to.
    pub(crate) fn direct(&self, slot: Slot) {
        let world = self.world();
        let thread = &mut world.threads[slot];
        thread.directed = true;
        thread.op.object = world.script.baton.expect("a scenario is going on");
    }

    /// Whether it makes sense to let the thread in `slot` run now. Where others run beside the
    /// scenario that could change at any time, so it is left open.
    pub(crate) fn may_run(&self, slot: Slot) -> bool {
        let world = self.world();
        !world.threads[slot].ended && (world.has_others() || world.could_go_on(slot))
    }

    /// Whether the thread in `slot` has ended. Only for threads of a scenario: they end in their turn.
    pub(crate) fn has_ended(&self, slot: Slot) -> bool {
        self.world().threads[slot].ended
    }

    /// Lets the thread in `slot` run until it stops.
    pub(crate) fn give_turn(&self, slot: Slot, until: &Until, site: Site) -> Came {
        let baton = self.in_engine(|world| {
            let script = &mut world.script;
            (script.actor, script.site, script.left) = (slot, Some(site), until.count);
            (script.armed, script.was_blocked) = (true, world.threads[slot].aside.is_some());
            script.until.clone_from(until);
            world.find_next_special();
            world.script.baton.expect("a scenario is going on")
        });
        let id = u32::from(self.world().threads[slot].id.0);
        self.perform_unlooped(Op { arg: id, ..Op::new(Kind::Transfer, baton, site) });
        let regained = self.perform_unlooped(Op::new(Kind::Regain, baton, site));
        let world = self.world();
        world.script.armed = false;
        world.find_next_special();
        if world.threads[slot].unheard_panic {
            self.break_off(slot);
        }
        if regained == BLOCKED {
            world.put_aside(slot, baton);
            return Came::Blocked;
        }
        if !world.threads[slot].ended {
            return Came::There;
        }
        if !until.ended || world.script.left > 1 {
            let reason = format!("thread '{}' ended before that", thread_name(world, slot));
            self.not_met(reason, site);
        }
        Came::Ended
    }

    /// A transfer is done.
    pub(crate) fn statement_met(&self) {
        self.world().script.depth += 1;
    }

    /// There is nobody left to choose from.
    pub(crate) fn nobody_to_choose(&self, all_ended: bool, until: &Until, site: Site) {
        let baton = self.in_engine(|world| {
            world.script.site = Some(site);
            world.script.until.clone_from(until);
            world.script.actor = world.script.director;
            world.script.baton.expect("a scenario is going on")
        });
        if all_ended {
            self.not_met("all threads that may be chosen have ended".to_owned(), site);
        }
        self.perform_unlooped(Op { arg: NEVER, ..Op::new(Kind::Regain, baton, site) });
    }

    /// The statement that is being executed cannot be met any more. Does not return.
    pub(crate) fn not_met(&self, reason: String, site: Site) {
        self.in_engine(|world| world.note_unmet(reason.as_str().to_owned()));
        self.abandon(site);
    }

    /// An assumption of the scenario does not hold. Does not return.
    pub(crate) fn not_assumed(&self, site: Site) {
        self.in_engine(|world| world.note_unmet_assumption(site));
        self.abandon(site);
    }

    /// The running thread passes a label.
    pub(crate) fn at_label(&self, name: &str, site: Site) {
        let wanted = self.in_engine(|world| world.is_place_of_sequence(name, site));
        let world = self.world();
        if world.cooperative || wanted {
            self.perform(Op::new(Kind::Label, ObjectId::NONE, site));
        }
        if !world.is_directed(world.current) || !world.script.armed {
            return;
        }
        let stops = match world.script.until.stop {
            Stop::Never | Stop::Step => false,
            Stop::Label => world.script.until.label == name,
            Stop::AnyLabel => true,
            Stop::SomeLabel => {
                let choice = Op { arg: 2, ..Op::new(Kind::Choose, ObjectId::NONE, site) };
                self.perform(choice) == 0
            }
        };
        if stops {
            self.stop_here(site);
        }
    }

    /// The running thread is about to use something that the program names: `key` stands for it.
    pub(crate) fn at_variable(&self, name: &str, kind: Kind, key: u64, site: Site) {
        self.at_label(name, site);
        let object = self.in_engine(|world| world.object_at(key as usize, ObjectKind::Variable));
        self.perform(Op::new(kind, object, site));
    }

    /// The running thread has come to a point at which it may be to stop.
    pub(super) fn stop_here(&self, site: Site) {
        let script = &mut self.world().script;
        script.left = script.left.saturating_sub(1);
        if script.left > 0 {
            return;
        }
        script.armed = false;
        let baton = script.baton.expect("a scenario is going on");
        self.world().find_next_special();
        self.perform_unlooped(Op::new(Kind::HandBack, baton, site));
        self.perform_unlooped(Op::new(Kind::Resume, baton, site));
    }

    /// The running thread may run again: it announces what was put aside.
    #[cold]
    pub(super) fn take_up(&self, op: &Op) {
        while self.world().threads[self.world().current].op.kind == Kind::Resume {
            let world = self.world();
            world.execute();
            world.threads[world.current].aside = None;
            if world.announce(op) == super::Turn::Mine {
                return;
            }
            self.suspend();
        }
    }

    /// The scenario is over: its threads run on as they like.
    pub(crate) fn end_script(&self, site: Site) {
        let world = self.world();
        let baton = world.script.baton.expect("a scenario is going on");
        let left = world.threads.iter().any(|thread| thread.directed && !thread.ended);
        if left {
            self.perform_unlooped(Op::new(Kind::Release, baton, site));
        }
        let world = self.world();
        world.threads.iter_mut().for_each(|thread| thread.directed = false);
        world.script.active = false;
    }

    /// All threads of the scenario have ended, and it was met.
    pub(crate) fn script_met(&self) {
        self.world().script.fate = Fate::Met;
    }

    /// The execution ends with the panic of the thread in `slot`. Does not return.
    pub(crate) fn break_off(&self, slot: Slot) {
        let world = self.world();
        world.in_user = false;
        world.script.broken_off = Some(slot);
        world.over = true;
        self.suspend();
    }

    /// What an ending thread returns its turn with, if it takes part in a scenario.
    pub(crate) fn own_baton(&self) -> ObjectId {
        let world = self.world();
        if !world.is_directed(world.current) {
            return ObjectId::NONE;
        }
        world.script.baton.unwrap_or(ObjectId::NONE)
    }
}
