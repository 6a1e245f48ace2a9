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
use super::step::{Event, Mode, NO_STEP, ObjectId, StepIndex, ThreadId, Trace};

/// A part of a clock: four threads at once, so that clocks are joined without a loop in most tests.
type Lane = [u32; LANE];
const LANE: usize = 4;

/// End of a chain of accesses.
pub(super) const NO_LINK: u32 = u32::MAX;

/// What happened to one object so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectHistory {
    generation: u32,
    class: Class,
    current: u32,
    previous: u32,
    /// Last exclusive acquisition, or last taking of an item.
    pub(super) exclusive: StepIndex,
    /// Chain of shared acquisitions since then.
    pub(super) shared: u32,
}

impl ObjectHistory {
    const fn fresh(generation: u32) -> Self {
        ObjectHistory {
            generation,
            class: Class::Total,
            current: NO_LINK,
            previous: NO_LINK,
            exclusive: NO_STEP,
            shared: NO_LINK,
        }
    }

    /// The chain of accesses that one of `mode` directly follows.
    pub(super) fn predecessors(&self, mode: Mode) -> u32 {
        let class = class(mode);
        if class != Class::Total && class == self.class { self.previous } else { self.current }
    }
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
    generation: u32,
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
        self.width = threads.div_ceil(LANE);
        self.clocks.clear();
        self.steps.clear();
        self.replaced.clear();
        self.by_thread.iter_mut().for_each(Vec::clear);
        self.by_thread.resize_with(threads.max(self.by_thread.len()), Vec::new);
        self.generation = self.generation.wrapping_add(1);
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
            while self.replaced.len() > first.replaced_from as usize {
                let (object, before) = self.replaced.pop().expect("its length was looked at");
                let (table, at) = place(object);
                self.objects[table][at] = before;
            }
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

    /// Reads a whole trace.
    pub fn read(&mut self, trace: &Trace) {
        self.start(thread_count(trace));
        for event in &trace.events {
            self.begin(event);
            self.finish(event);
        }
    }

    /// Opens the row of `event`: what is ordered before it whatever its objects say.
    pub(super) fn begin(&mut self, event: &Event) {
        let row = self.clocks.len();
        let thread = event.thread.0 as usize;
        self.open_row(thread, event.enabler);
        let mine = self.by_thread[thread].len() as u32 + 1;
        self.clocks[row + thread / LANE][thread % LANE] = mine;
        self.steps.push(StepHistory {
            signature: 0,
            index: mine,
            replaced_from: self.replaced.len() as u32,
            next: [NO_LINK; 2],
            next_shared: [NO_LINK; 2],
        });
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

    fn open_row(&mut self, thread: usize, enabler: StepIndex) {
        let row = self.clocks.len();
        match self.by_thread[thread].last() {
            Some(&previous) => {
                let from = previous as usize * self.width;
                for lane in from..from + self.width {
                    self.clocks.push(self.clocks[lane]);
                }
            }
            None => self.clocks.resize(row + self.width, [0; LANE]),
        }
        if enabler != NO_STEP {
            self.join(row, enabler);
        }
        if let Some(&barrier) = self.forced.last() {
            self.join(row, barrier);
        }
    }

    /// The row of the step opened last.
    pub(super) fn open_step(&self) -> usize {
        self.clocks.len() - self.width
    }

    /// Completes the row of the step opened last and enters its accesses.
    pub(super) fn finish(&mut self, event: &Event) {
        let step = self.steps.len() as StepIndex - 1;
        let row = step as usize * self.width;
        if event.forced {
            for thread in 0..self.threads {
                if let Some(&last) = self.by_thread[thread].last() {
                    self.join(row, last);
                }
            }
            self.forced.push(step);
        }
        for (slot, access) in event.accesses.iter().enumerate() {
            if access.object != ObjectId::NONE && access.mode != Mode::None {
                self.enter(row, 2 * step + slot as u32, access.object, access.mode);
            }
        }
        self.by_thread[event.thread.0 as usize].push(step);
        let signature = self.signature_before(step).wrapping_add(self.fingerprint(step, event));
        self.steps[step as usize].signature = signature;
    }

    fn enter(&mut self, row: usize, link: u32, object: ObjectId, mode: Mode) {
        let class = class(mode);
        let history = self.object_mut(object);
        let before = *history;
        let joins = class != Class::Total && class == history.class;
        if !joins {
            history.previous = before.current;
            history.class = class;
        }
        history.current = link;
        match mode {
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
        self.replaced.push((object, before));
        if joins {
            self.steps[link as usize / 2].next[link as usize % 2] = before.current;
        }
        let mut earlier = if joins { before.previous } else { before.current };
        while earlier != NO_LINK {
            self.join(row, earlier / 2);
            earlier = self.next_in_group(earlier);
        }
    }

    #[inline]
    pub(super) fn object(&mut self, object: ObjectId) -> ObjectHistory {
        *self.object_mut(object)
    }

    #[inline]
    fn object_mut(&mut self, object: ObjectId) -> &mut ObjectHistory {
        let (table, at) = place(object);
        let objects = &mut self.objects[table];
        if at >= objects.len() {
            objects.resize(at + 1, ObjectHistory::fresh(self.generation));
        }
        if objects[at].generation != self.generation {
            objects[at] = ObjectHistory::fresh(self.generation);
        }
        &mut objects[at]
    }

    pub(super) fn next_in_group(&self, link: u32) -> u32 {
        self.steps[link as usize / 2].next[link as usize % 2]
    }

    pub(super) fn next_shared(&self, link: u32) -> u32 {
        self.steps[link as usize / 2].next_shared[link as usize % 2]
    }

    fn join(&mut self, row: usize, step: StepIndex) {
        let from = step as usize * self.width;
        for lane in 0..self.width {
            let theirs = self.clocks[from + lane];
            let mine = &mut self.clocks[row + lane];
            for at in 0..LANE {
                mine[at] = mine[at].max(theirs[at]);
            }
        }
    }

    fn fingerprint(&self, step: StepIndex, event: &Event) -> u64 {
        let start = u64::from(event.thread.0) << 32 | u64::from(event.alt.0) << 16;
        let from = step as usize * self.width;
        let (weights, _) = self.weights.as_chunks::<LANE>();
        let mut sum = start;
        for (lane, weights) in self.clocks[from..from + self.width].iter().zip(weights) {
            for at in 0..LANE {
                sum = sum.wrapping_add(weights[at].wrapping_mul(u64::from(lane[at])));
            }
        }
        mix(sum)
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
    pub(super) fn row(&self, row: usize) -> &[u32] {
        &self.clocks[row..row + self.width].as_flattened()[..self.threads]
    }

    /// Whether `first`, a step of `thread`, happens before `second` or is it.
    #[inline]
    pub fn before(&self, first: StepIndex, thread: ThreadId, second: StepIndex) -> bool {
        self.clock(second)[thread.0 as usize] >= self.index(first)
    }

    /// The steps of one thread, in order.
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
    use super::super::step::Access;
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
            assert_eq!(going_back.keep(kept as StepIndex, 3) as usize, kept);
            second.events[kept..].iter().for_each(|event| {
                going_back.begin(event);
                going_back.finish(event);
            });
            anew.start(3);
            second.events.iter().for_each(|event| {
                anew.begin(event);
                anew.finish(event);
            });
            assert_eq!(going_back.clocks, anew.clocks);
            assert_eq!(going_back.steps, anew.steps);
            assert_eq!(going_back.forced, anew.forced);
            for object in (0..4).map(ObjectId) {
                let (mut back, mut new) = (going_back.object(object), anew.object(object));
                (back.generation, new.generation) = (0, 0);
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
