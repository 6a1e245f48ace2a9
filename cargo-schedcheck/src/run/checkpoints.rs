//! The states of searches as files.
//!
//! The engine writes and reads them; this knows their names and the few lines of text at their beginning.
use std::io::Write;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::part::Part;
use crate::cli::share_opts::SplitArgs;
use crate::error::{ExpectedError, Result};
use crate::exit_code::ExitCode;
use crate::regressions::file::file_stem;
use crate::reports::event::TestId;
use crate::reports::say;
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
    let count = args.into.get();
    for index in 1..=count {
        let part = Part { index, count };
        let path = dir.join(part_name(stem, part));
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
