//! The trend file: one JSON line for each test and run, appended as soon as its verdict is known.
//!
//! Several runs may write to the same file: a line is one write to the end, under a lock. A line that was torn by a
//! crash or a full disk costs itself alone: the next one begins on a new line, and readers pass over what they cannot
//! read.
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::event::{TestId, TestResult};
use super::{Event, Sink, say};
use crate::error::{ExpectedError, Result};

/// How every line begins.
const START: &[u8] = br#"{"v":1,"date":"#;

/// What became of a test in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    v: u32,
    /// When the run began.
    date: String,
    package: String,
    target: String,
    test: String,
    pub outcome: String,
    pub executions: u64,
    pub traces: u64,
    pub complete: bool,
    #[serde(default)]
    pub bound: Option<u32>,
    #[serde(default)]
    pub bound_done: Option<u32>,
    pub elapsed_ms: u64,
}

impl Row {
    /// A row of a run that began at `date`.
    pub fn new(date: &str, result: &TestResult) -> Self {
        let finished = &result.finished;
        Self {
            v: 1,
            date: date.to_owned(),
            package: result.id.package.clone(),
            target: result.id.target.clone(),
            test: result.id.name.clone(),
            outcome: finished.outcome.name().to_owned(),
            executions: finished.executions,
            traces: finished.traces,
            complete: finished.complete,
            bound: finished.bound,
            bound_done: finished.bound_done,
            elapsed_ms: finished.elapsed_ms,
        }
    }

    fn id(&self) -> String {
        let (package, target, name) = (self.package.clone(), self.target.clone(), self.test.clone());
        TestId { package, target, name }.to_string()
    }
}

/// The last row of each test, by its name.
pub type LastRows = BTreeMap<String, Row>;

/// Reads what earlier runs have left.
pub fn last_rows(path: &Utf8Path) -> Result<LastRows> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LastRows::new()),
        Err(error) => return Err(ExpectedError::BadSetup(error.to_string())),
    };
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let rows: Vec<Row> = lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let is_torn = |line: &&[u8]| line.starts_with(START) || START.starts_with(line);
    if rows.is_empty() && !lines.iter().all(is_torn) {
        return Err(ExpectedError::BadSetup(format!(
            "{path} is not a trend file: name another one for --trend"
        )));
    }
    Ok(rows.into_iter().map(|row| (row.id(), row)).collect())
}

/// Appends to the file.
#[derive(Debug)]
pub struct Trend {
    path: Utf8PathBuf,
    date: String,
}

impl Trend {
    /// A run that begins now.
    pub fn new(path: Utf8PathBuf) -> Self {
        Self { path, date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string() }
    }

    fn append(&self, row: &Row) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        file.file().lock()?;
        let mut text = serde_json::to_vec(row)?;
        text.push(b'\n');
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                text.insert(0, b'\n');
            }
        }
        file.write_all(&text)?;
        file.sync_data()
    }
}

impl Sink for Trend {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if let Event::TestFinished(result) = event
            && let Err(error) = self.append(&Row::new(&self.date, result))
        {
            // A full disk must not end a search that has run for hours.
            say(&format!("warning: the trend file lacks {}: {error}", result.id));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(test: &str, executions: u64) -> Row {
        Row {
            v: 1,
            date: "2026-11-16T03:00:00Z".into(),
            package: "bank".into(),
            target: "lib".into(),
            test: test.into(),
            outcome: "passed".into(),
            executions,
            traces: executions,
            complete: true,
            bound: None,
            bound_done: None,
            elapsed_ms: 10,
        }
    }

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("trend.jsonl");
        assert_eq!(last_rows(&path).unwrap().len(), 0);
        let trend = Trend { path: path.clone(), date: String::new() };
        trend.append(&row("a", 1)).unwrap();
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"v\":1,\"date\":\"20");
        fs::write(&path, text).unwrap();
        trend.append(&row("a", 2)).unwrap();
        trend.append(&row("b", 3)).unwrap();
        let last = last_rows(&path).unwrap();
        assert_eq!((last["bank::lib a"].executions, last["bank::lib b"].executions), (2, 3));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    }

    #[test]
    fn the_first_line_may_be_torn_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("trend.jsonl");
        let whole = serde_json::to_string(&row("a", 1)).unwrap();
        for end in 1..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert!(last_rows(&path).is_ok(), "{}", &whole[..end]);
        }
        Trend { path: path.clone(), date: String::new() }.append(&row("a", 2)).unwrap();
        assert_eq!(last_rows(&path).unwrap()["bank::lib a"].executions, 2);
    }

    #[test]
    fn rows_of_many_writers_stay_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("trend.jsonl");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let trend = Trend { path: path.clone(), date: String::new() };
                scope.spawn(move || {
                    for number in 0..25 {
                        trend.append(&row(&format!("{writer}::{number}"), 1)).unwrap();
                    }
                });
            }
        });
        assert_eq!(last_rows(&path).unwrap().len(), 100);
    }

    #[test]
    fn a_file_that_is_something_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("Cargo.toml");
        fs::write(&path, "[package]\n").unwrap();
        assert!(last_rows(&path).is_err());
    }
}
