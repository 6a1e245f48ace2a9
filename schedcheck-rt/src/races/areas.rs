//! Where the cells of an address are: shadow memory, mapped beside the memory that user code shares.
//!
//! Only memory whose contents belong to an execution is watched: its heap, its threads' stacks and the program's statics.
//! Everything else is the engine's, the C library's, or the thread-local block, which coroutines share.
//!
//! Shadow memory costs four times the memory that it stands for, of which the system provides what is really used.

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

/// All memory that is watched.
#[derive(Debug)]
pub(crate) struct Areas {
    heap: HeapLayout,
    /// The cells of each region of the heap that was accessed. All have their place from the beginning: where an
    /// address is looked up, nothing must be allocated.
    regions: Vec<Area>,
    /// Statics and stacks.
    others: Vec<Area>,
    /// The stack of the running thread: where most accesses go.
    stack: Area,
}

impl Areas {
    pub(crate) fn new(heap: HeapLayout) -> Areas {
        Areas { heap, regions: vec![Area::NONE; heap.regions], others: Vec::new(), stack: Area::NONE }
    }

    /// Watches the addresses from `start` on, and says where their cells are found again.
    pub(crate) fn watch(&mut self, start: usize, length: usize) -> usize {
        let known = self.others.iter().position(|area| (area.start, area.length) == (start, length));
        known.unwrap_or_else(|| {
            let area = Area::new(start, length);
            // Without memory for its cells it is not watched.
            self.others.push(if area.cells.is_null() { Area { length: 0, ..area } } else { area });
            self.others.len() - 1
        })
    }

    /// The running thread's stack is the one that [`Areas::watch`] numbered so.
    #[inline]
    pub(crate) fn enter_stack(&mut self, number: Option<usize>) {
        self.stack = number.map_or(Area::NONE, |number| self.others[number]);
    }

    /// The cell of `address`; `None` if it is not watched.
    #[inline]
    pub(crate) fn cell(&mut self, address: usize) -> Option<*mut Cell> {
        if let Some(cell) = self.stack.cell(address) {
            return Some(cell);
        }
        let region = self.region_of(address);
        if region < self.heap.regions {
            return self.heap_cell(region, address);
        }
        self.others.iter().find_map(|area| area.cell(address))
    }

    /// The cell of `address` and the number of those that follow it, with itself.
    #[inline]
    pub(crate) fn cells(&mut self, address: usize) -> Option<(*mut Cell, usize)> {
        let cell = self.cell(address)?;
        let all = [&self.stack].into_iter().chain(&self.others);
        let area = all.into_iter().find(|area| area.cell(address).is_some());
        let region = self.region_of(address);
        let area = area.or_else(|| self.regions.get(region))?;
        Some((cell, area.cells_from(address)))
    }

    /// A shift: divisions are slow, and a region's size is a power of two.
    #[inline]
    fn region_of(&self, address: usize) -> usize {
        address.wrapping_sub(self.heap.start) >> self.heap.region.trailing_zeros()
    }

    #[inline]
    fn heap_cell(&mut self, region: usize, address: usize) -> Option<*mut Cell> {
        if self.regions[region].length == 0 {
            self.map_region(region)?;
        }
        self.regions[region].cell(address)
    }

    #[cold]
    fn map_region(&mut self, region: usize) -> Option<()> {
        let area = Area::new(self.heap.start + region * self.heap.region, self.heap.region);
        self.regions[region] = (!area.cells.is_null()).then_some(area)?;
        Some(())
    }

    /// Forgets all accesses of all executions.
    pub(crate) fn forget(&self) {
        self.regions.iter().chain(&self.others).for_each(Area::forget);
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
        let stack = areas.watch(0x10_0000, 0x1000);
        assert_eq!(areas.watch(0x10_0000, 0x1000), stack, "watched once");
        let mut cell = |address: usize| areas.cell(address).map(|cell| cell.addr());
        assert_eq!(cell(0x10_0000), cell(0x10_0007));
        assert_eq!(cell(0x10_0008), cell(0x10_0000).map(|cell| cell + size_of::<Cell>()));
        assert_eq!(cell(0x10_1000), None, "behind the stack");
        assert_eq!(cell(0x0f_ffff), None, "before the stack");
        assert!(cell((1 << 44) + (3 << 20)).is_some());
        assert_ne!(cell(1 << 44), cell((1 << 44) + (1 << 20)));
        assert_eq!(cell((1 << 44) + (4 << 20)), None, "behind the heap");
        assert_eq!(cell(0), None);
        assert_eq!(areas.cells(0x10_0ff1).map(|(_, count)| count), Some(2));
        assert_eq!(areas.cells((2 << 20) + (1 << 44)).map(|(_, count)| count), Some((1 << 20) / 8));
    }
}
