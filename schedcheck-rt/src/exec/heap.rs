//! The heap of an execution: user code's memory, dropped as a whole when the execution ends.
//!
//! Why not the C library's: (1) addresses are then the same in every execution, also of another
//! process, so programs that order or hash by address are deterministic; (2) threads that are
//! abandoned in the middle leak nothing; (3) statics can be put back to their first state although
//! they own memory.
//!
//! Each thread has a region of its own, at a fixed place, and a block that a thread frees is reused
//! by that thread only. So a thread's addresses depend on what it did itself, not on how the steps
//! of other threads fell in between: equivalent schedules get the same addresses.
//!
//! And they get the same contents: what an earlier execution left there is wiped. Whether a loop changes something
//! ([`super::written`]) must not depend on what was there before the program wrote to it for the first time.

use super::active;
use super::watch::note_access;
use crate::races::{HeapLayout, Touch};

/// A return address that counts as inside the test binary.
pub(crate) const INSIDE: usize = usize::MAX;

/// Where the regions begin: far from where systems put anything else.
const BASE: usize = 0x1000_0000_0000;
/// Address space of one thread.
const REGION: usize = 1 << 32;
/// Threads that can have a region.
const REGIONS: usize = 1 << 12;
/// What precedes every block.
const HEADER: usize = 16;
/// Blocks of up to this many bytes have a class for every multiple of 16.
const SMALL: usize = 1024;
const CLASSES: usize = SMALL / 16 + 1 + 48;
/// No class.
const NOTHING: [u64; CLASSES.div_ceil(64)] = [0; CLASSES.div_ceil(64)];

/// Where the heaps of executions are.
pub(crate) const LAYOUT: HeapLayout = HeapLayout { start: BASE, region: REGION, regions: REGIONS };

unsafe extern "C" {
    static __executable_start: u8;
    static etext: u8;
}

/// What is known of a block, right before it.
#[repr(C)]
struct Header {
    /// Usable bytes.
    size: usize,
    class: usize,
}

/// The memory of one thread.
#[derive(Clone)]
struct Region {
    mapped: bool,
    /// The execution this state belongs to.
    generation: u32,
    /// First byte never used in this execution, from the region's start.
    fresh: usize,
    /// The classes of which blocks were freed in this execution, one bit each. What is kept of others is out of date.
    known: [u64; CLASSES.div_ceil(64)],
    /// First of the freed blocks of each class, 0 for none; each holds the address of the next.
    free: [usize; CLASSES],
    /// The order of reuse, if freed blocks have to wait.
    line: Option<Box<Line>>,
}

/// Freed blocks that wait in line, the oldest first: those who still use a block are to find it freed, not taken for
/// something else.
#[derive(Clone)]
struct Line {
    last: [usize; CLASSES],
    length: [usize; CLASSES],
}

/// How many blocks of a class wait.
const WAITING: usize = 32;

/// All regions.
pub(crate) struct Heap {
    regions: Vec<Region>,
    generation: u32,
    unavailable: bool,
    /// Freed blocks are not reused at once.
    delays_reuse: bool,
}

/// Memory for user code.
struct Block {
    start: *mut u8,
    /// It was allocated and freed before, in this execution.
    had_a_life: bool,
}

impl Region {
    /// Whether blocks of this class were freed in this execution.
    #[inline]
    fn knows(&self, class: usize) -> bool {
        self.known[class / 64] & 1 << (class % 64) != 0
    }

    /// One of them is being freed.
    #[inline]
    fn know(&mut self, class: usize) {
        if self.knows(class) {
            return;
        }
        self.known[class / 64] |= 1 << (class % 64);
        self.free[class] = 0;
        if let Some(line) = &mut self.line {
            line.length[class] = 0;
        }
    }
}

impl Heap {
    pub(crate) fn new() -> Heap {
        Heap { regions: Vec::new(), generation: 1, unavailable: false, delays_reuse: false }
    }

    /// From now on freed blocks are not reused at once.
    pub(crate) fn delay_reuse(&mut self) {
        self.delays_reuse = true;
    }

    /// Drops everything.
    pub(crate) fn reset(&mut self) {
        self.generation += 1;
    }

    /// The memory of a thread in this execution.
    #[inline]
    fn region(&mut self, thread: usize) -> Option<&mut Region> {
        let generation = self.generation;
        if self.regions.get(thread).is_some_and(|region| region.generation == generation) {
            return self.regions.get_mut(thread);
        }
        self.renew_region(thread)
    }

    /// The same, when it is first used.
    #[inline(never)]
    fn renew_region(&mut self, thread: usize) -> Option<&mut Region> {
        if self.regions.len() <= thread {
            let empty = Region {
                mapped: false,
                generation: 0,
                fresh: 0,
                known: NOTHING,
                free: [0; CLASSES],
                line: None,
            };
            self.regions.resize(thread + 1, empty);
        }
        let region = &mut self.regions[thread];
        if !region.mapped {
            if !map(BASE + thread * REGION) {
                self.unavailable = true;
                return None;
            }
            region.mapped = true;
        }
        region.generation = self.generation;
        // Threads start at different cache sets.
        let start = 64 * (thread % 64);
        let used = region.fresh.saturating_sub(start);
        // SAFETY: mapped memory of the region; the execution that used it is over.
        unsafe { ((BASE + thread * REGION + start) as *mut u8).write_bytes(0, used) };
        region.fresh = start;
        region.known = NOTHING;
        if self.delays_reuse {
            let new = || Box::new(Line { last: [0; CLASSES], length: [0; CLASSES] });
            region.line.get_or_insert_with(new);
        }
        Some(region)
    }

    fn allocate(&mut self, thread: usize, size: usize, align: usize) -> Option<Block> {
        if thread >= REGIONS || self.unavailable || size > REGION / 4 {
            return None;
        }
        let class = class_of(size);
        let base = BASE + thread * REGION;
        let region = self.region(thread)?;
        if region.knows(class) && align <= 16 {
            let free = region.free[class];
            let waited = region.line.as_ref().is_none_or(|line| line.length[class] > WAITING);
            if free != 0 && waited {
                // SAFETY: a block of this heap, freed in this execution and not handed out since.
                region.free[class] = unsafe { (free as *const usize).read() };
                if let Some(line) = &mut region.line {
                    line.length[class] -= 1;
                }
                return Some(Block { start: free as *mut u8, had_a_life: true });
            }
        }
        // Alignments are powers of two: no division.
        let block = (base + region.fresh + HEADER + align - 1) & !(align - 1);
        let end = block + size_of_class(class);
        if end > base + REGION {
            return None;
        }
        region.fresh = end.next_multiple_of(16) - base;
        // SAFETY: mapped memory of the region that nothing else uses.
        unsafe {
            header_of(block).write(Header { size: size_of_class(class), class });
        }
        Some(Block { start: block as *mut u8, had_a_life: false })
    }

    /// A static of a process whose statics are not put back may hold a block of an earlier
    /// execution.
    #[inline]
    fn is_of_this_execution(&self, block: usize) -> bool {
        let owner = (block - BASE) / REGION;
        let region = self.regions.get(owner);
        region.is_some_and(|region| {
            region.generation == self.generation && block < BASE + owner * REGION + region.fresh
        })
    }

    /// Takes a block of this execution back.
    fn free(&mut self, thread: usize, block: usize) {
        let Some(region) = self.region(thread) else { return };
        // SAFETY: the caller frees a block of this heap: it has a header, and room for an address.
        unsafe {
            let class = (*header_of(block)).class;
            region.know(class);
            match &mut region.line {
                None => {
                    (block as *mut usize).write(region.free[class]);
                    region.free[class] = block;
                }
                Some(line) => {
                    (block as *mut usize).write(0);
                    match line.length[class] {
                        0 => region.free[class] = block,
                        _ => (line.last[class] as *mut usize).write(block),
                    }
                    line.last[class] = block;
                    line.length[class] += 1;
                }
            }
        }
    }
}

fn header_of(block: usize) -> *mut Header {
    (block - HEADER) as *mut Header
}

/// Small sizes in steps of 16, larger ones in quarters of powers of two.
fn class_of(size: usize) -> usize {
    if size <= SMALL {
        return size.div_ceil(16).max(1);
    }
    let exponent = (size - 1).ilog2() as usize;
    let quarter = (size - 1) >> (exponent - 1) & 1;
    SMALL / 16 + 1 + (exponent - 10) * 2 + quarter
}

fn size_of_class(class: usize) -> usize {
    if class <= SMALL / 16 {
        return class * 16;
    }
    let large = class - SMALL / 16 - 1;
    let exponent = large / 2 + 10;
    (1 << exponent) + ((large % 2 + 1) << (exponent - 1))
}

fn map(start: usize) -> bool {
    // SAFETY: asks for unused address space at a fixed place and takes nothing that is in use.
    let mapped = unsafe {
        libc::mmap(
            start as *mut libc::c_void,
            REGION,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    // In a process that executes several tests one after the other, the region is there already.
    mapped as usize == start || std::io::Error::last_os_error().raw_os_error() == Some(libc::EEXIST)
}

/// Whether `address` belongs to the heap of executions.
#[inline]
pub(crate) fn contains(address: usize) -> bool {
    (BASE..BASE + REGIONS * REGION).contains(&address)
}

/// A block for user code of the execution going on; `None` if it is for somebody else.
pub(crate) fn allocate(size: usize, align: usize, caller: usize) -> Option<*mut u8> {
    let active = active()?;
    if !active.in_user() || !is_binary_text(caller) {
        return None;
    }
    active.leave_user(move |active| {
        let world = active.world();
        let thread = usize::from(world.threads[world.running].id.0);
        let block = world.heap.allocate(thread, size, align);
        if let (Some(block), Some(races)) = (&block, &mut world.races)
            && block.had_a_life
        {
            // All of it was freed, not only as much as is asked for now.
            races.allocated(block.start.addr(), size_of_class(class_of(size)));
        }
        block.map(|block| block.start)
    })
}

/// Gives a block of the heap back.
pub(crate) fn free(block: *mut u8) {
    // After its execution a block is gone with the heap.
    let Some(active) = active() else { return };
    let world = active.world();
    if !world.heap.is_of_this_execution(block.addr()) {
        return;
    }
    if world.races.is_some()
        && let Some(size) = size_of_block(block)
    {
        note_access(block.addr(), size, Touch::Free, 0);
    }
    active.in_engine(move |world| {
        let thread = usize::from(world.threads[world.running].id.0);
        world.heap.free(thread, block.addr());
    });
}

/// The running thread is about to have the beginning of a block filled: a write like any other.
pub(crate) fn fills(block: *mut u8, size: usize, caller: usize) {
    note_access(block.addr(), size, Touch::Write, caller);
}

/// The usable size of a block of the heap.
pub(crate) fn size_of_block(block: *mut u8) -> Option<usize> {
    if !contains(block.addr()) {
        return None;
    }
    // SAFETY: blocks of the heap have a header.
    Some(unsafe { (*header_of(block.addr())).size })
}

#[inline]
fn is_binary_text(address: usize) -> bool {
    let start = (&raw const __executable_start).addr();
    let end = (&raw const etext).addr();
    address == INSIDE || (start..end).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_fits_its_class() {
        for size in (0..70_000).chain([1 << 20, (1 << 20) + 1, (1 << 29) - 1, 1 << 30]) {
            let class = class_of(size);
            assert!(size_of_class(class) >= size, "{size} in class {class}");
            assert!(class < CLASSES, "{size}");
            assert!(class < 2 || size_of_class(class - 1) < size.max(1), "{size} fits a smaller class");
        }
    }

    #[test]
    fn blocks_that_wait_are_reused_in_order() {
        let mut heap = Heap::new();
        heap.delay_reuse();
        for _ in 0..2 {
            let mut freed = Vec::new();
            for _ in 0..=WAITING {
                let block = heap.allocate(50, 48, 16).unwrap();
                assert!(!block.had_a_life);
                freed.push(block.start);
            }
            freed.iter().for_each(|block| heap.free(50, block.addr()));
            let reused = heap.allocate(50, 48, 16).unwrap();
            assert_eq!((reused.start, reused.had_a_life), (freed[0], true));
            assert!(!heap.allocate(50, 48, 16).unwrap().had_a_life, "the others wait");
            heap.reset();
        }
    }

    #[test]
    fn a_thread_gets_back_what_it_freed_and_the_same_addresses_after_a_reset() {
        let mut heap = Heap::new();
        let addresses = |heap: &mut Heap| {
            let first = heap.allocate(40, 100, 16).unwrap().start;
            let aligned = heap.allocate(40, 100, 4096).unwrap().start;
            assert_eq!(aligned.addr() % 4096, 0);
            heap.free(41, first.addr());
            let fresh = heap.allocate(40, 100, 16).unwrap().start;
            assert_ne!(fresh, first, "freed by another thread");
            let reused = heap.allocate(41, 100, 16).unwrap().start;
            assert_eq!(reused, first, "reused by the thread that freed it");
            [first, aligned, fresh]
        };
        let before = addresses(&mut heap);
        heap.reset();
        assert_eq!(before, addresses(&mut heap));
    }
}
