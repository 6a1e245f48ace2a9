//! Several processes on one test.
//!
//! The process that explores a test owns its search. When that takes longer, it forks: a fork has the same
//! program at the same addresses, and the whole search. It explores a share of what is pending for a while,
//! brings back what it found, and is gone ([`crate::search::together`] says why nothing is lost by that). What
//! it brings lies in memory that both share, so there is nothing to wait for while the owner explores too.
//!
//! A process that dies is noticed. If somebody killed it, its share is executed again. Otherwise the schedule
//! that it executed last is executed by the owner, which then dies in the same way and has the last word.

use super::record::Record;
use crate::search::bytes::{Reader, Writer};
use crate::search::step::{Alt, Choice, Delta, Plan, ThreadId};
use crate::search::together::Share;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the members of a crew see of each other.
struct Board {
    /// The owner wants its share back.
    stop: AtomicU32,
    /// Executions so far.
    executions: AtomicU64,
    /// The member is on its way back.
    returns: AtomicU32,
}

/// Why a share came back.
pub(super) enum Return {
    /// Names of objects and the regions, as `give_back` wrote them.
    Share(Vec<u8>),
    /// An execution failed.
    Failed(Plan),
    /// An execution was not as the plan wanted: the step, what was expected, what was found.
    Differs(u32, String, String),
    /// The process died while it executed this.
    Died(Option<Plan>),
    /// Somebody killed it.
    Killed,
}

/// One process with a share.
pub(super) struct Member {
    process: libc::pid_t,
    pub(super) share: Share,
    message: File,
    board: usize,
}

/// What a forked process knows about itself.
pub(super) struct Worker {
    board: &'static Board,
    message: File,
    pub(super) record: Option<Record>,
    until: Instant,
}

/// Where one is after a process was started.
pub(super) enum Started {
    /// In the one that started it.
    Here,
    /// In the new one.
    There(Worker, Share),
    /// The system did not want to.
    Refused(Share),
}

/// The processes that work for this one.
pub(super) struct Crew {
    members: Vec<Member>,
    boards: &'static [Board],
    records: Vec<Option<Record>>,
    directory: Option<String>,
    /// How long a share is explored.
    slice: Duration,
    killed: u32,
}

/// Most processes for one test.
const MOST: usize = 64;
/// A share is explored for this long at first.
const FIRST_SLICE: Duration = Duration::from_secs(1);
/// After so many members were killed from outside, there is a reason: it goes on alone.
const PATIENCE: u32 = 20;
/// An execution takes no longer, unless it hangs. The command waits a little longer than that.
const LONGEST: Duration = Duration::from_secs(5);

impl Crew {
    /// Nobody yet. `record`: the file in which this process notes its schedules; members have theirs beside it.
    pub(super) fn new(record: Option<&str>) -> Crew {
        Crew {
            members: Vec::new(),
            boards: share_boards(),
            records: Vec::new(),
            directory: record.map(str::to_owned),
            slice: FIRST_SLICE,
            killed: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether one more can be had.
    pub(super) fn has_room(&self, allowed: usize) -> bool {
        self.members.len() < allowed.min(self.boards.len()) && self.killed < PATIENCE
    }

    /// Executions that members have done and not yet reported.
    pub(super) fn executions(&self) -> u64 {
        self.members.iter().map(|member| self.boards[member.board].executions.load(Ordering::Relaxed)).sum()
    }

    /// Starts a process for `share`.
    pub(super) fn start(&mut self, share: Share) -> Started {
        let board = (0..self.boards.len()).find(|at| self.members.iter().all(|member| member.board != *at));
        let (Some(board), Some(message)) = (board, memory_file()) else { return Started::Refused(share) };
        while self.records.len() <= board {
            let path = self.directory.as_ref().map(|path| format!("{path}.{}", self.records.len()));
            self.records.push(path.as_deref().and_then(Record::create));
        }
        self.boards[board].stop.store(0, Ordering::Relaxed);
        self.boards[board].executions.store(0, Ordering::Relaxed);
        self.boards[board].returns.store(0, Ordering::Relaxed);
        // SAFETY: this process has one thread, so that the fork can go on like it.
        match unsafe { libc::fork() } {
            -1 => Started::Refused(share),
            0 => {
                super::end_with_whoever_asks();
                // The owner's members are not this process's: it never waits for them.
                self.members.clear();
                let record = self.records[board].take();
                let until = Instant::now() + self.slice;
                Started::There(Worker { board: &self.boards[board], message, record, until }, share)
            }
            process => {
                self.members.push(Member { process, share, message, board });
                Started::Here
            }
        }
    }

    /// Waits for a member to end. One that executes the same schedule all along is ended: the schedule is what
    /// there is to report.
    pub(super) fn wait(&mut self) -> Option<(Member, Return)> {
        let mut seen = (0, Instant::now());
        while !self.members.is_empty() {
            if let Some(back) = self.ended() {
                return Some(back);
            }
            let returns = |member: &Member| self.boards[member.board].returns.load(Ordering::Relaxed) != 0;
            if self.executions() != seen.0 || self.members.iter().all(returns) {
                seen = (self.executions(), Instant::now());
            }
            // One that looks through what it executed is at work, however long that takes.
            let at_work = |member: &Member| self.records[member.board].as_ref().is_some_and(Record::is_over);
            let stuck = |member: &Member| !returns(member) && !at_work(member);
            if seen.1.elapsed() > LONGEST
                && let Some(at) = self.members.iter().position(stuck)
            {
                let member = self.members.swap_remove(at);
                end(&member);
                let last = self.records[member.board].as_ref().and_then(Record::last);
                return Some((member, Return::Died(last)));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        None
    }

    /// A member that has ended, if there is one.
    pub(super) fn ended(&mut self) -> Option<(Member, Return)> {
        for at in 0..self.members.len() {
            let mut status = 0;
            // SAFETY: waits for a child of this process.
            let ended = unsafe { libc::waitpid(self.members[at].process, &mut status, libc::WNOHANG) };
            if ended == 0 {
                continue;
            }
            let mut member = self.members.swap_remove(at);
            let killed = ended < 0 || libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
            let read = member.read();
            let back = match read {
                Some(back) => back,
                None if killed => {
                    self.killed += 1;
                    Return::Killed
                }
                None => Return::Died(self.records[member.board].as_ref().and_then(Record::last)),
            };
            return Some((member, back));
        }
        None
    }

    /// Wants all shares back.
    pub(super) fn recall(&self) {
        for member in &self.members {
            self.boards[member.board].stop.store(1, Ordering::Relaxed);
        }
    }

    /// Taking a share back took so long: it must not be the larger part of the work.
    pub(super) fn adjust(&mut self, cost: Duration) {
        self.slice = FIRST_SLICE.max(30 * cost).min(Duration::from_secs(60));
    }

    /// Ends all members at once.
    pub(super) fn dismiss(&mut self) {
        self.members.drain(..).for_each(|member| end(&member));
    }
}

fn end(member: &Member) {
    // SAFETY: a child of this process that was not waited for yet.
    unsafe {
        libc::kill(member.process, libc::SIGKILL);
        libc::waitpid(member.process, std::ptr::null_mut(), 0);
    }
}

impl Worker {
    /// Whether it is time to bring the share back, after so many executions.
    pub(super) fn is_over(&self, executions: u64) -> bool {
        self.board.executions.store(executions, Ordering::Relaxed);
        // Reading the clock costs as much as a few steps.
        self.board.stop.load(Ordering::Relaxed) != 0
            || executions.is_multiple_of(16) && Instant::now() >= self.until
    }

    /// It executes nothing more.
    pub(super) fn returns(&self) {
        self.board.returns.store(1, Ordering::Relaxed);
    }

    /// Leaves a message and ends.
    pub(super) fn end(&mut self, back: &Return) -> ! {
        let mut out = Writer::default();
        match back {
            Return::Share(bytes) => {
                out.number(1u8);
                out.block(bytes);
            }
            Return::Failed(plan) => {
                out.number(2u8);
                out.number(plan.prefix);
                out.count(plan.deltas.len());
                for delta in &plan.deltas {
                    out.number(delta.step);
                    out.number(delta.choice.thread.0);
                    out.number(delta.choice.alt.0);
                }
            }
            Return::Differs(step, expected, found) => {
                out.number(3u8);
                out.number(*step);
                out.block(expected.as_bytes());
                out.block(found.as_bytes());
            }
            Return::Died(_) | Return::Killed => {}
        }
        out.number(0xEDu8);
        let written = self.message.write_all(out.bytes());
        // SAFETY: ends the process without running anything else of it: exit handlers are the owner's.
        unsafe { libc::_exit(i32::from(written.is_err())) };
    }
}

impl Member {
    fn read(&mut self) -> Option<Return> {
        let mut bytes = Vec::new();
        self.message.rewind().ok()?;
        self.message.read_to_end(&mut bytes).ok()?;
        let mut from = Reader::new(&bytes);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let back = match from.long().ok()? {
            1 => Return::Share(from.block().ok()?.to_vec()),
            2 => {
                let mut plan = Plan { prefix: from.number().ok()?, ..Plan::default() };
                for _ in 0..from.count().ok()? {
                    let step = from.number().ok()?;
                    let (thread, alt) = (ThreadId(from.number().ok()?), Alt(from.number().ok()?));
                    plan.deltas.push(Delta { step, choice: Choice { thread, alt } });
                }
                Return::Failed(plan)
            }
            3 => Return::Differs(from.number().ok()?, text(from.block().ok()?), text(from.block().ok()?)),
            _ => return None,
        };
        (from.long() == Ok(0xED)).then_some(back)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.dismiss();
    }
}

fn memory_file() -> Option<File> {
    // SAFETY: creates a descriptor and nothing else.
    let file = unsafe { libc::memfd_create(c"share".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: just created, owned by nobody else.
    (file >= 0).then(|| File::from(unsafe { OwnedFd::from_raw_fd(file) }))
}

/// Memory that forked processes share; none if the system has none.
fn share_boards() -> &'static [Board] {
    // SAFETY: new memory, filled with zeros, which are valid boards; it stays for the rest of the process.
    unsafe {
        let mapped = libc::mmap(
            std::ptr::null_mut(),
            MOST * size_of::<Board>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if mapped == libc::MAP_FAILED { &[] } else { std::slice::from_raw_parts(mapped.cast(), MOST) }
    }
}
