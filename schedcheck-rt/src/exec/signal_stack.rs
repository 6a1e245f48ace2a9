//! Where a handler of fatal signals runs: a thread that has overflowed its stack has no room for it.

use std::ffi::c_void;

/// Enough to describe an execution in.
const BYTES: usize = 1 << 18;

/// The alternate signal stack of the calling thread, for as long as this lives.
#[derive(Debug)]
pub(crate) struct SignalStack {
    memory: *mut c_void,
    before: libc::stack_t,
}

impl SignalStack {
    /// Gives the calling thread such a stack; `None` if the system has no memory for it.
    pub(crate) fn install() -> Option<SignalStack> {
        // SAFETY: maps memory that nobody else has, and makes it the calling thread's signal stack.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return None;
            }
            let mine = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: BYTES };
            let mut before: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(&raw const mine, &raw mut before);
            Some(SignalStack { memory, before })
        }
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: the thread gets back the stack it had, and no handler runs on this one.
        unsafe {
            libc::sigaltstack(&raw const self.before, std::ptr::null_mut());
            libc::munmap(self.memory, BYTES);
        }
    }
}
