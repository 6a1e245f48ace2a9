//! Coroutines and threads of the system: the same schedule gives the same trace on both.

pub(crate) mod bodies;
mod system;

use crate::support::{Random, alone, show};
use schedcheck_rt::exec::{Execution, Test, TestResult};
use schedcheck_rt::search::step::{
    Alt, Choice, Decision, Delta, End, Event, Guide, Model, Pending, Plan, StepIndex, ThreadId, Trace,
};

/// Takes any thread that can go on, now and then with a costly alternative; the same walk on both backends.
impl Guide for Random {
    fn choose(&mut self, _: StepIndex, _: Option<ThreadId>, pending: &[Pending]) -> Decision {
        let costly = pending
            .iter()
            .flat_map(|op| op.costly_alts.alternatives().map(|alt| Choice { thread: op.thread, alt }));
        let costly: Vec<Choice> = costly.collect();
        if !costly.is_empty() && self.below(8) == 0 {
            return Decision::Take(costly[self.below(costly.len())]);
        }
        let enabled: Vec<ThreadId> = pending.iter().filter(|op| op.enabled).map(|op| op.thread).collect();
        if enabled.is_empty() || self.below(3) == 0 {
            return Decision::Default;
        }
        Decision::Take(Choice { thread: enabled[self.below(enabled.len())], alt: Alt::DEFAULT })
    }

    fn executed(&mut self, _: StepIndex, _: &Event) {}
}

/// Everything an execution says about itself.
#[derive(Debug, PartialEq)]
struct Told {
    events: Vec<Event>,
    pending: Vec<Pending>,
    end: End,
    outcome: String,
    fingerprint: u64,
}

fn tell(execution: &mut Execution, plan: &Plan, guide: Option<&mut dyn Guide>) -> (Told, Trace) {
    let mut trace = Trace::default();
    execution.run(plan, guide, &mut trace);
    let told = Told {
        events: trace.events.clone(),
        pending: trace.pending.clone(),
        end: trace.end,
        outcome: format!("{:?}", execution.outcome()),
        fingerprint: execution.fingerprint(),
    };
    (told, trace)
}

fn execution(body: fn() -> TestResult) -> Execution {
    let mut execution = Execution::new(Test { body, should_panic: None }, 2_000);
    execution.report_executions();
    execution
}

fn on_os_threads(body: fn() -> TestResult) -> Execution {
    let mut execution = execution(body);
    execution.use_os_threads();
    execution
}

/// A plan that repeats `trace` but for a few decisions, which may not be possible.
fn varied(trace: &Trace, random: &mut Random) -> Plan {
    let mut plan = Plan::repeating(trace);
    for _ in 0..random.below(3) {
        if let Some(at) = plan.deltas.len().checked_sub(1).map(|last| random.below(last + 1)) {
            plan.deltas.remove(at);
        }
    }
    if random.below(2) == 0 && !plan.deltas.is_empty() {
        let at = random.below(plan.deltas.len());
        let thread = ThreadId(random.below(3) as u16);
        plan.deltas[at] = Delta { choice: Choice { thread, alt: Alt::DEFAULT }, ..plan.deltas[at] };
    }
    plan
}

/// Random walks of `body`, their repetitions and variations, on both backends. The words for how
/// they ended.
fn compare(body: fn() -> TestResult, walks: u64) -> Vec<String> {
    let _alone = alone();
    let (mut coroutines, mut os_threads) = (execution(body), on_os_threads(body));
    let mut words = Vec::new();
    for seed in 0..walks {
        let (walked, trace) = tell(&mut coroutines, &Plan::default(), Some(&mut Random(seed)));
        let (there, other) = tell(&mut os_threads, &Plan::default(), Some(&mut Random(seed)));
        assert_eq!(walked, there, "walk {seed}\n{}\n{}", show(&trace), show(&other));
        words.push(coroutines.outcome().word().to_owned());
        let repeated = Plan::repeating(&trace);
        assert_eq!(tell(&mut os_threads, &repeated, None).0, tell(&mut coroutines, &repeated, None).0);
        let plan = varied(&trace, &mut Random(!seed));
        let (here, there) = (tell(&mut coroutines, &plan, None), tell(&mut os_threads, &plan, None));
        assert_eq!(here.0, there.0, "variation {seed}\n{}\n{}", show(&here.1), show(&there.1));
    }
    words.sort();
    words.dedup();
    words
}

macro_rules! same_on_both {
    ($( $body:ident: $($word:literal),+; )+) => {
        $(
            #[test]
            fn $body() {
                assert_eq!(compare(bodies::$body, 40), [$($word),+]);
            }
        )+
    };
}

same_on_both! {
    counts_under_a_mutex: "passed";
    locks_in_opposite_order: "deadlock", "passed";
    waits_on_a_condvar: "passed";
    loses_a_wakeup: "deadlock", "passed";
    spawns_in_a_spawned_thread: "passed";
    joins_a_panic: "passed";
    leaves_a_panic_unheard: "panic";
    locks_while_it_unwinds: "passed";
    runs_thread_local_destructors: "passed";
    borrows_in_a_scope: "passed";
    spins_without_a_hint: "passed";
    spins_with_yields: "passed";
    iterates_over_hash_maps: "passed";
    leaves_workers_behind: "passed";
    parks_and_sends: "passed";
}
