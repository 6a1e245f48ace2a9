//! Statics start fresh in every execution.
//!
//! The writable data of the test binary (the statics of user crates, of their dependencies and of
//! std) and its thread-local block are copied before the first execution and copied back after
//! each. What they own in between lives on the execution's heap and goes with it. The engine keeps
//! its own state outside, behind pointers that are set before the copy is made.

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
    keys: Option<*mut [u64; 2]>,
}

/// Where the program's data lies.
#[derive(Default)]
struct Layout {
    writable: Vec<(usize, usize)>,
    read_only_after_start: Vec<(usize, usize)>,
    thread_local: Option<(usize, usize)>,
}

impl Image {
    /// Copies the present state.
    pub(crate) fn take() -> Image {
        let layout = layout();
        let block = layout.thread_local.map(|(size, align)| thread_local_block(size, align));
        let keys = block.and_then(|(start, size)| find_hash_keys(start, size));
        let mut ranges = Vec::new();
        for (start, end) in layout.writable {
            let protected =
                layout.read_only_after_start.iter().find(|(low, high)| (*low..*high).contains(&start));
            let start = protected.map_or(start, |(_, high)| *high);
            if start < end {
                ranges.push(Range::new(start, end - start));
            }
        }
        if let Some((start, size)) = block {
            ranges.push(Range::new(start, size));
        }
        Image { ranges, keys }
    }

    /// Puts the first state back.
    pub(crate) fn restore(&self) {
        for range in &self.ranges {
            range.restore();
        }
    }

    /// Where std keeps the keys of the next hash map, if that was found.
    pub(crate) fn hash_keys(&self) -> Option<*mut [u64; 2]> {
        self.keys
    }

    /// How many bytes are put back.
    pub(crate) fn bytes(&self) -> usize {
        self.ranges.iter().map(|range| range.first.len()).sum()
    }
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
                layout.thread_local = Some((header.p_memsz as usize, header.p_align as usize));
            }
            _ => {}
        }
    }
    // The program itself comes first; shared libraries keep their state.
    1
}

/// The thread-local block of the program in the calling thread: start and size.
fn thread_local_block(size: usize, align: usize) -> (usize, usize) {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: reads the thread pointer, which the ABI keeps at offset 0 of its own segment.
        unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly)) };
        // Variant II of the ABI: the block lies right below the thread pointer.
        (pointer - size.next_multiple_of(align.max(1)), size)
    }
    #[cfg(target_arch = "aarch64")]
    {
        // SAFETY: reads the thread pointer.
        unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem)) };
        // Variant I of the ABI: the block follows a header of two words.
        (pointer + 16usize.next_multiple_of(align.max(1)), size)
    }
}

/// std hands out hash keys from a pair of words per thread of the system and counts the first one
/// up. It is the word that grows by one when a hash map is made.
fn find_hash_keys(start: usize, size: usize) -> Option<*mut [u64; 2]> {
    let words = |_: &()| -> Vec<u64> {
        // SAFETY: the calling thread's own block.
        (0..size / 8).map(|index| unsafe { ((start + index * 8) as *const u64).read_unaligned() }).collect()
    };
    std::hint::black_box(std::hash::RandomState::new());
    let before = words(&());
    std::hint::black_box(std::hash::RandomState::new());
    let after = words(&());
    let mut grown = (0..before.len()).filter(|index| after[*index] == before[*index].wrapping_add(1));
    let index = grown.next()?;
    if grown.next().is_some() {
        return None;
    }
    Some((start + index * 8) as *mut [u64; 2])
}
