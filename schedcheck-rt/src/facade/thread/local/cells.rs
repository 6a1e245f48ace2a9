//! The shorthands of keys that hold a `Cell` or a `RefCell`.

use super::key::LocalKey;
use super::storage::in_execution;
use std::cell::{Cell, RefCell};

impl<T: 'static> LocalKey<Cell<T>> {
    /// The same as std's `set`: does not run the initialiser.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if !in_execution() {
            return self.real.set(value);
        }
        let (cell, unused) = self.place_or_panic(Some(Cell::new(value)));
        if let Some(value) = unused {
            cell.set(value.into_inner());
        }
    }

    /// The same as std's `get`.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// The same as std's `take`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// The same as std's `replace`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// The same as std's `with_borrow`.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// The same as std's `with_borrow_mut`.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// The same as std's `set`: does not run the initialiser.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if !in_execution() {
            return self.real.set(value);
        }
        let (cell, unused) = self.place_or_panic(Some(RefCell::new(value)));
        if let Some(value) = unused {
            *cell.borrow_mut() = value.into_inner();
        }
    }

    /// The same as std's `take`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// The same as std's `replace`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}
