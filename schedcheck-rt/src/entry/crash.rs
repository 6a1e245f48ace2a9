//! Fatal signals: the last words of a test process.
//!
//! The handler runs on a stack of its own, writes the `finished` event with the schedule that led
//! there, and ends the process. If even that fails, the command still has the record.

use super::report::{self, Figures};
use super::stdio::Channel;
use crate::exec::outcome::Outcome;
use crate::exec::signal_stack::SignalStack;
use crate::exec::{Execution, counter};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What the handler needs.
pub(super) struct LastWords<'a> {
    pub(super) channel: &'a Channel,
    pub(super) execution: *mut Execution,
    pub(super) figures: Figures,
    /// Not this process's to speak.
    pub(super) mute: bool,
    /// Somebody asked this process to end.
    pub(super) stop: AtomicBool,
}

impl<'a> LastWords<'a> {
    pub(super) fn new(channel: &'a Channel, execution: *mut Execution, figures: Figures) -> LastWords<'a> {
        LastWords { channel, execution, figures, mute: false, stop: AtomicBool::new(false) }
    }
}

static LAST_WORDS: AtomicPtr<LastWords<'static>> = AtomicPtr::new(std::ptr::null_mut());

const SIGNALS: [(libc::c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV (invalid memory access)"),
    (libc::SIGBUS, "SIGBUS (invalid memory access)"),
    (libc::SIGILL, "SIGILL (illegal instruction)"),
    (libc::SIGFPE, "SIGFPE (arithmetic error)"),
    (libc::SIGABRT, "SIGABRT (abort)"),
];

/// Makes fatal signals report `words`, which must stay valid.
pub(super) fn watch(words: *mut LastWords<'static>) {
    LAST_WORDS.store(words, Ordering::Relaxed);
    let Some(stack) = SignalStack::install() else { return };
    // For the rest of the process.
    std::mem::forget(stack);
    // SAFETY: the handlers are set up as sigaction(2) wants, and have a stack to run on.
    unsafe {
        for (signal, _) in SIGNALS {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    counter::take();
}

/// Makes a request to end wait for the end of the execution.
pub(super) fn end_in_order() {
    // SAFETY: the handler does nothing but set a flag.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note_stop as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
    }
}

extern "C" fn note_stop(_signal: libc::c_int) {
    let words = LAST_WORDS.load(Ordering::Relaxed);
    if !words.is_null() {
        // SAFETY: it stays valid, and the flag is atomic.
        unsafe { (*words).stop.store(true, Ordering::Relaxed) };
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: what this handler was called with.
    if signal == libc::SIGSEGV && unsafe { counter::answers_fault(info, context) } {
        return;
    }
    // A second fault, or a hang because the crash left a lock held, must still end the process.
    // SAFETY: async-signal-safe calls.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(5);
    }
    let words = LAST_WORDS.load(Ordering::Relaxed);
    if !words.is_null() {
        // SAFETY: the process executes nothing else any more: the crashed thread is this one.
        let (words, address) = unsafe { (&mut *words, (*info).si_addr() as usize) };
        if words.mute {
            // SAFETY: ends the process without running anything else of it.
            unsafe { libc::_exit(1) };
        }
        // SAFETY: as above.
        let execution = unsafe { &mut *words.execution };
        execution.leave_user_code();
        let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| *name);
        let message = execution.describe_crash(name, signal, address);
        let event = report::finished(execution, &Outcome::Crash(message), &words.figures, "");
        words.channel.send(event);
    }
    // SAFETY: ends the process without running anything else of it.
    unsafe { libc::_exit(0) };
}
