//! What threads and objects are called, so that another process can be told.
//!
//! Numbers are given in order of appearance, so processes of one search agree only on what was known when
//! they parted. What an object is called does not depend on that: its address, its kind, and how many others
//! lived there before it; a thread is the n-th child of another. Numbers of threads are part of addresses
//! (each thread has its own heap and stack), so only the owner of a search gives new ones.

use super::Execution;
use crate::model::ObjectKind;
use crate::search::step::{ObjectId, ThreadId};

/// How many objects and threads an execution has given numbers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) objects: u32,
    pub(crate) threads: usize,
}

/// An object and what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectName {
    pub(crate) object: ObjectId,
    /// Address and kind.
    pub(crate) key: u64,
    /// How many of its kind lived there before.
    pub(crate) life: u32,
}

impl Execution {
    /// What has a number so far.
    pub(crate) fn known(&self) -> Known {
        let world = self.world();
        Known { objects: world.objects.count(), threads: world.names.parents().len() }
    }

    /// Threads beyond `threads` were met, which this process is not to number: forgets them.
    pub(crate) fn forget_new_threads(&mut self, threads: usize) -> bool {
        self.world_mut().names.forget_from(threads)
    }

    /// What executions so far have left out, for statements about all of them.
    pub(crate) fn omissions(&self) -> u8 {
        let world = self.world();
        u8::from(world.spin_bound_reached) | u8::from(world.had_twins) << 1
    }

    /// The same of executions elsewhere.
    pub(crate) fn add_omissions(&mut self, omissions: u8) {
        let world = self.world_mut();
        world.spin_bound_reached |= omissions & 1 != 0;
        world.had_twins |= omissions & 2 != 0;
    }

    /// The objects from number `first` on.
    pub(crate) fn object_names(&self, first: u32) -> Vec<ObjectName> {
        let names = self.world().addresses.names_from(first).into_iter();
        names.map(|(object, key, life)| ObjectName { object, key, life }).collect()
    }

    /// The number of the `nth` child of `parent`.
    pub(crate) fn number_thread(&mut self, parent: ThreadId, nth: u32) -> ThreadId {
        self.world_mut().names.number(parent, nth)
    }

    /// The number here of the object of that name, and how many of its parts follow it; `None` if there is no
    /// such kind of object.
    pub(crate) fn number_object(&mut self, key: u64, life: u32) -> Option<(ObjectId, u32)> {
        let kind = ObjectKind::from_code((key >> 56) as u8)?;
        let world = self.world_mut();
        let objects = &mut world.objects;
        Some((world.addresses.named(key, life, || objects.create(kind)), kind.parts()))
    }
}
