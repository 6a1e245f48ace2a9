//! What threads and objects are called, so that another process can be told.
//!
//! Numbers are given in order of appearance, so processes of one search agree only on what was known when
//! they parted. What an object is called does not depend on that: its address, its kind, and how many others
//! lived there before it; a thread is the n-th child of another. Numbers of threads are part of addresses
//! (each thread has its own heap and stack), so only the owner of a search gives new ones.

use super::Execution;
use crate::model::ObjectKind;
use crate::search::bytes::{Damaged, Reader, Writer};
use crate::search::records::Renaming;
use crate::search::step::{ObjectId, ThreadId};

/// How many objects and threads an execution has given numbers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) objects: u32,
    pub(crate) threads: usize,
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

    /// Writes the names of all threads, and of the objects from number `first` on.
    pub(crate) fn write_names(&self, first: u32, out: &mut Writer) {
        let world = self.world();
        out.count(world.names.parents().len());
        for (parent, nth) in world.names.parents() {
            out.number(parent.0);
            out.number(*nth);
        }
        let names = world.addresses.names_from(first);
        out.number(first);
        out.count(names.len());
        for (object, key, life) in names {
            out.number(object.0 - first);
            out.hash(key);
            out.number(life);
        }
    }

    /// Reads names that another process gave, and what the objects are called here.
    pub(crate) fn read_names(&mut self, from: &mut Reader<'_>) -> Result<Renaming, Damaged> {
        let world = self.world_mut();
        for number in 0..from.count()? {
            let (parent, nth) = (ThreadId(from.number()?), from.number()?);
            if usize::from(world.names.number(parent, nth).0) != number {
                return Err(Damaged);
            }
        }
        let first = from.number()?;
        let mut later = Vec::new();
        for _ in 0..from.count()? {
            let (there, key, life): (usize, u64, u32) = (from.number()?, from.hash()?, from.number()?);
            let kind = ObjectKind::from_code((key >> 56) as u8).ok_or(Damaged)?;
            let objects = &mut world.objects;
            let here = world.addresses.named(key, life, || objects.create(kind));
            // Parts of an object follow it.
            for part in 0..=kind.parts() {
                let at = there + part as usize;
                if later.len() <= at {
                    later.resize(at + 1, ObjectId::NONE);
                }
                later[at] = ObjectId(here.0 + part);
            }
        }
        Ok(Renaming { first, later })
    }
}
