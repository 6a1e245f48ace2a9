//! What the book says is so: its files are written into one project, its commands are typed there in the order of the
//! chapters, and what they print is compared. `BLESS=1` writes it into the book.
//!
//! ```` ```rust,file=src/lib.rs ```` is a file of the project, ```` ```console ```` are commands and what they print,
//! ```` ```rust,same=PATH ```` is a file of this repository. A line `[…]` stands for any lines.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use camino::Utf8PathBuf;
use fs_err as fs;
use schedcheck_tests::project::Project;
use schedcheck_tests::{cli, repository};

const ELISION: &str = "[…]";

fn chapters_dir() -> Utf8PathBuf {
    repository().join("docs/src")
}

/// Where the links of a page lead to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
}

/// The chapters in the order of the table of contents.
fn chapters() -> Vec<Utf8PathBuf> {
    let summary = fs::read_to_string(chapters_dir().join("SUMMARY.md")).unwrap();
    links(&summary).map(|link| chapters_dir().join(link)).collect()
}

#[test]
fn every_chapter_is_listed_and_every_link_leads_somewhere() {
    let listed: BTreeSet<_> = chapters().into_iter().collect();
    let there = chapters_dir().read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path());
    let there: BTreeSet<_> = there.filter(|path| path.file_name() != Some("SUMMARY.md")).collect();
    assert_eq!(listed, there);
    for chapter in &there {
        let text = fs::read_to_string(chapter).unwrap();
        for link in links(&text).filter(|link| link.ends_with(".md")) {
            assert!(chapters_dir().join(link).exists(), "{chapter}: {link} does not exist");
        }
        // Files of the repository are named from its root.
        for name in text.split('`').skip(1).step_by(2) {
            let is_path =
                ["schedcheck-rt/", "cargo-schedcheck/src", "tests/bench", "tests/tests", "examples/"]
                    .iter()
                    .any(|root| name.starts_with(root));
            assert!(!is_path || repository().join(name).exists(), "{chapter}: {name} does not exist");
        }
    }
}

#[test]
fn every_command_of_the_book_prints_what_the_book_says() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut reader = Reader { project: Project::empty(), code: 0, wrong: String::new() };
    for chapter in chapters() {
        let text = fs::read_to_string(&chapter).unwrap();
        let current = reader.read(chapter.file_name().unwrap(), &text);
        if bless && current != text {
            fs::write(&chapter, current).unwrap();
        }
    }
    assert!(bless || reader.wrong.is_empty(), "the book is not true (BLESS=1 renews it):\n{}", reader.wrong);
}

/// Somebody who reads the book from its beginning and does all it says.
struct Reader {
    project: Project,
    /// The exit code of the last command.
    code: i32,
    /// Where something else was printed.
    wrong: String,
}

impl Reader {
    /// Follows a chapter and returns it as it should be.
    fn read(&mut self, chapter: &str, text: &str) -> String {
        let mut current = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            current.push_str(line);
            current.push('\n');
            let Some(info) = line.strip_prefix("```") else { continue };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let block = self.follow(chapter, info, &block);
            current.push_str(&block);
            current.push_str("```\n");
        }
        current
    }

    fn follow(&mut self, chapter: &str, info: &str, block: &[&str]) -> String {
        let (language, argument) = info.split_once(',').unwrap_or((info, ""));
        let text: String = block.iter().map(|line| format!("{line}\n")).collect();
        match (language, argument.split_once('=')) {
            ("console", None) => return self.type_all(chapter, block),
            ("text", None) => {}
            (_, Some(("file", path))) => {
                let runtime = repository().join("schedcheck-rt");
                let text = text.replace("../cargo-schedcheck/schedcheck-rt", runtime.as_str());
                self.project.write(path, text);
            }
            (_, Some(("same", path))) => {
                let file = fs::read_to_string(repository().join(path)).unwrap();
                assert_eq!(text, file, "{chapter} shows {path} as it is not");
            }
            _ => panic!("{chapter}: nothing checks a block that is marked `{info}`"),
        }
        text
    }

    /// Types the commands of a block and returns it with what they print.
    fn type_all(&mut self, chapter: &str, block: &[&str]) -> String {
        let mut current = String::new();
        let mut lines = block.iter().copied().peekable();
        while let Some(line) = lines.next() {
            let mut typed = line.strip_prefix("$ ").expect("a block starts with a command").to_owned();
            while typed.ends_with('\\') {
                write!(typed, "\n{}", lines.next().expect("a line that goes on")).unwrap();
            }
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.push(line);
            }
            let printed = self.run(&typed);
            let matches = matches(&shown, &printed.lines().collect::<Vec<_>>());
            if !matches {
                let shown = shown.join("\n");
                writeln!(self.wrong, "--- {chapter}: $ {typed}\n{shown}\n--- but it prints\n{printed}")
                    .unwrap();
            }
            writeln!(current, "$ {typed}").unwrap();
            if matches || shown.contains(&ELISION) {
                shown.iter().for_each(|line| writeln!(current, "{line}").unwrap());
            } else {
                current.push_str(&printed);
            }
        }
        current
    }

    /// Types a command into a shell whose `cargo` knows the subcommand.
    fn run(&mut self, typed: &str) -> String {
        let program = cli::program();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1; (exit {}); {typed}", self.code)]);
        cli::scrub(&mut shell);
        shell
            .current_dir(&self.project.path)
            .env("PATH", format!("{}:{path}", program.parent().unwrap()))
            .env("SCHEDCHECK_CACHE", cli::cache())
            // The order of tests, and how often they are executed, must not depend on the machine.
            .env("SCHEDCHECK_JOBS", "1")
            .env("COLUMNS", "100");
        let output = shell.output().expect("a shell");
        self.code = output.status.code().unwrap_or(-1);
        self.normalise(&String::from_utf8(output.stdout).expect("UTF-8"))
    }

    /// As it looks on every machine.
    fn normalise(&self, printed: &str) -> String {
        let own = |line: &&str| !cli::is_of_a_build(line) && !is_sign_of_life(line);
        let mut text = String::new();
        for line in printed.lines().filter(own) {
            let line = without_open(&without_times(line))
                .replace(self.project.path.as_str(), "/home/you/shop")
                .replace(repository().as_str(), "/home/you/cargo-schedcheck");
            writeln!(text, "{}", line.trim_end()).unwrap();
        }
        let blank_end = text.trim_end().len();
        text.truncate(blank_end);
        text.trim_start_matches('\n').to_owned() + if blank_end == 0 { "" } else { "\n" }
    }
}

/// A line in which everything took no time: `12.3s` becomes `0.0s`, as wide as before where it is set in columns.
fn without_times(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let is_time = number[..end].contains('.')
            && number[end..].starts_with('s')
            && !number[end + 1..].starts_with(|c: char| c.is_alphanumeric());
        result.push_str(&rest[..start]);
        if is_time {
            let columns = result.trim_end_matches(' ').ends_with('[');
            let width = if columns { result.len() - result.trim_end_matches(' ').len() + end } else { 0 };
            result.truncate(result.len() - width.saturating_sub(end));
            write!(result, "{:>width$}", "0.0").unwrap();
        } else {
            result.push_str(&number[..end]);
        }
        rest = &number[end..];
    }
    result + rest
}

/// Whether a line tells how far a run is, which it does only where the machine is so busy that one might wonder.
fn is_sign_of_life(line: &str) -> bool {
    let counted = line.trim_start().strip_prefix("Exploring ").and_then(|rest| rest.split(' ').next());
    counted.is_some_and(|counted| counted.contains('/'))
}

/// How many schedules are open is known only of searches that run long enough to tell of their progress.
fn without_open(line: &str) -> String {
    let Some((before, after)) = line.split_once(" open]") else { return line.to_owned() };
    let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
    format!("{before}not complete]{after}")
}

/// Whether the lines shown are those printed, with any lines in the place of an elision.
fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&ELISION, rest)) => (0..=printed.len()).any(|start| matches(rest, &printed[start..])),
        Some((first, rest)) => printed.first() == Some(first) && matches(rest, &printed[1..]),
    }
}

#[test]
fn times_are_taken_out_and_elisions_match() {
    assert_eq!(
        without_times("  PASS [   12.3s,  7 schedules] a 1.5"),
        "  PASS [    0.0s,  7 schedules] a 1.5"
    );
    assert_eq!(without_open("[  0.0s,  5 schedules, 12 open] a"), "[  0.0s,  5 schedules, not complete] a");
    assert_eq!(without_times("done in 0.25s."), "done in 0.0s.");
    assert!(is_sign_of_life("   Exploring 1/2 tests  hands_over  0 schedules, 0 open"));
    assert!(!is_sign_of_life("   Exploring 2 tests in 1 binary (20s each)"));
    assert_eq!(without_times("version 0.1.0, 20s"), "version 0.1.0, 20s");
    assert!(matches(&["a", ELISION, "c"], &["a", "b", "b", "c"]));
    assert!(matches(&["a", ELISION], &["a"]));
    assert!(!matches(&["a", ELISION, "c"], &["a", "b"]));
    assert!(!matches(&["a"], &["a", "b"]));
}
