//! Ctrl-C: once to stop and print what is known, twice to end at once.
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::exit_code::ExitCode;
use crate::reports::say;

/// Signals so close together are the same wish: `timeout` sends one to the process and one to its group.
const ONE_WISH: Duration = Duration::from_millis(300);

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// We want to stop for a reason of our own.
static OWN: AtomicBool = AtomicBool::new(false);
static LEFT_TO_CHILD: AtomicBool = AtomicBool::new(false);

/// Takes over Ctrl-C (and a request to terminate) for the rest of the process.
pub fn install() {
    let mut asked: Option<Instant> = None;
    let installed = ctrlc::set_handler(move || {
        if LEFT_TO_CHILD.load(Ordering::SeqCst) {
            return;
        }
        if asked.get_or_insert_with(Instant::now).elapsed() > ONE_WISH {
            std::process::exit(ExitCode::Interrupted.number().into());
        }
        REQUESTED.store(true, Ordering::SeqCst);
    });
    if let Err(error) = installed {
        say(&format!("warning: Ctrl-C will end this command without a summary: {error}"));
    }
}

/// From now on Ctrl-C means something to a child that shares the terminal, such as a debugger.
pub fn leave_to_child() {
    LEFT_TO_CHILD.store(true, Ordering::SeqCst);
}

/// Whether everything is to stop.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst) || OWN.load(Ordering::SeqCst)
}

/// Wants to stop for a reason of our own.
pub fn request() {
    OWN.store(true, Ordering::SeqCst);
}

/// Whether what went wrong just now may come from the user's wish to stop. The terminal tells our children too, and one
/// that has ended is sometimes heard of before the thread that notes the wish has had its turn.
pub fn was_behind_it() -> bool {
    let patience = Instant::now() + Duration::from_millis(50);
    while !REQUESTED.load(Ordering::SeqCst) && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    REQUESTED.load(Ordering::SeqCst)
}

/// Does `work`, for example reading what a child prints, and ends the child when the user wants to stop meanwhile.
pub fn ends<T>(child: &mut Child, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if is_requested() {
                    // It may have ended by itself: the terminal tells it too.
                    let _ = child.kill();
                    return;
                }
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        let result = work();
        done.store(true, Ordering::SeqCst);
        watcher.thread().unpark();
        result
    })
}
