//! Whether std is at a backtrace: it holds a lock then, which whoever wants another one would wait for, for ever.

use super::elf::Elf;
use super::symbols::{Ranges, load_address};
use std::ffi::{c_int, c_void};

/// What is in the names of functions that have that lock, in either way of writing names: all of the module of std, and the
/// hooks that show panics and that no memory is left.
const NAMES: [&str; 4] =
    ["std9backtrace", "std..backtrace..", "12default_hook", "24default_alloc_error_hook"];

/// Functions of std that take, show or print backtraces.
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
    let mut found = Ranges::default();
    let elf = Elf::new(file)?;
    let functions = elf.symbols().filter(|symbol| symbol.is_function);
    for symbol in functions.filter(|symbol| NAMES.iter().any(|part| symbol.name.contains(part))) {
        found.add(base + symbol.start, base + symbol.start + symbol.length);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::backtrace::Backtrace;
    use std::fmt::Write;

    /// Asks while something is written to it.
    struct Asks {
        backtraces: Backtraces,
        answers: Vec<bool>,
    }

    impl Write for Asks {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            self.answers.push(self.backtraces.are_under_way());
            Ok(())
        }
    }

    #[test]
    fn a_backtrace_is_noticed_while_it_is_shown() {
        let mut asks = Asks { backtraces: Backtraces::find(), answers: Vec::new() };
        write!(asks, "{}", Backtrace::force_capture()).unwrap();
        assert!(!asks.answers.is_empty() && asks.answers.iter().all(|answer| *answer));
        asks.answers.clear();
        write!(asks, "{}", 7).unwrap();
        assert_eq!(asks.answers, [false]);
    }
}
