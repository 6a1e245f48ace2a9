//! `syscall`: futexes inside an execution are the model's, random numbers those of [`super::random`], and what has to do with
//! waiting is done as by the functions of the C library.

use super::outside::call_by_number;
use super::random::getrandom;
use super::set_error_number;
use crate::exec::active;
use crate::exec::futex::FutexCall;
use crate::exec::outside::Kind;
use std::ffi::{c_long, c_void};

/// `syscall`. Variadic in C; all its arguments travel in registers as these do.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: the caller's promise.
        return unsafe { getrandom(a as *mut c_void, b, c as u32) as c_long };
    }
    if let Some(active) = active()
        && active.in_user()
    {
        if number == libc::SYS_membarrier {
            // It orders memory, which is in order here.
        } else if number != libc::SYS_futex {
            // SAFETY: the caller's promise.
            if let Some(answer) = unsafe { call_by_number(number, [a, b, c, d, e, f]) } {
                return answer;
            }
            active.meets(Kind::SystemCalls, c"syscall");
        } else if let Some(answer) = active.futex(FutexCall {
            address: a,
            operation: b as i32,
            value: c as u32,
            timeout: d,
            bitset: f as u32,
        }) {
            return with_errno(answer);
        } else {
            active.meets(Kind::Futexes, c"syscall");
        }
    }
    // SAFETY: the caller's promise.
    unsafe { real_syscall(number, [a, b, c, d, e, f]) }
}

fn with_errno(answer: i64) -> c_long {
    if (-4095..0).contains(&answer) {
        set_error_number(-answer as i32);
        return -1;
    }
    answer
}

/// Enters the kernel.
///
/// # Safety
/// As for the system call itself.
pub(crate) unsafe fn real_syscall(number: c_long, arguments: [usize; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    let answer: i64;
    // SAFETY: the kernel's calling convention; the caller vouches for the arguments.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack)
        );
    }
    with_errno(answer)
}
