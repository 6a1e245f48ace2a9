//! Panics under control: noted, not printed. Thousands of schedules may panic as the test intends.

use super::call_stack::is_of_std;
use super::outcome::PanicReport;
use super::{Active, active};
use std::any::Any;
use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;
use std::sync::{Arc, OnceLock};

/// What a scope panics with when one of its threads did. It says nothing of the cause.
pub(crate) const IN_SCOPE: &str = "a scoped thread panicked";

/// What stands for a payload that says nothing.
pub(super) const NO_TEXT: &str = "a value that is not text";

type Hook = dyn Fn(&PanicHookInfo<'_>) + Sync + Send;

/// The hook that was there before ours.
static PREVIOUS: OnceLock<Box<Hook>> = OnceLock::new();

/// Installs a hook that notes panics of the execution going on and leaves all others to the hook
/// that was there.
pub(crate) fn install_hook() {
    PREVIOUS.get_or_init(|| {
        let previous = std::panic::take_hook();
        // It owns no memory: a test that installs one of its own drops this one, and it is put back after the execution.
        std::panic::set_hook(Box::new(hook));
        previous
    });
}

fn hook(info: &PanicHookInfo<'_>) {
    if !note(info)
        && let Some(previous) = PREVIOUS.get()
    {
        previous(info);
    }
}

fn note(info: &PanicHookInfo<'_>) -> bool {
    let Some(active) = active() else { return false };
    active.in_engine(|world| {
        let thread = world.threads[world.current].id;
        let location = info.location().map(|at| (at.file().to_owned(), at.line(), at.column()));
        let message = payload_text(info.payload());
        let is_std = world.keep_needed && info.location().is_some_and(|at| is_of_std(at.file()));
        let calls = is_std.then(|| Arc::new(Backtrace::force_capture()));
        world.panics.push(PanicReport { thread, message, location, calls, earlier: Vec::new() });
    });
    true
}

/// Notes the panic that ended the running thread, unless its hook did: a payload that is passed on
/// with `resume_unwind` does not go through the hook again.
pub(crate) fn note_passed_on(active: Active, payload: &(dyn Any + Send)) {
    active.in_engine(|world| {
        let thread = world.threads[world.current].id;
        let message = payload_text(payload);
        let noted = world.panics.iter().rfind(|report| report.thread == thread);
        if noted.is_none_or(|report| report.message != message) {
            let report = PanicReport { thread, message, location: None, calls: None, earlier: Vec::new() };
            world.panics.push(report);
        }
    });
}

/// What a panic said.
pub(crate) fn payload_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| NO_TEXT.to_owned())
}
