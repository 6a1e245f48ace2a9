//! Whether std is at a backtrace: it holds a lock then, which whoever wants another one would wait for, for ever.

use super::elf::{Elf, number, text};
use super::symbols::{Ranges, load_address};
use std::ffi::{c_int, c_void};

/// Functions of std that take, show or print backtraces. A user's functions of such names may be among them.
#[derive(Debug)]
pub(crate) struct Backtraces(Ranges);

type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    /// The unwinder's, without which std could not do anything either.
    fn _Unwind_Backtrace(visit: Visit, seen: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

/// What is looked at, and whether it was found.
struct Seen<'a> {
    functions: &'a Ranges,
    found: bool,
}

impl Backtraces {
    /// Finds those functions in the running program.
    pub(crate) fn find() -> Backtraces {
        let file = std::fs::read("/proc/self/exe").unwrap_or_default();
        Backtraces(read(&file, load_address()).unwrap_or_default().finished())
    }

    /// Whether one of them is under way in the running thread.
    pub(crate) fn are_under_way(&self) -> bool {
        unsafe extern "C" fn visit(frame: *mut c_void, seen: *mut c_void) -> c_int {
            // SAFETY: the unwinder's frame, and what was passed below.
            unsafe {
                let seen = &mut *seen.cast::<Seen<'_>>();
                seen.found |= seen.functions.contain(_Unwind_GetIP(frame));
                c_int::from(seen.found)
            }
        }
        let mut seen = Seen { functions: &self.0, found: false };
        // SAFETY: it lives until the call has returned.
        unsafe { _Unwind_Backtrace(visit, (&raw mut seen).cast()) };
        seen.found
    }
}

fn read(file: &[u8], base: usize) -> Option<Ranges> {
    const ENTRY: usize = 24;
    const FUNCTION: u64 = 2;
    let elf = Elf::new(file)?;
    let (table, texts) = elf.symbols()?;
    let mut found = Ranges::default();
    for entry in (0..table.len()).step_by(ENTRY) {
        let name = text(texts, number(table, entry, 4)? as usize).unwrap_or_default();
        let of_std = name.contains("backtrace") || name.contains("default_hook");
        if of_std && number(table, entry + 4, 1)? & 0xF == FUNCTION {
            let start = base + number(table, entry + 8, 8)? as usize;
            found.add(start, start + number(table, entry + 16, 8)? as usize);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::{Display, Formatter, Result};

    /// Asks while it is shown.
    struct Asks<'a>(&'a Backtraces);

    impl Display for Asks<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> Result {
            write!(f, "{}", self.0.are_under_way())
        }
    }

    #[inline(never)]
    fn like_a_backtrace(backtraces: &Backtraces) -> String {
        std::hint::black_box(Asks(backtraces).to_string())
    }

    #[test]
    fn functions_are_recognised_by_their_names() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let all = Backtraces(read(&file, load_address()).unwrap().finished());
        assert_eq!(like_a_backtrace(&all), "true");
        assert_eq!(like_a_backtrace(&Backtraces(Ranges::default().finished())), "false");
    }
}
