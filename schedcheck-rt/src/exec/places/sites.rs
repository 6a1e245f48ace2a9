//! Numbers for places, while the search predicts: an operation at a source location. What threads are called is noted
//! with them, for whoever reads a prediction.
//!
//! Cheaper than [`super::PlaceTable`], which also looks at the stack, and used for a few executions only.

use super::super::controller::World;
use super::super::run::Execution;
use super::super::view::thread_name;
use crate::model::{Kind, Op, Site};
use crate::search::step::ThreadId;
use rustc_hash::FxHashMap;

/// All places that were numbered, from 1 on.
#[derive(Debug, Default)]
pub(crate) struct SiteTable {
    /// Whether places are to be numbered in this execution.
    pub(crate) on: bool,
    numbers: FxHashMap<(usize, u8), u32>,
    places: Vec<(Site, Kind)>,
    /// What each thread was called in the first of these executions that had it.
    threads: FxHashMap<ThreadId, String>,
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
        if !self.sites.on {
            return;
        }
        for slot in 0..self.threads.len() {
            let id = self.threads[slot].id;
            if !self.sites.threads.contains_key(&id) {
                let name = thread_name(self, slot);
                self.sites.threads.insert(id, name);
            }
        }
        if self.places.is_some() {
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

    /// What a thread of executions that numbered their places is called; nothing if none of this process had it.
    pub(crate) fn name_of(&self, thread: ThreadId) -> Option<&str> {
        self.world().sites.threads.get(&thread).map(String::as_str)
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
