//! What a child is asked to do: a small text file named by `SCHEDCHECK_REQUEST`.
use std::fmt::Write;

use camino::{Utf8Path, Utf8PathBuf};

use super::wire::{Point, Schedule};
use crate::cli::part::Part;

/// The text of a request, line by line.
#[derive(Debug)]
pub struct Request {
    text: String,
    test: String,
}

impl Request {
    /// Asks for the names of the tests.
    pub fn list() -> Self {
        Self::new("list")
    }

    /// Asks to explore the schedules of one test.
    pub fn explore(test: &str) -> Self {
        Self::new("explore").about(test)
    }

    /// Asks to run one test once, in the given schedule.
    pub fn replay(test: &str, schedule: &Schedule) -> Self {
        let mut request = Self::new("replay").about(test).line("trace", "yes");
        if !schedule.fingerprint.is_empty() {
            request = request.line("fingerprint", &schedule.fingerprint);
        }
        for delta in &schedule.deltas {
            let mut line = format!("{} {} {}", delta.step, word(&delta.thread), word(&delta.alt));
            // A schedule that was noted before a crash knows no operations.
            if !delta.op.is_empty() {
                line.push_str(&format!(" {} {} {}", word(&delta.op), word(&delta.site), delta.nth));
                if let Some(Point { thread, op, site, nth }) = &delta.instead {
                    line.push_str(&format!(" {} {} {} {nth}", word(thread), word(op), word(site)));
                }
            }
            request = request.line("delta", &line);
        }
        request
    }

    /// Asks to take the steps of a schedule as they are.
    pub fn exactly(self) -> Self {
        self.line("exact", "yes")
    }

    /// Settings that win over (`set`) or lose to (`default`) those of the test's own attribute.
    pub fn settings(
        self,
        strength: &str,
        pairs: impl IntoIterator<Item = (impl AsRef<str>, String)>,
    ) -> Self {
        pairs
            .into_iter()
            .fold(self, |request, (key, value)| request.line(&format!("{strength}.{}", key.as_ref()), &value))
    }

    /// Where the child notes each schedule before it runs it.
    pub fn record(self, path: &Utf8Path) -> Self {
        self.line("record", path.as_str())
    }

    /// Asks to join what parts of the search of a test have done, and to write the whole to `out`.
    pub fn merge(test: &str, parts: &[Utf8PathBuf], out: &Utf8Path) -> Self {
        let request = Self::new("merge").about(test).checkpoint(Some(out));
        parts.iter().fold(request, |request, part| request.line("join", part.as_str()))
    }

    /// Where the child writes the state of its search, if it is to.
    pub fn checkpoint(self, path: Option<&Utf8Path>) -> Self {
        self.line_if("checkpoint", path.map(Utf8Path::as_str))
    }

    /// How often it does, if not as usual.
    pub fn checkpoint_every(self, pause: Option<std::time::Duration>) -> Self {
        let pause = pause.map(|pause| pause.as_millis().to_string());
        self.line_if("checkpoint-every-ms", pause.as_deref())
    }

    /// How many bytes its search may take.
    pub fn max_memory(self, bytes: Option<u64>) -> Self {
        let bytes = bytes.map(|bytes| bytes.to_string());
        self.line_if("max-memory", bytes.as_deref())
    }

    /// The state that the child goes on from, if there is one.
    pub fn resume(self, path: Option<&Utf8Path>) -> Self {
        self.line_if("resume", path.map(Utf8Path::as_str))
    }

    /// The part of the search that the child is to do, if it is only one.
    pub fn part(self, part: Option<Part>) -> Self {
        let part = part.map(|part| part.to_string());
        self.line_if("part", part.as_deref())
    }

    /// The file in which the child finds how many processes it may have.
    pub fn workers(self, path: &Utf8Path) -> Self {
        self.line("workers", path.as_str())
    }

    fn line_if(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.line(key, value),
            None => self,
        }
    }

    /// Where the child writes its events, to leave its standard streams alone.
    pub fn events(self, path: &Utf8Path) -> Self {
        self.line("events", path.as_str())
    }

    /// The text to put into the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The test it is about.
    pub fn test(&self) -> &str {
        &self.test
    }

    fn new(action: &str) -> Self {
        Self { text: "schedcheck 1\n".to_owned(), test: String::new() }.line("do", action)
    }

    fn about(mut self, test: &str) -> Self {
        test.clone_into(&mut self.test);
        self.line("test", test)
    }

    fn line(mut self, key: &str, value: &str) -> Self {
        // A value ends at the end of its line, whatever it contains.
        let value = value.replace(['\n', '\r'], " ");
        let _ = writeln!(self.text, "{key} {value}");
        self
    }
}

/// One word of a line: blanks are percent-encoded.
fn word(text: &str) -> String {
    text.replace(char::is_whitespace, "%20")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::wire::Delta;

    #[test]
    fn a_replay_names_every_delta_on_one_line() {
        let delta = Delta {
            step: 5,
            thread: "0.2".into(),
            alt: "0".into(),
            op: "mutex.lock".into(),
            site: "my dir/lib.rs:8:17".into(),
            nth: 1,
            instead: Some(Point { thread: "0.1".into(), op: "load".into(), site: "a.rs:1:2".into(), nth: 3 }),
        };
        let schedule =
            Schedule { fingerprint: "ab12".into(), steps: 7, deltas: vec![delta], ..Schedule::default() };
        let request =
            Request::replay("tests::transfer", &schedule).settings("set", [("seed", "7".to_owned())]);
        assert_eq!(
            request.text(),
            "schedcheck 1\ndo replay\ntest tests::transfer\ntrace yes\nfingerprint ab12\n\
             delta 5 0.2 0 mutex.lock my%20dir/lib.rs:8:17 1 0.1 load a.rs:1:2 3\nset.seed 7\n"
        );
    }

    #[test]
    fn values_cannot_start_a_new_line() {
        let request = Request::explore("a").settings("set", [("var", "x\ndo list".to_owned())]);
        assert!(request.text().ends_with("set.var x do list\n"));
    }
}
