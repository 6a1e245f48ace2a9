//! What the engine leaves behind on the stack of a thread that goes round in a loop.
//!
//! Loops that wait are told by their stack, which is the same in every round ([`super::spin`]). But the engine works on
//! that stack too, below the frames of user code, and leaves its own values there: numbers of steps, addresses in the
//! trace. The next function that user code calls has them in all slots of its frame that it does not set, and unoptimised
//! code has many of those. So an operation that a thread may be repeating is done by functions of their own, not inlined
//! into the facade, and what their frames were is zeroed when they have returned. Nobody can tell: below the stack pointer
//! nothing is alive.

use super::Active;
use super::fixed_stack::BYTES;

/// The engine's frames lie within so many bytes; a multiple of 16.
const DEPTH: usize = 8192;

impl Active {
    /// Zeroes what lies below the caller's frame. To be inlined into the facade.
    #[inline(always)]
    pub(crate) fn leave_no_residue(&self) {
        let world = self.world();
        let base = world.threads[world.running].stack_base;
        let here = std::ptr::from_ref(&base).addr();
        // Anything else than a thread's own stack, and its last bytes before the guard page, stay as they are.
        if here < base && base - here < BYTES - 2 * DEPTH {
            wipe();
        }
    }
}

/// Zeroes [`DEPTH`] bytes below the stack pointer.
#[inline(always)]
fn wipe() {
    // SAFETY: writes below the stack pointer, where nothing is alive: without `nostack` the compiler keeps nothing there
    // while this runs, and the caller knows that so much of the stack is mapped. Signal handlers have a stack of their own.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "lea rdi, [rsp - {depth}]", "rep stosq",
            depth = const DEPTH,
            inout("rcx") DEPTH / 8 => _, in("rax") 0, out("rdi") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "sub {at}, sp, {depth}", "2:", "stp xzr, xzr, [{at}], 16", "cmp sp, {at}", "b.ne 2b",
            depth = const DEPTH, at = out(reg) _,
        );
    }
}
