//! A place for debuggers to stop at.

/// Called before every step of an execution on threads of the system, by the thread that is about to
/// take it: `break schedcheck_step` in a debugger stops there. `step` and `thread` are the numbers
/// of the report's trace.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
pub extern "C" fn schedcheck_step(step: u32, thread: u32) {
    std::hint::black_box((step, thread));
}
