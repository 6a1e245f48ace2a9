//! The engine's own stack, one for each model thread: what the engine does leaves no trace on the stack of user code.
//!
//! Loops that wait are told by their stack, which is the same in every round ([`super::spin`]). If the engine worked on
//! that stack, below the frames of user code, its own values (numbers of steps, addresses in the trace) would stay there,
//! and the next function that user code calls would have them in all slots of its frame that it does not set; unoptimised
//! code has many of those. Then it would depend on the way the engine took whether a round looks like the one before. So a
//! facade calls the engine through [`call`], which works below the stack of the thread, in the same mapping, with a guard
//! page between the two. A thread gives up its turn there.

use super::controller::World;
use super::spin::Frame;
use std::mem::{ManuallyDrop, MaybeUninit};

/// Work to be done there, and what comes of it: nothing at first, since it lies on the thread's stack, and what was left there
/// depends on what the engine was asked before.
struct Errand<F, R> {
    work: ManuallyDrop<F>,
    result: MaybeUninit<R>,
}

/// Does `work` on the stack that ends at `top`.
///
/// # Safety
/// `top` must be that of the running thread's own stack for the engine, as [`super::fixed_stack`] gives it, and nobody may
/// be working there.
#[inline(always)]
pub(super) unsafe fn call<F: FnOnce() -> R, R>(top: usize, work: F) -> R {
    let mut errand = Errand { work: ManuallyDrop::new(work), result: MaybeUninit::zeroed() };
    // SAFETY: `run` gets the errand it expects, once; the rest is the caller's promise.
    unsafe {
        call_on((&raw mut errand).cast(), run::<F, R>, top);
        errand.result.assume_init()
    }
}

/// # Safety
/// `errand` must be one of this type, and this the first call with it.
unsafe extern "C-unwind" fn run<F: FnOnce() -> R, R>(errand: *mut ()) {
    // SAFETY: the caller's promise; the caller of the caller waits.
    let errand = unsafe { &mut *errand.cast::<Errand<F, R>>() };
    // SAFETY: taken once, and not dropped where it was.
    let work = unsafe { ManuallyDrop::take(&mut errand.work) };
    errand.result.write(work());
}

/// What [`call_on`] found, kept at the upper end of the engine's stack.
///
/// # Safety
/// `top` must be the end of a stack on which [`call_on`] is at work.
#[inline]
pub(super) unsafe fn caller(top: usize) -> Frame {
    // SAFETY: `call_on` wrote it there.
    unsafe { *((top - size_of::<Frame>()) as *const Frame) }
}

impl World {
    /// Whether the engine works where it should: not on the stack of the running thread's own code.
    pub(super) fn is_apart(&self) -> bool {
        let here = 0_u8;
        let here = std::ptr::from_ref(&here).addr();
        // Before the first turn nobody runs.
        let running = self.threads.get(self.running);
        running.is_none_or(|thread| !(thread.engine_top..thread.stack_base).contains(&here))
    }
}

/// The instructions that work on the stack which ends at the address in a register, below the registers of the caller, and
/// come back. Debuggers and panics find their way back by the frame pointer.
#[cfg(target_arch = "x86_64")]
macro_rules! on_stack {
    ($top:literal, $work:literal) => {
        concat!(
            "push rbp\n",
            ".cfi_def_cfa_offset 16\n",
            ".cfi_offset rbp, -16\n",
            "mov rbp, rsp\n",
            ".cfi_def_cfa_register rbp\n",
            concat!("mov [", $top, " - 8], rbp\n"),
            concat!("mov [", $top, " - 16], rbx\n"),
            concat!("mov [", $top, " - 24], r12\n"),
            concat!("mov [", $top, " - 32], r13\n"),
            concat!("mov [", $top, " - 40], r14\n"),
            concat!("mov [", $top, " - 48], r15\n"),
            concat!("lea rsp, [", $top, " - 48]\n"),
            concat!("call ", $work, "\n"),
            "mov rsp, rbp\n",
            "pop rbp\n",
            ".cfi_def_cfa rsp, 8\n",
        )
    };
}

/// As above.
#[cfg(target_arch = "aarch64")]
macro_rules! on_stack {
    ($top:literal, $work:literal) => {
        concat!(
            "stp x29, x30, [sp, -16]!\n",
            ".cfi_def_cfa_offset 16\n",
            ".cfi_offset x29, -16\n",
            ".cfi_offset x30, -8\n",
            "mov x29, sp\n",
            ".cfi_def_cfa_register x29\n",
            concat!("stp x28, x29, [", $top, ", -16]\n"),
            concat!("stp x26, x27, [", $top, ", -32]\n"),
            concat!("stp x24, x25, [", $top, ", -48]\n"),
            concat!("stp x22, x23, [", $top, ", -64]\n"),
            concat!("stp x20, x21, [", $top, ", -80]\n"),
            concat!("stp xzr, x19, [", $top, ", -96]\n"),
            concat!("sub sp, ", $top, ", 96\n"),
            concat!($work, "\n"),
            "mov sp, x29\n",
            "ldp x29, x30, [sp], 16\n",
            ".cfi_def_cfa sp, 0\n",
        )
    };
}

pub(super) use on_stack;

/// Calls `work` with the stack pointer at `top`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn call_on(errand: *mut (), work: unsafe extern "C-unwind" fn(*mut ()), top: usize) {
    std::arch::naked_asm!(".cfi_startproc", on_stack!("rdx", "rsi"), "ret", ".cfi_endproc");
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn call_on(errand: *mut (), work: unsafe extern "C-unwind" fn(*mut ()), top: usize) {
    std::arch::naked_asm!(".cfi_startproc", on_stack!("x2", "blr x1"), "ret", ".cfi_endproc");
}

#[cfg(test)]
mod tests {
    use super::super::fixed_stack::FixedStack;
    use super::*;
    use corosensei::stack::Stack;

    #[test]
    fn work_is_done_there_and_its_result_comes_back() {
        let stack = FixedStack::of(40_100, 0);
        let top = stack.engine_top();
        let text = String::from("captured");
        // SAFETY: a stack on which nobody works.
        let (answer, place) = unsafe {
            call(top, || {
                let here = 0_u8;
                (text + " and returned", std::ptr::from_ref(&here).addr())
            })
        };
        assert_eq!(answer, "captured and returned");
        assert!(place < top && top <= stack.limit().get(), "{place:x} {top:x}");
    }

    #[test]
    fn a_panic_there_comes_back_to_the_caller() {
        let stack = FixedStack::of(40_101, 0);
        let outcome = std::panic::catch_unwind(|| {
            // SAFETY: a stack on which nobody works.
            unsafe { call(stack.engine_top(), || std::panic::resume_unwind(Box::new(7))) }
        });
        assert_eq!(outcome.unwrap_err().downcast_ref::<i32>(), Some(&7));
    }
}
