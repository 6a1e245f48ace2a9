//! What executions met that is not under control: the first of each kind, and where.

use super::call_stack::calls_of_user;
use super::outcome::of_package;
use super::places::Backtraces;
use super::{Active, Execution};
use std::backtrace::Backtrace;
use std::cell::OnceCell;
use std::ffi::CStr;

/// Ways out of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Files,
    Sockets,
    Waiting,
    Processes,
    Threads,
    Locks,
    Time,
    Random,
    Environment,
    Signals,
    SharedMemory,
    Identity,
    SystemCalls,
    Futexes,
    VolatileReads,
    StreamLocks,
    Allocator,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Files => "files",
            Kind::Sockets => "sockets",
            Kind::Waiting => "pipes and events of the system",
            Kind::Processes => "other processes",
            Kind::Threads => "threads that std did not start",
            Kind::Locks => "locks and thread values of the C library",
            Kind::Time => "time that passes for real",
            Kind::Random => "random numbers of the C library",
            Kind::Environment => "environment variables",
            Kind::Signals => "signals",
            Kind::SharedMemory => "shared memory",
            Kind::Identity => "names and numbers of the system",
            Kind::SystemCalls => "system calls",
            Kind::Futexes => "futex operations that are not modelled",
            Kind::VolatileReads => "volatile reads, which are not taken for data races",
            Kind::StreamLocks => "who waits for the lock of a stream",
            Kind::Allocator => "an allocator of its own, in whose place is the system's",
        }
    }
}

/// The first of its kind.
#[derive(Debug)]
struct Meeting {
    kind: u8,
    /// The function, and who called it; nothing if another process met it, or if nobody could ask.
    seen: Option<(&'static CStr, &'static str, Backtrace)>,
    /// Finding the place takes a while, so it is left until somebody asks.
    text: OnceCell<String>,
}

impl Meeting {
    fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let Some((function, name, stack)) = &self.seen else { return String::new() };
            let function = function.to_string_lossy();
            match calls_of_user(stack).first() {
                Some(call) => {
                    let (file, line, column) = &call.place;
                    format!("{name} ({function} at {}:{line}:{column})", of_package(file))
                }
                None => format!("{name} ({function})"),
            }
        })
    }
}

/// Everything of that sort in all executions so far.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// One bit for each kind.
    kinds: u32,
    first: Vec<Meeting>,
    /// Somebody took the lock of a stream for a moment.
    stream_passed: bool,
    /// Somebody held one over other steps.
    stream_kept: bool,
    /// Where it would not do to ask who calls.
    backtraces: OnceCell<Backtraces>,
}

impl Met {
    const fn has(&self, kind: u8) -> bool {
        self.kinds & 1 << kind != 0
    }

    fn add(&mut self, meeting: Meeting) {
        self.kinds |= 1 << meeting.kind;
        self.first.push(meeting);
        self.first.sort_by_key(|meeting| meeting.kind);
    }
}

impl Active {
    /// User code is about to leave what is controlled, by this function.
    #[inline]
    pub(crate) fn meets(&self, kind: Kind, function: &'static CStr) {
        if !self.world().met.has(kind as u8) {
            self.meets_first(kind, function);
        }
    }

    /// The same where it does not matter by which function, nor where.
    #[inline]
    pub(crate) fn relies_on(&self, kind: Kind) {
        if !self.world().met.has(kind as u8) {
            self.in_engine(|world| {
                let text = OnceCell::from(kind.name().to_owned());
                world.met.add(Meeting { kind: kind as u8, seen: None, text });
            });
        }
    }

    /// User code took the lock of a stream for a moment, which is no step.
    pub(crate) fn passes_stream(&self, stream: &'static CStr) {
        let world = self.world();
        // Alone, it waits for nobody.
        world.met.stream_passed |= world.threads.len() > 1;
        self.meets_streams(stream);
    }

    /// User code has held the lock of a stream over other steps.
    pub(crate) fn keeps_stream(&self, stream: &'static CStr) {
        self.world().met.stream_kept = true;
        self.meets_streams(stream);
    }

    /// Only both together matter: somebody who cannot go on because another one, who holds the lock, waits.
    fn meets_streams(&self, stream: &'static CStr) {
        let met = &self.world().met;
        if met.stream_passed && met.stream_kept {
            self.meets(Kind::StreamLocks, stream);
        }
    }

    #[cold]
    #[inline(never)]
    fn meets_first(&self, kind: Kind, function: &'static CStr) {
        self.in_engine(|world| {
            let text = OnceCell::new();
            let seen = if world.met.backtraces.get_or_init(Backtraces::find).are_under_way() {
                let _ = text.set(format!("{} ({})", kind.name(), function.to_string_lossy()));
                None
            } else {
                Some((function, kind.name(), Backtrace::force_capture()))
            };
            world.met.add(Meeting { kind: kind as u8, seen, text });
        });
    }
}

impl Execution {
    /// What executions so far met that is not under control: a number for the kind, and a text.
    pub(crate) fn uncontrolled(&self) -> impl ExactSizeIterator<Item = (u8, &str)> {
        self.world().met.first.iter().map(|meeting| (meeting.kind, meeting.text()))
    }

    /// The same of executions elsewhere.
    pub(crate) fn add_uncontrolled(&mut self, kind: u8, text: &str) {
        let met = &mut self.world_mut().met;
        if kind < 32 && !met.has(kind) {
            met.add(Meeting { kind, seen: None, text: OnceCell::from(text.to_owned()) });
        }
    }

    /// What has to be added to a statement about all schedules.
    pub(crate) fn condition(&self) -> &'static str {
        let met = &self.world().met;
        if met.has(Kind::Threads as u8) {
            return ", of threads that std starts, as long as what is not controlled does the same in each";
        }
        // What these two stand for is the same in every execution.
        match met.kinds & !(1 << Kind::VolatileReads as u8 | 1 << Kind::Allocator as u8) {
            0 => "",
            kinds if kinds == 1 << Kind::StreamLocks as u8 => ", apart from waiting for the lock of a stream",
            _ => ", as long as what is not controlled does the same in each",
        }
    }
}
