//! Whether a run may have its certificate.
use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use super::{BuiltWith, Certificate, Covered, Guarantee, MEMORY_MODEL, Tool, VERSION};
use crate::build::sources::Sources;
use crate::cli::SelectArgs;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::reports::event::{Certified, Summary, TestResult};
use crate::run::explore::Plan;
use crate::run::wire::arguments;

/// How many tests are named as the reason.
const NAMED: usize = 3;

/// What a run knows before its first test.
#[derive(Debug)]
pub struct Draft {
    pub tool: Tool,
    pub cargo_args: Vec<String>,
    pub rustflags: Vec<String>,
    pub races: bool,
    pub skipped_crates: Vec<String>,
    pub binaries: Vec<String>,
    pub left_out: Vec<String>,
    /// Or why they are not certain.
    pub sources: Result<Sources, String>,
}

/// Watches a run and gives out its certificate, if it has earned one.
#[derive(Debug)]
pub struct Certifier {
    path: Utf8PathBuf,
    certificate: Certificate,
    /// What holds for each test, by its name.
    tests: BTreeMap<String, Settings>,
    /// Why there is no certificate.
    obstacles: Vec<String>,
}

/// What was set for a test by the command line, its attribute, the config file or nobody, in the order of strength.
#[derive(Debug)]
struct Settings([Vec<(String, String)>; 3]);

impl Settings {
    fn new(plan: &Plan<'_>) -> Self {
        let pairs = |limits: &crate::config::Limits| {
            limits.pairs().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
        };
        let attribute = arguments(&plan.attribute).map(|(key, value)| (key, value.to_owned()));
        Self([pairs(&plan.set), attribute.collect(), pairs(&plan.default)])
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().flatten().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str) -> u32 {
        self.get(key).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    fn is_on(&self, key: &str) -> bool {
        matches!(self.get(key), Some("on" | "yes" | "true"))
    }

    /// A list of the strongest source that has one.
    fn list(&self, key: &str) -> Vec<String> {
        let lists = self.0.iter().map(|source| {
            let values = source.iter().filter(|(known, _)| known == key);
            values.flat_map(|(_, value)| value.split(',')).map(|item| item.trim().to_owned()).collect()
        });
        lists.into_iter().find(|list: &Vec<String>| !list.is_empty()).unwrap_or_default()
    }
}

impl Certifier {
    /// For a run of these tests.
    pub fn new(path: Utf8PathBuf, draft: Draft, select: &SelectArgs, plans: &[Plan<'_>]) -> Result<Self> {
        let (source, obstacles) = match draft.sources {
            Ok(sources) => (sources, Vec::new()),
            Err(reason) => (Sources::default(), vec![reason]),
        };
        let part = |partition: crate::cli::Partition| {
            Ok::<_, crate::error::ExpectedError>(format!(
                "{}:{}",
                partition.how.word(),
                partition.spec.here()?
            ))
        };
        let certificate = Certificate {
            version: VERSION,
            date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            memory_model: MEMORY_MODEL.to_owned(),
            selection: select.words(),
            partition: select.partition.map(part).transpose()?,
            tool: draft.tool,
            build: BuiltWith {
                cargo_args: draft.cargo_args,
                rustflags: draft.rustflags,
                memory_accesses: draft.races,
                skipped_crates: draft.skipped_crates,
                binaries: draft.binaries,
                left_out: draft.left_out,
            },
            tests: Vec::new(),
            source,
        };
        let tests = plans.iter().map(|plan| (plan.id.to_string(), Settings::new(plan))).collect();
        Ok(Self { path, certificate, tests, obstacles })
    }

    /// Takes a verdict.
    pub fn note(&mut self, result: &TestResult) {
        let finished = &result.finished;
        let settings = self.tests.get(&result.id.to_string());
        let (Some(settings), false, true) = (settings, result.failed(), finished.complete) else { return };
        let Some(guarantee) = Guarantee::of(&finished.coverage, finished.bound) else { return };
        self.certificate.tests.push(Covered {
            package: result.id.package.clone(),
            target: result.id.target.clone(),
            name: result.id.name.clone(),
            guarantee,
            bound: finished.bound,
            coverage: finished.coverage.clone(),
            executions: finished.executions,
            traces: finished.traces,
            elapsed_ms: finished.elapsed_ms,
            spurious: settings.number("spurious"),
            timeouts: settings.number("timeouts"),
            weak_cas: settings.number("weak-cas"),
            races: self.certificate.build.memory_accesses && settings.is_on("races"),
            reduction: settings.get("reduction").unwrap_or_default().to_owned(),
            symmetry: settings.is_on("symmetry"),
            cooperative: settings.is_on("cooperative"),
            trusted: settings.list("trust"),
            focus: settings.list("focus"),
            uncontrolled: finished.uncontrolled.clone(),
        });
    }

    /// Writes the certificate, or says in the summary why there is none.
    pub fn conclude(mut self, summary: &mut Summary) {
        self.certificate
            .tests
            .sort_by(|a, b| (&a.package, &a.target, &a.name).cmp(&(&b.package, &b.target, &b.name)));
        self.find_obstacles();
        let Summary { failed, incomplete, unfinished, .. } = *summary;
        if self.obstacles.is_empty() && failed + incomplete + unfinished > 0 {
            self.obstacles.push("not every test passed with its guarantee".to_owned());
        }
        // A disk that is full takes the certificate, not the summary of a long run.
        if self.obstacles.is_empty()
            && let Err(error) = self.certificate.save(&self.path)
        {
            self.obstacles.push(error.to_string());
        }
        if !self.obstacles.is_empty() && summary.exit_code == ExitCode::Passed {
            summary.exit_code = ExitCode::Incomplete;
        }
        summary.certificate = Some(match self.obstacles.is_empty() {
            true => Certified::Yes(self.path),
            false => Certified::No(self.obstacles.join("; ")),
        });
    }

    /// Every selected test must have passed with its guarantee.
    fn find_obstacles(&mut self) {
        let covered: Vec<String> = self.certificate.tests.iter().map(|test| test.id().to_string()).collect();
        let open: Vec<&str> =
            self.tests.keys().filter(|id| !covered.contains(id)).map(String::as_str).collect();
        if open.is_empty() {
            return;
        }
        let dots = if open.len() > NAMED { ", …" } else { "" };
        let named: Vec<&str> = open.iter().take(NAMED).copied().collect();
        self.obstacles.push(format!(
            "{} of {} tests did not pass with their guarantee: {}{dots}",
            open.len(),
            self.tests.len(),
            named.join(", ")
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::TestBinary;
    use crate::config::Limits;
    use crate::run::wire::{Finished, Outcome, Progress};

    fn plan<'a>(binary: &'a TestBinary, name: &str, attribute: &str) -> Plan<'a> {
        let set = Limits { weak_cas: Some(0), ..Limits::default() };
        let default = Limits { trust: vec!["weaker".into()], ..Limits::built_in() };
        Plan { set, default, attribute: attribute.into(), ..Plan::example(binary, name) }
    }

    fn certifier(path: &str, plans: &[Plan<'_>]) -> Certifier {
        let tool = Tool {
            schedcheck: String::new(),
            engine: String::new(),
            rustc: String::new(),
            target: String::new(),
        };
        let draft = Draft {
            tool,
            cargo_args: Vec::new(),
            rustflags: Vec::new(),
            races: true,
            skipped_crates: Vec::new(),
            binaries: Vec::new(),
            left_out: Vec::new(),
            sources: Ok(Sources::default()),
        };
        Certifier::new(path.into(), draft, &SelectArgs::default(), plans).unwrap()
    }

    fn result(plan: &Plan<'_>, change: impl FnOnce(&mut Finished)) -> TestResult {
        let mut finished = Finished::without_child(Outcome::Passed, String::new(), &Progress::default());
        finished.complete = true;
        finished.coverage =
            "all schedules (each with at most 1 spurious wake-up, 1 early time-out, 1 spurious CAS failure)"
                .to_owned();
        change(&mut finished);
        TestResult {
            id: plan.id.clone(),
            finished,
            pending: 0,
            replayed: false,
            replay: None,
            replay_command: None,
            source_dirs: Vec::new(),
        }
    }

    #[test]
    fn a_test_that_is_to_fail_is_not_said_to_pass() {
        let binary = TestBinary::example("lib");
        let plans = [plan(&binary, "a", "expect=deadlock;max_time=2s")];
        let mut certifier = certifier("unused", &plans);
        certifier
            .note(&result(&plans[0], |finished| finished.coverage = "found the expected deadlock".into()));
        assert_eq!(certifier.certificate.tests[0].guarantee, Guarantee::ExpectedFailure);
    }

    #[test]
    fn the_attribute_stands_between_command_line_and_config_file() {
        let binary = TestBinary::example("lib");
        let plans = [plan(&binary, "a", "weak_cas=3;timeouts=2;trust=x, y::z;races=off")];
        let mut certifier = certifier("unused", &plans);
        certifier.note(&result(&plans[0], |finished| finished.bound = Some(2)));
        let test = &certifier.certificate.tests[0];
        assert_eq!((test.weak_cas, test.timeouts, test.spurious), (0, 2, 1));
        assert_eq!((test.guarantee, test.bound, test.races), (Guarantee::Restricted, Some(2), false));
        assert_eq!(test.trusted, ["x", "y::z"]);
    }

    #[test]
    fn one_test_without_its_guarantee_is_enough_to_refuse() {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("{}/certificate.toml", dir.path().display());
        let binary = TestBinary::example("lib");
        let plans = [plan(&binary, "a", ""), plan(&binary, "b", "")];
        let incomplete = |finished: &mut Finished| finished.complete = false;
        let failed = |finished: &mut Finished| finished.outcome = Outcome::Panic;
        let silent = |finished: &mut Finished| finished.coverage.clear();
        let seconds = [result(&plans[1], incomplete), result(&plans[1], failed), result(&plans[1], silent)];
        for second in seconds.into_iter().map(Some).chain([None]) {
            let mut certifier = certifier(&path, &plans);
            certifier.note(&result(&plans[0], |_| {}));
            second.iter().for_each(|second| certifier.note(second));
            let mut summary = Summary::of_one_pass();
            certifier.conclude(&mut summary);
            let Some(Certified::No(reason)) = summary.certificate else { panic!("{summary:?}") };
            assert_eq!(reason, "1 of 2 tests did not pass with their guarantee: bank::lib b");
            assert_eq!(summary.exit_code, ExitCode::Incomplete);
            assert!(!std::path::Path::new(&path).exists());
        }
        let mut certifier = certifier(&path, &plans);
        plans.iter().for_each(|plan| certifier.note(&result(plan, |_| {})));
        let mut summary = Summary::of_one_pass();
        certifier.conclude(&mut summary);
        assert!(matches!(summary.certificate, Some(Certified::Yes(_))), "{summary:?}");
        assert!(std::path::Path::new(&path).exists());
    }
}
