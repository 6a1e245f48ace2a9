//! The test process: what a test binary does when the command runs it.
//!
//! One process explores one test: it reads a request, answers with events on what was its standard
//! output, and is gone. The loop between search and execution is [`explore`].

mod addresses;
mod again;
mod checkpoint;
mod company;
mod crash;
mod crew;
mod explore;
mod merge;
mod names;
mod pace;
mod record;
mod replay;
mod report;
mod settings;
mod stdio;

use crate::exec::{Test, TestResult, own_allocator};
use crate::wire::json::Object;
use crate::wire::request::{BadRequest, Request, Task};
use settings::Settings;
use std::path::Path;
use std::sync::Mutex;
use stdio::Channel;

/// The environment variable that names the request file.
pub const REQUEST_VARIABLE: &str = match own_allocator::REQUEST_VARIABLE.to_str() {
    Ok(name) => name,
    Err(_) => panic!("it is a text"),
};

/// The prefix of the hidden tests by which `#[schedcheck]` tells its arguments.
const OPTIONS_PREFIX: &str = "__schedcheck_options_";

/// A test of the binary, as its harness received it.
#[derive(Clone, Copy)]
pub struct TestCase {
    /// Its path within the binary.
    pub name: &'static str,
    /// Its body.
    pub body: fn() -> TestResult,
    /// Marked `#[ignore]`.
    pub ignored: bool,
    /// Marked `#[should_panic]`, with the text the message must contain.
    pub should_panic: Option<&'static str>,
}

impl std::fmt::Debug for TestCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestCase").field("name", &self.name).finish_non_exhaustive()
    }
}

static REGISTERED: Mutex<Option<&'static str>> = Mutex::new(None);

/// Called by the hidden test beside a `#[schedcheck]` test, with the attribute's arguments.
pub fn register_options(options: &'static str) {
    *REGISTERED.lock().expect("registering cannot panic") = Some(options);
}

/// A test may be in a loop that nobody sees, and then would go on for ever if the command were killed.
fn end_with_whoever_asks() {
    // SAFETY: asks for a signal when the thread that started this process ends. That thread waits for it.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Answers the request in the file `path` about the tests `cases`.
pub fn answer(cases: &[TestCase], path: &Path) {
    end_with_whoever_asks();
    addresses::make_repeatable();
    let refused = |channel: &Channel, problem: &dyn std::error::Error| {
        channel.send(Object::new().text("event", "refused").text("message", &problem.to_string()));
    };
    match read(path) {
        Ok((request, channel)) => {
            if let Err(problem) = try_answer(cases, &request, &channel) {
                refused(&channel, &*problem);
            }
        }
        Err(problem) => refused(&Channel::open(), &*problem),
    }
}

fn read(path: &Path) -> Result<(Request, Channel), Box<dyn std::error::Error>> {
    let request = Request::parse(&std::fs::read_to_string(path)?)?;
    let channel = match &request.events {
        Some(path) => Channel::to_file(path)?,
        None => Channel::open(),
    };
    Ok((request, channel))
}

fn try_answer(
    cases: &[TestCase],
    request: &Request,
    channel: &Channel,
) -> Result<(), Box<dyn std::error::Error>> {
    match request.task {
        None => Err("the request asks for nothing".into()),
        Some(Task::List) => {
            list(cases, channel);
            Ok(())
        }
        Some(task) => {
            let case = visible(cases)
                .find(|case| case.name == request.test)
                .ok_or_else(|| format!("there is no test {}", request.test))?;
            let settings = Settings::gather(request, attribute_of(cases, case.name))?;
            let test = Test { body: case.body, should_panic: case.should_panic };
            match task {
                Task::Merge => merge::merge(test, &settings, request, channel)?,
                Task::Replay => replay::replay(test, &settings, request, channel),
                Task::Explore | Task::List => explore::explore(test, &settings, request, channel),
            }
            Ok(())
        }
    }
}

fn visible(cases: &[TestCase]) -> impl Iterator<Item = &TestCase> {
    cases.iter().filter(|case| !last_element(case.name).starts_with(OPTIONS_PREFIX))
}

fn last_element(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The arguments of the `#[schedcheck]` attribute of test `name`; `None` if it has none.
fn attribute_of(cases: &[TestCase], name: &str) -> Option<&'static str> {
    let element = last_element(name);
    let module = &name[..name.len() - element.len()];
    let hidden = cases.iter().find(|case| {
        case.name.strip_prefix(module).and_then(|rest| rest.strip_prefix(OPTIONS_PREFIX)) == Some(element)
    })?;
    (hidden.body)().ok()?;
    REGISTERED.lock().expect("registering cannot panic").take()
}

fn list(cases: &[TestCase], channel: &Channel) {
    for case in visible(cases) {
        let attribute = attribute_of(cases, case.name);
        channel.send(
            Object::new()
                .text("event", "test")
                .text("name", case.name)
                .flag("marked", attribute.is_some())
                .text("options", attribute.unwrap_or_default())
                .flag("ignored", case.ignored)
                .flag("should_panic", case.should_panic.is_some()),
        );
    }
    channel.send(Object::new().text("event", "listed"));
}

/// An option whose value cannot be used.
fn bad_option(name: &str, value: &str) -> BadRequest {
    BadRequest::new(format!("option {name} cannot be {value:?}"))
}
