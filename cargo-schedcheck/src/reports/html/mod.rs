//! The HTML report: one file that needs nothing else. The page is data and a script that draws it.
mod data;

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::{Value, json};

use super::event::{TestId, TestResult};
use super::{Event, Sink, say};
use crate::run::wire::Progress;
use data::Sample;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPTS: [&str; 4] = [
    include_str!("source.js"),
    include_str!("timeline.js"),
    include_str!("charts.js"),
    include_str!("app.js"),
];
/// Points of a curve; more would only make the page heavy.
const SAMPLES: usize = 1_000;

/// Collects what happens and writes the page when the run is over.
#[derive(Debug)]
pub struct Html {
    dir: Utf8PathBuf,
    /// The workspace, from which paths are shown.
    root: Utf8PathBuf,
    open: bool,
    running: Vec<(TestId, Vec<Sample>)>,
    tests: Vec<Value>,
}

impl Html {
    /// A report that will be written into `dir`, and opened in a browser if `open`.
    pub fn new(dir: Utf8PathBuf, root: Utf8PathBuf, open: bool) -> Self {
        Self { dir, root, open, running: Vec::new(), tests: Vec::new() }
    }

    fn note(&mut self, id: &TestId, progress: &Progress) {
        let Some((_, samples)) = self.running.iter_mut().find(|(running, _)| running == id) else { return };
        samples.push(Sample::of(progress));
        if samples.len() > 2 * SAMPLES {
            // Every other one will do.
            let mut keep = false;
            samples.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    fn finish(&mut self, result: &TestResult) {
        let at = self.running.iter().position(|(running, _)| *running == result.id);
        let mut samples = at.map(|at| self.running.swap_remove(at).1).unwrap_or_default();
        samples.insert(0, Sample::default());
        samples.push(Sample::last(result, samples.last()));
        let test = data::test(result, &samples);
        // Failures first.
        let failures = self.tests.iter().filter(|test| test["outcome"] != "passed").count();
        let at = if result.failed() { failures } else { self.tests.len() };
        self.tests.insert(at, test);
    }
}

impl Sink for Html {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::TestStarted(id) => self.running.push(((*id).clone(), Vec::new())),
            Event::TestProgress(id, progress) => self.note(id, progress),
            Event::TestFinished(result) => self.finish(result),
            Event::RunFinished(summary) => {
                let data = json!({
                    "version": env!("CARGO_PKG_VERSION"),
                    "root": self.root.as_str(),
                    "summary": {
                        "passed": summary.passed,
                        "failed": summary.failed,
                        "incomplete": summary.incomplete,
                        "exit_code": summary.exit_code.number(),
                    },
                    "tests": self.tests,
                });
                fs::create_dir_all(&self.dir)?;
                let path = self.dir.join("index.html");
                fs::write(&path, page(&data)?)?;
                if self.open {
                    open(&path);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The whole page.
fn page(data: &Value) -> io::Result<String> {
    // Nothing in the data can end the element it stands in.
    let data = serde_json::to_string(data)?.replace('<', "\\u003c");
    Ok(PAGE
        .replacen("/*STYLE*/", STYLE.trim_end(), 1)
        .replacen("/*SCRIPT*/", SCRIPTS.join("\n").trim_end(), 1)
        .replacen("/*DATA*/", &data, 1))
}

/// Shows the page in a browser; a machine without one is no failure of the run.
fn open(path: &Utf8Path) {
    if let Err(error) = open::that(path) {
        say(&format!("warning: {path} could not be opened: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_element() {
        let page = page(&json!({ "tests": [{ "name": "</script><script>alert(1)//", "x": "/*SCRIPT*/" }] }))
            .unwrap();
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        let page = page(&json!({})).unwrap();
        let foreign = ["http://", "https://", "src=", "@import", "url(//"];
        let own = page.replace("http://www.w3.org/2000/svg", "");
        for text in foreign {
            assert!(!own.contains(text), "{text}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}
