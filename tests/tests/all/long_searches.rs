//! Searches that take a while: several processes, interruptions, parts.
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fs_err as fs;
use schedcheck_tests::project::Project;
use serde_json::Value;

const QUICK: [&str; 8] =
    ["--all-tests", "--exact", "--races", "off", "--levels", "off", "--message-format", "json"];

/// The verdict on one test.
fn verdict(project: &Project, test: &str, more: &[&str], code: i32) -> Value {
    let args = [&QUICK[..], &["--random-runs", "0", "--hunts", "0", test], more].concat();
    project.schedcheck(&args).run().expect_code(code).verdict()
}

fn traces(verdict: &Value) -> (Value, Value) {
    (verdict["traces"].clone(), verdict["trace_set"].clone())
}

#[test]
fn several_processes_execute_what_one_does() {
    let project = Project::copy_of("long");
    for test in ["tests::adds_a_little", "tests::adds", "tests::starts_threads_now_and_then"] {
        let alone = verdict(&project, test, &["-j1"], 0);
        let together = verdict(&project, test, &["-j3"], 0);
        assert_eq!(traces(&alone), traces(&together), "{test}");
        assert_eq!(alone["complete"], true);
        assert_eq!(together["complete"], true);
        assert_eq!(
            together["executions"], alone["executions"],
            "{test}: each class once, whoever executes it"
        );
        assert_eq!(together["executions"], together["traces"], "{test}");
    }
}

#[test]
fn a_failure_is_found_whoever_meets_it() {
    let project = Project::copy_of("long");
    // From the other end: depth first, so that it takes a while.
    let more = ["-j3", "--priority", "dfs", "--max-time", "120s"];
    let failed = verdict(&project, "tests::fails_late", &more, 100);
    assert_eq!(failed["outcome"], "panic");
    let replay = failed["replay"].as_str().expect("a replay file");
    project.schedcheck(&["replay", replay]).run().expect_code(100);
    let crashed = verdict(&project, "tests::aborts_late", &more, 100);
    assert_eq!(crashed["outcome"], "crash");
    let replay = crashed["replay"].as_str().expect("a replay file");
    project.schedcheck(&["replay", replay]).run().expect_code(100);
    for test in ["tests::fails_late", "tests::aborts_late"] {
        let alone = verdict(&project, test, &["-j1"], 100);
        assert_eq!(alone["traces"], alone["executions"], "{test}: the failing one is a class too");
    }
}

#[test]
fn a_search_goes_on_where_it_was_stopped() {
    let project = Project::copy_of("long");
    for test in ["tests::adds_a_little", "tests::starts_threads_now_and_then"] {
        let whole = verdict(&project, test, &[], 0);
        // Stopped by a budget, again and again.
        let mut more = vec!["--max-executions", "1500"];
        for round in 0.. {
            let part = verdict(&project, test, &more, 0);
            more = vec!["--max-executions", "1500", "--resume"];
            if part["complete"] == true {
                assert!(round > 1, "it was never stopped");
                assert_eq!((traces(&part), &part["executions"]), (traces(&whole), &whole["executions"]));
                break;
            }
            assert!(round < 20, "it never ends");
        }
    }
}

#[test]
fn a_portfolio_stops_with_the_first_answer() {
    let project = Project::copy_of("long");
    let complete = verdict(&project, "tests::adds_a_little", &["-j3", "--portfolio"], 0);
    assert_eq!((&complete["complete"], &complete["traces"]), (&true.into(), &11_550.into()));
    let failed = verdict(&project, "tests::fails_late", &["-j3", "--portfolio", "--max-time", "120s"], 100);
    assert_eq!(failed["outcome"], "panic");
}

#[test]
fn little_memory_is_enough() {
    let project = Project::copy_of("long");
    let dir = project.path.join("target/schedcheck/checkpoints");
    let whole = verdict(&project, "tests::adds_a_little", &[], 0);
    let more = ["--max-memory", "10kB", "--checkpoint-every", "20ms"];
    for workers in ["-j1", "-j2"] {
        let spilled = verdict(&project, "tests::adds_a_little", &[&more[..], &[workers]].concat(), 0);
        assert_eq!(spilled["complete"], true);
        assert_eq!(spilled["traces"], whole["traces"]);
    }
    let spills = || {
        let names =
            fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".spill-")).count()
    };
    // It goes there now and then, by the clock, and comes back when nothing else is left.
    let went = ["4000", "5000", "6000", "7000", "8000", "9000"].iter().any(|most| {
        let part = [&more[..], &["-j1", "--max-executions", most]].concat();
        assert_eq!(verdict(&project, "tests::adds_a_little", &part, 0)["complete"], false);
        spills() > 0
    });
    assert!(went, "nothing went to the disk");
    let on_disk = || fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = on_disk().map(|path| (fs::read(&path).unwrap(), path)).collect();
    for (whole, path) in kept.iter().filter(|(_, path)| path.to_str().unwrap().contains(".spill-")) {
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        fs::write(path, damaged).unwrap();
    }
    let lost = verdict(&project, "tests::adds_a_little", &[&more[..], &["--resume"]].concat(), 0);
    assert_eq!((&lost["outcome"], &lost["complete"]), (&"passed".into(), &false.into()), "{lost}");
    on_disk().for_each(|path| fs::remove_file(path).unwrap());
    kept.iter().for_each(|(whole, path)| fs::write(path, whole).unwrap());
    let rest = verdict(&project, "tests::adds_a_little", &[&more[..], &["--resume"]].concat(), 0);
    assert_eq!((&rest["complete"], &rest["traces"]), (&true.into(), &whole["traces"]));
    assert_eq!(spills(), 0, "what was not needed any more is still there");
}

#[test]
fn a_search_that_needs_all_of_its_budget_is_complete() {
    let project = Project::copy_of("long");
    for (most, complete) in [("89", false), ("90", true), ("91", true)] {
        let verdict = verdict(&project, "tests::adds_slowly", &["-j1", "--max-executions", most], 0);
        assert_eq!(verdict["complete"], complete, "{most}: {verdict}");
    }
}

/// Where the state of a search has no file, nothing of it can be put there.
#[test]
fn a_search_that_is_not_written_down_stays_in_memory() {
    let project = Project::copy_of("long");
    for more in [["-j2", "--portfolio"], ["-j1", "--os-threads"]] {
        let more = [&more[..], &["--max-memory", "10kB", "--max-time", "120s"]].concat();
        let whole = verdict(&project, "tests::adds_a_little", &more, 0);
        assert_eq!(
            (&whole["complete"], &whole["traces"]),
            (&true.into(), &11_550.into()),
            "{more:?}: {whole}"
        );
    }
}

/// Who gives away all that is in memory has to want it back at once, while the rest lies on the disk.
#[test]
fn little_memory_is_enough_for_several_processes() {
    let project = Project::copy_of("long");
    let run = |more: &[&str]| {
        let wide = ["--bound", "5", "--priority", "pb", "--max-time", "30s"];
        verdict(&project, "tests::adds_a_little", &[&wide[..], more].concat(), 0)
    };
    let alone = run(&["-j1"]);
    let together = run(&["-j2", "--max-memory", "400kB"]);
    assert_eq!((&alone["complete"], &together["complete"]), (&true.into(), &true.into()), "{together}");
    assert_eq!(traces(&alone), traces(&together));
}

#[test]
fn a_state_of_another_program_or_with_other_options_is_refused() {
    let project = Project::copy_of("long");
    let test = "tests::adds_a_little";
    let run = |more: &[&str]| {
        let args = [&QUICK[..], &["--random-runs", "0", test, "--max-executions", "500"], more].concat();
        project.schedcheck(&args).run()
    };
    run(&[]).expect_code(0);
    let refused = run(&["--resume", "--spurious", "0"]).expect_code(96);
    assert!(
        refused.stderr.contains("was made with spurious=1, and this run wants spurious=0"),
        "{}",
        refused.stderr
    );
    let state = project.path.join("target/schedcheck/checkpoints/long.lib.tests-adds_a_little.checkpoint");
    let whole = fs::read(&state).unwrap();
    fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    let refused = run(&["--resume"]).expect_code(96);
    assert!(refused.stderr.contains("the checkpoint is damaged"), "{}", refused.stderr);
    fs::write(&state, &whole).unwrap();
    project.write("src/lib.rs", project.read("src/lib.rs").replace("1, Ordering", "2 - 1, Ordering"));
    let refused = run(&["--resume"]);
    // The compiler may see that nothing has changed.
    if refused.code != 0 {
        let refused = refused.expect_code(96);
        assert!(refused.stderr.contains("of another build of this test"), "{}", refused.stderr);
    }
    project.write("src/lib.rs", project.read("src/lib.rs").replace("2 - 1, Ordering", "3, Ordering"));
    let refused = run(&["--resume"]).expect_code(96);
    assert!(refused.stderr.contains("of another build of this test"), "{}", refused.stderr);
}

#[test]
fn parts_of_a_slow_search_begin_alike() {
    let project = Project::copy_of("long");
    for part in ["1/2", "2/2"] {
        let args =
            ["--all-tests", "--exact", "tests::adds_slowly", "-j", "2", "--races", "off", "--shard", part];
        project.schedcheck(&args).run().expect_code(0);
    }
    let merged = project.schedcheck(&["merge", "--races", "off"]).run().expect_code(0);
    assert!(merged.stderr.contains("2 of 2 parts, 90 executions, 90 traces, complete"), "{}", merged.stderr);
}

#[test]
fn a_search_that_has_gone_on_is_written_over_by_no_older_state_of_it() {
    let project = Project::copy_of("long");
    let test = "tests::adds_a_little";
    let few = ["--max-executions", "500"];
    let part = |part: &str| verdict(&project, test, &[&few[..], &["--shard", part]].concat(), 0);
    part("1/2");
    part("2/2");
    let merge = || project.schedcheck(&["merge", "--races", "off"]).run().expect_code(5).stderr;
    let merged = merge();
    assert!(merged.contains("MERGED"), "{merged}");
    assert_eq!(merge().lines().last(), merged.lines().last(), "the same parts are the same whole");
    let on = verdict(&project, test, &[&few[..], &["--resume"]].concat(), 0);
    let kept = merge();
    let told = format!("has gone on since its parts were merged: {} executions", on["executions"]);
    assert!(kept.contains("KEPT") && kept.contains(&told), "{told}: {kept}");
    // The other way round.
    let state = "target/schedcheck/checkpoints/long.lib.tests-adds_a_little.checkpoint";
    let split = || project.schedcheck(&["split", state, "--into", "2"]).run();
    split().expect_code(0);
    split().expect_code(0);
    verdict(&project, test, &[&few[..], &["--resume", "--shard", "2/2"]].concat(), 0);
    let refused = split().expect_code(96).stderr;
    assert!(refused.contains("part-2-of-2.checkpoint") && refused.contains("has gone on since"), "{refused}");
}

#[test]
fn four_parts_are_the_whole() {
    let project = Project::copy_of("long");
    for test in ["tests::adds_a_little", "tests::starts_threads_now_and_then"] {
        let whole = verdict(&project, test, &[], 0);
        for part in 1..=4 {
            let part = verdict(&project, test, &["--shard", &format!("{part}/4")], 0);
            assert_eq!(part["complete"], false);
            assert!(part["coverage"].as_str().unwrap().contains("of 4 of the search"), "{part}");
        }
        let mut rounds = 0;
        loop {
            let merged = project.schedcheck(&["merge", "--races", "off"]).run();
            assert!(merged.stderr.contains("4 of 4 parts"), "{}", merged.stderr);
            if merged.code == 0 {
                break;
            }
            let merged = merged.expect_code(5);
            assert!(merged.stderr.contains("schedules open"), "{}", merged.stderr);
            rounds += 1;
            assert!(rounds < 20, "it never ends");
            let stem = format!("long.lib.{}", test.replace("::", "-"));
            let state = format!("target/schedcheck/checkpoints/{stem}.checkpoint");
            let split = project.schedcheck(&["split", &state, "--into", "4"]).run().expect_code(0);
            assert_eq!(split.stdout.lines().count(), 4);
            for part in 1..=4 {
                verdict(&project, test, &["--resume", "--shard", &format!("{part}/4")], 0);
            }
        }
        let joined = verdict(&project, test, &["--resume"], 0);
        assert_eq!(joined["complete"], true);
        assert_eq!(traces(&joined), traces(&whole), "{test}");
        assert_eq!(joined["executions"], whole["executions"], "{test}: each class once, in whichever part");
        fs::remove_dir_all(project.path.join("target/schedcheck/checkpoints")).unwrap();
    }
}

#[test]
fn what_is_no_part_of_any_test_is_not_passed_over_by_a_merge() {
    let project = Project::copy_of("long");
    verdict(&project, "tests::adds_a_little", &["--shard", "1/2"], 0);
    let part = "target/schedcheck/checkpoints/long.lib.tests-adds_a_little.part-1-of-2.checkpoint";
    let merge = |more: &[&str], code| {
        let args = [&["merge", "--races", "off", part], more].concat();
        project.schedcheck(&args).run().expect_code(code).stderr
    };
    assert!(merge(&[], 5).contains("1 of 2 parts"));
    let gone = part.replace("part-1", "part-2");
    let other = project.write("long.lib.tests-gone.part-1-of-2.checkpoint", project.read("Cargo.toml"));
    for (file, reason) in
        [(gone.as_str(), "No such file"), (other.as_str(), "no part of a test that is here")]
    {
        let said = merge(&[file], 96);
        assert!(said.contains(file) && said.contains(reason), "{said}");
    }
}

#[test]
fn parts_of_a_bounded_search_promise_no_more_than_its_bound() {
    let project = Project::copy_of("long");
    let run =
        |more: &[&str]| verdict(&project, "tests::adds_a_little", &[&["--bound", "3"], more].concat(), 0);
    let whole = run(&[]);
    assert_eq!((&whole["complete"], &whole["bound_done"]), (&true.into(), &3.into()));
    for part in ["1/3", "2/3", "3/3"] {
        let part = run(&["--shard", part]);
        assert_eq!(part["complete"], false);
        assert!(part["bound_done"].as_u64().is_none_or(|done| done < 3), "{part}");
    }
    let merge = ["merge", "--races", "off", "--bound", "3"];
    let merged = project.schedcheck(&merge).run().expect_code(0).stderr;
    assert!(merged.contains("complete up to 3 preemptions"), "{merged}");
    assert!(merged.contains("all schedules with at most 3 preemptions are covered"), "{merged}");
    let joined = run(&["--resume"]);
    assert_eq!((&joined["complete"], &joined["bound_done"]), (&true.into(), &3.into()));
    assert_eq!(traces(&joined), traces(&whole));
}

/// The command and the processes that explore for it: not cargo, nor one that lists tests.
fn crew(command: u32) -> Vec<u32> {
    let explores = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let request = variables.find_map(|variable| variable.strip_prefix(b"SCHEDCHECK_REQUEST="));
        let request = request.and_then(|path| fs::read_to_string(str::from_utf8(path).ok()?).ok());
        request.is_some_and(|request| request.contains("do explore"))
    };
    descendants(command).into_iter().filter(|process| *process == command || explores(process)).collect()
}

/// Processes that descend from `root`, itself first.
fn descendants(root: u32) -> Vec<u32> {
    let parent_of = |process: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let all =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u32)> = all.filter_map(|process| Some((process, parent_of(process)?))).collect();
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let children = parents.iter().filter(|(_, parent)| *parent == found[at]).map(|(process, _)| *process);
        found.extend(children.collect::<Vec<_>>());
        at += 1;
    }
    found
}

fn kill(process: u32) {
    // It may have ended by itself.
    let _ =
        std::process::Command::new("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn start(project: &Project) -> Child {
    let args = [&QUICK[..], &["--random-runs", "0", "--hunts", "0", "tests::adds"][..]].concat();
    let more = ["-j3", "--resume", "--checkpoint-every", "50ms"];
    let mut command = project.schedcheck(&[&args[..], &more].concat()).command();
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[test]
fn a_hundred_kills_lose_nothing() {
    let project = Project::copy_of("long");
    let undisturbed = verdict(&project, "tests::adds", &[], 0);
    let state = project.path.join("target/schedcheck/checkpoints");
    let mut dice = Dice(7);
    let mut kills = [0; 5];
    while kills.iter().sum::<u32>() < 100 {
        let _ = fs::remove_dir_all(&state);
        let mut run = start(&project);
        let output = loop {
            let pause = Duration::from_millis(30 + dice.below(250));
            let until = Instant::now() + pause;
            while Instant::now() < until && run.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(2));
            }
            if run.try_wait().unwrap().is_some() {
                break run.wait_with_output().unwrap();
            }
            let crew = crew(run.id());
            let whom = dice.below(5) as usize;
            match (whom, crew.len()) {
                // One that has a share.
                (0 | 1, 3..) => kill(crew[2 + dice.below(crew.len() as u64 - 2) as usize]),
                // The one that owns the search.
                (2, 2..) => kill(crew[1]),
                // All of them.
                (3, _) => {
                    crew.iter().for_each(|&process| kill(process));
                    run.wait().unwrap();
                    run = start(&project);
                }
                // The command: the others notice that nobody listens.
                (4, 2..) => {
                    kill(crew[0]);
                    run.wait().unwrap();
                    run = start(&project);
                }
                _ => continue,
            }
            kills[whom] += 1;
        };
        let lines = String::from_utf8(output.stdout).unwrap();
        let finished = lines.lines().find(|line| line.contains("test-finished"));
        let finished: Value = serde_json::from_str(
            finished.unwrap_or_else(|| panic!("{lines}{}", String::from_utf8_lossy(&output.stderr))),
        )
        .unwrap();
        assert_eq!((&finished["outcome"], &finished["complete"]), (&"passed".into(), &true.into()));
        assert_eq!(traces(&finished), traces(&undisturbed), "after {kills:?}");
    }
    assert!(kills.iter().all(|&kills| kills > 0), "{kills:?}");
}

#[test]
fn a_killed_command_leaves_no_test_behind_that_never_ends() {
    let project = Project::copy_of("long");
    let endless = "#[test]\nfn never_ends() {\n    loop {\n        std::hint::black_box(());\n    }\n}\n";
    fs::write(project.path.join("src/lib.rs"), endless).unwrap();
    let mut command = project.schedcheck(&["--all-tests"]).command();
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let until = Instant::now() + Duration::from_secs(300);
    let tester = loop {
        if let [_, tester, ..] = crew(run.id())[..] {
            break tester;
        }
        assert!(Instant::now() < until && run.try_wait().unwrap().is_none(), "the test never began");
        std::thread::sleep(Duration::from_millis(20));
    };
    kill(run.id());
    run.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while fs::read_to_string(format!("/proc/{tester}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < until, "process {tester} goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
