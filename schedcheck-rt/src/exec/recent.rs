//! The last steps of a thread, and a quick answer whether it did something among them: most of what threads do they did not do
//! just before, and every operation asks.

use super::controller::StepNote;
use super::spin::Place;
use crate::model::{Kind, Site};
use crate::search::step::{NO_STEP, ObjectId, StepIndex};

/// Steps that are remembered.
const MEMORY: usize = 64;
/// Bits of a [`Filter`], in words.
const WORDS: usize = 8;

/// A set of hashes of what was done: none is missing, but there may be more.
type Filter = [u64; WORDS];

/// A thread's last steps, in a ring.
pub(super) struct Recent {
    steps: [StepIndex; MEMORY],
    /// A hash of what each of them did.
    hashes: [u32; MEMORY],
    /// The object whose state each of them used, if there is one.
    objects: [ObjectId; MEMORY],
    count: usize,
    /// Those since the ring was last full, and those of the ring before that.
    filters: [Filter; 2],
}

impl Recent {
    pub(super) const fn new() -> Recent {
        Recent {
            steps: [NO_STEP; MEMORY],
            hashes: [0; MEMORY],
            objects: [ObjectId::NONE; MEMORY],
            count: 0,
            filters: [[0; WORDS]; 2],
        }
    }

    /// By what is done with what, where.
    #[inline]
    fn hash(kind: Kind, object: ObjectId, site: Site) -> u32 {
        let place = std::ptr::from_ref(site).addr() ^ (kind as usize) << 40 ^ (object.0 as usize) << 32;
        (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }

    /// The place of a hash in a filter: a word and a bit of it.
    #[inline]
    fn bit(hash: u32) -> (usize, u64) {
        ((hash >> 29) as usize % WORDS, 1 << (hash >> 23 & 63))
    }

    /// A step was executed.
    #[inline]
    pub(super) fn push(&mut self, kind: Kind, object: ObjectId, site: Site, step: StepIndex) {
        let hash = Self::hash(kind, object, site);
        let at = self.count % MEMORY;
        if at == 0 {
            self.filters = [[0; WORDS], self.filters[0]];
        }
        let used = if kind == Kind::Spin { ObjectId::NONE } else { object };
        (self.steps[at], self.hashes[at], self.objects[at]) = (step, hash, used);
        self.count += 1;
        let (word, bit) = Self::bit(hash);
        self.filters[0][word] |= bit;
    }

    /// None of them is of interest any more.
    #[inline]
    pub(super) fn clear(&mut self) {
        if self.count > 0 {
            self.count = 0;
            self.filters = [[0; WORDS]; 2];
        }
    }

    /// Whether the thread may have done that in one of them.
    #[inline]
    pub(super) fn may_have(&self, place: Place) -> bool {
        let (word, bit) = Self::bit(Self::hash(place.kind, place.object, place.site));
        (self.filters[0][word] | self.filters[1][word]) & bit != 0
    }

    /// The last one, if there is one.
    #[inline]
    pub(super) fn last(&self) -> Option<StepIndex> {
        (self.count > 0).then(|| self.steps[(self.count - 1) % MEMORY])
    }

    /// The steps since the thread last did that, that one first; `None` if it did not.
    #[inline]
    pub(super) fn since(&self, place: Place, notes: &[StepNote]) -> Option<Since<'_>> {
        let hash = Self::hash(place.kind, place.object, place.site);
        if !self.hashes.contains(&hash) {
            return None;
        }
        let oldest = self.count.saturating_sub(MEMORY);
        let does = |at: &usize| {
            let at = at % MEMORY;
            self.hashes[at] == hash && place.is(&notes[self.steps[at] as usize])
        };
        let start = (oldest..self.count).rev().find(does)?;
        Some(Since { recent: self, start })
    }
}

/// Some of a thread's last steps, up to the very last one.
#[derive(Clone, Copy)]
pub(super) struct Since<'a> {
    recent: &'a Recent,
    start: usize,
}

impl<'a> Since<'a> {
    /// All of them, in order.
    #[inline]
    pub(super) fn steps(self) -> impl Iterator<Item = StepIndex> + use<'a> {
        (self.start..self.recent.count).map(move |at| self.recent.steps[at % MEMORY])
    }

    /// The positions of the first one and behind the last one among all steps of the thread, as far as it remembers them.
    #[inline]
    pub(super) fn positions(self) -> (usize, usize) {
        (self.start, self.recent.count)
    }

    /// A step of the thread by its position, if it is remembered.
    #[inline]
    pub(super) fn step_at(self, position: usize) -> Option<StepIndex> {
        let count = self.recent.count;
        (position < count && position + MEMORY >= count).then(|| self.recent.steps[position % MEMORY])
    }

    /// The first and the last of them that used `object`.
    #[inline]
    pub(super) fn uses(self, object: ObjectId) -> Option<(StepIndex, StepIndex)> {
        let Recent { steps, objects, count, .. } = self.recent;
        let uses = |at: &usize| objects[at % MEMORY] == object && object != ObjectId::NONE;
        let first = (self.start..*count).find(uses)?;
        let last = (first..*count).rev().find(uses)?;
        Some((steps[first % MEMORY], steps[last % MEMORY]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn the_last_steps_are_found_whatever_came_before_and_no_others() {
        let (site, other_site) = (Location::caller(), Location::caller());
        let (mut recent, mut notes) = (Recent::new(), Vec::new());
        let place = |number: u32| Place { kind: Kind::Load, object: ObjectId(number), site };
        let since = |recent: &Recent, notes: &[StepNote], number| -> Option<Vec<StepIndex>> {
            recent.since(place(number), notes).map(|since| since.steps().collect())
        };
        for step in 0..1000 {
            let (kind, object) = (Kind::Load, ObjectId(step % 150));
            notes.push(StepNote { kind, object, site, time: 0, after: 0 });
            recent.push(kind, object, site, step);
            assert_eq!(recent.last(), Some(step));
            for back in 0..150.min(step + 1) {
                let number = (step - back) % 150;
                let expected = (back < MEMORY as u32).then(|| (step - back..=step).collect());
                assert_eq!(since(&recent, &notes, number), expected, "{back} before {step}");
                assert!(expected.is_none() || recent.may_have(place(number)));
                let uses = recent.since(place(number), &notes).and_then(|since| since.uses(ObjectId(number)));
                assert_eq!(uses, expected.map(|steps| (steps[0], steps[0])), "{back} before {step}");
            }
            let elsewhere = Place { site: other_site, ..place(step % 150) };
            assert!(recent.since(elsewhere, &notes).is_none());
        }
        let found = (150..1150).filter(|number| recent.may_have(place(*number))).count();
        assert!(found < 400, "{found} of 1000 that were never done may have been done");
        recent.clear();
        assert!(recent.last().is_none() && (0..150).all(|number| !recent.may_have(place(number))));
        assert!(since(&recent, &notes, 0).is_none());
    }
}
