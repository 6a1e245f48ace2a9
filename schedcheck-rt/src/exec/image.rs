//! Statics start fresh in every execution.
//!
//! The writable data of the test binary (the statics of user crates, of their dependencies and of
//! std) and its thread-local block are copied before the first execution and copied back after
//! each. What they own in between lives on the execution's heap and goes with it. The engine keeps
//! its own state outside, behind pointers that are set before the copy is made.

use super::thread_locals::ThreadLocalBlock;
use std::ffi::{c_int, c_void};

/// One range of memory and what it held at first.
struct Range {
    start: *mut u8,
    first: Vec<u8>,
}

impl Range {
    fn new(start: usize, length: usize) -> Range {
        let start = start as *mut u8;
        let mut first = vec![0; length];
        // SAFETY: the loader mapped this range for the program's data.
        unsafe { std::ptr::copy_nonoverlapping(start, first.as_mut_ptr(), length) };
        Range { start, first }
    }

    fn restore(&self) {
        // SAFETY: as in `new`; no reference into user data is alive between executions.
        unsafe { std::ptr::copy_nonoverlapping(self.first.as_ptr(), self.start, self.first.len()) };
    }
}

/// The first state of the program's own data.
pub(crate) struct Image {
    ranges: Vec<Range>,
    /// How many of them, from the first, are statics: the others belong to one thread.
    statics: usize,
}

/// Where the program's data lies.
#[derive(Default)]
struct Layout {
    writable: Vec<(usize, usize)>,
    read_only_after_start: Vec<(usize, usize)>,
    thread_local: Option<ThreadLocalBlock>,
}

impl Image {
    /// Copies the present state.
    pub(crate) fn take() -> Image {
        let layout = layout();
        let mut ranges = Vec::new();
        for (start, end) in layout.writable {
            let protected =
                layout.read_only_after_start.iter().find(|(low, high)| (*low..*high).contains(&start));
            let start = protected.map_or(start, |(_, high)| *high);
            if start < end {
                ranges.push(Range::new(start, end - start));
            }
        }
        let statics = ranges.len();
        if let Some(block) = layout.thread_local {
            ranges.push(Range::new(block.start(), block.size));
        }
        Image { ranges, statics }
    }

    /// Where the statics are: first addresses and lengths.
    pub(crate) fn statics(&self) -> impl Iterator<Item = (usize, usize)> {
        self.ranges[..self.statics].iter().map(|range| (range.start.addr(), range.first.len()))
    }

    /// Puts the first state back.
    pub(crate) fn restore(&self) {
        for range in &self.ranges {
            range.restore();
        }
    }
}

/// The program's own thread-local block, if it has one.
pub(super) fn thread_local_block() -> Option<ThreadLocalBlock> {
    layout().thread_local
}

fn layout() -> Layout {
    let mut layout = Layout::default();
    // SAFETY: the callback gets the pointer that is passed here.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut layout).cast()) };
    layout
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, layout: *mut c_void) -> c_int {
    // SAFETY: the loader passes valid program headers, and `layout` is the caller's.
    let (info, layout) = unsafe { (&*info, &mut *layout.cast::<Layout>()) };
    for index in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: within the table of headers.
        let header = unsafe { &*info.dlpi_phdr.add(index) };
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let end = start + header.p_memsz as usize;
        match header.p_type {
            libc::PT_LOAD if header.p_flags & libc::PF_W != 0 => layout.writable.push((start, end)),
            libc::PT_GNU_RELRO => {
                const PAGE: usize = 4096;
                layout.read_only_after_start.push((start & !(PAGE - 1), end.next_multiple_of(PAGE)));
            }
            libc::PT_TLS => {
                let (size, align) = (header.p_memsz as usize, header.p_align as usize);
                layout.thread_local = Some(ThreadLocalBlock { size, align });
            }
            _ => {}
        }
    }
    // The program itself comes first; shared libraries keep their state.
    1
}
