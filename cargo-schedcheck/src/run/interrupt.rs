//! Ctrl-C: once to stop and print what is known, twice to end at once.
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit_code::ExitCode;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Takes over Ctrl-C (and a request to terminate) for the rest of the process.
pub fn install() {
    let installed = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(ExitCode::Interrupted.number().into());
        }
    });
    if let Err(error) = installed {
        anstream::eprintln!("warning: Ctrl-C will end this command without a summary: {error}");
    }
}

/// Whether the user wants to stop.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Wants to stop for a reason of our own.
pub fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
}
