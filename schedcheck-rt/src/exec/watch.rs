//! Which accesses of user code are worth noting, decided where they are announced.
//!
//! Unoptimised code announces an access for every variable that it looks at, and nearly all of these lie on the stack that
//! their thread keeps to itself (`races/areas.rs`). So what it takes to pass them by is in one place, and looking at it costs
//! no call. An access that is noted is noted on the engine's stack ([`super::own_stack`]).
//!
//! What this leaves on the stack of user code is the same whether the access is noted or not: that depends on what other
//! executions did, and on who decides in this one.

use super::controller::World;
use super::data_race;
use super::own_stack::on_stack;
use crate::races::Touch;
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// What is to be known of the running thread. All zeros, as between executions: nothing is noted.
#[repr(C)]
struct Watch {
    /// The stack that it keeps to itself, and how long that is.
    private: AtomicUsize,
    length: AtomicUsize,
    /// The thread of the system that carries it: others may run code of the program that is not under control.
    system_thread: AtomicUsize,
    /// It knows whether user code runs, and not code of a facade that uses memory for itself, and where the engine's stack is.
    world: AtomicPtr<World>,
}

static WATCH: Watch = Watch {
    private: AtomicUsize::new(0),
    length: AtomicUsize::new(0),
    system_thread: AtomicUsize::new(0),
    world: AtomicPtr::new(std::ptr::null_mut()),
};

impl World {
    /// Accesses are those of the running thread from now on. It is on its way to user code.
    #[inline]
    pub(super) fn watch_running(&mut self) {
        let Some(races) = &self.races else { return };
        let (private, length) = races.private();
        WATCH.private.store(private, Relaxed);
        WATCH.length.store(length, Relaxed);
        WATCH.system_thread.store(system_thread(), Relaxed);
        WATCH.world.store(self, Relaxed);
    }
}

/// The execution is over.
pub(super) fn watch_nobody() {
    WATCH.length.store(0, Relaxed);
    WATCH.system_thread.store(0, Relaxed);
}

/// What tells the calling thread of the system from others.
#[inline]
fn system_thread() -> usize {
    let pointer: usize;
    // SAFETY: reads the thread pointer, which is never 0.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags));
    }
    pointer
}

/// Notes an access of user code, if it is to be noted.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) extern "C" fn note_access(address: usize, size: usize, touch: Touch, place: usize) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        // The one trace that is left where it is noted.
        "mov [rsp - 8], rbp",
        "mov rax, rdi",
        "sub rax, [rip + {watch} + {private}]",
        "cmp rax, [rip + {watch} + {length}]",
        "jb 2f",
        "mov rax, fs:0",
        "cmp rax, [rip + {watch} + {system_thread}]",
        "jne 2f",
        "mov rax, [rip + {watch} + {world}]",
        "cmp byte ptr [rax + {in_user}], 0",
        "je 2f",
        "cmp byte ptr [rax + {unwatched}], 0",
        "jne 2f",
        "mov rax, [rax + {engine_top}]",
        on_stack!("rax", "{note}"),
        "2:",
        "ret",
        ".cfi_endproc",
        watch = sym WATCH,
        private = const offset_of!(Watch, private),
        length = const offset_of!(Watch, length),
        system_thread = const offset_of!(Watch, system_thread),
        world = const offset_of!(Watch, world),
        in_user = const offset_of!(World, in_user),
        unwatched = const offset_of!(World, unwatched),
        engine_top = const offset_of!(World, engine_top),
        note = sym data_race::note,
    );
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) extern "C" fn note_access(address: usize, size: usize, touch: Touch, place: usize) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        // The one trace that is left where it is noted.
        "stp x29, x30, [sp, -16]",
        "adrp x9, {watch}",
        "add x9, x9, :lo12:{watch}",
        "ldr x10, [x9, {private}]",
        "ldr x11, [x9, {length}]",
        "sub x10, x0, x10",
        "cmp x10, x11",
        "b.lo 2f",
        "mrs x10, tpidr_el0",
        "ldr x11, [x9, {system_thread}]",
        "cmp x10, x11",
        "b.ne 2f",
        "ldr x9, [x9, {world}]",
        "mov x10, {in_user}",
        "ldrb w10, [x9, x10]",
        "cbz w10, 2f",
        "mov x10, {unwatched}",
        "ldrb w10, [x9, x10]",
        "cbnz w10, 2f",
        "mov x10, {engine_top}",
        "ldr x9, [x9, x10]",
        on_stack!("x9", "bl {note}"),
        "2:",
        "ret",
        ".cfi_endproc",
        watch = sym WATCH,
        private = const offset_of!(Watch, private),
        length = const offset_of!(Watch, length),
        system_thread = const offset_of!(Watch, system_thread),
        world = const offset_of!(Watch, world),
        in_user = const offset_of!(World, in_user),
        unwatched = const offset_of!(World, unwatched),
        engine_top = const offset_of!(World, engine_top),
        note = sym data_race::note,
    );
}
