//! The root of an execution: starts the test body, hands turns on, judges the end.

use super::controller::{Slot, World};
use super::image::Image;
use super::outcome::{Outcome, PanicReport};
use super::places::{Names, PlaceTable};
use super::script::{Fate, Unmet};
use super::switch::{Backend, Birth, Carried, Resumed};
use super::thread_locals::{Kept, StdWords};
use super::threads::{Body, Thread};
use super::view::{self, View};
use super::watch::watch_nobody;
use super::{Active, EXPLORING, WORLD, data_race, own_stack, panics};
use crate::model::{Kind, Op};
use crate::races::Detector;
use crate::search::step::{End, Guide, Model, Places, Plan, ThreadId, Trace};
use corosensei::stack::Stack;
use std::panic::{Location, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What the body of a test returns.
pub type TestResult = Result<(), String>;

/// A test to explore.
#[derive(Clone, Copy)]
pub struct Test {
    /// Its body.
    pub body: fn() -> TestResult,
    /// `None`: it must not panic. `Some(text)`: it must, with a message containing `text`.
    pub should_panic: Option<&'static str>,
}

impl std::fmt::Debug for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Test").field("should_panic", &self.should_panic).finish_non_exhaustive()
    }
}

/// Executes plans of one test.
pub struct Execution {
    world: Box<World>,
    test: Test,
    /// The names and places of the last failing execution.
    pub(super) view: View,
    /// The thread of the system that executed last.
    system_thread: Option<std::thread::ThreadId>,
    /// Keep the view also of executions that pass.
    keep_views: bool,
    /// Threads that outlive the test are a failure.
    leaks: bool,
    /// How often the body was run.
    runs: u64,
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").field("test", &self.test).finish_non_exhaustive()
    }
}

impl Execution {
    /// Prepares to execute `test`; an execution of more than `max_steps` counts as a livelock.
    pub fn new(test: Test, max_steps: u32) -> Execution {
        panics::install_hook();
        Execution {
            world: Box::new(World::new(max_steps)),
            test,
            view: View::default(),
            system_thread: None,
            keep_views: false,
            leaks: false,
            runs: 0,
        }
    }

    /// Makes the process ready to explore for the rest of its life: statics are put back after
    /// each execution, clocks and random numbers become the model's.
    pub fn take_over_process(&mut self) {
        EXPLORING.store(true, Ordering::Relaxed);
        crate::intercept::prepare();
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        self.find_std_words();
        let image = Image::take();
        if let Some(races) = &mut self.world.races {
            image.statics().for_each(|(start, length)| races.watch(start, length));
        }
        self.world.image = Some(image);
    }

    /// From now on executions end with the first data race. To be called before the process is taken over.
    pub fn detect_races(&mut self) {
        self.world.races = Some(Box::new(Detector::new(super::heap::LAYOUT)));
        self.world.heap.delay_reuse();
    }

    /// From now on every thread of the test runs on a thread of the system of its own, which has
    /// its name; one of them runs at a time. The same schedules give the same traces.
    pub fn use_os_threads(&mut self) {
        self.world.backend = Backend::OsThreads;
        self.system_thread = None;
    }

    /// Threads that a test declares to be interchangeable are treated like all others.
    pub fn ignore_symmetry(&mut self) {
        self.world.symmetry = false;
    }

    /// What became of the scenario of the last execution.
    pub fn fate(&self) -> Fate {
        match self.outcome() {
            Outcome::Passed | Outcome::Abandoned => self.world.script.fate,
            _ => Fate::None,
        }
    }

    /// Whether one execution that meets its scenario is all that the test asks for.
    pub fn asks_for_one(&self) -> bool {
        self.world.script.exists
    }

    /// Of all executions that did not meet their scenario, what the one lacked that came furthest.
    pub fn unmet(&self) -> Option<&Unmet> {
        self.world.script.furthest.as_ref()
    }

    /// From now on threads are switched only at labels and where they block.
    pub fn cooperate(&mut self) {
        self.world.cooperative = true;
    }

    /// Whether some execution had threads that were treated as interchangeable.
    pub fn has_twins(&self) -> bool {
        self.world.had_twins
    }

    /// From now on operations and objects are looked at by name. Returns what priorities need to
    /// know about them.
    pub fn look_for(&mut self, names: Names) -> Rc<dyn Places> {
        let table = Rc::new(PlaceTable::new(names));
        self.world.places = Some(Rc::clone(&table));
        table
    }

    /// Whether there is code that is not to be preempted.
    pub fn restricts_preemptions(&self) -> bool {
        self.world.places.as_ref().is_some_and(|places| places.restricts())
    }

    /// Paths that were asked for and match no function of the program.
    pub fn unknown_paths(&self) -> &[String] {
        self.world.places.as_ref().map_or(&[], |places| places.unknown())
    }

    /// From now on an execution fails if threads have not ended when the test has.
    pub fn detect_leaks(&mut self) {
        self.leaks = true;
    }

    /// How often the test body was run, for whatever reason.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Somebody else was here before: counts from now on.
    pub(crate) fn forget_runs(&mut self) {
        self.runs = 0;
    }

    /// Executes `plan` and keeps the view, whatever the end.
    pub(crate) fn run_with_view(&mut self, plan: &Plan, trace: &mut Trace) {
        let before = std::mem::replace(&mut self.keep_views, true);
        self.run(plan, None, trace);
        self.keep_views = before;
    }

    /// How the last execution ended.
    pub fn outcome(&self) -> &Outcome {
        self.world.outcome.as_ref().unwrap_or(&Outcome::Passed)
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(super) fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// From now on, executions are for a report: their views are kept, with just those decisions
    /// of their plan that default behaviour would not have made.
    pub fn report_executions(&mut self) {
        self.keep_views = true;
        self.world.keep_needed = true;
    }

    /// The thread with this path.
    pub(crate) fn thread_of_path(&mut self, path: &str) -> Option<ThreadId> {
        self.world.names.parse(path)
    }

    /// Whether a loop was cut although its state did not repeat.
    pub fn spin_bound_reached(&self) -> bool {
        self.world.spin_bound_reached
    }

    /// From a signal handler: the engine has the word, and the execution ends where it is.
    pub(crate) fn leave_user_code(&mut self) {
        self.world.in_user = false;
        self.view = view::collect(&self.world);
        WORLD.set(std::ptr::null_mut());
    }

    /// What a fatal signal means where it came.
    pub(crate) fn describe_crash(&self, name: &str, signal: i32, address: usize) -> String {
        let thread = self.view.threads.get(self.world.running).map_or("?", |thread| &thread.name);
        if signal == libc::SIGSEGV && self.world.stacks.guards(address) {
            return format!("thread '{thread}' has overflowed its stack");
        }
        format!("thread '{thread}' received {name}")
    }

    fn execute(&mut self) {
        self.runs += 1;
        self.world.add_thread(Some("main".into()), Body::Test(self.test.body), Location::caller());
        let world: *mut World = &mut *self.world;
        WORLD.set(world);
        hand_turns_on(Active(world));
        WORLD.set(std::ptr::null_mut());
        watch_nobody();
        if let Some(race) = self.world.race.take() {
            let race = data_race::describe(&self.world, race, self.keep_views);
            self.world.outcome = Some(Outcome::DataRace(race));
        }
        let returned = self.world.returned.take();
        if matches!(self.world.outcome, None | Some(Outcome::Passed)) {
            if let Some(worse) = judge(&self.world, self.test, returned) {
                self.world.outcome = Some(worse);
            } else if self.leaks {
                self.world.outcome = leaked(&self.world);
            }
        }
    }

    /// Finds what std keeps for the calling thread of the system, if it is another one than before.
    fn find_std_words(&mut self) {
        let thread = Some(std::thread::current().id());
        if self.system_thread != thread {
            self.system_thread = thread;
            self.world.root_words = StdWords::find();
            self.world.std_words = match self.world.backend {
                Backend::Coroutines => self.world.root_words,
                Backend::OsThreads => StdWords::default(),
            };
        }
    }

    fn tear_down(&mut self) {
        let World { threads, spins, stacks, .. } = &mut *self.world;
        for (thread, spin) in threads.iter_mut().zip(spins) {
            spin.renew();
            // A thread that never started: what it captured goes with the heap, undropped, as the
            // frames of abandoned threads do.
            std::mem::forget(thread.body.take());
            if let Some(carrier) = thread.carrier.take() {
                stacks.put(usize::from(thread.id.0), carrier.reclaim());
            }
        }
        threads.clear();
        crate::intercept::close_left_open();
        self.world.heap.reset();
        if let Some(image) = &self.world.image {
            image.restore();
        }
    }
}

/// Runs the test body.
fn run_body(body: fn() -> TestResult) {
    let result = catch_unwind(body);
    if let Some(active) = super::active() {
        if let Err(payload) = &result {
            panics::note_passed_on(active, payload.as_ref());
        }
        active.before_end_of_thread();
        let life = active.life_of(0);
        active.perform(Op::new(Kind::End, life, Location::caller()));
        active.world().returned = Some(result.ok());
    }
}

/// Resumes the thread whose turn it is until the execution is over. Between turns, std's words are those of the last thread.
fn hand_turns_on(active: Active) {
    if !active.world().decide() {
        return;
    }
    let root = active.world().std_words.read();
    pass_turns(active, &root);
    active.world().std_words.adopt(root);
}

fn pass_turns(active: Active, root: &Kept) {
    loop {
        let world = active.world();
        let slot = world.current;
        world.running = slot;
        // Out of its slot: the list of threads may move while the thread runs.
        let mut carrier = match world.threads[slot].body.take() {
            Some(body) => started(world, slot, body),
            None => world.threads[slot].carrier.take().expect("a suspended thread has a carrier"),
        };
        let thread = &world.threads[slot];
        world.engine_top = thread.engine_top;
        world.std_words.enter(thread.std_words, thread.id.0, root);
        // The thread comes back inside the engine, which lets user code go on when it is done.
        let resumed = carrier.resume();
        let world = active.world();
        world.in_user = false;
        world.threads[slot].std_words = world.std_words.read();
        if resumed == Resumed::Suspended {
            // Nothing is there to be dropped.
            std::mem::forget(world.threads[slot].carrier.replace(carrier));
            if world.over {
                return;
            }
            continue;
        }
        let thread = &mut world.threads[slot];
        thread.ended = true;
        let id = usize::from(thread.id.0);
        world.stacks.put(id, carrier.reclaim());
        if !world.decide() {
            return;
        }
    }
}

/// A carrier that executes the thread's announced `Begin` and then its body.
fn started(world: &mut World, slot: Slot, body: Body) -> Carried {
    let thread = &mut world.threads[slot];
    let wished = thread.stack_size.unwrap_or(world.least_stack);
    let stack = world.stacks.take(usize::from(thread.id.0), wished);
    (thread.stack_base, thread.engine_top) = (stack.base().get(), stack.engine_top());
    if let Some(races) = &mut world.races {
        let limit = stack.limit().get();
        races.run_on(slot, limit, stack.base().get() - limit);
    }
    let birth = Birth {
        stack,
        name: thread.name.as_deref(),
        slot,
        number: thread.id.0,
        root_words: world.root_words,
    };
    Carried::start_on(world.backend, birth, move |exit| {
        let active = super::active().expect("threads run inside an execution");
        let begin = || {
            active.world().threads[slot].exit = exit;
            active.world().execute();
        };
        // SAFETY: the thread has just begun, so nobody works on its stack for the engine.
        unsafe { own_stack::call(active.world().threads[slot].engine_top, begin) };
        active.world().in_user = true;
        match body {
            Body::Test(body) => run_body(body),
            Body::Spawned(body) => body(),
        }
    })
}

/// What the end of the test body, and panics that nobody heard, make of an execution.
fn judge(world: &World, test: Test, returned: Option<Option<TestResult>>) -> Option<Outcome> {
    // A panic in a scenario ends it, whoever panicked.
    let (returned, panicked) = match world.script.broken_off {
        Some(slot) => (None, slot),
        None => (returned?, 0),
    };
    match (test.should_panic, returned) {
        (None, None) => return Some(Outcome::Panicked(cause_of(world, panicked))),
        (None, Some(Err(message))) => {
            return Some(Outcome::Panicked(PanicReport {
                thread: ThreadId(0),
                // Out of the execution's heap, which is about to go.
                message: message.as_str().to_owned(),
                location: None,
                calls: None,
                earlier: Vec::new(),
            }));
        }
        (Some(_), Some(_)) => {
            return Some(Outcome::ExpectationMissed("test did not panic as expected".to_owned()));
        }
        (Some(text), None) => {
            let report = panic_of(world, panicked);
            if !report.message.contains(text) {
                let message =
                    format!("panicked with {:?}, expected a text containing {text:?}", report.message);
                return Some(Outcome::ExpectationMissed(message));
            }
            // What was expected has happened: whose panic made it happen does not matter, as in libtest.
            return None;
        }
        (None, Some(Ok(()))) => {}
    }
    let unheard = world.threads.iter().position(|thread| thread.unheard_panic)?;
    Some(Outcome::Panicked(panic_of(world, unheard)))
}

/// The threads that have not ended.
fn leaked(world: &World) -> Option<Outcome> {
    let left = (0..world.threads.len()).filter(|slot| !world.threads[*slot].ended);
    let names: Vec<String> = left.map(|slot| format!("'{}'", view::thread_name(world, slot))).collect();
    let (noun, verb) = if names.len() == 1 { ("thread", "has") } else { ("threads", "have") };
    let text = format!("{noun} {} {verb} not ended when the test had", names.join(", "));
    (!names.is_empty()).then_some(Outcome::Leak(text))
}

/// The last panic of the thread in `slot`, and those of others before it.
fn panic_of(world: &World, slot: usize) -> PanicReport {
    let thread = world.threads[slot].id;
    let Some(at) = world.panics.iter().rposition(|report| report.thread == thread) else {
        return PanicReport {
            thread,
            message: "panicked without a message (a custom panic hook is installed)".to_owned(),
            location: None,
            calls: None,
            earlier: Vec::new(),
        };
    };
    let others = world.panics[..at].iter().filter(|report| report.thread != thread);
    let earlier = others.map(|report| describe(world, report)).collect();
    PanicReport { earlier, ..world.panics[at].clone() }
}

/// As `panic_of`; for a scope that panicked because a thread of it did, the first panic that ended such a thread.
fn cause_of(world: &World, slot: usize) -> PanicReport {
    let report = panic_of(world, slot);
    if report.message != panics::IN_SCOPE {
        return report;
    }
    let blamed = |thread: &&Thread| thread.scoped.is_some_and(|scoped| scoped.blamed);
    let last_of = |thread: &Thread| world.panics.iter().rposition(|cause| cause.thread == thread.id);
    let ends = world.threads.iter().filter(blamed).filter_map(last_of);
    let Some(at) = ends.filter(|at| world.panics[*at].message != panics::IN_SCOPE).min() else {
        return report;
    };
    let mut cause = world.panics[at].clone();
    if cause.message == panics::NO_TEXT {
        let slot = world.threads.iter().position(|thread| thread.id == cause.thread);
        let name = slot.map_or_else(String::new, |slot| view::thread_name(world, slot));
        cause.message = format!("{}: '{name}', with {}", panics::IN_SCOPE, panics::NO_TEXT);
    }
    cause
}

fn describe(world: &World, report: &PanicReport) -> String {
    let slot = world.threads.iter().position(|thread| thread.id == report.thread);
    let name = slot.map_or_else(|| "?".to_owned(), |slot| view::thread_name(world, slot));
    let place = match report.place() {
        Some((file, line, column)) => format!(" at {file}:{line}:{column}"),
        None => String::new(),
    };
    format!("thread '{name}' panicked{place}: {}", report.message)
}

impl Model for Execution {
    fn run(&mut self, plan: &Plan, guide: Option<&mut dyn Guide>, trace: &mut Trace) {
        let guide = guide.map(|guide| {
            let guide: *mut (dyn Guide + '_) = guide;
            // SAFETY: only the lifetime changes; the world forgets the guide before this returns.
            unsafe { std::mem::transmute::<*mut (dyn Guide + '_), *mut (dyn Guide + 'static)>(guide) }
        });
        // One execution at a time in a process: the heap is at a fixed place.
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut self.world.trace, trace);
        self.find_std_words();
        if guide.is_some() {
            self.world.stacks.clean();
        } else {
            self.world.stacks.clean_compared();
        }
        self.world.begin(&plan.deltas, plan.prefix, guide);
        self.execute();
        while self.world.once_more && guide.is_none() {
            // What it found in unused slots says nothing, or it lacks accesses: once more. A guide could not be asked
            // twice, hence the thorough cleaning in advance, and all accesses are noted then.
            self.tear_down();
            self.world.stacks.clean_compared();
            self.world.begin(&plan.deltas, plan.prefix, guide);
            self.execute();
        }
        let end = match self.outcome() {
            Outcome::Passed => End::Passed,
            Outcome::Abandoned => End::Stopped,
            Outcome::Diverged(divergence) => End::Diverged(divergence.step),
            _ => End::Failed,
        };
        self.world.trace.end = end;
        self.world.offer_lines_at_end();
        self.world.keep_pending();
        self.world.number_places();
        if !matches!(end, End::Passed | End::Stopped) || self.keep_views {
            self.view = view::collect(&self.world);
        }
        self.tear_down();
        std::mem::swap(&mut self.world.trace, trace);
    }
}
