//! One test binary under a debugger: the terminal is the debugger's, and nothing is hurried.
use std::process::Command;

use camino::Utf8Path;
use fs_err as fs;

use super::request::Request;
use super::wire::{ChildEvent, Finished};
use super::{child, interrupt};
use crate::build::TestBinary;
use crate::error::{ExpectedError, Result};

/// A command line in front of which the test binary is put.
#[derive(Clone, Debug)]
pub struct Debugger {
    program: String,
    args: Vec<String>,
}

impl std::str::FromStr for Debugger {
    type Err = String;

    /// Splits a command line as a shell does.
    fn from_str(line: &str) -> std::result::Result<Self, String> {
        let mut words = shlex::split(line).ok_or("a quote is not closed")?.into_iter();
        let program = words.next().ok_or("a debugger has a name, for example `rust-gdb --args`")?;
        Ok(Self { program, args: words.collect() })
    }
}

impl Debugger {
    /// Runs a test binary with a request until the debugger ends.
    pub fn run(&self, binary: &TestBinary, request: Request, work: &Utf8Path) -> Result<Finished> {
        let events = work.join("events");
        let request_path = work.join("request");
        fs::write(&request_path, request.events(&events).text())?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(&binary.executable);
        child::prepare(&mut command, binary, &request_path);
        interrupt::leave_to_child();
        command.status().map_err(|source| ExpectedError::Start { program: self.program.clone(), source })?;
        let text = fs::read_to_string(&events).unwrap_or_default();
        let mut told = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let verdict = told.find_map(|event| match event {
            ChildEvent::Finished(finished) => Some(*finished),
            _ => None,
        });
        let mut finished = verdict.ok_or(ExpectedError::DebuggerEnded)?;
        finished.forget_engine_places();
        Ok(finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_a_shell_does() {
        let debugger: Debugger = "gdb --batch -ex 'break main' --args".parse().unwrap();
        assert_eq!(debugger.program, "gdb");
        assert_eq!(debugger.args, ["--batch", "-ex", "break main", "--args"]);
        assert!("".parse::<Debugger>().is_err());
        assert!("gdb 'open".parse::<Debugger>().is_err());
    }
}
