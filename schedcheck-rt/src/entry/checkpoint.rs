//! A search as a file, to go on with later or elsewhere.
//!
//! A few lines of text, which the command reads too, an empty line, and three blocks: names of threads and
//! objects, the search, and for a shard what it did with its share of that search. A file appears by one rename
//! after all of it is on the disk, so whatever happens, there is a whole one: the old or the new.

use super::settings::Settings;
use crate::search::bytes::{Damaged, Reader, Writer, checksum};
use crate::search::{Reduction, Stats};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// How much of a file is read at once.
const PIECE: usize = 1 << 16;
const TITLE: &str = "schedcheck checkpoint 1";

/// Part `index` of `count`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) index: usize,
    pub(super) count: usize,
}

impl Part {
    pub(super) fn parse(text: &str) -> Option<Part> {
        let (index, count) = text.split_once('/')?;
        let part = Part { index: index.parse().ok()?, count: count.parse().ok()? };
        (1..=part.count).contains(&part.index).then_some(part)
    }
}

/// What a file contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) test: String,
    /// Stands for the test binary.
    pub(super) program: String,
    /// Settings that a search cannot change on its way.
    pub(super) options: String,
    /// It is the search of a part.
    pub(super) part: Option<Part>,
    pub(super) names: Vec<u8>,
    pub(super) search: Vec<u8>,
    /// Parts of it are files of their own.
    pub(super) spills: bool,
    /// What the part did: names of objects that it met, and what it gives back.
    pub(super) done: Option<(Vec<u8>, Vec<u8>)>,
}

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) enum Refusal {
    Unreadable(io::Error),
    Damaged,
    OtherProgram,
    OtherOptions { then: String, now: String },
    OtherTest(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unreadable(error) => write!(f, "the checkpoint cannot be read: {error}"),
            Refusal::Damaged => f.write_str("the checkpoint is damaged or of another version"),
            Refusal::OtherProgram => f.write_str(
                "the checkpoint is of another build of this test: its sources, its dependencies or its \
                 compiler have changed since",
            ),
            Refusal::OtherOptions { then, now } => {
                write!(f, "the checkpoint was made with {then}, and this run wants {now}")
            }
            Refusal::OtherTest(test) => write!(f, "the checkpoint is of the test {test}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl Checkpoint {
    /// Writes it to `path`.
    pub(super) fn write(&self, path: &str, stats: &Stats) -> io::Result<()> {
        let mut body = Writer::default();
        body.block(&self.names);
        body.block(&self.search);
        let (names, share) = self.done.as_ref().map_or((&[][..], &[][..]), |(names, share)| (names, share));
        body.block(names);
        body.block(share);
        let mut head =
            format!("{TITLE}\ntest {}\nprogram {}\noptions {}\n", self.test, self.program, self.options);
        if let Some(Part { index, count }) = self.part {
            let _ = writeln!(head, "part {index}/{count}");
        }
        if self.spills {
            head.push_str("spills yes\n");
        }
        let complete = if stats.complete { "yes" } else { "no" };
        let Stats { executions, traces, pending, .. } = stats;
        let _ = write!(
            head,
            "executions {executions}\ntraces {traces}\npending {pending}\ncomplete {complete}\n\
             bytes {}\nchecksum {:016x}\n\n",
            body.bytes().len(),
            checksum(body.bytes()),
        );
        let mut whole = head.into_bytes();
        whole.extend_from_slice(body.bytes());
        write_whole(path, &whole)
    }

    /// Reads a file.
    pub(super) fn read(path: &str) -> Result<Checkpoint, Refusal> {
        let bytes = fs::read(path).map_err(Refusal::Unreadable)?;
        Checkpoint::parse(&bytes).ok_or(Refusal::Damaged)
    }

    fn parse(bytes: &[u8]) -> Option<Checkpoint> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let (head, body) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 2..]);
        let mut lines = head.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let mut checkpoint = Checkpoint::default();
        let mut sum = None;
        for line in lines {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "test" => checkpoint.test = value.to_owned(),
                "program" => checkpoint.program = value.to_owned(),
                "options" => checkpoint.options = value.to_owned(),
                "part" => checkpoint.part = Some(Part::parse(value)?),
                "checksum" => sum = u64::from_str_radix(value, 16).ok(),
                _ => {}
            }
        }
        (sum == Some(checksum(body))).then_some(())?;
        checkpoint.read_body(body).ok()?;
        Some(checkpoint)
    }

    fn read_body(&mut self, body: &[u8]) -> Result<(), Damaged> {
        let mut from = Reader::new(body);
        self.names = from.block()?.to_vec();
        self.search = from.block()?.to_vec();
        let done = (from.block()?.to_vec(), from.block()?.to_vec());
        self.done = (!done.1.is_empty()).then_some(done);
        Ok(())
    }

    /// Whether this process can go on with it.
    pub(super) fn check(&self, test: &str, settings: &Settings) -> Result<(), Refusal> {
        if self.test != test {
            return Err(Refusal::OtherTest(self.test.clone()));
        }
        if self.program != program() {
            return Err(Refusal::OtherProgram);
        }
        let options = settings.lasting();
        if self.options != options {
            let differing = |these: &str, others: &str| -> String {
                let these =
                    these.split(' ').filter(|option| !others.split(' ').any(|other| other == *option));
                these.collect::<Vec<_>>().join(" ")
            };
            let (then, now) = (differing(&self.options, &options), differing(&options, &self.options));
            return Err(Refusal::OtherOptions { then, now });
        }
        Ok(())
    }
}

/// Writes a file so that there is either all of it or what was there before.
pub(super) fn write_whole(path: &str, bytes: &[u8]) -> io::Result<()> {
    // Whoever was killed may have a successor before it is gone.
    let next = format!("{path}.{}.next", std::process::id());
    if let Some(directory) = Path::new(path).parent() {
        fs::create_dir_all(directory)?;
    }
    let written = File::create(&next).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&next, path));
    if done.is_err() {
        let _ = fs::remove_file(&next);
    }
    done
}

/// A hash of the program that this process executes, and of where its parts lie.
pub(super) fn program() -> String {
    let (mut sum, mut length) = (0, 0);
    if let Ok(mut file) = File::open("/proc/self/exe") {
        // Piece by piece: a program may be larger than its search.
        let mut piece = Vec::with_capacity(PIECE);
        while let Ok(1..) = io::Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut piece) {
            sum = checksum(&piece) ^ u64::rotate_left(sum, 5);
            length += piece.len() as u64;
            piece.clear();
        }
    }
    let code = program as *const () as u64;
    format!("{sum:016x}{:016x}", code ^ length)
}

impl Settings {
    /// The settings that a search cannot change on its way, in one line.
    pub(super) fn lasting(&self) -> String {
        let bound = self.bound.map_or("none".to_owned(), |bound| bound.to_string());
        let reduction = match self.reduction {
            Reduction::Optimal => "optimal",
            Reduction::Source => "source",
            Reduction::Classic => "classic",
            Reduction::None => "none",
        };
        let on = |flag: bool| if flag { "on" } else { "off" };
        let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(",") };
        format!(
            "bound={bound} reduction={reduction} spurious={} timeouts={} weak-cas={} max-steps={} races={} \
             symmetry={} leaks={} cooperative={} trust={} focus={}",
            self.budget.spurious,
            self.budget.timeouts,
            self.budget.weak_failures,
            self.max_steps,
            on(self.races),
            on(self.symmetry),
            on(self.leaks),
            on(self.cooperative),
            list(&self.names.trusted),
            list(&self.names.focus),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Checkpoint {
        Checkpoint {
            test: "a::b".to_owned(),
            program: "00ff".to_owned(),
            options: "bound=none races=on".to_owned(),
            part: Some(Part { index: 2, count: 4 }),
            spills: false,
            names: vec![1, 2, 3],
            search: vec![10, 10, 0],
            done: Some((vec![7], vec![8, 9])),
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_a_damaged_one_is_refused() {
        let directory = std::env::temp_dir().join(format!("schedcheck-checkpoint-{}", std::process::id()));
        let path = directory.join("deep/file").to_str().unwrap().to_owned();
        some().write(&path, &Stats::default()).unwrap();
        assert_eq!(Checkpoint::read(&path).unwrap(), some());
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            assert_eq!(Checkpoint::parse(&whole[..cut]), None, "cut at {cut}");
        }
        let body = whole.len() - 3;
        let mut changed = whole.clone();
        changed[body] ^= 1;
        assert_eq!(Checkpoint::parse(&changed), None);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn other_options_are_named() {
        let mut checkpoint = some();
        let settings = Settings::default();
        checkpoint.program = program();
        checkpoint.options = settings.lasting().replace("bound=none", "bound=2");
        let refusal = checkpoint.check("a::b", &settings).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the checkpoint was made with bound=2, and this run wants bound=none"
        );
        assert!(matches!(checkpoint.check("c", &settings), Err(Refusal::OtherTest(_))));
        checkpoint.program.push('0');
        assert!(matches!(checkpoint.check("a::b", &settings), Err(Refusal::OtherProgram)));
    }
}
