//! Timers that are descriptors (`timerfd`), on virtual time.
//!
//! The kernel would make them ready when time has passed for real, which is long after the test is over. So the descriptor is
//! an event (`eventfd`) in truth: it is read in the same way and can be waited for in the same way, and it becomes ready when
//! a thread that looks at it has come to the time that was set.

use super::real_syscall;
use crate::exec::{Active, EPOCH_NANOSECONDS};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// When a timer expires that is not set.
pub(super) const NEVER: u64 = u64::MAX;

/// The descriptor of a place that is not used.
const NONE: usize = usize::MAX;

struct Timer {
    descriptor: AtomicUsize,
    /// In virtual nanoseconds.
    due: AtomicU64,
    /// 0 if it expires once.
    interval: AtomicU64,
}

/// Those of this execution. What does not fit is left to the kernel.
static TIMERS: [Timer; 32] = [const {
    Timer { descriptor: AtomicUsize::new(NONE), due: AtomicU64::new(NEVER), interval: AtomicU64::new(0) }
}; 32];

fn find(descriptor: usize) -> Option<&'static Timer> {
    TIMERS.iter().find(|timer| timer.descriptor.load(Relaxed) == descriptor)
}

/// Whether a descriptor is such a timer.
pub(super) fn has(descriptor: usize) -> bool {
    descriptor != NONE && find(descriptor).is_some()
}

/// Makes one, unless there are too many: a descriptor.
pub(super) fn create(flags: usize) -> Option<usize> {
    const {
        assert!(libc::TFD_NONBLOCK == libc::EFD_NONBLOCK && libc::TFD_CLOEXEC == libc::EFD_CLOEXEC);
    }
    let timer = find(NONE)?;
    // SAFETY: opens a descriptor.
    let opened = unsafe { real_syscall(libc::SYS_eventfd2, [0, flags, 0, 0, 0, 0]) };
    let descriptor = usize::try_from(opened).ok()?;
    timer.descriptor.store(descriptor, Relaxed);
    timer.due.store(NEVER, Relaxed);
    Some(descriptor)
}

/// `timerfd_settime`.
pub(super) fn set(active: Active, [descriptor, flags, new, old, ..]: [usize; 6]) -> usize {
    let Some(timer) = find(descriptor) else { return usize::MAX };
    if old != 0 {
        get(active, descriptor, old);
    }
    // SAFETY: the program passed it to the C library.
    let new = unsafe { (new as *const libc::itimerspec).read_unaligned() };
    let value = nanoseconds(new.it_value);
    let due = match value {
        0 => NEVER,
        _ if flags as c_int & libc::TFD_TIMER_ABSTIME != 0 => value.saturating_sub(EPOCH_NANOSECONDS),
        _ => active.deadline(Duration::from_nanos(value)),
    };
    timer.due.store(due, Relaxed);
    timer.interval.store(nanoseconds(new.it_interval), Relaxed);
    take_back(descriptor);
    0
}

/// `timerfd_gettime`.
pub(super) fn get(active: Active, descriptor: usize, out: usize) -> usize {
    let Some(timer) = find(descriptor) else { return usize::MAX };
    let left = match timer.due.load(Relaxed) {
        NEVER => 0,
        due => due.saturating_sub(now(active)).max(1),
    };
    let interval = timer.interval.load(Relaxed);
    let setting = libc::itimerspec { it_interval: timespec(interval), it_value: timespec(left) };
    // SAFETY: the program passed the place to the C library.
    unsafe { (out as *mut libc::itimerspec).write_unaligned(setting) };
    0
}

/// When the next timer is due.
pub(super) fn next_due() -> u64 {
    TIMERS.iter().map(|timer| timer.due.load(Relaxed)).min().unwrap_or(NEVER)
}

/// Makes those ready that are due.
pub(super) fn expire(active: Active) {
    for timer in &TIMERS {
        let (due, now) = (timer.due.load(Relaxed), now(active));
        if due > now {
            continue;
        }
        let times = (now - due).checked_div(timer.interval.load(Relaxed)).map(|missed| missed + 1);
        let next = times.map_or(NEVER, |times| due.saturating_add(times * timer.interval.load(Relaxed)));
        timer.due.store(next, Relaxed);
        let times = times.unwrap_or(1);
        let (place, size) = ((&raw const times).addr(), size_of_val(&times));
        // SAFETY: adds to the count of an event.
        unsafe { real_syscall(libc::SYS_write, [timer.descriptor.load(Relaxed), place, size, 0, 0, 0]) };
    }
}

/// A timer that is set anew has not expired.
fn take_back(descriptor: usize) {
    let mut asked = libc::pollfd { fd: descriptor as c_int, events: libc::POLLIN, revents: 0 };
    let (mut count, at_once) = (0_u64, timespec(0));
    // SAFETY: all of it lives until the calls have returned. What is ready is read without waiting.
    unsafe {
        if real_syscall(libc::SYS_ppoll, [(&raw mut asked).addr(), 1, (&raw const at_once).addr(), 0, 0, 0])
            == 1
        {
            real_syscall(libc::SYS_read, [descriptor, (&raw mut count).addr(), size_of_val(&count), 0, 0, 0]);
        }
    }
}

/// A descriptor is no timer any more.
pub(super) fn forget(descriptor: usize) {
    if let Some(timer) = find(descriptor) {
        timer.due.store(NEVER, Relaxed);
        timer.descriptor.store(NONE, Relaxed);
    }
}

/// The execution is over.
pub(super) fn forget_all() {
    for timer in &TIMERS {
        timer.due.store(NEVER, Relaxed);
        timer.descriptor.store(NONE, Relaxed);
    }
}

/// The virtual time of the running thread.
fn now(active: Active) -> u64 {
    active.deadline(Duration::ZERO)
}

fn nanoseconds(time: libc::timespec) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    }
}
