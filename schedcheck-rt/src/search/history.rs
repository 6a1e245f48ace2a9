//! The order hidden in one execution: vector clocks, and the signature of its class.
//!
//! Happens-before here is the *dependence* order, not the memory model's: program order, dependent
//! operations on one object ([`super::dependence`]), the edge from a step's enabler, and forced
//! time-outs as barriers. Two executions with equal order are the same Mazurkiewicz trace.
//!
//! Clocks live in one flat table, one row per step, reused between executions. Executions share long
//! prefixes, so what belongs to one is not read again: [`History::keep`] goes back to its end, and
//! every step notes what it changed in its objects' histories. The history of an
//! object is two groups: the commuting accesses made last, and the group before them. Every member
//! of a group depends on every member of the one before, so these two are all that a new access
//! can directly follow.

use super::dependence::{Class, class};
use super::step::{Access, Event, Mode, NO_STEP, ObjectId, StepIndex, ThreadId, Trace};

/// A part of a clock: four threads at once, so that clocks are joined without a loop in most tests.
pub(super) type Lane = [u32; LANE];
const LANE: usize = 4;

/// End of a chain of accesses.
pub(super) const NO_LINK: u32 = u32::MAX;

/// [`class`] as a table: asked for every access of every execution, by code that is copied to where it is used.
const CLASSES: [Class; Mode::ALL.len()] = {
    let mut classes = [Class::Total; Mode::ALL.len()];
    let mut at = 0;
    while at < classes.len() {
        classes[at] = class(Mode::ALL[at]);
        at += 1;
    }
    classes
};

/// What happened to one object so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectHistory {
    class: Class,
    current: u32,
    previous: u32,
    /// Last exclusive acquisition, or last taking of an item.
    pub(super) exclusive: StepIndex,
    /// Chain of shared acquisitions since then.
    pub(super) shared: u32,
}

impl ObjectHistory {
    /// Nothing yet.
    const FRESH: ObjectHistory = ObjectHistory {
        class: Class::Total,
        current: NO_LINK,
        previous: NO_LINK,
        exclusive: NO_STEP,
        shared: NO_LINK,
    };

    /// The chain of accesses that one of `mode` directly follows.
    #[inline]
    pub(super) fn predecessors(&self, mode: Mode) -> u32 {
        let class = CLASSES[mode as usize];
        if class != Class::Total && class == self.class { self.previous } else { self.current }
    }
}

/// The clock of a step as it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// Without its enabler, and without itself.
    pub(super) alone: Lane,
    /// With both.
    pub(super) clock: Lane,
}

/// What is kept of one step besides its clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StepHistory {
    /// Signature of the execution up to and with it.
    signature: u64,
    /// Its position within its thread, counted from 1.
    index: u32,
    /// Where in [`History::replaced`] its entries begin.
    replaced_from: u32,
    /// Of each access: the next one of the same group, and the next shared acquisition.
    next: [u32; 2],
    next_shared: [u32; 2],
}

/// Clocks and object histories of one execution.
#[derive(Debug, Default)]
pub struct History {
    threads: usize,
    /// Lanes in a clock.
    width: usize,
    clocks: Vec<Lane>,
    steps: Vec<StepHistory>,
    by_thread: Vec<Vec<StepIndex>>,
    /// Stable objects and those of this execution only.
    objects: [Vec<ObjectHistory>; 2],
    /// Steps that are ordered after all before them and before all after them.
    forced: Vec<StepIndex>,
    /// Histories that steps replaced, for going back.
    replaced: Vec<(ObjectId, ObjectHistory)>,
    /// A random number per thread.
    weights: Vec<u64>,
}

impl History {
    /// Forgets the last execution; `threads` is one more than the largest thread number to come.
    pub fn start(&mut self, threads: usize) {
        self.threads = threads;
        self.width = threads.div_ceil(LANE).max(1);
        self.clocks.clear();
        self.steps.clear();
        self.put_back(0);
        self.by_thread.iter_mut().for_each(Vec::clear);
        self.by_thread.resize_with(threads.max(self.by_thread.len()), Vec::new);
        self.forced.clear();
        self.weights.extend((self.weights.len()..self.width * LANE).map(|thread| mix(thread as u64 + 1)));
    }

    /// Goes back to where `steps` steps had been read, if that many are known and no thread beyond
    /// `threads` is to come; otherwise to the start. How many steps are kept.
    pub(super) fn keep(&mut self, steps: StepIndex, threads: usize) -> StepIndex {
        if steps == 0 || threads > self.threads || steps as usize > self.steps.len() {
            self.start(threads.max(self.threads));
            return 0;
        }
        let kept = steps as usize;
        if let Some(first) = self.steps.get(kept) {
            self.put_back(first.replaced_from as usize);
        }
        self.clocks.truncate(kept * self.width);
        self.steps.truncate(kept);
        for own in self.by_thread.iter_mut().chain([&mut self.forced]) {
            while own.last().is_some_and(|&last| last >= steps) {
                own.pop();
            }
        }
        steps
    }

    /// Undoes what was done to objects, but for the first `kept` times.
    fn put_back(&mut self, kept: usize) {
        for &(object, before) in self.replaced[kept..].iter().rev() {
            let (table, at) = place(object);
            self.objects[table][at] = before;
        }
        self.replaced.truncate(kept);
    }

    /// Reads a whole trace.
    pub fn read(&mut self, trace: &Trace) {
        self.start(thread_count(trace));
        for event in &trace.events {
            self.begin(event);
            self.finish(event);
        }
        self.sign(&trace.events, 0);
    }

    /// Opens the row of `event`: what is ordered before it whatever its objects say.
    #[inline]
    pub(super) fn begin(&mut self, event: &Event) {
        let row = self.clocks.len();
        let thread = event.thread.0 as usize;
        let index = self.open_row(thread, event.enabler) + 1;
        self.clocks[row + thread / LANE][thread % LANE] = index;
        self.steps.push(StepHistory {
            signature: 0,
            index,
            replaced_from: self.replaced.len() as u32,
            next: [NO_LINK; 2],
            next_shared: [NO_LINK; 2],
        });
    }

    /// Whether a clock is a single lane: then a step can be read by [`History::open`] and [`History::close`],
    /// with its clock in the hands of the caller meanwhile.
    #[inline]
    pub(super) fn is_narrow(&self) -> bool {
        self.width == 1
    }

    /// Opens a step that is not forced.
    #[inline(always)]
    pub(super) fn open(&mut self, event: &Event) -> Opening {
        let own = &self.by_thread[event.thread.0 as usize];
        let index = own.len() as u32 + 1;
        let mut alone = match own.last() {
            Some(&previous) => self.clocks[previous as usize],
            None => [0; LANE],
        };
        if let Some(&barrier) = self.forced.last() {
            join(&mut alone, &self.clocks[barrier as usize]);
        }
        let mut clock = alone;
        if event.enabler != NO_STEP {
            join(&mut clock, &self.clocks[event.enabler as usize]);
        }
        let replaced_from = self.replaced.len() as u32;
        let next = [NO_LINK; 2];
        self.steps.push(StepHistory { signature: 0, index, replaced_from, next, next_shared: next });
        clock[event.thread.0 as usize % LANE] = index;
        Opening { alone, clock }
    }

    /// Whether `clock` has `step` of `thread`.
    #[inline(always)]
    pub(super) fn has(&self, clock: &Lane, step: StepIndex, thread: ThreadId) -> bool {
        let owner = thread.0 as usize % LANE;
        clock[owner] >= self.clocks[step as usize][owner]
    }

    /// Lets `clock` follow a step.
    #[inline(always)]
    pub(super) fn follow(&self, clock: &mut Lane, step: StepIndex) {
        join(clock, &self.clocks[step as usize]);
    }

    /// Completes the step opened last.
    #[inline(always)]
    pub(super) fn close(&mut self, event: &Event, clock: Lane) {
        self.clocks.push(clock);
        self.by_thread[event.thread.0 as usize].push(self.steps.len() as StepIndex - 1);
    }

    /// A row as if a step of `thread` followed now; dropped again by [`History::close_probe`].
    pub(super) fn open_probe(&mut self, thread: ThreadId, enabler: StepIndex) -> usize {
        let row = self.clocks.len();
        self.open_row(thread.0 as usize, enabler);
        row
    }

    pub(super) fn close_probe(&mut self, row: usize) {
        self.clocks.truncate(row);
    }

    /// Says how many steps `thread` has had.
    #[inline]
    fn open_row(&mut self, thread: usize, enabler: StepIndex) -> u32 {
        let row = self.clocks.len();
        let own = &self.by_thread[thread];
        let count = own.len() as u32;
        match own.last() {
            Some(&previous) if self.width == 1 => self.clocks.push(self.clocks[previous as usize]),
            Some(&previous) => {
                let from = previous as usize * self.width;
                self.clocks.extend_from_within(from..from + self.width);
            }
            None => self.clocks.resize(row + self.width, [0; LANE]),
        }
        if enabler != NO_STEP {
            self.join(row, enabler);
        }
        if let Some(&barrier) = self.forced.last() {
            self.join(row, barrier);
        }
        count
    }

    /// The row of the step opened last.
    pub(super) fn open_step(&self) -> usize {
        self.clocks.len() - self.width
    }

    /// Completes the row of the step opened last and enters its accesses.
    #[inline(never)]
    pub(super) fn finish(&mut self, event: &Event) {
        let step = self.steps.len() - 1;
        let row = step * self.width;
        if event.forced {
            self.join_all(row);
            self.forced.push(step as StepIndex);
        }
        for (slot, access) in event.accesses.iter().enumerate() {
            if access.mode != Mode::None && access.object != ObjectId::NONE {
                let before = self.enter((step * 2 + slot) as u32, *access);
                let mut earlier = before.predecessors(access.mode);
                while earlier != NO_LINK {
                    // Unless its two objects are one.
                    if earlier as usize / 2 != step {
                        self.join(row, earlier / 2);
                    }
                    earlier = self.next_in_group(earlier);
                }
            }
        }
        self.by_thread[event.thread.0 as usize].push(step as StepIndex);
    }

    /// Computes the signatures of the steps of an execution from `from` on: they were read.
    pub(super) fn sign(&mut self, events: &[Event], from: StepIndex) {
        let from = from as usize;
        let mut signature = self.signature_before(from as StepIndex);
        let (weights, _) = self.weights.as_chunks::<LANE>();
        let steps = self.steps[from..].iter_mut().zip(&events[from..]);
        if self.width == 1 {
            for ((step, event), clock) in steps.zip(&self.clocks[from..]) {
                signature = signature.wrapping_add(mix(weigh(clock, &weights[0], start_of(event))));
                step.signature = signature;
            }
            return;
        }
        for ((step, event), clock) in steps.zip(self.clocks[from * self.width..].chunks_exact(self.width)) {
            let lanes = clock.iter().zip(weights);
            let sum = lanes.fold(start_of(event), |sum, (lane, weights)| weigh(lane, weights, sum));
            signature = signature.wrapping_add(mix(sum));
            step.signature = signature;
        }
    }

    /// A forced step follows all others.
    #[cold]
    fn join_all(&mut self, row: usize) {
        for thread in 0..self.threads {
            if let Some(&last) = self.by_thread[thread].last() {
                self.join(row, last);
            }
        }
    }

    /// Enters an access of the last step. Says what had happened to its object.
    #[inline(always)]
    pub(super) fn enter(&mut self, link: u32, access: Access) -> ObjectHistory {
        let class = CLASSES[access.mode as usize];
        let history = self.object_mut(access.object);
        let before = *history;
        let joins = class != Class::Total && class == before.class;
        if !joins {
            history.previous = before.current;
            history.class = class;
        }
        history.current = link;
        match access.mode {
            Mode::Acquire | Mode::TryAcquire | Mode::AwaitWrite => {
                history.exclusive = link / 2;
                history.shared = NO_LINK;
            }
            Mode::AcquireShared | Mode::TryAcquireShared => {
                history.shared = link;
                self.steps[link as usize / 2].next_shared[link as usize % 2] = before.shared;
            }
            _ => {}
        }
        self.replaced.push((access.object, before));
        if joins {
            self.steps[link as usize / 2].next[link as usize % 2] = before.current;
        }
        before
    }

    #[inline]
    pub(super) fn object(&self, object: ObjectId) -> ObjectHistory {
        let (table, at) = place(object);
        self.objects[table].get(at).copied().unwrap_or(ObjectHistory::FRESH)
    }

    #[inline]
    fn object_mut(&mut self, object: ObjectId) -> &mut ObjectHistory {
        let (table, at) = place(object);
        let objects = &mut self.objects[table];
        if at >= objects.len() {
            objects.resize(at + 1, ObjectHistory::FRESH);
        }
        &mut objects[at]
    }

    #[inline]
    pub(super) fn next_in_group(&self, link: u32) -> u32 {
        self.steps[link as usize / 2].next[link as usize % 2]
    }

    #[inline]
    pub(super) fn next_shared(&self, link: u32) -> u32 {
        self.steps[link as usize / 2].next_shared[link as usize % 2]
    }

    #[inline]
    fn join(&mut self, row: usize, step: StepIndex) {
        let from = step as usize * self.width;
        let (earlier, mine) = self.clocks.split_at_mut(row);
        for (mine, theirs) in mine.iter_mut().zip(&earlier[from..from + self.width]) {
            join(mine, theirs);
        }
    }

    /// Number of the largest thread plus one.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Steps read so far.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many steps of each thread happen before `step` or are it.
    #[inline]
    pub fn clock(&self, step: StepIndex) -> &[u32] {
        self.row(step as usize * self.width)
    }

    /// Position of `step` within its thread, counted from 1.
    #[inline]
    pub fn index(&self, step: StepIndex) -> u32 {
        self.steps[step as usize].index
    }

    /// Whether `step` precedes whatever `thread` does next, enablers and objects aside.
    pub(super) fn precedes_next(&self, step: StepIndex, owner: ThreadId, thread: ThreadId) -> bool {
        let mine = self.of_thread(thread).last().copied();
        let barrier = self.forced.last().copied();
        mine.into_iter().chain(barrier).any(|before| self.before(step, owner, before))
    }

    /// The forced steps, in order.
    pub(super) fn forced(&self) -> &[StepIndex] {
        &self.forced
    }

    /// The row of an open probe or step.
    #[inline]
    pub(super) fn row(&self, row: usize) -> &[u32] {
        &self.clocks[row..row + self.width].as_flattened()[..self.threads]
    }

    /// Whether `first`, a step of `thread`, happens before `second` or is it.
    #[inline]
    pub fn before(&self, first: StepIndex, thread: ThreadId, second: StepIndex) -> bool {
        self.clock(second)[thread.0 as usize] >= self.index(first)
    }

    /// Adds the steps behind `first`, a step of `thread`, that do not happen after it.
    pub(super) fn not_after(&self, first: StepIndex, thread: ThreadId, found: &mut Vec<StepIndex>) {
        let (lane, at) = (thread.0 as usize / LANE, thread.0 as usize % LANE);
        let index = self.index(first);
        let behind = first as usize + 1;
        let mut kept = found.len();
        // All of them are written, and those that are wanted stay: there is no telling which they are.
        found.resize(kept + self.steps.len() - behind, 0);
        let mut row = behind * self.width + lane;
        for step in behind..self.steps.len() {
            found[kept] = step as StepIndex;
            kept += usize::from(self.clocks[row][at] < index);
            row += self.width;
        }
        found.truncate(kept);
    }

    /// The steps of one thread, in order.
    #[inline]
    pub fn of_thread(&self, thread: ThreadId) -> &[StepIndex] {
        &self.by_thread[thread.0 as usize]
    }

    /// Equal for executions of one class, different (up to 64-bit hashing) for different ones:
    /// the sum over all steps of a hash of thread, alternative and clock.
    pub fn signature(&self) -> u64 {
        self.signature_before(self.steps.len() as StepIndex)
    }

    /// The signature of the first `step` steps.
    pub fn signature_before(&self, step: StepIndex) -> u64 {
        (step as usize).checked_sub(1).map_or(0, |last| self.steps[last].signature)
    }
}

#[inline]
fn join(mine: &mut Lane, theirs: &Lane) {
    for at in 0..LANE {
        mine[at] = mine[at].max(theirs[at]);
    }
}

/// What a signature knows of a step besides its clock.
#[inline]
fn start_of(event: &Event) -> u64 {
    u64::from(event.thread.0) << 32 | u64::from(event.alt.0) << 16
}

#[inline]
fn weigh(lane: &Lane, weights: &[u64; LANE], start: u64) -> u64 {
    (0..LANE).fold(start, |sum, at| sum.wrapping_add(weights[at].wrapping_mul(u64::from(lane[at]))))
}

#[inline]
fn place(object: ObjectId) -> (usize, usize) {
    if object.is_stable() {
        (0, object.0 as usize)
    } else {
        (1, (object.0 - ObjectId::FIRST_LOCAL.0) as usize)
    }
}

/// One more than the largest thread number in `trace`.
pub fn thread_count(trace: &Trace) -> usize {
    thread_count_from(trace, 0)
}

/// The same, of what comes at `from` and later.
pub(super) fn thread_count_from(trace: &Trace, from: StepIndex) -> usize {
    let ran = trace.events[from as usize..].iter().map(|event| event.thread.0);
    let waits = trace.pending.iter().map(|pending| pending.thread.0);
    ran.chain(waits).max().map_or(0, |largest| largest as usize + 1)
}

/// A good 64-bit mixing function (the finaliser of splitmix64).
pub(super) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(thread: u16, object: u32, mode: Mode) -> Event {
        let mut event = Event::of(ThreadId(thread));
        event.accesses[0] = Access::new(ObjectId(object), mode);
        event
    }

    fn signature(events: &[Event]) -> u64 {
        let mut history = History::default();
        history.read(&Trace { events: events.to_vec(), ..Trace::default() });
        history.signature()
    }

    #[test]
    fn swapping_independent_steps_keeps_the_signature() {
        let (a, b) = (event(0, 0, Mode::Read), event(1, 0, Mode::Read));
        assert_eq!(signature(&[a, b]), signature(&[b, a]));
        let (c, d) = (event(0, 0, Mode::Write), event(1, 1, Mode::Write));
        assert_eq!(signature(&[a, c, d, b]), signature(&[d, a, c, b]));
    }

    #[test]
    fn swapping_dependent_steps_changes_the_signature() {
        let (a, b) = (event(0, 0, Mode::Read), event(1, 0, Mode::Write));
        assert_ne!(signature(&[a, b]), signature(&[b, a]));
    }

    #[test]
    fn a_read_follows_the_write_and_not_the_other_reads() {
        let mut history = History::default();
        let events = [event(0, 0, Mode::Write), event(1, 0, Mode::Read), event(2, 0, Mode::Read)];
        history.read(&Trace { events: events.to_vec(), ..Trace::default() });
        assert_eq!(history.clock(2), [1, 0, 1]);
    }

    /// Goes back to every prefix of one execution and reads another from there.
    #[test]
    fn what_is_kept_is_as_if_it_were_read_again() {
        let modes = [
            Mode::Read,
            Mode::Write,
            Mode::Mark,
            Mode::Acquire,
            Mode::Release,
            Mode::AcquireShared,
            Mode::ReleaseShared,
            Mode::AwaitWrite,
            Mode::TryAcquire,
        ];
        let random = |seed: u64| {
            let mut event =
                event(mix(seed) as u16 % 3, mix(seed + 1) as u32 % 3, modes[mix(seed + 2) as usize % 9]);
            event.forced = mix(seed + 3).is_multiple_of(8);
            event.accesses[1] = Access::new(ObjectId(3), modes[mix(seed + 4) as usize % 9]);
            event
        };
        let trace = |seeds: std::ops::Range<u64>| Trace {
            events: seeds.map(|s| random(s * 7)).collect(),
            ..Trace::default()
        };
        for seed in 0..200 {
            let (first, mut second) = (trace(seed * 100..seed * 100 + 12), trace(seed * 50..seed * 50 + 12));
            let kept = (seed % 13) as usize;
            second.events[..kept].copy_from_slice(&first.events[..kept]);
            let (mut going_back, mut anew) = (History::default(), History::default());
            going_back.start(3);
            first.events.iter().for_each(|event| {
                going_back.begin(event);
                going_back.finish(event);
            });
            going_back.sign(&first.events, 0);
            assert_eq!(going_back.keep(kept as StepIndex, 3) as usize, kept);
            second.events[kept..].iter().for_each(|event| {
                going_back.begin(event);
                going_back.finish(event);
            });
            going_back.sign(&second.events, kept as StepIndex);
            anew.start(3);
            second.events.iter().for_each(|event| {
                anew.begin(event);
                anew.finish(event);
            });
            anew.sign(&second.events, 0);
            assert_eq!(going_back.clocks, anew.clocks);
            assert_eq!(going_back.steps, anew.steps);
            assert_eq!(going_back.forced, anew.forced);
            for object in (0..4).map(ObjectId) {
                let (back, new) = (going_back.object(object), anew.object(object));
                assert_eq!(format!("{back:?}"), format!("{new:?}"));
            }
        }
    }

    #[test]
    fn a_forced_step_is_a_barrier() {
        let mut history = History::default();
        let mut forced = event(1, 1, Mode::Write);
        forced.forced = true;
        let events = [event(0, 0, Mode::Read), forced, event(2, 2, Mode::Read)];
        history.read(&Trace { events: events.to_vec(), ..Trace::default() });
        assert_eq!(history.clock(1), [1, 1, 0]);
        assert_eq!(history.clock(2), [1, 1, 1]);
    }
}
