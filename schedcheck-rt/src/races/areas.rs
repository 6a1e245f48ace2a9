//! Where the cells of an address are: shadow memory, mapped beside the memory that user code shares.
//!
//! Only memory whose contents belong to an execution is watched: its heap, its threads' stacks and the program's statics.
//! Everything else is the engine's, the C library's, or the thread-local block, which coroutines share.
//!
//! Shadow memory costs four times the memory that it stands for, of which the system provides what is really used.
//!
//! # Stacks that their threads keep to themselves
//!
//! Most accesses go to the stack of the thread that makes them, and most stacks are never accessed by another thread. Of
//! such a *private* stack nothing is noted: a race needs two threads, and as long as only one has accessed the stack in an
//! execution there is none. Which stacks are private is found out. All are taken for it at first; where another thread
//! accesses one, it counts as shared from then on, for all executions to come, and the one under way is *blind*: it lacks
//! what the owner did before. It goes on to its end, since it may have something to undo outside, and is made once more, like
//! one whose stacks had to be cleaned first (`exec/run.rs`). So every execution that counts has noted all accesses to every stack that several threads accessed in
//! it, which are all that can be part of a race. Where an execution cannot be made again, because a guide decided in
//! it, everything is noted from the beginning.

use super::cell::Cell;

/// Bytes of memory that one cell stands for.
pub(crate) const GRAIN: usize = 8;

/// A range of addresses and its cells.
#[derive(Clone, Copy, Debug)]
struct Area {
    start: usize,
    length: usize,
    cells: *mut Cell,
}

impl Area {
    const NONE: Area = Area { start: 0, length: 0, cells: std::ptr::null_mut() };

    fn new(start: usize, length: usize) -> Area {
        let start = start & !(GRAIN - 1);
        Area { start, length, cells: map_cells(length.div_ceil(GRAIN)) }
    }

    #[inline]
    fn cell(&self, address: usize) -> Option<*mut Cell> {
        let offset = address.wrapping_sub(self.start);
        // SAFETY: an area has a cell for every eight bytes of its length.
        (offset < self.length).then(|| unsafe { self.cells.add(offset / GRAIN) })
    }

    /// How many cells there are from that of `address` on.
    fn cells_from(&self, address: usize) -> usize {
        (self.length - (address - self.start)).div_ceil(GRAIN)
    }

    #[inline]
    fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.length
    }

    fn forget(&self) {
        if !self.cells.is_null() {
            let bytes = self.length.div_ceil(GRAIN) * size_of::<Cell>();
            // SAFETY: this area's own mapping, which reads as zeros from now on.
            unsafe { libc::madvise(self.cells.cast(), bytes, libc::MADV_DONTNEED) };
        }
    }
}

/// A heap of equal regions, most of which are never used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapLayout {
    /// Its first address.
    pub(crate) start: usize,
    /// The size of a region; a power of two.
    pub(crate) region: usize,
    /// How many there are.
    pub(crate) regions: usize,
}

/// Whose an area is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    /// Statics, and stacks that several threads access.
    Any,
    /// A private stack.
    Owner,
}

/// All memory that is watched.
#[derive(Debug)]
pub(crate) struct Areas {
    heap: HeapLayout,
    /// The cells of each region of the heap that was accessed. All have their place from the beginning: where an
    /// address is looked up, nothing must be allocated.
    regions: Vec<Area>,
    /// Statics and stacks.
    others: Vec<(Area, Users)>,
    /// The stack of the running thread: where most accesses go.
    stack: Area,
    /// Its length if it is private, else 0.
    private: usize,
    /// Nothing is private in this execution.
    notes_all: bool,
    /// A thread has accessed the private stack of another one.
    blind: bool,
}

impl Areas {
    pub(crate) fn new(heap: HeapLayout) -> Areas {
        Areas {
            heap,
            regions: vec![Area::NONE; heap.regions],
            others: Vec::new(),
            stack: Area::NONE,
            private: 0,
            notes_all: false,
            blind: false,
        }
    }

    /// Another execution begins; `notes_all`: it cannot be made again.
    pub(crate) fn begin(&mut self, notes_all: bool) {
        self.notes_all = notes_all;
        self.blind = false;
    }

    /// Whether the execution has to be made again to be judged.
    #[inline]
    pub(crate) fn is_blind(&self) -> bool {
        self.blind
    }

    /// Watches the statics from `start` on.
    pub(crate) fn watch(&mut self, start: usize, length: usize) {
        self.add(start, length, Users::Any);
    }

    /// Watches a stack, and says where its cells are found again.
    pub(crate) fn watch_stack(&mut self, start: usize, length: usize) -> usize {
        self.add(start, length, Users::Owner)
    }

    fn add(&mut self, start: usize, length: usize, users: Users) -> usize {
        let known = self.others.iter().position(|(area, _)| (area.start, area.length) == (start, length));
        known.unwrap_or_else(|| {
            let area = Area::new(start, length);
            // Without memory for its cells it is not watched.
            let area = if area.cells.is_null() { Area { length: 0, ..area } } else { area };
            self.others.push((area, users));
            self.others.len() - 1
        })
    }

    /// The running thread's stack is the one that [`Areas::watch_stack`] numbered so.
    #[inline]
    pub(crate) fn enter_stack(&mut self, number: Option<usize>) {
        let (area, users) = number.map_or((Area::NONE, Users::Any), |number| self.others[number]);
        self.stack = area;
        self.private = if users == Users::Owner && !self.notes_all { area.length } else { 0 };
    }

    /// The start and the length of what nothing is noted of, because only the running thread uses it. What lies behind a stack
    /// cannot be accessed, so all of an access lies there if its beginning does.
    #[inline]
    pub(crate) fn private(&self) -> (usize, usize) {
        (self.stack.start, self.private)
    }

    /// Whether `address` lies on the running thread's stack.
    #[inline]
    pub(crate) fn is_own_stack(&self, address: usize) -> bool {
        self.stack.contains(address)
    }

    /// Whether `address` lies in memory that is watched, or would be if its owner did not keep it to himself.
    pub(crate) fn is_watched(&self, address: usize) -> bool {
        self.region_of(address) < self.heap.regions
            || self.others.iter().any(|(area, _)| area.contains(address))
    }

    /// The area of `address`; `None` if it is not watched.
    #[inline]
    fn area(&mut self, address: usize) -> Option<Area> {
        let region = self.region_of(address);
        if region < self.heap.regions {
            return self.region(region);
        }
        if self.stack.contains(address) {
            return (self.private == 0).then_some(self.stack);
        }
        self.other(address)
    }

    /// The cell of `address`; `None` if it is not watched.
    #[inline]
    pub(crate) fn cell(&mut self, address: usize) -> Option<*mut Cell> {
        self.area(address)?.cell(address)
    }

    /// The cell of `address` and the number of those that follow it, with itself.
    #[inline]
    pub(crate) fn cells(&mut self, address: usize) -> Option<(*mut Cell, usize)> {
        let area = self.area(address)?;
        Some((area.cell(address)?, area.cells_from(address)))
    }

    /// Statics, or the stack of a thread that does not run.
    fn other(&mut self, address: usize) -> Option<Area> {
        let (area, users) = self.others.iter_mut().find(|(area, _)| area.contains(address))?;
        if *users == Users::Owner {
            *users = Users::Any;
            self.blind = !self.notes_all;
        }
        (!self.blind).then_some(*area)
    }

    /// A shift: divisions are slow, and a region's size is a power of two.
    #[inline]
    fn region_of(&self, address: usize) -> usize {
        address.wrapping_sub(self.heap.start) >> self.heap.region.trailing_zeros()
    }

    #[inline]
    fn region(&mut self, region: usize) -> Option<Area> {
        if self.regions[region].length == 0 {
            self.map_region(region)?;
        }
        Some(self.regions[region])
    }

    #[cold]
    fn map_region(&mut self, region: usize) -> Option<()> {
        let area = Area::new(self.heap.start + region * self.heap.region, self.heap.region);
        self.regions[region] = (!area.cells.is_null()).then_some(area)?;
        Some(())
    }

    /// Forgets all accesses of all executions.
    pub(crate) fn forget(&self) {
        self.regions.iter().chain(self.others.iter().map(|(area, _)| area)).for_each(Area::forget);
    }
}

fn map_cells(count: usize) -> *mut Cell {
    // SAFETY: asks for new memory anywhere; it is filled with zeros, which is an empty cell.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            count * size_of::<Cell>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED { std::ptr::null_mut() } else { mapped.cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eight_bytes_have_a_cell_of_their_own() {
        let heap = HeapLayout { start: 1 << 44, region: 1 << 20, regions: 4 };
        let mut areas = Areas::new(heap);
        areas.watch(0x10_0000, 0x1000);
        areas.watch(0x10_0000, 0x1000);
        assert_eq!(areas.others.len(), 1, "watched once");
        let mut cell = |address: usize| areas.cell(address).map(|cell| cell.addr());
        assert_eq!(cell(0x10_0000), cell(0x10_0007));
        assert_eq!(cell(0x10_0008), cell(0x10_0000).map(|cell| cell + size_of::<Cell>()));
        assert_eq!(cell(0x10_1000), None, "behind the statics");
        assert_eq!(cell(0x0f_ffff), None, "before the statics");
        assert!(cell((1 << 44) + (3 << 20)).is_some());
        assert_ne!(cell(1 << 44), cell((1 << 44) + (1 << 20)));
        assert_eq!(cell((1 << 44) + (4 << 20)), None, "behind the heap");
        assert_eq!(cell(0), None);
        assert_eq!(areas.cells(0x10_0ff1).map(|(_, count)| count), Some(2));
        assert_eq!(areas.cells((2 << 20) + (1 << 44)).map(|(_, count)| count), Some((1 << 20) / 8));
    }

    fn is_private(areas: &Areas, address: usize) -> bool {
        let (start, length) = areas.private();
        (start..start + length).contains(&address)
    }

    #[test]
    fn a_stack_is_private_until_another_thread_accesses_it() {
        let mut areas = Areas::new(HeapLayout { start: 1 << 44, region: 1 << 20, regions: 1 });
        let stacks = [0x10_0000, 0x20_0000].map(|start| areas.watch_stack(start, 0x1000));
        let own = |areas: &mut Areas, thread: usize| {
            areas.enter_stack(Some(stacks[thread]));
            let address = 0x10_0ff8 + thread * 0x10_0000;
            (is_private(areas, address), areas.cell(address).is_some())
        };
        areas.begin(false);
        assert_eq!([own(&mut areas, 0), own(&mut areas, 1)], [(true, false); 2]);
        assert!(!is_private(&areas, 0x10_0ff8) && !areas.is_blind());
        assert_eq!(areas.cell(0x10_0ff8), None, "nothing was noted of it before");
        assert!(areas.is_blind());
        areas.begin(false);
        assert_eq!([own(&mut areas, 0), own(&mut areas, 1)], [(false, true), (true, false)]);
        assert!(areas.cell(0x10_0ff8).is_some() && !areas.is_blind());
        areas.begin(true);
        assert_eq!(own(&mut areas, 1), (false, true), "it cannot be made again");
    }
}
