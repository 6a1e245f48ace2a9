//! What is not controlled is said, and what differs because of it is no pass.
use fs_err as fs;
use schedcheck_tests::project::Project;
use serde_json::Value;

const ALL: &str = "all schedules (each with ";
const CONDITION: &str = "all schedules, as long as what is not controlled does the same in each (each with ";

fn verdict(test: &str, more: &[&str], code: i32) -> Value {
    let args = ["--all-tests", "--message-format", "json", "--exact"];
    let test = format!("tests::{test}");
    let args = [&args[..], &[test.as_str()], more].concat();
    let output = Project::shared("outside").schedcheck(&args).run().expect_code(code);
    output.verdict()
}

/// Insists on what a test met, and on how its coverage begins.
#[track_caller]
fn met(verdict: &Value, coverage: &str, things: &[&str]) {
    let said = verdict["coverage"].as_str().expect("a text");
    assert!(said.starts_with(coverage), "{said}");
    let found: Vec<&str> =
        verdict["uncontrolled"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!(found.len(), things.len(), "{found:?}");
    for (found, thing) in found.iter().zip(things) {
        assert!(found.starts_with(thing), "{found} is not {thing}");
        assert!(found.contains(" at src/lib.rs:"), "{found}");
    }
}

#[test]
fn what_a_test_meets_is_named_with_its_place() {
    let check = |test: &str, coverage: &str, things: &[&str]| {
        let verdict = verdict(test, &[], 0);
        assert_eq!(verdict["complete"], true);
        met(&verdict, coverage, things);
    };
    check("reads_a_file", CONDITION, &["files (open64 at src/lib.rs:45:"]);
    check("reads_no_file", ALL, &[]);
    let threads = "all schedules, of threads that std starts, as long as";
    check("starts_a_thread_in_c", threads, &["threads that std did not start (pthread_create"]);
    check("starts_a_thread_in_rust", ALL, &[]);
    check("locks_in_c", CONDITION, &["locks and thread values of the C library (pthread_mutex_lock"]);
    let things = [
        "random numbers of the C library (rand",
        "environment variables (getenv",
        "names and numbers of the system (getpid",
        "system calls (syscall",
    ];
    check("asks_the_system", CONDITION, &things);
    check("reads_volatile", ALL, &["volatile reads, which are not taken for data races (read_volatile"]);
}

#[test]
fn what_a_test_does_to_its_process_ends_with_an_execution() {
    for test in [
        "installs_a_hook_of_its_own",
        "panics_with_the_hook_of_std",
        "shows_a_backtrace",
        "removes_what_it_has_made",
    ] {
        let verdict = verdict(test, &[], 0);
        assert_eq!(
            (&verdict["outcome"], &verdict["complete"]),
            (&"passed".into(), &true.into()),
            "{verdict}"
        );
    }
}

#[test]
fn every_clock_is_in_virtual_time() {
    let counter = ["the_counter_goes_as_fast_as_the_clock", "stamps_of_the_counter_are_in_order"];
    let counter = counter.iter().filter(|_| cfg!(target_arch = "x86_64"));
    for test in counter.chain(&["old_clocks_of_the_system_go_on_in_a_sleep"]) {
        for more in [&[][..], &["--os-threads"], &["-r", "--races", "off"]] {
            let verdict = verdict(test, more, 0);
            assert_eq!(verdict["complete"], true, "{verdict}");
            met(&verdict, ALL, &[]);
        }
    }
}

#[test]
fn locks_of_streams_exclude() {
    for more in [&[][..], &["--os-threads"], &["--races", "off"]] {
        for test in ["holds_the_lock_of_stdout", "holds_the_lock_of_stdin", "prints"] {
            let verdict = verdict(test, more, 0);
            assert_eq!(verdict["complete"], true, "{verdict}");
            met(&verdict, ALL, &[]);
        }
        assert_eq!(verdict("waits_for_who_prints", more, 100)["outcome"], "deadlock");
    }
    let verdict = verdict("prints_what_takes_a_lock", &[], 0);
    met(
        &verdict,
        "all schedules, apart from waiting for the lock of a stream (each with ",
        &["who waits for the lock of a stream (stdout"],
    );
}

#[test]
fn a_programs_allocator_has_the_memory_of_the_program() {
    let project = Project::shared("outside");
    for more in [&[][..], &["--os-threads"], &["--races", "off"]] {
        let args = ["--all-tests", "--test", "*", "--no-fail-fast", "--message-format", "json"];
        let run = project.schedcheck(&[&args[..], more].concat()).run().expect_code(100);
        let verdicts = run.verdicts();
        let of = |test: &str| &verdicts[&format!("outside::{test}")];
        let counted = of("counting counts_nothing_else");
        assert_eq!(
            (&counted["outcome"], &counted["complete"]),
            (&"passed".into(), &true.into()),
            "{more:?}: {counted}"
        );
        met(counted, ALL, &[]);
        assert_eq!(of("counting counts_in_every_thread")["outcome"], "panic", "{more:?}");
        let mapped = of("mapping inserts_in_both_threads");
        assert_eq!(
            (&mapped["outcome"], &mapped["complete"]),
            (&"passed".into(), &true.into()),
            "{more:?}: {mapped}"
        );
        assert!(mapped["coverage"].as_str().is_some_and(|said| said.starts_with(ALL)), "{mapped}");
        let noted = mapped["uncontrolled"].to_string();
        assert_eq!(noted, "[\"an allocator of its own, in whose place is the system's\"]");
    }
}

#[test]
fn threads_that_wait_for_each_other_in_the_kernel_are_controlled() {
    for test in ["talks_through_a_pipe", "one_listens_first"] {
        let verdict = verdict(test, &[], 0);
        assert_eq!(
            (&verdict["outcome"], &verdict["complete"]),
            (&"passed".into(), &true.into()),
            "{verdict}"
        );
        met(&verdict, ALL, &[]);
    }
    let stuck = verdict("buggy_both_listen_first", &[], 100);
    assert_eq!((&stuck["outcome"], &stuck["location"]["file"]), (&"deadlock".into(), &"src/lib.rs".into()));
    // Not so if it is another process that they wait for.
    let program = verdict("reads_what_a_program_prints", &[], 0);
    let noted = program["uncontrolled"].to_string();
    assert!(program["outcome"] == "passed" && noted.contains("other processes"), "{program}");
}

#[test]
fn what_was_met_is_not_forgotten_when_a_search_goes_on_another_day() {
    let test = "reads_a_file_in_its_first_schedule";
    let cut = verdict(test, &["--max-executions", "5"], 0);
    assert_eq!(cut["complete"], false);
    met(&cut, "some schedules (each with ", &["files ("]);
    let whole = verdict(test, &["--resume"], 0);
    assert_eq!((&whole["complete"], &whole["traces"]), (&true.into(), &90.into()));
    met(&whole, CONDITION, &["files ("]);
}

#[test]
fn a_certificate_says_what_it_rests_on() {
    let project = Project::shared("outside");
    let args = ["--all-tests", "--certificate", "target/c.toml", "reads_a_file", "reads_no_file"];
    project.schedcheck(&args).run().expect_code(0);
    let text = project.read("target/c.toml");
    let of = |test: &str| {
        let (_, rest) = text.split_once(&format!("name = \"tests::{test}\"")).expect("it is there");
        rest.split("[[").next().unwrap_or_default().to_owned()
    };
    let (with, without) = (of("reads_a_file"), of("reads_no_file"));
    assert!(with.contains("guarantee = \"conditional\""), "{with}");
    assert!(with.contains("uncontrolled = [\"files (open64 at src/lib.rs:"), "{with}");
    assert!(without.contains("guarantee = \"all-schedules\""), "{without}");
    assert!(!without.contains("uncontrolled"), "{without}");
    let said = project.schedcheck(&["verify-certificate", "target/c.toml"]).run().expect_code(0).stdout;
    assert!(said.contains("tests::reads_no_file: all schedules\n"), "{said}");
    assert!(
        said.contains(
            "tests::reads_a_file: all schedules, as long as what is not controlled does the same in each\n    \
             not controlled: files (open64 at "
        ),
        "{said}"
    );
}

#[test]
fn a_test_that_does_something_else_every_time_does_not_pass() {
    let file = |name: &str| Project::shared("outside").path.join("target").join(name);
    // Of an earlier run of this test.
    for name in ["alternations", "ends", "calls", "runs"] {
        fs::remove_file(file(name)).ok();
    }
    let steps = verdict("alternates", &[], 6);
    assert_eq!((&steps["outcome"], &steps["executions"]), (&"nondeterminism".into(), &1.into()));
    let message = steps["message"].as_str().expect("a text");
    assert!(message.starts_with("not deterministic under control: at step 6 "), "{message}");
    assert_eq!(steps["location"]["line"], 30, "the last step that fitted");
    let ends = verdict("alternates_in_its_end", &[], 6);
    let message = ends["message"].as_str().expect("a text");
    assert!(message.contains("executed again it "), "{message}");
    let same = verdict("does_not_alternate", &[], 0);
    assert_eq!((&same["complete"], &same["traces"]), (&true.into(), &3.into()));
    assert!(fs::metadata(file("calls")).is_ok(), "it did write");

    // Every run of the body is counted.
    let counted = verdict("counts_its_runs", &[], 0);
    let [executions, repeats] = ["executions", "repeats"].map(|key| counted[key].as_u64().expect("a number"));
    assert_eq!(executions, 3);
    assert_eq!(fs::metadata(file("runs")).unwrap().len(), executions + repeats);
}
