//! The same addresses in every process: programs that order or hash by address must behave in a
//! replay as they did when the failure was found.
//!
//! Heap addresses are fixed by the engine; those of statics and stacks are random unless the process
//! says otherwise before it is loaded. So it says so and loads itself again.

use std::ffi::c_ulong;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Asks for the present setting without changing it.
const ASK: c_ulong = 0xffff_ffff;

/// Returns in a process whose addresses are not random, or where that cannot be had.
pub(super) fn make_repeatable() {
    // SAFETY: reads and writes a setting of this process.
    let loaded_again = unsafe {
        let present = libc::personality(ASK);
        if present < 0 || present & libc::ADDR_NO_RANDOMIZE != 0 {
            return;
        }
        libc::personality((present | libc::ADDR_NO_RANDOMIZE) as c_ulong) >= 0
    };
    // Some containers refuse; then addresses stay random, and a test that depends on them is found
    // to be nondeterministic.
    // SAFETY: as above.
    let granted = unsafe { libc::personality(ASK) } & libc::ADDR_NO_RANDOMIZE != 0;
    if loaded_again && granted {
        // Comes back only if it fails: then the addresses stay as they are.
        let _ = Command::new("/proc/self/exe").args(std::env::args_os().skip(1)).exec();
    }
}
