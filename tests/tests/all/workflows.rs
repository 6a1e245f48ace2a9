//! The example workflows: the commands that stand in them are run here, in their order, as four machines would.
//!
//! A command is every call of `cargo schedcheck` (or of the program itself), wherever it stands in a file. One that asks
//! for a part is run four times, with the variables that the job system sets. What machines have done together must be
//! what one machine does alone.
use std::collections::BTreeMap;
use std::process::Command;

use camino::Utf8PathBuf;
use fs_err as fs;
use schedcheck_tests::cli::{program, scrub};
use schedcheck_tests::project::Project;
use schedcheck_tests::repository;

const PARTS: usize = 4;

/// A file, and the variables that its job system sets for the part of this number (from 0).
type Workflow = (&'static str, fn(usize) -> Vec<(&'static str, String)>);

const WORKFLOWS: [Workflow; 4] = [
    ("github.yml", |_| Vec::new()),
    ("gitlab.yml", |part| {
        vec![("CI_NODE_INDEX", (part + 1).to_string()), ("CI_NODE_TOTAL", PARTS.to_string())]
    }),
    ("kubernetes.yaml", |part| vec![("JOB_COMPLETION_INDEX", part.to_string())]),
    ("slurm.sh", |part| {
        vec![
            ("SLURM_ARRAY_TASK_ID", part.to_string()),
            ("SLURM_ARRAY_TASK_MIN", "0".to_owned()),
            ("SLURM_ARRAY_TASK_COUNT", PARTS.to_string()),
        ]
    }),
];

/// The calls of the command in a file, with the lines that continue them.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start_matches([' ', '#', '-']).trim_start_matches("run: ");
        let calls = ["cargo schedcheck ", "cargo-schedcheck schedcheck ", "./cargo-schedcheck schedcheck "];
        if !calls.iter().any(|call| line.starts_with(call)) {
            continue;
        }
        let mut command = line.to_owned();
        while command.ends_with('\\') {
            command
                .push_str(&format!("\n{}", lines.next().expect("a command does not end with a backslash")));
        }
        commands.push(command);
    }
    commands
}

/// Runs a command as a shell does that finds the program.
#[track_caller]
fn shell(project: &Project, command: &str, variables: &[(&str, String)]) {
    let mut shell = Command::new("sh");
    scrub(&mut shell);
    let path = std::env::var("PATH").unwrap_or_default();
    let output = shell
        .args(["-ec", command])
        .current_dir(&project.path)
        .env("PATH", format!("{}:{path}", program().parent().expect("a folder")))
        .env("SCHEDCHECK_CACHE", schedcheck_tests::cli::cache())
        .env("SCHEDCHECK_ALL_TESTS", "true")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command}\n{}{}", text(&output.stdout), text(&output.stderr));
}

/// What the certificates say: the traces of each test, which is in one of them. How many executions were repeated on the way
/// depends on time.
fn certified(project: &Project) -> BTreeMap<String, u64> {
    let mut certified = BTreeMap::new();
    for path in files(project, ".toml").into_iter().filter(|path| !path.ends_with("Cargo.toml")) {
        let mut fields: BTreeMap<String, String> = BTreeMap::new();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some((key, value)) = line.split_once(" = ") {
                fields.insert(key.to_owned(), value.trim_matches('"').to_owned());
            }
            // The last field of a test that every test has.
            if line.starts_with("cooperative = ") {
                let test = format!("{}::{} {}", fields["package"], fields["target"], fields["name"]);
                assert_eq!(fields["guarantee"], "all-schedules", "{test}");
                let traces = fields["traces"].parse().unwrap();
                assert_eq!(certified.insert(test, traces), None, "{path}");
            }
        }
    }
    certified
}

/// The files beside the manifest whose names end so.
fn files(project: &Project, end: &str) -> Vec<Utf8PathBuf> {
    let entries = project.path.read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path());
    let mut files: Vec<_> = entries.filter(|path| path.as_str().ends_with(end) && path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn many_machines_do_together_what_one_does_alone() {
    let project = Project::copy_of("nightly");
    std::os::unix::fs::symlink(program(), project.path.join("cargo-schedcheck")).unwrap();
    // This test needs a file that was not packed.
    let outside = project.read("tests/outside.rs");
    project.write("tests/outside.rs", outside.split("#[test]\nfn finds_what").next().unwrap());
    shell(&project, "cargo schedcheck --certificate certificate.toml", &[]);
    let alone = certified(&project);
    assert_eq!(alone.len(), 4);
    assert_eq!(alone["nightly::lib tests::long_counts"], 1680, "9! / 3!³");

    let folder = repository().join("examples/ci");
    for (file, variables) in WORKFLOWS {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let commands = commands(&text);
        assert_eq!(
            commands.len(),
            text.matches("cargo schedcheck ").count() + text.matches("check schedcheck ").count()
        );
        for command in &commands {
            if command.contains("--partition") || command.contains("--shard") {
                for part in 0..PARTS {
                    let command = command.replace("${{ matrix.part }}", &(part + 1).to_string());
                    shell(&project, &command, &variables(part));
                }
            } else {
                shell(&project, command, &[]);
            }
        }
        fs::remove_file(project.path.join("certificate.toml")).unwrap_or_default();
        assert_eq!(certified(&project), alone, "{file}");
        assert!(!files(&project, ".jsonl").is_empty(), "{file}");

        // Where a part is missing, the last job says so.
        let certificates =
            files(&project, ".toml").into_iter().filter(|path| path.as_str().contains("certificate-"));
        let certificates: Vec<_> = certificates.collect();
        assert_eq!(certificates.len(), PARTS, "{file}");
        fs::remove_file(&certificates[0]).unwrap();
        let last = commands.last().unwrap();
        assert!(last.contains("verify-certificate --whole"), "{last}");
        shell(&project, &format!("! {last}"), &[]);
        certificates[1..].iter().for_each(|path| fs::remove_file(path).unwrap());
        fs::remove_file(project.path.join("long.toml")).unwrap();
        fs::remove_dir_all(project.path.join("parts")).unwrap();
        files(&project, ".jsonl").iter().for_each(|path| fs::remove_file(path).unwrap());
    }
}

#[test]
fn every_workflow_is_run() {
    let folder = repository().join("examples/ci");
    let mut files: Vec<String> =
        folder.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
    files.sort();
    let mut known: Vec<&str> = WORKFLOWS.iter().map(|(file, _)| *file).chain(["README.md"]).collect();
    known.sort_unstable();
    assert_eq!(files, known);
}
