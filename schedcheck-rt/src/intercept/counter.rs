//! The time stamp counter of x86-64: `rdtsc` inside an execution reads virtual time, a tick a nanosecond.
//!
//! quanta, minstant and others read the time this way, and find out how fast it goes by comparing it with the system's clock.
//! With one of the two in virtual time and the other in real time they would go wrong by orders of magnitude. No function is
//! called that could be taken over. But the kernel can be told to refuse the instruction (`PR_SET_TSC`, prctl(2)), and what
//! handles the fault does what it stands for. Where the kernel knows nothing of this, and on other processors, the counter is
//! the real one.
//!
//! The C library's own clocks read the counter too, in code of the kernel (vDSO). There, and outside of user code, the answer
//! is the real one.
//!
//! A program that the test starts would inherit this and die of it, since nobody handles its faults. So whatever starts one
//! does so with the counter released.

#[cfg(target_arch = "x86_64")]
pub(super) use taken::released;
#[cfg(target_arch = "x86_64")]
pub(crate) use taken::{answers_fault, take};

#[cfg(target_arch = "x86_64")]
mod taken {
    use crate::exec::{Active, EPOCH_NANOSECONDS, active};
    use std::arch::x86_64::_rdtsc;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

    /// The counter is refused to the threads of this process.
    static TAKEN: AtomicBool = AtomicBool::new(false);

    /// Where the kernel's own code for user programs begins.
    static KERNEL_CODE: AtomicUsize = AtomicUsize::new(0);
    /// No less than it has.
    const KERNEL_CODE_BYTES: usize = 1 << 14;

    /// Addresses of programs are below this one.
    const USER_END: usize = 1 << 47;

    const RDTSC: [u8; 2] = [0x0f, 0x31];
    const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];

    /// From now on the counter is refused to the calling thread and those that it starts. To be called when
    /// [`answers_fault`] is asked of every SIGSEGV.
    pub(crate) fn take() {
        // SAFETY: a question about this process.
        KERNEL_CODE.store(unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize, Relaxed);
        TAKEN.store(set(libc::PR_TSC_SIGSEGV), Relaxed);
    }

    fn set(mode: i32) -> bool {
        // SAFETY: changes a setting of the calling thread; faults are handled.
        unsafe { libc::prctl(libc::PR_SET_TSC, mode) == 0 }
    }

    /// Calls what may start another program, which is to have the counter.
    pub(in crate::intercept) fn released<R>(start: impl FnOnce() -> R) -> R {
        if !TAKEN.load(Relaxed) {
            return start();
        }
        set(libc::PR_TSC_ENABLE);
        let result = start();
        // Also in a fork, which goes on here.
        set(libc::PR_TSC_SIGSEGV);
        result
    }

    /// Whether a SIGSEGV was nothing but a look at the counter. Then it has its answer, and the program goes on behind it.
    ///
    /// # Safety
    /// `info` and `context` must be those that a handler was called with.
    pub(crate) unsafe fn answers_fault(info: *const libc::siginfo_t, context: *mut c_void) -> bool {
        // SAFETY: the caller's promise.
        let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
        let registers = &mut context.uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as usize;
        if !TAKEN.load(Relaxed) || info.si_code != libc::SI_KERNEL || at >= USER_END {
            return false;
        }
        // SAFETY: an instruction that was begun, so it can be read; the rest of a longer one is read only if it is that.
        let is =
            |code: &[u8]| (0..code.len()).all(|byte| unsafe { *((at + byte) as *const u8) } == code[byte]);
        let length = match () {
            () if is(&RDTSC) => RDTSC.len(),
            () if is(&RDTSCP) => {
                // Which core it is.
                registers[libc::REG_RCX as usize] = 0;
                RDTSCP.len()
            }
            () => return false,
        };
        let kernel_code = KERNEL_CODE.load(Relaxed);
        let asks_kernel = (kernel_code..kernel_code + KERNEL_CODE_BYTES).contains(&at);
        let count = match active().filter(Active::in_user) {
            Some(active) if !asks_kernel => EPOCH_NANOSECONDS.saturating_add(active.read_clock()),
            // SAFETY: every processor has a counter, and it may be read meanwhile.
            _ => released(|| unsafe { _rdtsc() }),
        };
        registers[libc::REG_RAX as usize] = (count & 0xffff_ffff) as i64;
        registers[libc::REG_RDX as usize] = (count >> 32) as i64;
        registers[libc::REG_RIP as usize] += length as i64;
        true
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod real {
    use std::ffi::c_void;

    /// The counter cannot be taken.
    pub(crate) fn take() {}

    pub(in crate::intercept) fn released<R>(start: impl FnOnce() -> R) -> R {
        start()
    }

    /// No fault is one.
    ///
    /// # Safety
    /// There is nothing to promise.
    pub(crate) unsafe fn answers_fault(_info: *const libc::siginfo_t, _context: *mut c_void) -> bool {
        false
    }
}
#[cfg(not(target_arch = "x86_64"))]
pub(super) use real::released;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use real::{answers_fault, take};
