//! The verdict on every probe is right: all outcomes that are possible, no other, and the failures.
use std::collections::{BTreeMap, BTreeSet};

use schedcheck_tests::project::Project;
use serde_json::Value;

/// How far the exploration of a probe that passes must get.
#[derive(Clone, Copy, Debug)]
enum Coverage {
    /// To its end, in so many executions: the number of classes is known.
    Exactly(u64),
    /// To its end, and every loop that waits was recognised by its state.
    Exact,
    /// To its end.
    Complete,
    /// It may run out of time: two threads that poll under one lock keep each other going.
    Budget,
}
use Coverage::{Budget, Complete, Exact, Exactly};

/// The probes that pass, and their outcomes.
const PASSING: &[(&str, Coverage, &[&str])] = &[
    ("an_allocator_that_counts", Complete, &[]),
    ("arcs::both_try_to_unwrap", Complete, &["false false", "false true", "true false"]),
    ("arcs::count_against_clone", Exactly(2), &["2", "3"]),
    ("arcs::count_against_drop", Exactly(2), &["1", "2"]),
    ("arcs::get_mut_against_drop", Exactly(2), &["false", "true"]),
    ("arcs::one_gets_the_inner", Exactly(2), &["false true", "true false"]),
    ("arcs::upgrade_against_the_last_drop", Complete, &["false", "true"]),
    ("arcs::who_drops_last", Exactly(2), &["false", "true"]),
    ("atomics::exchange_that_may_succeed_late", Exactly(3), &["false 3", "true 3"]),
    ("atomics::load_before_store", Exactly(2), &["false", "true"]),
    ("atomics::one_exchange_wins", Exactly(2), &["[false, true] 2", "[true, false] 1"]),
    ("atomics::redundant_load", Exactly(7), &["00", "01", "10", "11"]),
    ("atomics::store_buffering", Exactly(3), &["01", "10", "11"]),
    ("atomics::swap_and_store", Exactly(2), &["found false left true", "found true left false"]),
    ("atomics::three_additions_each", Exactly(20), &["6"]),
    ("atomics::weak_exchange", Exactly(2), &["Err(0)", "Ok(0)"]),
    ("atomics::weak_exchange_in_a_loop", Complete, &["2"]),
    ("channels::one_sender_of_three", Exactly(1), &["[1, 2, 3]"]),
    ("channels::recv_after_disconnect", Exactly(1), &["Err(RecvError)"]),
    ("channels::recv_with_a_time_out", Exactly(2), &["Err(Timeout)", "Ok(1)"]),
    ("channels::recv_with_a_time_out_and_no_sender_that_sends", Exactly(1), &["Err(Timeout)"]),
    ("channels::rendezvous", Exactly(1), &["came true got 1"]),
    ("channels::rendezvous_that_nobody_keeps", Complete, &["false"]),
    ("channels::send_against_drop_of_the_receiver", Exactly(2), &["false", "true"]),
    ("channels::try_recv_against_disconnect", Exactly(2), &["Err(Disconnected)", "Err(Empty)"]),
    ("channels::try_recv_against_send", Exactly(2), &["Err(Empty)", "Ok(1)"]),
    (
        "channels::try_send_at_a_rendezvous",
        Complete,
        &["sent false received false", "sent true received true"],
    ),
    ("channels::try_send_finds_room_or_not", Exactly(2), &["Err(TrySendError::Full(..))", "Ok(())"]),
    ("channels::two_senders", Complete, &["ab", "ba"]),
    ("channels::two_senders_of_two", Complete, &["abcd", "acbd", "acdb", "cabd", "cadb", "cdab"]),
    ("condvars::all_are_notified", Complete, &["done"]),
    ("condvars::bounded_buffer", Complete, &["12"]),
    ("condvars::nobody_notifies_a_timed_wait", Exactly(3), &["true"]),
    ("condvars::wait_in_a_loop", Complete, &["true"]),
    (
        "condvars::wait_in_a_loop_with_a_time_out",
        Complete,
        &["timed out false set true", "timed out true set false"],
    ),
    (
        "condvars::wait_with_a_time_out",
        Complete,
        &[
            "timed out false set false",
            "timed out false set true",
            "timed out true set false",
            "timed out true set true",
            "was set",
        ],
    ),
    ("condvars::wait_without_a_loop", Complete, &["false", "true"]),
    ("condvars::which_waiter_is_woken", Complete, &["Some(1)", "Some(2)"]),
    ("condvars::which_waiter_of_two_in_order_is_woken", Budget, &["Some(1)", "Some(2)"]),
    ("locks::barrier_of_three", Complete, &["false false true", "false true false", "true false false"]),
    ("locks::barrier_of_two", Exactly(2), &["false true", "true false"]),
    ("locks::lock_order", Exactly(2), &["ab", "ba"]),
    ("locks::read_twice_without_a_writer", Exactly(1), &["done"]),
    ("locks::readers_before_and_after_a_writer", Exactly(4), &["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"]),
    ("locks::readers_share", Complete, &["done"]),
    ("locks::try_lock_against_try_lock", Exactly(3), &["false true", "true false", "true true"]),
    ("locks::try_lock_finds_it_held", Exactly(3), &["false", "true"]),
    ("locks::try_read_finds_a_writer", Complete, &["false", "true"]),
    ("locks::try_write_finds_a_reader", Exactly(3), &["false", "true"]),
    ("locks::two_locks_each", Exactly(90), &["6"]),
    ("locks::two_writers", Exactly(2), &["ab", "ba"]),
    ("loops::count_rounds_without_a_yield", Complete, &["true"]),
    ("loops::bounded_spin", Exactly(4), &["None", "Some(0)", "Some(1)", "Some(2)"]),
    ("loops::bounded_spin_counted_elsewhere", Exactly(7), &["0", "1", "2", "3", "4", "5", "6"]),
    ("loops::give_up_after_ten_naps", Complete, &["false", "true"]),
    ("loops::give_up_after_ten_rounds", Complete, &["false", "true"]),
    ("loops::give_up_after_ten_seconds", Complete, &["false", "true"]),
    ("loops::give_up_waiting_for_a_message", Complete, &["false", "true"]),
    ("loops::give_up_waiting_for_a_reader", Complete, &["false", "true"]),
    ("loops::give_up_waiting_for_a_value", Complete, &["false", "true"]),
    ("loops::give_up_waiting_for_a_writer", Complete, &["false", "true"]),
    ("loops::give_up_waiting_for_room", Complete, &["false", "true"]),
    ("loops::give_up_waiting_for_the_end_of_a_thread", Complete, &["false", "true"]),
    ("loops::give_up_waiting_under_a_lock", Complete, &["false"]),
    ("loops::look_again_after_ten_rounds", Complete, &["false false", "false true", "true true"]),
    ("loops::look_and_park_after_spinning", Complete, &["done"]),
    ("loops::park_with_ones_own_token_until_the_flag_is_set", Complete, &["done"]),
    ("loops::poll_at_two_depths", Exact, &["1", "2"]),
    ("loops::poll_under_a_lock", Complete, &["done"]),
    ("loops::spin_after_another_loop", Complete, &["0"]),
    ("loops::spin_lock", Complete, &["2"]),
    ("loops::spin_until_a_thread_is_finished", Complete, &["done"]),
    ("loops::spin_with_a_deadline", Complete, &["false", "true"]),
    ("loops::spin_with_a_hint", Complete, &["done"]),
    ("loops::spin_with_a_mark", Exact, &["done"]),
    ("loops::spin_with_a_sleep", Complete, &["done"]),
    ("loops::spin_with_a_yield", Complete, &["done"]),
    ("loops::spin_with_more_and_more_hints", Complete, &["done"]),
    ("loops::spin_without_a_yield", Complete, &["done"]),
    ("loops::take_turns", Complete, &["4"]),
    ("loops::try_lock_until_it_is_free", Complete, &["ab", "ba"]),
    ("loops::give_up_while_the_other_polls", Complete, &["done"]),
    ("loops::try_again_while_the_other_polls", Complete, &["done"]),
    ("loops::wait_for_a_deadline", Exactly(1), &["done"]),
    ("loops::wake_oneself_until_the_flag_is_set", Complete, &["done"]),
    ("once::cell_is_initialised_by_one", Exactly(2), &["1 1", "2 2"]),
    ("once::cell_is_read_at_a_race", Exactly(2), &["None", "Some(1)"]),
    ("once::cell_is_set_by_one", Exactly(2), &["false true Some(2)", "true false Some(1)"]),
    ("once::cell_is_waited_for", Exactly(1), &["1"]),
    ("once::is_completed_looks_at_a_race", Exactly(2), &["false", "true"]),
    ("once::lazy_value_is_made_by_one", Exactly(2), &["made 1 by main false", "made 1 by main true"]),
    ("once::once_is_poisoned_for_the_second", Exactly(2), &["false false", "true true"]),
    ("once::once_runs_for_one", Exactly(2), &["1", "2"]),
    ("panics::asking_for_a_panic_is_no_step", Exactly(1), &[]),
    ("panics::is_poisoned_looks_at_a_race", Exactly(2), &["false", "true"]),
    ("panics::joined_thread_panics", Exactly(1), &["Some(\"boom\")"]),
    ("panics::not_poisoned_by_a_reader", Exactly(2), &["true false"]),
    ("panics::panic_is_caught", Exactly(1), &["true true"]),
    ("panics::panic_that_is_expected", Exactly(1), &[]),
    ("panics::panic_while_others_wait", Exactly(2), &["clean", "poisoned"]),
    ("panics::poisoned_by_a_writer", Exactly(2), &["false true", "true true"]),
    ("panics::scoped_thread_panics_and_a_sibling_joins_it", Exactly(1), &["true"]),
    ("parking::park_then_join", Exactly(2), &["done"]),
    ("parking::park_until_a_flag_is_set", Complete, &["0", "1", "2"]),
    ("parking::park_with_a_time_out", Complete, &["false", "true"]),
    ("parking::park_with_a_time_out_and_nobody_who_unparks", Exactly(2), &["done"]),
    ("parking::park_without_a_loop", Exactly(3), &["false", "true"]),
    ("parking::sleep_is_no_synchronisation", Exactly(2), &["false", "true"]),
    ("parking::sleep_takes_time", Exactly(1), &["true"]),
    ("parking::store_after_unpark", Complete, &["false", "true"]),
    ("random::numbers_are_not_drawn_twice", Exactly(1), &["6"]),
    ("random::the_same_schedule_draws_the_same_numbers", Complete, &["done"]),
    ("statics::static_atomic", Exactly(2), &["01", "10"]),
    ("statics::static_cell", Exactly(2), &["11", "22"]),
    ("statics::static_lazy_value", Exactly(2), &["value 0"]),
    ("statics::static_mutex", Exactly(2), &["ab", "ba"]),
    ("statics::static_thread_local", Exactly(1), &["1 3"]),
    ("threads::detached_thread", Complete, &["false", "true"]),
    ("threads::is_finished", Exactly(2), &["false", "true"]),
    ("threads::named_thread", Exactly(1), &["Some(\"worker\")"]),
    ("threads::scoped_thread_that_is_joined", Exactly(2), &["false", "true"]),
    ("threads::scoped_thread_whose_handle_goes_from_hand_to_hand", Exactly(2), &["1"]),
    ("threads::scoped_threads", Exactly(2), &["2 0", "2 1"]),
    ("threads::six_threads", Exactly(1), &["done"]),
    ("threads::six_threads_that_share_nothing", Exactly(1), &["42"]),
    ("threads::thread_that_the_system_could_not_start", Exactly(1), &["WouldBlock"]),
    ("threads::thread_locals_end_before_join_returns", Exactly(1), &["1"]),
    ("threads::worker_that_waits_for_ever", Exactly(1), &["done"]),
    ("work::add_items_and_give_hints", Complete, &["0", "1", "2", "3", "4", "5", "6"]),
    ("work::add_items_and_sleep", Complete, &["0", "1", "2", "3", "4", "5", "6"]),
    ("work::add_items_and_yield", Complete, &["0", "1", "2", "3", "4", "5", "6"]),
    ("work::add_many_items_without_a_pause", Complete, &["false", "true"]),
    ("work::add_under_a_lock_made_of_an_atomic", Complete, &["0", "1", "2", "3", "4", "5", "6"]),
    ("work::write_and_yield", Complete, &["0", "1", "2", "3", "4", "5", "6"]),
];

/// The probes that fail: the outcome, and what its message begins with.
const FAILING: &[(&str, &str, &str)] = &[
    ("atomics::lost_update", "panic", "assertion `left == right` failed: an update was lost"),
    ("channels::recv_from_oneself", "deadlock", "deadlock: 1 of 1 threads are blocked forever"),
    ("channels::send_without_room", "deadlock", "deadlock: 1 of 1 threads are blocked forever"),
    (
        "condvars::notified_too_early",
        "deadlock",
        "lost wake-up: a notification was given before the thread waited, and no other will come",
    ),
    (
        "condvars::notification_of_the_wrong_one",
        "deadlock",
        "lost wake-up: a notification woke a thread that waits again, and no other will come",
    ),
    ("condvars::one_notification_for_two", "deadlock", "deadlock: 2 of 3 threads are blocked forever"),
    ("locks::barrier_that_misses_one", "deadlock", "deadlock: 2 of 2 threads are blocked forever"),
    (
        "locks::join_under_the_lock_of_the_joined",
        "deadlock",
        "deadlock: 2 threads wait for each other in a cycle",
    ),
    ("locks::lock_twice", "deadlock", "deadlock: a thread waits for itself"),
    ("locks::opposite_order", "deadlock", "deadlock: 2 threads wait for each other in a cycle"),
    (
        "locks::read_twice_around_a_writer",
        "deadlock",
        "deadlock: a thread waits for itself: 'main' cannot read rwlock#1, which it holds already, in line",
    ),
    ("locks::write_under_a_read_lock", "deadlock", "deadlock: a thread waits for itself"),
    ("loops::after_you", "livelock", "livelock: no end after 20000 steps of a fair schedule"),
    ("loops::park_after_spinning", "deadlock", "deadlock: 1 of 2 threads are blocked forever"),
    ("loops::spin_for_ever", "livelock", "livelock: no end after 20000 steps of a fair schedule"),
    ("loops::yield_for_ever", "livelock", "livelock: no end after 20000 steps of a fair schedule"),
    ("once::once_inside_itself", "deadlock", "deadlock: a thread waits for itself"),
    ("panics::panic_during_a_panic", "crash", "thread 'main' received SIGABRT (abort)"),
    ("panics::panic_in_the_body", "panic", "it was finished"),
    ("panics::panic_is_passed_on", "panic", "passed on"),
    ("panics::scoped_thread_panics", "panic", "inside"),
    (
        "panics::scoped_thread_panics_and_a_sibling_drops_its_handle",
        "panic",
        "a scoped thread panicked: 'thread-2', with a value that is not text",
    ),
    ("panics::thread_panics_and_nobody_joins", "panic", "nobody hears this"),
    ("parking::park_for_ever", "deadlock", "deadlock: 1 of 1 threads are blocked forever"),
    ("parking::tokens_do_not_add_up", "deadlock", "deadlock: 1 of 2 threads are blocked forever"),
    (
        "threads::scoped_thread_whose_handle_is_forgotten",
        "deadlock",
        "deadlock: 1 of 2 threads are blocked forever",
    ),
    (
        "threads::thread_whose_name_has_a_null_byte",
        "panic",
        "thread name may not contain interior null bytes: NulError(1, [97, 0, 98])",
    ),
    (
        "threads::world_outside",
        "nondeterminism",
        "not deterministic under control: at step 1 thread 0 runs, but that thread is not there",
    ),
];

/// What a run over all probes found.
struct Findings {
    verdicts: BTreeMap<String, Value>,
    outcomes: BTreeMap<String, BTreeSet<String>>,
}

fn explore(more: &[&str]) -> Findings {
    let project = Project::copy_of("probes");
    let args = ["--all-tests", "--no-fail-fast", "--message-format", "json", "--max-time", "10s"];
    let file = project.path.join("outcomes");
    let output =
        project.schedcheck(&[&args[..], more].concat()).env("PROBES_OUTCOMES", &file).run().expect_code(100);
    let mut outcomes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in project.read("outcomes").lines() {
        let (test, outcome) = line.split_once(' ').expect("a test and its outcome");
        outcomes.entry(test.to_owned()).or_default().insert(outcome.to_owned());
    }
    Findings { verdicts: output.verdicts_by_test(), outcomes }
}

impl Findings {
    /// What is wrong with a probe that should pass.
    fn judge_passing(&self, test: &str, coverage: Coverage, outcomes: &[&str]) -> Option<String> {
        let verdict = self.verdicts.get(test)?;
        let covered = match coverage {
            Exactly(executions) => verdict["complete"] == true && verdict["executions"] == executions,
            Exact => {
                let limits = verdict["coverage"].as_str().expect("a statement");
                verdict["complete"] == true && !limits.contains("rounds of loops")
            }
            Complete => verdict["complete"] == true,
            Budget => true,
        };
        let nothing = BTreeSet::new();
        let seen = self.outcomes.get(test).unwrap_or(&nothing);
        let right = seen.iter().map(String::as_str).eq(outcomes.iter().copied());
        (verdict["outcome"] != "passed" || !covered || !right)
            .then(|| format!("{test}: expected {coverage:?} {outcomes:?}, saw {seen:?}\n    {verdict}"))
    }

    /// What is wrong with a probe that should fail.
    fn judge_failing(&self, test: &str, outcome: &str, message: &str) -> Option<String> {
        let verdict = self.verdicts.get(test)?;
        let said = verdict["message"].as_str().is_some_and(|text| text.starts_with(message));
        (verdict["outcome"] != outcome || !said)
            .then(|| format!("{test}: expected {outcome}: {message:?}\n    {verdict}"))
    }
}

/// Explores with these arguments, which select the probes of `module`: each of them shows what the tables say.
#[track_caller]
fn check(module: &str, args: &[&str]) {
    let findings = explore(args);
    let known = PASSING.iter().map(|row| row.0).chain(FAILING.iter().map(|row| row.0));
    let known: BTreeSet<&str> = known.filter(|probe| probe.starts_with(module)).collect();
    let explored: BTreeSet<&str> = findings.verdicts.keys().map(String::as_str).collect();
    assert_eq!(explored, known, "the tables and the fixture name the same probes");

    let passing = PASSING.iter().filter_map(|row| findings.judge_passing(row.0, row.1, row.2));
    let failing = FAILING.iter().filter_map(|row| findings.judge_failing(row.0, row.1, row.2));
    let wrong: Vec<String> = passing.chain(failing).collect();
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_probe_shows_exactly_its_outcomes() {
    check("", &[]);
}

/// What an optimiser leaves of a loop on its stack is less than what the loop does.
#[test]
fn optimised_loops_show_exactly_their_outcomes() {
    check("loops::", &["--release", "loops::"]);
}
