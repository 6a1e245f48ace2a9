//! The order hidden in one execution: vector clocks, and the signature of its class.
//!
//! Happens-before here is the *dependence* order, not the memory model's: program order, dependent
//! operations on one object ([`super::dependence`]), the edge from a step's enabler, and forced
//! time-outs as barriers. Two executions with equal order are the same Mazurkiewicz trace.
//!
//! Clocks live in one flat table, one row per step, reused between executions. Executions share long
//! prefixes, so what belongs to one is not read again: [`History::keep`] goes back to its end, and
//! every step keeps what it changed in the histories of its objects ([`super::objects`]).

use super::narrow::{MOST_STEPS, MOST_THREADS, Narrow};
use super::objects::{Entered, Found, Link, NO_LINK, Objects};
use super::step::{Access, Event, Mode, NO_STEP, ObjectId, StepIndex, ThreadId, Trace};

/// A part of a clock: four threads at once, so that clocks are joined without a loop in most tests.
type Lane = [u32; LANE];
const LANE: usize = MOST_THREADS;

/// What is kept of one step besides its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct StepHistory {
    /// Signature of the execution up to and with it.
    signature: u64,
    /// Its position within its thread, counted from 1.
    index: u32,
}

/// Clocks and object histories of one execution.
#[derive(Debug, Default)]
pub struct History {
    threads: usize,
    /// Lanes in a clock.
    width: usize,
    clocks: Vec<Lane>,
    /// The same where they are narrow.
    narrow: Vec<Narrow>,
    steps: Vec<StepHistory>,
    by_thread: Vec<Vec<StepIndex>>,
    objects: Objects,
    /// Steps that are ordered after all before them and before all after them.
    forced: Vec<StepIndex>,
    /// Steps that took an alternative which draws on a budget.
    costly: Vec<StepIndex>,
    /// The first step whose accesses were not entered.
    end: StepIndex,
    /// A random number per thread.
    weights: Vec<[u64; LANE]>,
}

impl History {
    /// Forgets the last execution; `threads` is one more than the largest thread number to come.
    pub fn start(&mut self, threads: usize) {
        self.threads = threads;
        self.width = threads.div_ceil(LANE).max(1);
        self.clocks.clear();
        self.narrow.clear();
        self.steps.clear();
        self.objects.keep(0);
        self.end = NO_STEP;
        self.by_thread.iter_mut().for_each(Vec::clear);
        self.by_thread.resize_with(threads.max(self.by_thread.len()), Vec::new);
        self.forced.clear();
        self.costly.clear();
        let weights = |lane: usize| std::array::from_fn(|at| mix((lane * LANE + at) as u64 + 1));
        self.weights.extend((self.weights.len()..self.width).map(weights));
    }

    /// Goes back to where `steps` steps had been read, if that many are known and no thread beyond
    /// `threads` is to come; otherwise to the start. Further if not all of those were entered. How many steps
    /// are kept.
    pub(super) fn keep(&mut self, steps: StepIndex, threads: usize) -> StepIndex {
        if steps == 0 || threads > self.threads || steps as usize > self.steps.len() {
            self.start(threads.max(self.threads));
            return 0;
        }
        let steps = steps.min(self.end);
        self.end = NO_STEP;
        let kept = steps as usize;
        self.objects.keep(steps);
        self.clocks.truncate(kept * self.width);
        self.narrow.truncate(kept);
        self.steps.truncate(kept);
        for own in self.by_thread.iter_mut().chain([&mut self.forced, &mut self.costly]) {
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
    #[inline]
    pub(super) fn begin(&mut self, event: &Event) {
        let row = self.clocks.len();
        let thread = event.thread.0 as usize;
        let index = self.open_row(thread, event.enabler) + 1;
        self.clocks[row + thread / LANE][thread % LANE] = index;
        self.steps.push(StepHistory { signature: 0, index });
    }

    /// Whether the clocks of an execution of so many steps are narrow: then its steps can be read with their
    /// clocks in the hands of the caller, who enters their accesses, [`History::close`]s each, and
    /// [`History::complete`]s all.
    #[inline]
    pub(super) fn is_narrow(&self, steps: usize) -> bool {
        self.width == 1 && steps <= MOST_STEPS
    }

    /// What is ordered before the next step of each thread, whatever its enabler and objects.
    pub(super) fn last_clocks(&self) -> [Narrow; MOST_THREADS] {
        let barrier = self.forced.last().map_or(Narrow::default(), |&barrier| self.narrow(barrier));
        let mut clocks = [barrier; MOST_THREADS];
        for (clock, own) in clocks.iter_mut().zip(&self.by_thread) {
            if let Some(&last) = own.last() {
                *clock = clock.join(self.narrow(last));
            }
        }
        clocks
    }

    /// The clock of a step of an execution that is narrow.
    #[inline(always)]
    pub(super) fn narrow(&self, step: StepIndex) -> Narrow {
        self.narrow[step as usize]
    }

    /// Enters an access of the step that is open. Says what it finds.
    #[inline(always)]
    pub(super) fn enter(&mut self, step: StepIndex, access: Access) -> Found {
        self.objects.enter(step, access)
    }

    /// The step that is open has this clock.
    #[inline(always)]
    pub(super) fn close(&mut self, clock: Narrow) {
        self.narrow.push(clock);
    }

    /// Completes the steps that were closed.
    #[inline(never)]
    pub(super) fn complete(&mut self, events: &[Event]) {
        let from = self.steps.len();
        let mut signature = self.signature();
        let weights = &self.weights[0];
        self.steps.resize(self.narrow.len(), StepHistory::default());
        self.clocks.resize(self.narrow.len(), Lane::default());
        let new = self.steps[from..].iter_mut().zip(&mut self.clocks[from..]);
        let read = self.narrow[from..].iter().zip(&events[from..]);
        for (number, ((narrow, event), (step, clock))) in (from as StepIndex..).zip(read.zip(new)) {
            *clock = narrow.counts();
            signature = signature.wrapping_add(mix(weigh(clock, weights, start_of(event))));
            let own = &mut self.by_thread[event.thread.0 as usize];
            own.push(number);
            *step = StepHistory { signature, index: own.len() as u32 };
            if event.alt.budget().is_some() {
                self.costly.push(number);
            }
        }
    }

    /// Nothing of what steps from here on do to objects is entered: nobody will ask.
    pub(super) fn begin_end(&mut self, step: StepIndex) {
        self.end = step;
    }

    /// Whether there is such a step.
    #[cfg(test)]
    pub(super) fn has_end(&self) -> bool {
        self.end != NO_STEP
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
        } else if event.alt.budget().is_some() {
            self.costly.push(step as StepIndex);
        }
        for &access in &event.accesses {
            if access.mode != Mode::None && access.object != ObjectId::NONE {
                let mut earlier = self.objects.enter(step as StepIndex, access).predecessors;
                while earlier != NO_LINK {
                    let Entered { step: before, .. } = *self.objects.entered(earlier);
                    // Unless its two objects are one.
                    if before as usize != step {
                        self.join(row, before);
                    }
                    earlier = self.objects.entered(earlier).next();
                }
            }
        }
        self.by_thread[event.thread.0 as usize].push(step as StepIndex);
        let lanes = self.clocks[row..].iter().zip(&self.weights);
        let sum = lanes.fold(start_of(event), |sum, (lane, weights)| weigh(lane, weights, sum));
        self.steps[step].signature = self.signature_before(step as StepIndex).wrapping_add(mix(sum));
        if self.width == 1 {
            self.narrow.push(Narrow::of(self.clocks[row]));
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

    /// What an access would find now.
    pub(super) fn look(&self, access: Access) -> Found {
        self.objects.look(access)
    }

    /// An access that was entered.
    #[inline(always)]
    pub(super) fn entered(&self, link: Link) -> &Entered {
        self.objects.entered(link)
    }

    /// The shared acquisition before one that is in a list of those.
    pub(super) fn next_shared(&self, acquisition: &Entered) -> Link {
        self.objects.next_shared(acquisition)
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

    /// Steps that took an alternative which draws on a budget, in order. Forced ones do not.
    #[inline]
    pub(super) fn costly(&self) -> &[StepIndex] {
        &self.costly
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

/// One more than the largest thread number in `trace`.
pub fn thread_count(trace: &Trace) -> usize {
    let ran = trace.events.iter().map(|event| event.thread.0);
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
            for (object, mode) in (0..4).flat_map(|object| modes.map(|mode| (ObjectId(object), mode))) {
                let access = Access::new(object, mode);
                assert_eq!(going_back.look(access), anew.look(access));
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
