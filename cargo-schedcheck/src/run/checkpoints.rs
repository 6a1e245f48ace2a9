//! The states of searches as files.
//!
//! The engine writes and reads them; this knows their names and the few lines of text at their beginning.
use std::io::{BufRead, BufReader, Write};

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::part::Part;
use crate::cli::share_opts::SplitArgs;
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::regressions::file::file_stem;
use crate::reports::event::TestId;
use crate::reports::say;
use crate::reports::words::counted;
use crate::whole_file;

const TITLE: &[u8] = b"schedcheck checkpoint 1\n";
const EXTENSION: &str = ".checkpoint";

/// A folder of them.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    dir: Utf8PathBuf,
}

impl Checkpoints {
    pub fn in_dir(dir: Utf8PathBuf) -> Self {
        Self { dir }
    }

    /// The file of a test, or of a part of it.
    pub fn file(&self, id: &TestId, part: Option<Part>) -> Utf8PathBuf {
        let stem = file_stem(id);
        self.dir.join(match part {
            Some(part) => part_name(&stem, part),
            None => format!("{stem}{EXTENSION}"),
        })
    }

    /// The file to go on from: of the part, if there is one, otherwise of the whole.
    pub fn to_resume(&self, id: &TestId, part: Option<Part>) -> Option<Utf8PathBuf> {
        let whole = self.file(id, None);
        [part.map(|part| self.file(id, Some(part))), Some(whole)]
            .into_iter()
            .flatten()
            .find(|file| file.exists())
    }

    /// All files of parts of a test, among `files` if there are any.
    pub fn parts(&self, id: &TestId, files: &[Utf8PathBuf]) -> Result<Vec<Utf8PathBuf>> {
        let all = if files.is_empty() { self.all()? } else { files.to_vec() };
        let stem = format!("{}.part-", file_stem(id));
        let is_part = |file: &Utf8PathBuf| file.file_name().is_some_and(|name| name.starts_with(&stem));
        let mut parts: Vec<_> = all.into_iter().filter(is_part).collect();
        parts.sort();
        Ok(parts)
    }

    fn all(&self) -> Result<Vec<Utf8PathBuf>> {
        let mut files = Vec::new();
        if self.dir.exists() {
            for entry in self.dir.read_dir_utf8()? {
                let path = entry?.into_path();
                if path.as_str().ends_with(EXTENSION) {
                    files.push(path);
                }
            }
        }
        Ok(files)
    }
}

/// What the text at the beginning of a file says about a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The program and the options that it is a search of.
    of: Vec<String>,
    pub executions: u64,
    pub traces: u64,
    pub pending: u64,
    pub complete: bool,
    checksum: String,
}

impl Head {
    /// Reads the head of a file; `None` when there is none, or it is not ours.
    pub fn read(path: &Utf8Path) -> Option<Self> {
        Self::parse(BufReader::new(fs::File::open(path).ok()?))
    }

    fn parse(text: impl BufRead) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next()?.ok()?.as_bytes() == TITLE.trim_ascii_end()).then_some(())?;
        let mut head = Self::default();
        for line in lines {
            let line = line.ok()?;
            match line.split_once(' ') {
                None => return Some(head),
                Some(("program" | "options", _)) => head.of.push(line),
                Some(("executions", number)) => head.executions = number.parse().ok()?,
                Some(("traces", number)) => head.traces = number.parse().ok()?,
                Some(("pending", number)) => head.pending = number.parse().ok()?,
                Some(("complete", word)) => head.complete = word == "yes",
                Some(("checksum", sum)) => head.checksum = sum.to_owned(),
                Some(_) => {}
            }
        }
        None
    }

    fn option(&self, name: &str) -> Option<&str> {
        let options = self.of.iter().find_map(|line| line.strip_prefix("options "))?;
        options.split(' ').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// The bound that was asked for.
    pub fn bound(&self) -> Option<u64> {
        self.option("bound")?.parse().ok()
    }

    /// What the search is to cover, in words.
    pub fn schedules(&self) -> String {
        let bound = self.bound().map(|most| format!(" with at most {}", counted(most, "preemption")));
        let usual = [("cooperative", "off"), ("trust", "none"), ("focus", "none")];
        let scoped = usual.iter().any(|(name, usual)| self.option(name).is_some_and(|value| value != *usual));
        let scope = if scoped { " that were asked for" } else { "" };
        format!("all schedules{}{scope}", bound.unwrap_or_default())
    }

    /// Whether this search has done more than another state of it.
    pub fn is_ahead_of(&self, other: &Self) -> bool {
        self.of == other.of && self.executions > other.executions
    }

    /// Whether this is not what a part of `whole` is at its beginning, where it has all of it.
    fn has_begun(&self, whole: &Self) -> bool {
        self.of == whole.of && self.checksum != whole.checksum
    }
}

/// Whether a file was written after another.
pub fn is_newer(path: &Utf8Path, other: &Utf8Path) -> bool {
    let written = |path: &Utf8Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    written(path) > written(other)
}

fn part_name(stem: &str, part: Part) -> String {
    format!("{stem}.part-{}-of-{}{EXTENSION}", part.index, part.count)
}

/// `cargo schedcheck split`.
pub fn split(args: &SplitArgs) -> Result<ExitCode> {
    let bytes = fs::read(&args.file)?;
    let not_one = |why: &str| ExpectedError::Checkpoint { path: args.file.clone(), problem: why.to_owned() };
    if !bytes.starts_with(TITLE) {
        return Err(not_one("it is not the state of a search"));
    }
    let head_end =
        bytes.windows(2).position(|pair| pair == b"\n\n").ok_or_else(|| not_one("it is damaged"))?;
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| not_one("it is damaged"))?;
    if head.lines().any(|line| line.starts_with("part ")) {
        return Err(not_one("it is a part already; merge the parts first, then split the whole anew"));
    }
    if head.lines().any(|line| line.starts_with("spills ")) {
        return Err(not_one(
            "parts of it lie in files of their own; go on with it on one machine, with more memory, first",
        ));
    }
    let name = args.file.file_name().and_then(|name| name.strip_suffix(EXTENSION));
    let stem = name.ok_or_else(|| not_one("its name does not end in .checkpoint"))?;
    let dir = args.file.parent().unwrap_or(Utf8Path::new(""));
    let count = args.into;
    let parts = (1..=count).map(|index| Part { index, count });
    let parts: Vec<_> = parts.map(|part| (part, dir.join(part_name(stem, part)))).collect();
    let whole = Head::read(&args.file).ok_or_else(|| not_one("it is damaged"))?;
    for (_, path) in &parts {
        if Head::read(path).is_some_and(|part| part.has_begun(&whole)) && is_newer(path, &args.file) {
            let problem = "it has gone on since the whole was written, which would be lost; merge the parts first, or \
                           remove it";
            return Err(ExpectedError::Checkpoint { path: path.clone(), problem: problem.to_owned() });
        }
    }
    for (part, path) in parts {
        whole_file::write(&path, |file| {
            write!(file, "{head}\npart {part}\n\n")?;
            file.write_all(&bytes[head_end + 2..])
        })?;
        writeln!(anstream::stdout(), "{path}")?;
    }
    say(&format!(
        "explore each with `cargo schedcheck --resume --shard K/{count}`, then `cargo schedcheck merge`"
    ));
    Ok(ExitCode::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(program: &str, executions: u64) -> Option<Head> {
        let text = format!(
            "schedcheck checkpoint 1\ntest a::b\nprogram {program}\noptions bound=none\nexecutions {executions}\n\
             traces 3\npending 1\ncomplete no\nbytes 2\nchecksum 0{executions}\n\n\n\0"
        );
        Head::parse(text.as_bytes())
    }

    #[test]
    fn what_a_search_is_to_cover_is_said_with_its_limits() {
        let said = |options: &str| {
            let text = format!("schedcheck checkpoint 1\nprogram a\noptions {options}\n\n");
            Head::parse(text.as_bytes()).unwrap().schedules()
        };
        assert_eq!(
            said("bound=none reduction=optimal cooperative=off trust=none focus=none"),
            "all schedules"
        );
        assert_eq!(said("bound=1 trust=none"), "all schedules with at most 1 preemption");
        assert_eq!(
            said("bound=2 focus=a::b"),
            "all schedules with at most 2 preemptions that were asked for"
        );
        assert_eq!(said("bound=none cooperative=on"), "all schedules that were asked for");
    }

    #[test]
    fn only_states_of_one_search_are_ahead_of_each_other() {
        let (early, late, other) = (head("a", 5).unwrap(), head("a", 6).unwrap(), head("b", 7).unwrap());
        assert!(late.is_ahead_of(&early) && !early.is_ahead_of(&late) && !early.is_ahead_of(&early));
        assert!(!other.is_ahead_of(&early));
        assert!(late.has_begun(&early) && !early.has_begun(&early) && !other.has_begun(&early));
        assert_eq!((late.traces, late.pending, late.complete), (3, 1, false));
        for text in ["", "schedcheck checkpoint 2\n\n", "schedcheck checkpoint 1\nexecutions 1\n"] {
            assert_eq!(Head::parse(text.as_bytes()), None, "{text}");
        }
    }
}
