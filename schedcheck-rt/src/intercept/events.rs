//! Descriptors by which the threads of a program wake each other: events, pipes, pairs of sockets, timers, and `epoll` on
//! those.
//!
//! That is how an async runtime waits that could also wait for sockets (tokio with its drivers, async-io). Where an `epoll` waits
//! for nothing else, the waiting is the model's ([`Active::attempt`]). Where it waits for anything from outside as
//! well, the kernel alone knows when that comes: it waits there, and is noted as what is not controlled.

use super::timers;
use super::{error_number, real_syscall, set_error_number};
use crate::exec::Active;
use std::ffi::{CStr, c_int, c_long};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const WORDS: usize = 16;

/// A set of descriptors. Larger ones are never in it.
struct Descriptors([AtomicU64; WORDS]);

impl Descriptors {
    const fn new() -> Self {
        Descriptors([const { AtomicU64::new(0) }; WORDS])
    }

    fn place(&self, descriptor: usize) -> Option<(&AtomicU64, u64)> {
        Some((self.0.get(descriptor / 64)?, 1 << (descriptor % 64)))
    }

    fn has(&self, descriptor: usize) -> bool {
        self.place(descriptor).is_some_and(|(word, bit)| word.load(Relaxed) & bit != 0)
    }

    fn add(&self, descriptor: usize) {
        if let Some((word, bit)) = self.place(descriptor) {
            word.fetch_or(bit, Relaxed);
        }
    }

    fn remove(&self, descriptor: usize) {
        if let Some((word, bit)) = self.place(descriptor) {
            word.fetch_and(!bit, Relaxed);
        }
    }

    fn take_all(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let bits = word.swap(0, Relaxed);
            (0..64).filter(move |bit| bits & 1 << bit != 0).map(move |bit| at * 64 + bit)
        })
    }
}

/// Events, pipes, pairs of sockets and timers that this execution has opened: both of their ends are here.
static OWN: Descriptors = Descriptors::new();
/// Its instances of `epoll`.
static POLLS: Descriptors = Descriptors::new();
/// Those that wait for anything else, too.
static LEADING_OUT: Descriptors = Descriptors::new();

/// By descriptor, which instance of `epoll` it is, in order of their making: a copy of a descriptor is the same one. (mio
/// waits with one, and registers with a copy.)
static INSTANCES: [AtomicU16; WORDS * 64] = [const { AtomicU16::new(0) }; WORDS * 64];
/// How many there were.
static MADE: AtomicU16 = AtomicU16::new(0);

/// Whether there is one in any of these.
static ANY: AtomicBool = AtomicBool::new(false);

/// Makes a call of user code, in its way if it has to do with such descriptors.
pub(super) fn perform(
    active: Active,
    name: &CStr,
    arguments: [usize; 6],
    real: impl Fn([usize; 6]) -> usize,
) -> usize {
    let [first, second, third, fourth, ..] = arguments;
    let of_own = OWN.has(first);
    match name.to_bytes() {
        b"eventfd" => opened(&OWN, real(arguments)),
        b"epoll_create1" => poll_opened(real(arguments), MADE.fetch_add(1, Relaxed)),
        b"timerfd_create" => {
            timers::create(second).map_or_else(|| real(arguments), |timer| opened(&OWN, timer))
        }
        b"timerfd_settime" if timers::has(first) => change(active, || timers::set(active, arguments)),
        b"timerfd_gettime" if timers::has(first) => timers::get(active, first, second),
        b"pipe" | b"pipe2" => both_opened(real(arguments), first),
        b"socketpair" => both_opened(real(arguments), fourth),
        b"dup" | b"fcntl" | b"fcntl64" if copies(name, second) => copied(first, real(arguments)),
        // To itself, it changes nothing.
        b"dup2" | b"dup3" if first != second => {
            forget(second);
            copied(first, real(arguments))
        }
        b"epoll_ctl" => {
            if !OWN.has(third) && second as c_int == libc::EPOLL_CTL_ADD {
                leads_out(first);
            }
            change(active, || real(arguments))
        }
        b"epoll_wait" | b"epoll_pwait" if POLLS.has(first) && !LEADING_OUT.has(first) => {
            wait(active, fourth, |at_once| real([first, second, third, at_once, arguments[4], arguments[5]]))
        }
        b"close" => {
            let close = || {
                forget(first);
                real(arguments)
            };
            if of_own { change(active, close) } else { close() }
        }
        b"poll" if all_own(first, second) => {
            wait(active, third, |at_once| real([first, second, at_once, 0, 0, 0]))
        }
        name if STARTERS.contains(&name) => {
            share_all();
            real(arguments)
        }
        name => match direction(name, arguments) {
            Some(is_read) => transfer(active, is_read, name, arguments, real),
            None => real(arguments),
        },
    }
}

/// They take a descriptor first.
const READERS: [&[u8]; 6] = [b"read", b"readv", b"recv", b"recvfrom", b"recvmsg", b"eventfd_read"];
const WRITERS: [&[u8]; 6] = [b"write", b"writev", b"send", b"sendto", b"sendmsg", b"eventfd_write"];
/// Whoever they start may use the descriptors, too.
const STARTERS: [&[u8]; 6] =
    [b"fork", b"posix_spawn", b"posix_spawnp", b"system", b"popen", b"pthread_create"];

/// Whether a call is controlled, as far as can be told when it is made: nothing has to be noted of it.
pub(super) fn is_controlled(name: &CStr, arguments: [usize; 6]) -> bool {
    let [first, second, ..] = arguments;
    match name.to_bytes() {
        b"eventfd" | b"pipe" | b"pipe2" | b"socketpair" | b"epoll_create1" | b"timerfd_create" => true,
        b"epoll_wait" | b"epoll_pwait" => POLLS.has(first) && !LEADING_OUT.has(first),
        b"poll" => all_own(first, second),
        name => direction(name, arguments).is_some(),
    }
}

/// Whether a call of `poll` asks for nothing else.
fn all_own(list: usize, count: usize) -> bool {
    // SAFETY: the program passed that many of them to the C library.
    let entry = |at: usize| unsafe { (list as *const libc::pollfd).add(at).read_unaligned() };
    count > 0
        && (0..count).all(|at| usize::try_from(entry(at).fd).is_ok_and(|descriptor| OWN.has(descriptor)))
}

/// Others than threads of the test may use what is open from now on.
fn share_all() {
    OWN.take_all().for_each(drop);
    for (leads_out, polls) in LEADING_OUT.0.iter().zip(&POLLS.0) {
        leads_out.fetch_or(polls.load(Relaxed), Relaxed);
    }
}

/// Whether a call reads or writes through a descriptor of our own, as far as it can be made in parts.
fn direction(name: &[u8], arguments: [usize; 6]) -> Option<bool> {
    let is_read = READERS.contains(&name);
    let is_transfer = OWN.has(arguments[0]) && (is_read || WRITERS.contains(&name));
    (is_transfer && flags(name, arguments) & libc::MSG_WAITALL == 0).then_some(is_read)
}

/// What a call on a socket is to do otherwise than usual.
fn flags(name: &[u8], arguments: [usize; 6]) -> c_int {
    match name {
        b"recv" | b"recvfrom" | b"send" | b"sendto" => arguments[3] as c_int,
        b"recvmsg" | b"sendmsg" => arguments[2] as c_int,
        _ => 0,
    }
}

/// Waits for as many milliseconds, for ever if they are negative, by asking with a time of 0.
fn wait(active: Active, milliseconds: usize, ask: impl Fn(usize) -> usize) -> usize {
    let timeout = u64::try_from(milliseconds as c_int).ok().map(Duration::from_millis);
    let ready = || {
        timers::expire(active);
        Some(ask(0)).filter(|&number| number as c_int != 0)
    };
    active.attempt(timeout, false, timers::next_due, ready).unwrap_or(0)
}

/// Makes a call that waits for nobody.
fn change(active: Active, call: impl Fn() -> usize) -> usize {
    active.attempt(None, true, || timers::NEVER, || Some(call())).unwrap_or(usize::MAX)
}

/// Reads or writes, as soon as that is possible unless it is not to be waited for. A large amount may be written in parts,
/// as a pipe does when a signal comes.
fn transfer(
    active: Active,
    is_read: bool,
    name: &[u8],
    arguments: [usize; 6],
    real: impl Fn([usize; 6]) -> usize,
) -> usize {
    let descriptor = arguments[0];
    let control = |command: c_int, value: c_long| {
        // SAFETY: reads or sets the flags of a descriptor.
        unsafe { real_syscall(libc::SYS_fcntl, [descriptor, command as usize, value as usize, 0, 0, 0]) }
    };
    let is_timer = timers::has(descriptor);
    let due = || if is_timer { timers::next_due() } else { timers::NEVER };
    let without_waiting = || {
        if is_timer {
            timers::expire(active);
        }
        let mode = control(libc::F_GETFL, 0);
        let at_once = mode & c_long::from(libc::O_NONBLOCK) != 0;
        if at_once || flags(name, arguments) & libc::MSG_DONTWAIT != 0 {
            return Some(real(arguments));
        }
        // Nobody else runs meanwhile.
        control(libc::F_SETFL, mode | c_long::from(libc::O_NONBLOCK));
        let answer = real(arguments);
        let error = error_number();
        control(libc::F_SETFL, mode);
        set_error_number(error);
        (answer as c_int != -1 || error != libc::EAGAIN).then_some(answer)
    };
    active.attempt(patience(descriptor, is_read), true, due, without_waiting).unwrap_or_else(|| {
        set_error_number(libc::EAGAIN);
        usize::MAX
    })
}

/// How long a socket waits, if the program has set a limit.
fn patience(descriptor: usize, is_read: bool) -> Option<Duration> {
    let option = if is_read { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    let mut limit = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<libc::timeval>() as libc::socklen_t;
    let (place, size) = ((&raw mut limit).addr(), (&raw mut size).addr());
    // SAFETY: both live until the call has returned; what is no socket has no such option.
    unsafe {
        real_syscall(
            libc::SYS_getsockopt,
            [descriptor, libc::SOL_SOCKET as usize, option as usize, place, size, 0],
        );
    }
    let limit = Duration::from_secs(limit.tv_sec as u64) + Duration::from_micros(limit.tv_usec as u64);
    Some(limit).filter(|limit| *limit > Duration::ZERO)
}

/// Whether a call gives another name to a descriptor.
fn copies(name: &CStr, command: usize) -> bool {
    name == c"dup" || matches!(command as c_int, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// A descriptor is about to be closed, or to become another one.
fn forget(descriptor: usize) {
    [&POLLS, &LEADING_OUT, &OWN].into_iter().for_each(|set| set.remove(descriptor));
    timers::forget(descriptor);
}

fn opened(set: &Descriptors, answer: usize) -> usize {
    // An error is no descriptor.
    if let Ok(descriptor) = usize::try_from(answer as c_int) {
        set.add(descriptor);
        ANY.store(true, Relaxed);
    }
    answer
}

/// Another name for what a descriptor stands for.
fn copied(descriptor: usize, answer: usize) -> usize {
    if OWN.has(descriptor) {
        return opened(&OWN, answer);
    }
    if POLLS.has(descriptor) {
        poll_opened(answer, INSTANCES[descriptor].load(Relaxed));
        if LEADING_OUT.has(descriptor) {
            leads_out(descriptor);
        }
    }
    answer
}

/// A descriptor of this instance of `epoll`, unless the call failed.
fn poll_opened(answer: usize, instance: u16) -> usize {
    let descriptor = usize::try_from(answer as c_int).ok();
    if let Some(its) = descriptor.and_then(|descriptor| INSTANCES.get(descriptor)) {
        its.store(instance, Relaxed);
    }
    opened(&POLLS, answer)
}

/// This instance of `epoll` waits for something from outside, by whatever descriptor that is asked.
fn leads_out(poll: usize) {
    LEADING_OUT.add(poll);
    let Some(instance) = INSTANCES.get(poll).filter(|_| POLLS.has(poll)) else { return };
    let instance = instance.load(Relaxed);
    for descriptor in (0..INSTANCES.len()).filter(|&descriptor| POLLS.has(descriptor)) {
        if INSTANCES[descriptor].load(Relaxed) == instance {
            LEADING_OUT.add(descriptor);
        }
    }
}

/// The two descriptors that a call has written to `pair`, unless it failed.
fn both_opened(answer: usize, pair: usize) -> usize {
    if answer as c_int == 0 {
        // SAFETY: the C library has just written them there.
        let pair = unsafe { (pair as *const [c_int; 2]).read_unaligned() };
        for descriptor in pair {
            opened(&OWN, descriptor as usize);
        }
    }
    answer
}

/// Closes what threads that were left behind, or values that nobody drops, have kept open: every execution opens its own.
pub(crate) fn close_left_open() {
    if !ANY.load(Relaxed) {
        return;
    }
    ANY.store(false, Relaxed);
    LEADING_OUT.take_all().for_each(drop);
    timers::forget_all();
    for descriptor in OWN.take_all().chain(POLLS.take_all()) {
        // SAFETY: opened by the execution that is over, of which nobody is left who could use it.
        unsafe { real_syscall(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]) };
    }
}
