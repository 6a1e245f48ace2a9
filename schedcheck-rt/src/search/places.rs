//! Where and how lines leave their parents, by number.
//!
//! Far fewer steps and ways go together than there are lines: a number of two bytes takes the place of eight.

use super::ways::WayId;

/// Number of a place.
pub(super) type PlaceId = u32;

const NO_PLACE: PlaceId = PlaceId::MAX;

/// All places of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The step, with flags of the line, and the way.
    all: Vec<(u32, WayId)>,
    /// Numbers by hash; as many as a power of two, some of them [`NO_PLACE`].
    table: Vec<PlaceId>,
    /// How many there may be before it is worth looking for those that are unused.
    limit: usize,
}

/// So few are not worth looking through all lines.
const FEW: usize = 1 << 14;

impl Places {
    /// The step, with flags, and the way.
    #[inline]
    pub(super) fn get(&self, place: PlaceId) -> (u32, WayId) {
        self.all[place as usize]
    }

    /// The number of a place, if it has one.
    #[inline]
    pub(super) fn find(&self, start: u32, way: WayId) -> Option<PlaceId> {
        let mut at = self.position(start, way);
        loop {
            match *self.table.get(at)? {
                NO_PLACE => return None,
                place if self.all[place as usize] == (start, way) => return Some(place),
                _ => at = (at + 1) & (self.table.len() - 1),
            }
        }
    }

    /// Gives a number to a place that has none.
    pub(super) fn add(&mut self, start: u32, way: WayId) -> PlaceId {
        let place = self.all.len() as PlaceId;
        if self.all.len() == self.all.capacity() {
            self.all.reserve_exact(self.all.len() / 8 + 16);
        }
        self.all.push((start, way));
        if self.all.len() * 8 > self.table.len() * 7 {
            self.fill_table((self.table.len() * 2).max(64));
        } else {
            self.enter(place);
        }
        place
    }

    fn fill_table(&mut self, size: usize) {
        self.table = vec![NO_PLACE; size];
        (0..self.all.len() as PlaceId).for_each(|place| self.enter(place));
    }

    fn enter(&mut self, place: PlaceId) {
        let (start, way) = self.get(place);
        let mut at = self.position(start, way);
        while self.table[at] != NO_PLACE {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = place;
    }

    /// Where the search for its number begins.
    #[inline]
    fn position(&self, start: u32, way: WayId) -> usize {
        let hash = (u64::from(start) << 32 | u64::from(way)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & self.table.len().wrapping_sub(1)
    }

    /// Whether there may be many that are unused.
    pub(super) fn may_shrink(&self) -> bool {
        self.all.len() > self.limit.max(FEW)
    }

    /// Drops what is not `used` and renames ways; the new numbers, by old ones.
    pub(super) fn retain(&mut self, used: &[bool], rename: impl Fn(WayId) -> WayId) -> Vec<PlaceId> {
        let before = std::mem::take(self);
        let mut numbers = vec![NO_PLACE; before.all.len()];
        for (place, &(start, way)) in before.all.iter().enumerate().filter(|&(place, _)| used[place]) {
            numbers[place] = self.add(start, rename(way));
        }
        self.limit = 2 * self.all.len();
        numbers
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Bytes that they occupy.
    pub(super) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<(u32, WayId)>() + self.table.capacity() * size_of::<PlaceId>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_number_and_those_in_use_survive() {
        let mut places = Places::default();
        assert_eq!(places.find(1, 2), None);
        let all: Vec<(u32, WayId)> =
            (0..5000).map(|number| (number % 70 + (number % 3) * (1 << 29), number / 70)).collect();
        let numbers: Vec<PlaceId> = all.iter().map(|&(start, way)| places.add(start, way)).collect();
        for (&(start, way), &number) in all.iter().zip(&numbers) {
            assert_eq!(places.find(start, way), Some(number));
            assert_eq!(places.get(number), (start, way));
            assert_eq!(places.find(start, way + 5000), None);
        }
        let used: Vec<bool> = (0..5000).map(|place| place % 10 == 4).collect();
        let before = places.bytes();
        let new = places.retain(&used, |way| way + 1);
        assert_eq!(places.len(), 500);
        assert!(places.bytes() < before / 4);
        for ((&(start, way), &old), &used) in all.iter().zip(&numbers).zip(&used) {
            assert_eq!(places.find(start, way + 1), used.then_some(new[old as usize]));
        }
    }
}
