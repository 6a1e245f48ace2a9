//! The command as users call it, in an environment without surprises.
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};

/// A call of the command.
#[derive(Debug)]
pub struct Schedcheck {
    command: Command,
}

/// What a call left behind.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Schedcheck {
    /// `cargo schedcheck ARGS` in a directory.
    pub fn new(dir: &Utf8Path, args: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.arg("schedcheck").args(args).current_dir(dir);
        scrub(&mut command);
        command.env("SCHEDCHECK_CACHE", cache());
        Self { command }
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Lets it find neither cargo nor rustc.
    pub fn without_compiler(self) -> Self {
        let nowhere = "/nonexistent/bin";
        self.env("PATH", nowhere)
            .env("CARGO", format!("{nowhere}/cargo"))
            .env("RUSTC", format!("{nowhere}/rustc"))
    }

    /// The process itself, for tests that talk to it while it runs.
    pub fn command(self) -> Command {
        self.command
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Output {
        let output = self.command.output().expect("the command starts");
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }
}

impl Output {
    /// Insists on an exit code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// The JSON lines on stdout.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The verdicts among the JSON lines, by `PACKAGE::TARGET TEST`. No test has two.
    #[track_caller]
    pub fn verdicts(&self) -> BTreeMap<String, serde_json::Value> {
        let mut verdicts = BTreeMap::new();
        for line in self.json().into_iter().filter(|line| line["type"] == "test-finished") {
            let word = |key: &str| line[key].as_str().expect("a text").to_owned();
            let id = format!("{}::{} {}", word("package"), word("target"), word("test"));
            assert_eq!(verdicts.insert(id, line), None, "two verdicts on one test");
        }
        verdicts
    }

    /// The same by the names of the tests, of which no two may be the same.
    #[track_caller]
    pub fn verdicts_by_test(&self) -> BTreeMap<String, serde_json::Value> {
        let mut verdicts = BTreeMap::new();
        for verdict in self.verdicts().into_values() {
            let test = verdict["test"].as_str().expect("a text").to_owned();
            assert_eq!(verdicts.insert(test, verdict), None, "two tests of one name");
        }
        verdicts
    }

    /// The only verdict.
    #[track_caller]
    pub fn verdict(&self) -> serde_json::Value {
        let mut verdicts = self.verdicts();
        assert_eq!(verdicts.len(), 1, "{:?}\n{}", verdicts.keys(), self.stderr);
        verdicts.pop_first().expect("there is one").1
    }

    /// Stderr without the lines that a build printed.
    pub fn own_stderr(&self) -> String {
        let own = self.stderr.lines().filter(|line| !is_of_a_build(line));
        own.map(|line| format!("{line}\n")).collect()
    }
}

/// Whether a line tells how far a build is: one of cargo itself, or that the engine is being built.
pub fn is_of_a_build(line: &str) -> bool {
    const VERBS: [&str; 10] = [
        "Adding ",
        "Blocking ",
        "Compiling ",
        "Downloaded ",
        "Downloading ",
        "Finished ",
        "Locking ",
        "Preparing ",
        "Updating ",
        "Waiting ",
    ];
    VERBS.iter().any(|verb| line.trim_start().starts_with(verb))
}

/// Removes what would make cargo or the command behave differently here than elsewhere.
pub fn scrub(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        // How rustup finds, or does not fetch, toolchains is the machine's affair.
        let kept = matches!(&*text, "CARGO_HOME" | "CARGO") || text.starts_with("RUSTUP_");
        let cargo = ["CARGO", "RUST", "SCHEDCHECK_", "GITHUB_", "CI_NODE_", "SLURM_", "CLICOLOR"]
            .iter()
            .any(|p| text.starts_with(p));
        if (cargo && !kept) || matches!(&*text, "CI" | "JOB_COMPLETION_INDEX" | "NO_COLOR" | "COLUMNS") {
            command.env_remove(&name);
        }
    }
    command.env("CARGO_TERM_COLOR", "never").stdin(Stdio::null());
}

/// The command, built once per test process (and from then on found up to date).
pub fn program() -> &'static Utf8Path {
    static BINARY: OnceLock<Utf8PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "cargo-schedcheck", "--message-format", "json"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "the command does not build");
        let text = String::from_utf8(output.stdout).expect("UTF-8 of cargo");
        let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut executables =
            messages.filter_map(|message| message["executable"].as_str().map(Utf8PathBuf::from));
        executables
            .find(|path| path.file_stem() == Some("cargo-schedcheck"))
            .expect("cargo names the executable")
    })
}

/// Engines are shared by all tests, apart from the user's own.
pub fn cache() -> Utf8PathBuf {
    scratch().join("schedcheck-cache")
}

/// What outlives a test.
pub fn scratch() -> Utf8PathBuf {
    let target = program().parent().and_then(Utf8Path::parent).expect("target/PROFILE/cargo-schedcheck");
    target.join("tmp")
}
