//! `#[global_allocator]`: the program's allocator, where it is to be asked. Which that is, [`own_allocator`] says.

use crate::exec::own_allocator;
use std::alloc::{GlobalAlloc, Layout, System};

/// The program's allocator or the system's.
#[derive(Debug)]
pub struct Routed<T: 'static>(&'static T);

impl<T: GlobalAlloc> Routed<T> {
    /// Stands for `own`.
    pub const fn new(own: &'static T) -> Self {
        Routed(own)
    }

    fn allocates(&self) -> bool {
        const SOME: Layout = Layout::new::<[u64; 8]>();
        // SAFETY: some bytes, which are given back.
        own_allocator::is_to_allocate(&|| unsafe { self.0.alloc(SOME) }, &|block| unsafe {
            self.0.dealloc(block, SOME);
        })
    }
}

// SAFETY: every block goes back to where it came from, because its address tells.
unsafe impl<T: GlobalAlloc> GlobalAlloc for Routed<T> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let own = self.allocates();
        // SAFETY: the caller's promise.
        unsafe { if own { self.0.alloc(layout) } else { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let own = self.allocates();
        // SAFETY: the caller's promise.
        unsafe { if own { self.0.alloc_zeroed(layout) } else { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let own = own_allocator::has_allocated(block);
        // SAFETY: the caller's promise.
        unsafe { if own { self.0.realloc(block, layout, size) } else { System.realloc(block, layout, size) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let own = own_allocator::has_allocated(block);
        // SAFETY: the caller's promise.
        unsafe { if own { self.0.dealloc(block, layout) } else { System.dealloc(block, layout) } }
    }
}
