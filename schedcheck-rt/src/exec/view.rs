//! A finished execution as people and files want it: names, places, who waits for whom.

use super::call_stack::own_call;
use super::controller::{Slot, World};
use super::deadlock;
use super::outcome::{LostWakeup, place};
use super::run::Execution;
use super::threads::Thread;
use super::wakeups;
use crate::model::{Kind, Site};
use crate::search::step::{Choice, Delta, ObjectId, StepIndex, ThreadId, Trace};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;

/// One thread, for reports.
#[derive(Clone, Debug)]
pub(crate) struct ThreadView {
    pub(crate) id: ThreadId,
    pub(crate) path: String,
    pub(crate) name: String,
}

/// One step, for reports. Threads are positions in [`View::threads`].
#[derive(Clone, Debug)]
pub(crate) struct StepView {
    pub(crate) thread: usize,
    pub(crate) op: &'static str,
    pub(crate) object: String,
    pub(crate) place: (String, u32, u32),
    pub(crate) preemption: bool,
    pub(crate) alt: u16,
}

/// A thread that cannot go on.
#[derive(Clone, Debug)]
pub(crate) struct BlockedView {
    pub(crate) thread: usize,
    pub(crate) op: &'static str,
    pub(crate) object: String,
    pub(crate) place: (String, u32, u32),
    pub(crate) holder: Option<usize>,
    pub(crate) lost_wakeup: Option<LostWakeup>,
    /// Where another thread may have changed what this one waits for, and nobody has notified since.
    pub(crate) unheard_change: Option<StepIndex>,
}

/// A place in an execution, by names that survive edits elsewhere in the program: the `nth` time that a thread does
/// this operation at this place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) thread: String,
    pub(crate) op: String,
    /// `file:line:column`.
    pub(crate) site: String,
    pub(crate) nth: u64,
}

impl Point {
    /// Where default behaviour had come to its end. No thread has this path.
    pub(crate) fn end() -> Point {
        Point { thread: "-".to_owned(), op: "end".to_owned(), site: "-".to_owned(), nth: 1 }
    }
}

/// A decision that default behaviour would not have made.
#[derive(Clone, Debug)]
pub(crate) struct DeltaView {
    pub(crate) delta: Delta,
    /// What default behaviour would have done there; nothing if that was not asked.
    pub(crate) instead: Option<Point>,
}

/// A decision of a plan that default behaviour would not have made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    pub(crate) delta: Delta,
    /// What default behaviour would have done there: who, what, where. Nothing if it had come to its end.
    pub(crate) instead: Option<(ThreadId, Kind, Site)>,
}

/// One step, to compare others with: who did what, and where. Objects and values are left out: they may be addresses of
/// memory that others manage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    choice: Choice,
    kind: Kind,
    site: Site,
}

/// A whole execution, for reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) threads: Vec<ThreadView>,
    pub(crate) steps: Vec<StepView>,
    pub(crate) blocked: Vec<BlockedView>,
    pub(crate) deltas: Vec<DeltaView>,
    pub(crate) fingerprint: u64,
}

impl View {
    pub(crate) fn preemptions(&self) -> u64 {
        self.steps.iter().filter(|step| step.preemption).count() as u64
    }

    pub(crate) fn thread_of(&self, delta: &Delta) -> Option<&ThreadView> {
        self.threads.iter().find(|thread| thread.id == delta.choice.thread)
    }

    /// What a step is called in every execution in which it occurs.
    pub(crate) fn point(&self, step: usize) -> Option<Point> {
        let found = self.steps.get(step)?;
        Some(Point {
            thread: self.threads[found.thread].path.clone(),
            op: found.op.to_owned(),
            site: site_text(&found.place),
            nth: self.occurrences(step, found.thread, found.op, &found.place) + 1,
        })
    }

    /// How often a thread did this at this place before a step.
    fn occurrences(&self, before: usize, thread: usize, op: &str, place: &(String, u32, u32)) -> u64 {
        let earlier = self.steps.iter().take(before);
        earlier.filter(|step| (step.thread, step.op, &step.place) == (thread, op, place)).count() as u64
    }

    /// The step at or after `from` that has this name.
    pub(crate) fn find(&self, point: &Point, from: usize) -> Option<usize> {
        let thread = self.threads.iter().position(|thread| thread.path == point.thread)?;
        let named = |step: &StepView| {
            step.thread == thread && step.op == point.op && site_text(&step.place) == point.site
        };
        let nth = usize::try_from(point.nth).ok()?.checked_sub(1)?;
        let (at, _) = self.steps.iter().enumerate().filter(|(_, step)| named(step)).nth(nth)?;
        (at >= from).then_some(at)
    }
}

impl Execution {
    /// What the last execution did. Valid until the next one starts.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// A hash of who did what and where in the last execution that failed or was to be reported.
    pub fn fingerprint(&self) -> u64 {
        self.view.fingerprint
    }

    /// The position of the thread that ran last.
    pub(crate) fn running(&self) -> Slot {
        self.world().running
    }

    /// What the last execution did at `step`, in a few words.
    pub(crate) fn describe_step(&self, trace: &Trace, step: StepIndex) -> String {
        let world = self.world();
        match (trace.events.get(step as usize), world.notes.get(step as usize)) {
            (Some(event), Some(note)) => {
                format!("thread {}: {} at {}", world.names.path(event.thread), note.kind.name(), note.site)
            }
            _ => "the end of the schedule".to_owned(),
        }
    }

    /// Appends what the last execution, of which `trace` is the trace, did.
    pub(crate) fn steps_done(&self, trace: &Trace, into: &mut Vec<Done>) {
        let steps = trace.events.iter().zip(&self.world().notes);
        into.extend(steps.map(|(event, note)| Done {
            choice: event.choice(),
            kind: note.kind,
            site: note.site,
        }));
    }

    /// A step in a few words; nothing: the end.
    pub(crate) fn describe_done(&self, step: Option<&Done>) -> String {
        match step {
            Some(Done { choice, kind, site }) => {
                format!("thread {}: {} at {site}", self.world().names.path(choice.thread), kind.name())
            }
            None => "the end of the schedule".to_owned(),
        }
    }

    /// Only the first steps of the last execution are to be shown.
    pub(crate) fn cut_view(&mut self, steps: usize) {
        self.view.steps.truncate(steps);
        self.view.deltas.retain(|delta| (delta.delta.step as usize) < steps);
        self.view.blocked.clear();
    }

    /// The path of a thread.
    pub(crate) fn path_of(&self, thread: ThreadId) -> String {
        self.world().names.path(thread)
    }

    /// Parent, and position among its children, of every thread that was ever numbered.
    pub(crate) fn parents(&self) -> &[(ThreadId, u32)] {
        self.world().names.parents()
    }
}

/// Collects the view of the execution in `world`, before it is torn down.
pub(crate) fn collect(world: &World) -> View {
    let threads: Vec<ThreadView> = (0..world.threads.len()).map(|slot| thread_view(world, slot)).collect();
    let slot_of = |id: ThreadId| world.threads.iter().position(|thread| thread.id == id);
    let names = ObjectNames::of(world);
    let mut steps = Vec::with_capacity(world.notes.len());
    let mut previous = None;
    for (event, note) in world.trace.events.iter().zip(&world.notes) {
        let thread = slot_of(event.thread).expect("events are of threads of this execution");
        steps.push(StepView {
            thread,
            op: note.kind.name(),
            object: names.name(note.object),
            place: place(note.site),
            preemption: event.previous_enabled && previous.is_some_and(|previous| previous != thread),
            alt: event.alt.0,
        });
        previous = Some(thread);
    }
    let blocked = (0..world.threads.len())
        .filter(|slot| !world.threads[*slot].ended && !world.is_enabled(*slot))
        .map(|slot| blocked_view(world, &names, slot))
        .collect();
    let mut view = View { fingerprint: fingerprint(world), deltas: Vec::new(), threads, steps, blocked };
    view.deltas = if world.keep_needed {
        world.needed.iter().map(|needed| named_delta(world, &view, needed)).collect()
    } else if world.guide.is_some() {
        // What a guide decided is not in the plan.
        let choices = world.trace.events.iter().filter(|event| !event.forced).map(|event| event.choice());
        let deltas = choices.zip(0..).map(|(choice, step)| Delta { step, choice });
        deltas.map(|delta| DeltaView { delta, instead: None }).collect()
    } else {
        world.plan().iter().map(|delta| DeltaView { delta: *delta, instead: None }).collect()
    };
    view
}

impl World {
    /// Notes a decision of the plan that default behaviour would not have made.
    pub(super) fn note_if_needed(&mut self, step: StepIndex, choice: Choice) {
        let turn = self.default_turn();
        let by_choice = turn.as_ref().filter(|turn| !turn.forced);
        let default = by_choice.map(|turn| Choice { thread: self.threads[turn.slot].id, alt: turn.alt });
        if default != Some(choice) {
            let instead = turn.map(|turn| {
                let thread = &self.threads[turn.slot];
                (thread.id, thread.op.kind, thread.op.site)
            });
            self.needed.push(Needed { delta: Delta { step, choice }, instead });
        }
    }
}

fn named_delta(world: &World, view: &View, needed: &Needed) -> DeltaView {
    let Some((id, kind, site)) = needed.instead else {
        return DeltaView { delta: needed.delta, instead: Some(Point::end()) };
    };
    let instead = view.threads.iter().position(|thread| thread.id == id).map(|thread| {
        let place = place(site);
        let nth = view.occurrences(needed.delta.step as usize, thread, kind.name(), &place) + 1;
        Point { thread: world.names.path(id), op: kind.name().to_owned(), site: site_text(&place), nth }
    });
    DeltaView { delta: needed.delta, instead }
}

/// A place as requests and replay files write it.
pub(crate) fn site_text((file, line, column): &(String, u32, u32)) -> String {
    format!("{file}:{line}:{column}")
}

fn thread_view(world: &World, slot: Slot) -> ThreadView {
    let thread = &world.threads[slot];
    ThreadView { id: thread.id, path: world.names.path(thread.id), name: thread_name(world, slot) }
}

/// The name its creator gave it, or one by order of creation.
pub(crate) fn thread_name(world: &World, slot: Slot) -> String {
    world.threads[slot].name.as_deref().map_or_else(|| format!("thread-{slot}"), str::to_owned)
}

fn blocked_view(world: &World, names: &ObjectNames<'_>, slot: Slot) -> BlockedView {
    let Thread { op, calls, .. } = &world.threads[slot];
    BlockedView {
        thread: slot,
        op: op.kind.name(),
        object: names.name(op.object),
        place: calls.as_deref().and_then(own_call).unwrap_or_else(|| place(op.site)),
        holder: deadlock::waits_for(world, slot),
        lost_wakeup: wakeups::lost_wakeup(world, &world.threads[slot]),
        unheard_change: wakeups::unheard_change(world, &world.threads[slot]),
    }
}

/// How reports call objects: `mutex#2` is the second mutex that was used in this execution.
struct ObjectNames<'a> {
    world: &'a World,
    /// What each object that was used is called, and its number among those of this noun.
    used: FxHashMap<ObjectId, (&'static str, usize)>,
    /// How many of each noun were used.
    counts: FxHashMap<&'static str, usize>,
}

impl<'a> ObjectNames<'a> {
    fn of(world: &'a World) -> Self {
        let mut names = ObjectNames { world, used: FxHashMap::default(), counts: FxHashMap::default() };
        for note in world.notes.iter().filter(|note| note.object != ObjectId::NONE) {
            let object = world.objects.whole(note.object);
            if let Entry::Vacant(used) = names.used.entry(object) {
                let noun = match note.kind {
                    // Its queue is modelled as that of a condvar, which the program knows nothing of.
                    Kind::FutexWait | Kind::FutexSleep | Kind::FutexWake => "futex",
                    _ => world.objects.noun(object),
                };
                let count = names.counts.entry(noun).or_default();
                *count += 1;
                used.insert((noun, *count));
            }
        }
        names
    }

    /// The name of `object`; for a thread, the thread's.
    fn name(&self, object: ObjectId) -> String {
        if object == ObjectId::NONE {
            return String::new();
        }
        let object = self.world.objects.whole(object);
        let mut threads = self.world.threads.iter();
        if let Some(slot) = threads.position(|thread| thread.life == object || thread.token == object) {
            return thread_name(self.world, slot);
        }
        let unused = || {
            let noun = self.world.objects.noun(object);
            (noun, self.counts.get(noun).map_or(1, |count| count + 1))
        };
        let (noun, number) = self.used.get(&object).copied().unwrap_or_else(unused);
        format!("{noun}#{number}")
    }
}

/// A hash of what the threads did, in order: who, what, where.
fn fingerprint(world: &World) -> u64 {
    let mut text = String::new();
    for (event, note) in world.trace.events.iter().zip(&world.notes) {
        let site: Site = note.site;
        let path = world.names.path(event.thread);
        let _ = write!(text, "{path} {} {site};", note.kind.name());
    }
    // FNV-1a, written out because it must never change.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
