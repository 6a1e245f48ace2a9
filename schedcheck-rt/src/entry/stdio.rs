//! The standard streams of a test process: events leave on what was standard output, and the
//! test's own output goes where nobody sees it, but for the execution that is reported.

use crate::wire::json::Object;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Where events go.
#[derive(Debug)]
pub(crate) struct Channel {
    events: OwnedFd,
    /// The test's own output is kept from the terminal.
    hides_output: bool,
}

impl Channel {
    /// Takes standard output for events; the test's own output is dropped from now on.
    pub(crate) fn open() -> Channel {
        // SAFETY: plain system calls on descriptors this process owns.
        let events = unsafe {
            let events = libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3);
            assert!(events >= 0, "standard output is open in a test process");
            OwnedFd::from_raw_fd(events)
        };
        let channel = Channel { events, hides_output: true };
        channel.redirect_to("/dev/null");
        channel
    }

    /// Writes events to the file `path` and leaves the standard streams to the test.
    pub(crate) fn to_file(path: &str) -> std::io::Result<Channel> {
        let events = std::fs::File::create(path)?.into();
        Ok(Channel { events, hides_output: false })
    }

    /// Writes one event, at once.
    pub(crate) fn send(&self, event: Object) {
        let mut line = event.finish();
        line.push('\n');
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            // SAFETY: the buffer is valid for its length.
            let written = unsafe { libc::write(self.events.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            if written <= 0 {
                // The command is gone: nobody is left to be told anything.
                std::process::exit(0);
            }
            rest = &rest[written as usize..];
        }
    }

    fn redirect_to(&self, path: &str) {
        let Ok(file) = std::fs::OpenOptions::new().write(true).open(path) else { return };
        redirect(file.as_raw_fd());
    }

    /// Runs `section` and returns what it wrote to standard output and standard error.
    pub(crate) fn captured<R>(&self, section: impl FnOnce() -> R) -> (R, String) {
        if !self.hides_output {
            return (section(), String::new());
        }
        // SAFETY: creates a descriptor and nothing else.
        let memory = unsafe { libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC) };
        if memory < 0 {
            return (section(), String::new());
        }
        // SAFETY: just created, owned by nobody else.
        let mut memory = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(memory) });
        redirect(memory.as_raw_fd());
        let result = section();
        let _ = std::io::Write::flush(&mut std::io::stdout());
        self.redirect_to("/dev/null");
        let mut output = Vec::new();
        let _ = std::io::Seek::rewind(&mut memory);
        let _ = std::io::Read::read_to_end(&mut memory, &mut output);
        (result, String::from_utf8_lossy(&output).into_owned())
    }
}

fn redirect(target: std::os::fd::RawFd) {
    // SAFETY: replaces two descriptors of this process.
    unsafe {
        libc::dup2(target, libc::STDOUT_FILENO);
        libc::dup2(target, libc::STDERR_FILENO);
    }
}
