//! Pipes, pairs of sockets, events and `epoll`: what threads of a test tell each other through the kernel.
#![cfg(target_os = "linux")]

use crate::support::explore::{outcomes, set};
use crate::support::report;
use schedcheck_rt::exec::TestResult;
use schedcheck_rt::facade::thread;
use schedcheck_rt::search::step::Budget;
use std::io::{ErrorKind, Read, Write, pipe};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn what_is_written_into_a_pipe_arrives_in_the_order_of_the_schedule() {
    fn body() -> TestResult {
        let (mut reader, mut writer) = pipe().unwrap();
        let mut other = writer.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || other.write_all(b"a").unwrap());
            writer.write_all(b"b").unwrap();
            let mut bytes = [0; 2];
            reader.read_exact(&mut bytes).unwrap();
            report(String::from_utf8_lossy(&bytes));
        });
        Ok(())
    }
    assert_eq!(outcomes("two writers", body, Budget::NONE), set(&["\"ab\"", "\"ba\""]));
}

#[test]
fn one_of_two_readers_gets_it() {
    fn body() -> TestResult {
        let (mut reader, mut writer) = pipe().unwrap();
        let mut other = reader.try_clone().unwrap();
        thread::scope(|scope| {
            let theirs = scope.spawn(move || other.read(&mut [0; 8]).unwrap());
            writer.write_all(b"a").unwrap();
            drop(writer);
            let mine = reader.read(&mut [0; 8]).unwrap();
            report((mine, theirs.join().unwrap()));
        });
        Ok(())
    }
    assert_eq!(outcomes("two readers", body, Budget::NONE), set(&["(0, 1)", "(1, 0)"]));
}

#[test]
fn more_than_a_pipe_holds_is_written_in_parts() {
    fn body() -> TestResult {
        let (mut reader, mut writer) = pipe().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&[7; 70_000]).unwrap());
            let mut bytes = vec![0; 70_000];
            reader.read_exact(&mut bytes).unwrap();
            report(bytes.iter().all(|byte| *byte == 7));
        });
        Ok(())
    }
    assert_eq!(outcomes("a large text", body, Budget::NONE), set(&["true"]));
}

#[test]
fn a_limit_of_time_is_kept() {
    fn body() -> TestResult {
        let (mut mine, mut theirs) = UnixStream::pair().unwrap();
        mine.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        thread::scope(|scope| {
            let writes = scope.spawn(move || {
                theirs.write_all(b"a").unwrap();
                theirs
            });
            let read = mine.read(&mut [0]);
            report(read.map_err(|error| error.kind() == ErrorKind::WouldBlock));
            writes.join().unwrap();
        });
        Ok(())
    }
    assert_eq!(outcomes("in time", body, Budget::NONE), set(&["Ok(1)"]));
    let timeout = Budget { timeouts: 1, ..Budget::NONE };
    assert_eq!(outcomes("perhaps too late", body, timeout), set(&["Err(true)", "Ok(1)"]));
}

/// It is the call that says so, not the descriptor.
#[test]
fn who_does_not_want_to_wait_does_not() {
    fn body() -> TestResult {
        let (mine, mut theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| theirs.write_all(b"a").unwrap());
            let (mut byte, place) = (0_u8, mine.as_raw_fd());
            // SAFETY: there is room for one byte.
            let read = unsafe { libc::recv(place, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
            report(read);
        });
        Ok(())
    }
    assert_eq!(outcomes("at once", body, Budget::NONE), set(&["-1", "1"]));
}

/// A number that stands for something else now is no longer what it was.
#[test]
fn a_descriptor_that_is_replaced_is_the_new_one() {
    fn body() -> TestResult {
        let (mut reader, _writer) = pipe().unwrap();
        let (other, mut writer) = pipe().unwrap();
        // SAFETY: both are open, and the first one is replaced by the second.
        unsafe { libc::dup2(other.as_raw_fd(), reader.as_raw_fd()) };
        thread::scope(|scope| {
            scope.spawn(move || writer.write_all(b"a").unwrap());
            report(reader.read(&mut [0]).unwrap());
        });
        Ok(())
    }
    assert_eq!(outcomes("replaced", body, Budget::NONE), set(&["1"]));
}

/// Both wait for the other one to begin.
#[test]
fn who_waits_for_ever_is_blocked() {
    fn body() -> TestResult {
        let (mut mine, mut theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                theirs.read_exact(&mut [0]).unwrap();
                theirs.write_all(b"a").unwrap();
            });
            mine.read_exact(&mut [0]).unwrap();
            mine.write_all(b"b").unwrap();
        });
        Ok(())
    }
    let found = outcomes("a deadlock", body, Budget::NONE);
    assert!(found.len() == 1 && found.iter().all(|outcome| outcome.contains("eadlock")), "{found:?}");
}

/// An `epoll` with one event.
struct Waker {
    poll: OwnedFd,
    event: OwnedFd,
}

impl Waker {
    fn new() -> Waker {
        // SAFETY: two new descriptors, each owned by nobody else.
        unsafe {
            let poll = OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC));
            let event = OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK));
            let mut wanted = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 7 };
            let (poll_number, event_number) = (poll.as_raw_fd(), event.as_raw_fd());
            assert_eq!(libc::epoll_ctl(poll_number, libc::EPOLL_CTL_ADD, event_number, &raw mut wanted), 0);
            Waker { poll, event }
        }
    }

    fn wake(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes are read.
        let written = unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), 8) };
        assert_eq!(written, 8);
    }

    /// How many events there are.
    fn wait(&self, timeout: i32) -> i32 {
        let mut found = [libc::epoll_event { events: 0, u64: 0 }; 4];
        // SAFETY: there is room for as many.
        unsafe { libc::epoll_wait(self.poll.as_raw_fd(), found.as_mut_ptr(), 4, timeout) }
    }
}

#[test]
fn an_event_wakes_who_waits_for_it() {
    fn body() -> TestResult {
        let waker = Waker::new();
        thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            let at_once = waker.wait(0);
            // Whoever asks takes it away.
            let later = if at_once == 0 { waker.wait(-1) } else { 0 };
            report((at_once, later));
        });
        Ok(())
    }
    assert_eq!(outcomes("an event", body, Budget::NONE), set(&["(0, 1)", "(1, 0)"]));
}

#[test]
fn two_that_ask_do_not_commute() {
    fn body() -> TestResult {
        let waker = Waker::new();
        waker.wake();
        thread::scope(|scope| {
            let theirs = scope.spawn(|| waker.wait(0));
            let mine = waker.wait(0);
            report((mine, theirs.join().unwrap()));
        });
        Ok(())
    }
    assert_eq!(outcomes("two that ask", body, Budget::NONE), set(&["(0, 1)", "(1, 0)"]));
}

/// As mio does it: one descriptor to wait, a copy of it to register what is waited for.
#[test]
fn a_copy_of_an_epoll_is_the_same_one() {
    fn body() -> TestResult {
        let Waker { poll, event } = Waker::new();
        let copy = Waker { poll: poll.try_clone().unwrap(), event };
        thread::scope(|scope| {
            scope.spawn(|| copy.wake());
            // Long enough for whoever would wait for real.
            report(copy.wait(1_000));
        });
        Ok(())
    }
    assert_eq!(outcomes("a copy", body, Budget::NONE), set(&["1"]));
}

#[test]
fn what_comes_from_outside_is_waited_for_whatever_it_was_registered_with() {
    fn body() -> TestResult {
        let mut program = Command::new("sleep").arg("0.1").stdout(Stdio::piped()).spawn().unwrap();
        let waker = Waker::new();
        let copy = waker.poll.try_clone().unwrap();
        let output = program.stdout.as_ref().unwrap().as_raw_fd();
        let mut wanted = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 8 };
        // SAFETY: all of them are open.
        let added =
            unsafe { libc::epoll_ctl(copy.as_raw_fd(), libc::EPOLL_CTL_ADD, output, &raw mut wanted) };
        report((added, waker.wait(-1)));
        program.wait().unwrap();
        Ok(())
    }
    assert_eq!(outcomes("the end of a program", body, Budget::NONE), set(&["(0, 1)"]));
}

#[test]
fn time_passes_where_nothing_else_can_happen() {
    fn body() -> TestResult {
        report(Waker::new().wait(50));
        Ok(())
    }
    assert_eq!(outcomes("nobody", body, Budget::NONE), set(&["0"]));
}

/// Every execution has descriptors of its own, also where nobody closes them.
#[test]
fn what_is_left_open_is_closed() {
    fn body() -> TestResult {
        let (reader, mut writer) = pipe().unwrap();
        report((reader.as_raw_fd(), writer.as_raw_fd()));
        let other = thread::spawn(move || writer.write_all(b"a").unwrap());
        std::mem::forget(reader);
        other.join().unwrap();
        Ok(())
    }
    assert_eq!(
        outcomes("left open", body, Budget::default()).len(),
        1,
        "they have the same numbers each time"
    );
}
