//! What single facades need from an execution beyond performing operations.

use super::{Active, ObjectTag};
use crate::model::{CHANNEL_OBJECTS, ObjectKind};
use crate::search::step::ObjectId;
use std::sync::atomic::Ordering;

/// Free alternatives of a read acquisition that may stand in line: passing, or not.
const PASS_OR_STAND: u16 = 2;

impl Active {
    /// Which execution of this process this is.
    pub(crate) fn generation(&self) -> u32 {
        self.world().generation
    }

    /// The number of an object if it was used in this execution.
    pub(crate) fn known_object(&self, tag: &ObjectTag) -> Option<ObjectId> {
        let tagged = tag.0.load(Ordering::Relaxed);
        ((tagged >> 32) as u32 == self.world().generation).then_some(ObjectId(tagged as u32))
    }

    /// How far a one-time initialisation is, for somebody who has it to himself.
    pub(crate) fn progress(&self, once: ObjectId) -> u32 {
        self.world().objects.progress(once)
    }

    /// The objects of a new channel; the first one stands for all.
    pub(crate) fn new_channel(&self, capacity: u32) -> ObjectId {
        self.in_engine(|world| {
            let head = world.objects.create(ObjectKind::Channel { capacity });
            for _ in 1..CHANNEL_OBJECTS {
                world.objects.create(ObjectKind::Name);
            }
            head
        })
    }

    /// The channel has one more sender.
    pub(crate) fn add_sender(&self, channel: ObjectId) {
        self.world().objects.add_sender(channel);
    }

    /// Adds the alternative of standing in line to the readers to whom `lock` offers it.
    pub(crate) fn offer_line(&self, lock: ObjectId) {
        let world = self.world();
        for step in world.objects.offers(lock) {
            world.trace.events[*step as usize].free_alts = PASS_OR_STAND;
        }
    }
}
