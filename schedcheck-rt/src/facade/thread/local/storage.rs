//! The thread-local values of the execution going on: a row per thread, a column per key.
//!
//! Keys get their column on first use in an execution, so values are fresh in every one. What an
//! abandoned thread leaves here is forgotten, not dropped: its memory goes with the execution's heap.

use crate::exec::{Active, active};
use std::sync::atomic::{AtomicU64, Ordering};

/// What identifies a key: its column, and the execution in which it is that column.
#[derive(Debug)]
pub struct Slot(AtomicU64);

impl Slot {
    /// A key that was not used yet.
    #[doc(hidden)]
    pub const fn new() -> Slot {
        Slot(AtomicU64::new(0))
    }
}

/// A value as seen by its thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// Not initialised yet.
    Nothing,
    /// A pointer to the value, which lies on the heap.
    Value(*mut ()),
    /// Its destructor runs or has run.
    Destroyed,
}

#[derive(Clone, Copy)]
struct Cell {
    found: Found,
    /// Drops the value and frees its room.
    free: unsafe fn(*mut ()),
}

/// One thread's values.
#[derive(Default)]
struct Row {
    cells: Vec<Option<Cell>>,
    /// Columns whose value has a destructor, in the order of their initialisation.
    destructors: Vec<usize>,
}

#[derive(Default)]
struct Table {
    generation: u32,
    columns: u32,
    rows: Vec<Row>,
}

/// Calls `section` with the table of this execution; no user code may run in it.
fn with_table<R>(active: Active, section: impl FnOnce(&mut Table) -> R) -> R {
    let generation = active.generation();
    active.with_thread_values(super::end_of_thread, |table: &mut Table| {
        if table.generation != generation {
            table.generation = generation;
            table.columns = 0;
            for row in &mut table.rows {
                row.cells.clear();
                row.destructors.clear();
            }
        }
        section(table)
    })
}

impl Table {
    fn column(&mut self, slot: &Slot) -> usize {
        let stamp = slot.0.load(Ordering::Relaxed);
        if (stamp >> 32) as u32 == self.generation {
            return stamp as u32 as usize;
        }
        let column = self.columns;
        self.columns += 1;
        slot.0.store(u64::from(self.generation) << 32 | u64::from(column), Ordering::Relaxed);
        column as usize
    }

    fn row(&mut self, active: Active) -> &mut Row {
        let thread = active.current();
        if self.rows.len() <= thread {
            self.rows.resize_with(thread + 1, Row::default);
        }
        &mut self.rows[thread]
    }
}

/// Whether values live here or with the system's threads.
#[inline(never)]
pub(super) fn in_execution() -> bool {
    active().is_some()
}

fn going_on() -> Active {
    active().expect("values live here only during an execution")
}

/// The running thread's value of the key.
#[inline(never)]
pub(super) fn find(slot: &Slot) -> Found {
    let active = going_on();
    with_table(active, |table| {
        let column = table.column(slot);
        match table.row(active).cells.get(column) {
            Some(Some(cell)) => cell.found,
            _ => Found::Nothing,
        }
    })
}

/// Makes `value` the running thread's value of the key; returns the one it replaces, which
/// an initialiser that came here itself may have left.
#[inline(never)]
pub(super) fn put(
    slot: &Slot,
    value: *mut (),
    free: unsafe fn(*mut ()),
    needs_drop: bool,
) -> Option<*mut ()> {
    let active = going_on();
    with_table(active, |table| {
        let column = table.column(slot);
        let row = table.row(active);
        if row.cells.len() <= column {
            row.cells.resize(column + 1, None);
        }
        let before = row.cells[column].replace(Cell { found: Found::Value(value), free });
        match before {
            Some(Cell { found: Found::Value(old), .. }) => Some(old),
            _ => {
                if needs_drop {
                    row.destructors.push(column);
                }
                None
            }
        }
    })
}

/// Whether the running thread has values to drop.
pub(super) fn has_destructors(active: Active) -> bool {
    with_table(active, |table| !table.row(active).destructors.is_empty())
}

/// Drops the values of the running thread, the last initialised first, as the system does. A
/// destructor may initialise further keys; they follow.
pub(crate) fn run_destructors(active: Active) {
    while let Some((value, free)) = with_table(active, next_to_destroy(active)) {
        // SAFETY: the value was put with this function, and nobody finds it any more.
        unsafe { free(value) };
    }
    while let Some((value, free)) = with_table(active, next_to_free(active)) {
        // SAFETY: as above. It needs no drop, so no user code runs here.
        unsafe { free(value) };
    }
}

type Doomed = (*mut (), unsafe fn(*mut ()));

fn next_to_destroy(active: Active) -> impl FnOnce(&mut Table) -> Option<Doomed> {
    move |table| {
        let row = table.row(active);
        let column = row.destructors.pop()?;
        let cell = row.cells[column].as_mut()?;
        match std::mem::replace(&mut cell.found, Found::Destroyed) {
            Found::Value(value) => Some((value, cell.free)),
            other => unreachable!("{other:?} has no destructor"),
        }
    }
}

fn next_to_free(active: Active) -> impl FnOnce(&mut Table) -> Option<Doomed> {
    move |table| {
        let row = table.row(active);
        while let Some(cell) = row.cells.pop() {
            if let Some(Cell { found: Found::Value(value), free }) = cell {
                return Some((value, free));
            }
        }
        None
    }
}
