//! What the command asks of a test process: a text file, one `key value` pair a line.
//!
//! The first line is `schedcheck` and the [`VERSION`]. Options given by the user on the command line or in the
//! environment are `set.NAME`, those of a config file `default.NAME`: an attribute of the test stands
//! between the two.

use std::fmt;

/// Version of the protocol, first line of a request.
pub const VERSION: &str = "1";

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Name the tests.
    List,
    /// Search the schedules of one test.
    Explore,
    /// Execute one schedule of one test.
    Replay,
    /// Join what parts of a search have done.
    Merge,
}

/// One decision of a schedule to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDelta {
    /// The step.
    pub step: u32,
    /// The path of the thread.
    pub thread: String,
    /// The alternative.
    pub alt: u16,
    /// The operation that is expected there, empty if not known.
    pub op: String,
    /// Where, `file:line:column`, empty if not known.
    pub site: String,
    /// What would have been done there without this decision; `None` if that is not known.
    pub instead: Option<NamedPoint>,
}

/// A step by names: the `nth` time that a thread does an operation at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPoint {
    /// The path of the thread.
    pub thread: String,
    /// The operation.
    pub op: String,
    /// Where, `file:line:column`.
    pub site: String,
    /// Which of its occurrences, from 1.
    pub nth: u64,
}

/// A parsed request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What is to be done.
    pub task: Option<Task>,
    /// The test.
    pub test: String,
    /// Options that win over the test's attribute.
    pub set: Vec<(String, String)>,
    /// Options that lose to the test's attribute.
    pub default: Vec<(String, String)>,
    /// Where to note the schedule that is being executed.
    pub record: Option<String>,
    /// Where to write events instead of standard output; the test's streams are then its own.
    pub events: Option<String>,
    /// The schedule to replay.
    pub deltas: Vec<NamedDelta>,
    /// The fingerprint of that schedule's operations.
    pub fingerprint: Option<String>,
    /// Report every step also of an execution that passes.
    pub trace: bool,
    /// The steps of the schedule are to be taken as they are, in one execution.
    pub exact: bool,
    /// Where to write the state of the search.
    pub checkpoint: Option<String>,
    /// How often, in milliseconds.
    pub checkpoint_every: Option<u64>,
    /// Bytes that the search may take; the rest of it goes to the disk.
    pub max_memory: Option<usize>,
    /// A state to go on from.
    pub resume: Option<String>,
    /// `k/n`: only this part of the search.
    pub part: Option<String>,
    /// A file that says how many processes may work on the test.
    pub workers: Option<String>,
    /// States of parts that are to be joined.
    pub parts: Vec<String>,
}

/// A request that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequest(String);

impl BadRequest {
    /// A request that cannot be understood, and why.
    pub fn new(why: String) -> BadRequest {
        BadRequest(why)
    }
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadRequest {}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// If it is of another version or has a line of no known form.
    pub fn parse(text: &str) -> Result<Request, BadRequest> {
        let mut lines = text.lines();
        if lines.next().and_then(|first| first.strip_prefix("schedcheck ")) != Some(VERSION) {
            return Err(BadRequest(format!(
                "the test was built for protocol {VERSION} of cargo schedcheck, and the command speaks another"
            )));
        }
        let mut request = Request::default();
        for line in lines.filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            request.take(key, value).ok_or_else(|| BadRequest(format!("not understood: {line}")))?;
        }
        Ok(request)
    }

    fn take(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "do" => {
                self.task = Some(match value {
                    "list" => Task::List,
                    "explore" => Task::Explore,
                    "replay" => Task::Replay,
                    "merge" => Task::Merge,
                    _ => return None,
                });
            }
            "test" => self.test = value.to_owned(),
            "events" => self.events = Some(value.to_owned()),
            "record" => self.record = Some(value.to_owned()),
            "fingerprint" => self.fingerprint = Some(value.to_owned()),
            "trace" => self.trace = value == "yes",
            "exact" => self.exact = value == "yes",
            "checkpoint" => self.checkpoint = Some(value.to_owned()),
            "checkpoint-every-ms" => self.checkpoint_every = Some(value.parse().ok()?),
            "max-memory" => self.max_memory = Some(value.parse().ok()?),
            "resume" => self.resume = Some(value.to_owned()),
            "part" => self.part = Some(value.to_owned()),
            "workers" => self.workers = Some(value.to_owned()),
            "join" => self.parts.push(value.to_owned()),
            "delta" => self.deltas.push(NamedDelta::parse(value)?),
            _ => {
                let (group, name) = key.split_once('.')?;
                let option = (name.to_owned(), value.to_owned());
                match group {
                    "set" => self.set.push(option),
                    "default" => self.default.push(option),
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

impl NamedDelta {
    /// `STEP THREADPATH ALT OP SITE NTH`, of which the last three may be missing, and a point `THREADPATH OP SITE NTH`,
    /// which may be missing too. The step tells which time it is, so the first `NTH` is not kept.
    fn parse(text: &str) -> Option<NamedDelta> {
        let mut words = text.split(' ');
        let step = words.next()?.parse().ok()?;
        let thread = words.next()?.to_owned();
        let alt = words.next()?.parse().ok()?;
        let op = words.next().unwrap_or_default().to_owned();
        let site = place(words.next().unwrap_or_default());
        words.next();
        let instead = match words.next() {
            None => None,
            Some(thread) => Some(NamedPoint {
                thread: thread.to_owned(),
                op: words.next()?.to_owned(),
                site: place(words.next()?),
                nth: words.next()?.parse().ok()?,
            }),
        };
        Some(NamedDelta { step, thread, alt, op, site, instead })
    }
}

fn place(word: &str) -> String {
    word.replace("%20", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_back() {
        let request = Request::parse(
            "schedcheck 1\ndo replay\ntest a::b\nset.bound 2\ndefault.seed 7\ndelta 5 0.2 0 lock a%20b.rs:1:2 1 0.1 load c.rs:3:4 2\n",
        )
        .unwrap();
        assert_eq!(request.task, Some(Task::Replay));
        assert_eq!(request.test, "a::b");
        assert_eq!(request.set, [("bound".to_owned(), "2".to_owned())]);
        assert_eq!(request.default, [("seed".to_owned(), "7".to_owned())]);
        assert_eq!(request.deltas[0].site, "a b.rs:1:2");
        assert_eq!(
            request.deltas[0].instead,
            Some(NamedPoint { thread: "0.1".into(), op: "load".into(), site: "c.rs:3:4".into(), nth: 2 })
        );
    }

    #[test]
    fn another_version_or_an_unknown_line_is_refused() {
        assert!(Request::parse("schedcheck 2\n").is_err());
        assert!(Request::parse("").is_err());
        assert!(Request::parse("schedcheck 1\nbogus x\n").is_err());
        assert!(Request::parse("schedcheck 1\ndelta x\n").is_err());
        assert!(Request::parse("schedcheck 1\ndelta 1 0 0 lock a:1:1 1 0.1 load\n").is_err());
    }
}
