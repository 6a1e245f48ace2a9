//! Archives: tests that were built on one machine are explored on others, without a compiler.
use fs_err as fs;
use schedcheck_tests::cli::Output;
use schedcheck_tests::project::Project;

/// Hides a file or folder of a project, or brings it back.
fn move_away(project: &Project, names: &[&str], back: bool) {
    for name in names {
        let (here, away) = (project.path.join(name), project.path.join(format!("away-{name}")));
        let (from, to) = if back { (away, here) } else { (here, away) };
        fs::rename(from, to).unwrap();
    }
}

#[test]
fn packed_tests_are_explored_where_there_is_neither_source_nor_compiler() {
    let project = Project::copy_of("nightly");
    project.write(".config/schedcheck.toml", "[preset.default]\nmax-steps = 777\n");
    let file = project.path.join("out/tests.tar.gz");
    let pack = |args: &[&str]| {
        let args = [&["archive", file.as_str(), "--include", "tests/data.txt"], args].concat();
        project.schedcheck(&args).run()
    };
    let output = pack(&[]).expect_code(0);
    assert!(output.stderr.contains("packed 3 test binaries into"), "{}", output.stderr);
    let bytes = fs::read(&file).unwrap();
    pack(&[]).expect_code(0);
    assert!(bytes == fs::read(&file).unwrap(), "the same build gives the same archive");
    let listed = project.schedcheck(&["list", "--all-tests"]).run().expect_code(0).stdout;

    let gone = ["src", "tests", "steps", "limit.txt", "build.rs", "Cargo.toml", "target"];
    move_away(&project, &gone, false);
    let machine = Project::empty();
    let run = |args: &[&str]| -> Output {
        let args = [args, &["--archive", file.as_str(), "--all-tests"]].concat();
        machine.schedcheck(&args).without_compiler().run()
    };
    assert_eq!(run(&["list"]).expect_code(0).stdout, listed);
    let json = ["--message-format", "json"];
    let certificate = ["--certificate", "certificate.toml"];
    let whole = run(&[&json[..], &certificate].concat()).expect_code(0);
    assert_eq!(whole.verdicts().len(), 5);
    assert!(whole.verdicts().values().all(|verdict| verdict["complete"] == true), "{}", whole.stdout);

    assert!(machine.path.join("target/schedcheck/CACHEDIR.TAG").is_file());

    // Both parts of two machines, together, are the same.
    let parts = ["hash:1/2", "hash:2/2"].map(|part| {
        let output = run(&[&json[..], &["--partition", part]].concat()).expect_code(0);
        output.verdicts()
    });
    let traces = |verdicts: &std::collections::BTreeMap<String, serde_json::Value>| -> Vec<String> {
        verdicts.iter().map(|(id, verdict)| format!("{id} {}", verdict["traces"])).collect()
    };
    let mut together: Vec<String> = parts.iter().flat_map(traces).collect();
    together.sort();
    assert_eq!(together, traces(&whole.verdicts()));

    // A failure quotes the packed source, and its replay needs no compiler either.
    let output = run(&["--include-ignored", "counts_in_two_steps"]).expect_code(100);
    assert!(output.stderr.contains("let before = count.load(Ordering::SeqCst);"), "{}", output.stderr);
    let command =
        output.stderr.lines().find_map(|line| line.split_once("replay with: cargo schedcheck ")).unwrap().1;
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[2..], ["--archive", file.as_str()], "{command}");
    machine.schedcheck(&words).without_compiler().run().expect_code(100);

    // The certificate is that of the sources, wherever the tests were explored.
    move_away(&project, &gone, true);
    fs::copy(machine.path.join("certificate.toml"), project.path.join("certificate.toml")).unwrap();
    project.schedcheck(&["verify-certificate", "certificate.toml"]).run().expect_code(0);
    project.write("limit.txt", "3\n");
    let output = project.schedcheck(&["verify-certificate", "certificate.toml"]).run().expect_code(96);
    assert!(output.stderr.contains("limit.txt has changed"), "{}", output.stderr);

    // Who tidies up may leave a part of what was unpacked.
    let unpacked = machine.path.join("target/schedcheck/archives").read_dir_utf8().unwrap().next().unwrap();
    for gone in ["binaries", "schedcheck-archive.json"] {
        let path = unpacked.as_ref().unwrap().path().join(gone);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        assert_eq!(run(&["list"]).expect_code(0).stdout, listed, "{gone}");
    }

    // What means nothing here is said, not ignored.
    for (args, code, message) in [
        (&["-p", "nightly"][..], 2, "--package does not go with --archive"),
        (&["--release"], 2, "--release does not go with --archive"),
        (&["--prune"], 2, "--prune"),
    ] {
        let output = run(args).expect_code(code);
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
    let output = pack(&["--include", "../elsewhere"]).expect_code(96);
    assert!(output.stderr.contains("--include ../elsewhere"), "{}", output.stderr);

    damaged(&machine, &bytes);
}

/// Whatever is done to an archive, it is refused with a reason.
fn damaged(machine: &Project, bytes: &[u8]) {
    let refused = |bytes: &[u8], reason: &str| {
        machine.write("damaged.tar.gz", bytes);
        let call = machine.schedcheck(&["--all-tests", "--archive", "damaged.tar.gz"]);
        let output = call.without_compiler().run().expect_code(96);
        assert!(output.stderr.contains(reason), "{}", output.stderr);
    };
    const REASON: &str = "not an archive of cargo schedcheck, or it is damaged";
    for length in [0, 1, 100, bytes.len() / 2, bytes.len() - 9, bytes.len() - 1] {
        refused(&bytes[..length], REASON);
    }
    // One bit would not do: where contents repeat, a compressed file with another bit can mean the same.
    for at in [0, 12, bytes.len() / 3, bytes.len() - 5] {
        let mut bytes = bytes.to_vec();
        bytes.iter_mut().skip(at).take(16).for_each(|byte| *byte ^= 0x5a);
        refused(&bytes, REASON);
    }
    refused(b"[package]\nname = \"nightly\"\n", REASON);
    let call = machine.schedcheck(&["--all-tests", "--archive", "nowhere.tar.gz"]);
    let output = call.without_compiler().run().expect_code(96);
    assert!(output.stderr.contains("nowhere.tar.gz"), "{}", output.stderr);
    let left: Vec<_> = machine.path.join("target/schedcheck/archives").read_dir_utf8().unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn dynamic_libraries_and_kept_failures_travel_along() {
    let project = Project::copy_of("nightly");
    project.write("answer.c", "int answer(void) { return 42; }\n");
    let script = r#"
        println!("cargo::rustc-link-search=native={out}");
        let library = format!("{out}/libanswer.so");
        let status = std::process::Command::new("cc").args(["-shared", "-fPIC", "answer.c", "-o", &library]).status();
        assert!(status.unwrap().success());
    }"#;
    let before = project.read("build.rs");
    project.write("build.rs", format!("{}{script}", before.trim_end().trim_end_matches('}')));
    let test = r#"
    #[test]
    fn asks_a_library() {
        #[link(name = "answer")]
        unsafe extern "C" {
            fn answer() -> i32;
        }
        // SAFETY: the library that the build script makes has just this function.
        assert_eq!(unsafe { answer() }, 42);
    }
"#;
    project.write("tests/linked.rs", test);
    let failing = ["--all-tests", "--include-ignored", "counts_in_two_steps", "--message-format", "json"];
    let failure = project.schedcheck(&failing).run().expect_code(100).verdicts();
    let replay = failure["nightly::lib tests::counts_in_two_steps"]["replay"].as_str().unwrap().to_owned();
    project.schedcheck(&["replay", &replay, "--save"]).run().expect_code(100);
    project.schedcheck(&["archive", "tests.tar.gz"]).run().expect_code(0);

    move_away(&project, &["target", "src", "schedcheck-regressions"], false);
    let machine = Project::empty();
    let archive = project.path.join("tests.tar.gz");
    let run = |args: &[&str], code| {
        let args = [&["--archive", archive.as_str(), "--all-tests"], args].concat();
        machine.schedcheck(&args).without_compiler().run().expect_code(code)
    };
    run(&["asks_a_library"], 0);
    let output = run(&["--include-ignored", "counts_in_two_steps"], 100);
    assert!(output.stderr.contains("replayed, panic"), "{}", output.stderr);
}

#[test]
fn a_folder_that_has_the_archive_itself_is_packed_without_it() {
    let project = Project::copy_of("unmodified");
    project.write("data/input.txt", "read by a test");
    project.schedcheck(&["list", "--all-tests"]).run().expect_code(0);
    let pack = || {
        let command = project.schedcheck(&["archive", "tests.tar.gz", "--include", "."]).command();
        // A file that is packed into itself has no end.
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -f 400000; exec \"$0\" \"$@\""]).arg(command.get_program());
        limited.args(command.get_args()).current_dir(&project.path);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        let output = limited.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(project.path.join("tests.tar.gz")).unwrap()
    };
    assert!(pack() == pack(), "the older one is not packed either, nor what the build has made");
    let machine = Project::empty();
    let archive = project.path.join("tests.tar.gz");
    let args = ["list", "--all-tests", "--archive", archive.as_str()];
    machine.schedcheck(&args).without_compiler().run().expect_code(0);
    let unpacked = machine.path.join("target/schedcheck/archives").read_dir_utf8().unwrap();
    let unpacked = unpacked.map(Result::unwrap).next().unwrap().into_path().join("workspace");
    assert!(unpacked.join("data/input.txt").is_file());
    let names = unpacked.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["Cargo.lock", "Cargo.toml", "counter", "data", "src"]);
}
