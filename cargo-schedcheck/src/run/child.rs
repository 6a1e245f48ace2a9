//! One test binary as a child process: started, listened to, ended. Whatever it does, there is a verdict.
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use fs_err as fs;

use super::request::Request;
use super::wire::ChildEvent;
use super::{hang, interrupt};
use crate::build::TestBinary;
use crate::build::toolchain::is_of_a_package;
use crate::error::{ExpectedError, Result};

/// How often a waiting parent looks at the clock and for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
/// How long a child that is to end may take to write down the state of its search.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How long to wait for more lines of a child that has exited.
const LAST_LINES: Duration = Duration::from_secs(1);
/// How much of a child's stderr is kept for the report of a crash.
const STDERR_TAIL: usize = 16 * 1024;
/// How every event begins.
const EVENT: &[u8] = br#"{"event":"#;
/// Longer than any trace; a test that prints without end must not eat our memory.
const LONGEST_LINE: u64 = 1 << 28;

/// How a child ended.
#[derive(Debug)]
pub enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// It was silent past its deadline and was killed.
    TimedOut,
    /// The user wanted to stop.
    Interrupted,
}

/// What is left of a child.
#[derive(Debug)]
pub struct Remains {
    pub ending: Ending,
    /// The end of what it wrote to stderr.
    pub stderr: String,
    /// A line that was meant for us but could not be understood.
    pub garbled: Option<String>,
    /// The system call in which it waited when it was ended.
    pub waited_in: Option<&'static str>,
}

/// Something that a child let us know.
#[derive(Debug)]
pub enum Heard {
    Event(ChildEvent),
    /// Lines that it wrote to stderr.
    Stderr(String),
}

/// What comes out of a child.
enum Line {
    Event(Vec<u8>),
    Stderr(String),
}

/// Runs a test binary with a request. `listen` gets every event and may move the deadline; what the child writes to
/// stderr only if that is wanted.
pub fn run(
    binary: &TestBinary,
    request: &Request,
    work: &Utf8Path,
    hear_stderr: bool,
    deadline: Instant,
    mut listen: impl FnMut(Heard, &mut Instant),
) -> Result<Remains> {
    let request_path = work.join("request");
    fs::write(&request_path, request.text())?;
    let mut child = start(binary, &request_path)?;
    let (send, lines) = channel();
    let heard = hear_stderr.then(|| send.clone());
    let stderr = child.stderr.take().map(|pipe| keep_tail(pipe, heard));
    if let Some(pipe) = child.stdout.take() {
        read_events(pipe, send);
    }

    let mut deadline = deadline;
    let mut garbled = None;
    let mut ending = None;
    let mut waited_in = None;
    let mut has_exited = false;
    loop {
        match lines.recv_timeout(if has_exited { LAST_LINES } else { TICK }) {
            Ok(Line::Stderr(text)) => listen(Heard::Stderr(text), &mut deadline),
            Ok(Line::Event(line)) => match serde_json::from_slice(&line) {
                Ok(event) => listen(Heard::Event(event), &mut deadline),
                Err(_) => garbled = Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                // The pipe may be kept open by processes that the test left behind. But what the child
                // wrote just before its end may still be under way.
                if has_exited {
                    break;
                }
                has_exited = child.try_wait()?.is_some();
            }
        }
        if interrupt::is_requested() {
            ending = Some(Ending::Interrupted);
        } else if Instant::now() > deadline {
            ending = Some(Ending::TimedOut);
            waited_in = hang::waits_in(child.id());
        }
        if ending.is_some() {
            end(&mut child, &lines)?;
            break;
        }
    }
    let ending = match (ending, wait(&mut child, deadline)?) {
        (Some(ending), _) => ending,
        (None, Some(status)) if is_of_ctrl_c(&status) && interrupt::was_behind_it() => Ending::Interrupted,
        (None, Some(status)) => Ending::Exited(status),
        (None, None) => Ending::TimedOut,
    };
    let stderr = stderr.map(Tail::take).unwrap_or_default();
    Ok(Remains { ending, stderr, garbled, waited_in })
}

fn start(binary: &TestBinary, request: &Utf8Path) -> Result<Child> {
    let mut command = Command::new(&binary.executable);
    prepare(&mut command, binary, request);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Its own group: Ctrl-C on the terminal is for us, and we tell the children.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(|source| ExpectedError::Start { program: binary.executable.to_string(), source })
}

/// Gives the test binary that `command` runs its arguments, its directory and its environment.
pub fn prepare(command: &mut Command, binary: &TestBinary, request: &Utf8Path) {
    for (name, _) in std::env::vars_os() {
        if is_of_a_package(&name) || name.to_string_lossy().starts_with("SCHEDCHECK_") {
            command.env_remove(&name);
        }
    }
    command
        // Only read by harnesses that do not know us: they list their tests instead of running them.
        .args(["--list", "--format", "terse"])
        .current_dir(&binary.package_dir)
        .envs(binary.env.iter().map(|(name, value)| (name, value)))
        .env("SCHEDCHECK_REQUEST", request);
}

/// Ends a child, which may write down the state of its search before.
fn end(child: &mut Child, lines: &Receiver<Line>) -> Result<()> {
    #[cfg(unix)]
    {
        let process = nix::unistd::Pid::from_raw(child.id().cast_signed());
        // It may have ended by itself.
        let _ = nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGTERM);
    }
    let patience = Instant::now() + LAST_WORDS;
    while Instant::now() < patience && child.try_wait()?.is_none() {
        // What it still says is not needed, but it must not have to wait for us.
        let _ = lines.recv_timeout(Duration::from_millis(5));
    }
    child.kill()?;
    Ok(())
}

/// Waits for a child that has closed its stdout; kills it at the deadline.
fn wait(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline || interrupt::is_requested() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a child ended as by Ctrl-C, which it may hear of before it has a group of its own.
fn is_of_ctrl_c(status: &ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(status) == Some(nix::sys::signal::Signal::SIGINT as i32)
}

/// Passes on the events among the lines of a child; the rest is the test's own output.
fn read_events(pipe: impl Read + Send + 'static, send: Sender<Line>) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            match pipe.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            // A test may have printed something without ending its line.
            let start = line.windows(EVENT.len()).position(|window| window == EVENT);
            if let Some(start) = start
                && send.send(Line::Event(line.split_off(start))).is_err()
            {
                return;
            }
        }
    });
}

/// The collector of a child's stderr.
struct Tail {
    thread: JoinHandle<()>,
    bytes: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
}

fn keep_tail(mut pipe: ChildStderr, heard: Option<Sender<Line>>) -> Tail {
    let bytes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let shared = bytes.clone();
    let thread = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        let mut unsaid = Vec::new();
        // Whoever listened may be gone; the tail is kept all the same.
        let tell = |said: &[u8]| {
            if let Some(heard) = heard.as_ref().filter(|_| !said.is_empty()) {
                let _ = heard.send(Line::Stderr(String::from_utf8_lossy(said).into_owned()));
            }
        };
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            unsaid.extend_from_slice(&buffer[..count]);
            tell(&whole_lines(&mut unsaid));
            let Ok(mut tail) = shared.lock() else { return };
            tail.extend_from_slice(&buffer[..count]);
            if tail.len() > 2 * STDERR_TAIL {
                let surplus = tail.len() - STDERR_TAIL;
                tail.drain(..surplus);
            }
        }
        tell(&unsaid);
    });
    Tail { thread, bytes }
}

/// Takes out what can be shown: whole lines, since a line may arrive in pieces, but not for ever.
fn whole_lines(unsaid: &mut Vec<u8>) -> Vec<u8> {
    const LONGEST: usize = 1 << 16;
    let end = unsaid.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = if unsaid.len() - end > LONGEST { unsaid.len() } else { end };
    unsaid.drain(..end).collect()
}

impl Tail {
    fn take(self) -> String {
        // Processes left behind by the test may keep the pipe open: do not wait for them.
        let patience = Instant::now() + Duration::from_millis(200);
        while !self.thread.is_finished() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.bytes.lock().map(|tail| String::from_utf8_lossy(&tail).into_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_when_they_are_whole() {
        let mut unsaid = b"one\ntw".to_vec();
        assert_eq!(whole_lines(&mut unsaid), b"one\n");
        assert_eq!(whole_lines(&mut unsaid), b"");
        unsaid.extend_from_slice(b"o\n");
        assert_eq!(whole_lines(&mut unsaid), b"two\n");
        unsaid.resize(1 << 17, b'x');
        assert_eq!(whole_lines(&mut unsaid).len(), 1 << 17);
    }
}
