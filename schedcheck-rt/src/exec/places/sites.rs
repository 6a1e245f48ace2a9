//! Numbers for places, while the search predicts: an operation at a source location.
//!
//! Cheaper than [`super::PlaceTable`], which also looks at the stack, and used for a few executions only.

use super::super::controller::World;
use super::super::run::Execution;
use crate::model::{Kind, Op, Site};
use rustc_hash::FxHashMap;

/// All places that were numbered, from 1 on.
#[derive(Debug, Default)]
pub(crate) struct SiteTable {
    /// Whether places are to be numbered in this execution.
    pub(crate) on: bool,
    numbers: FxHashMap<(usize, u8), u32>,
    places: Vec<(Site, Kind)>,
}

impl SiteTable {
    pub(crate) fn number(&mut self, site: Site, kind: Kind) -> u32 {
        let key = (std::ptr::from_ref(site).addr(), kind as u8);
        *self.numbers.entry(key).or_insert_with(|| {
            self.places.push((site, kind));
            self.places.len() as u32
        })
    }

    pub(crate) fn get(&self, number: u32) -> Option<(Site, Kind)> {
        self.places.get((number as usize).checked_sub(1)?).copied()
    }
}

impl World {
    /// The number of the place at which the thread in `slot` is about to do its operation.
    pub(crate) fn place_of(&mut self, slot: usize) -> u32 {
        let thread = &self.threads[slot];
        let Op { site, kind, .. } = thread.op;
        if thread.place == 0 && self.sites.on { self.sites.number(site, kind) } else { thread.place }
    }

    /// Numbers the places of a finished execution.
    pub(crate) fn number_places(&mut self) {
        if !self.sites.on || self.places.is_some() {
            return;
        }
        for (event, note) in self.trace.events.iter_mut().zip(&self.notes) {
            event.site = self.sites.number(note.site, note.kind);
        }
    }
}

impl Execution {
    /// Whether the next executions are to number their places.
    pub fn number_places(&mut self, on: bool) {
        self.world_mut().sites.on = on;
    }

    /// Where the place with this number is, and what is done there.
    pub fn place(&self, number: u32) -> Option<(Site, Kind)> {
        let world = self.world();
        match &world.places {
            Some(places) => places.site(number),
            None => world.sites.get(number),
        }
    }
}
