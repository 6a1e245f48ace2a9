//! How lines leave their parents, each way kept once, in few bytes.
//!
//! Many lines do the same at different points of different executions, so they name their way by number. A
//! way is kept as a row of numbers of varying length ([`super::bytes`] has the same), found again by its
//! hash. Steps in the middle of a chain are asked for, so a long chain has numbers of one length: otherwise
//! an execution of many thousand steps would be read from its beginning for every step of it. Ways that no
//! line uses any more are dropped as soon as they are half of all.

use super::edges::{EdgeId, NO_EDGE};
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::Hasher;

/// Number of a way.
pub(super) type WayId = u32;

/// "No way".
pub(super) const NO_WAY: WayId = WayId::MAX;

/// Fewer ways than this are not worth looking through.
const FEW: usize = 1000;

/// Chains of so many steps are long.
const LONG: u32 = 32;

/// Bytes of each step of a long chain.
const WIDTH: usize = size_of::<EdgeId>();

/// How a line leaves its parent. Steps are counted from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// What the parent itself does there; nothing at its end.
    pub(super) own: EdgeId,
    /// Preemptions of its schedule, as far as it was fixed when it was made.
    pub(super) preemptions: u32,
    /// The first step at which it is free.
    pub(super) free: u32,
    /// How many steps its chain has.
    pub(super) steps: u32,
    /// Those, then each sleeper inside the chain: an edge, and the step at which it is awake.
    pub(super) words: SmallVec<[u32; 8]>,
}

/// A way as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept<'a> {
    pub(super) own: EdgeId,
    pub(super) preemptions: u32,
    pub(super) free: u32,
    pub(super) steps: u32,
    words: &'a [u8],
}

/// The steps of a chain, one after the other.
#[derive(Clone, Debug)]
enum Steps<'a> {
    Short(std::iter::Take<Numbers<'a>>),
    Long(std::slice::Iter<'a, [u8; WIDTH]>),
}

impl Iterator for Steps<'_> {
    type Item = EdgeId;

    #[inline]
    fn next(&mut self) -> Option<EdgeId> {
        match self {
            Steps::Short(numbers) => numbers.next(),
            Steps::Long(words) => words.next().map(|word| EdgeId::from_le_bytes(*word)),
        }
    }
}

/// Numbers that follow each other as bytes.
#[derive(Clone, Debug)]
struct Numbers<'a>(&'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

fn write(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl<'a> Kept<'a> {
    #[inline]
    fn read(bytes: &'a [u8]) -> Kept<'a> {
        // Nearly always all four have one byte each.
        if let Some((&head, words)) = bytes.split_first_chunk()
            && u32::from_le_bytes(head) & 0x8080_8080 == 0
        {
            let [own, preemptions, free, steps]: [u8; 4] = head;
            return Kept {
                own: u32::from(own).wrapping_sub(1),
                preemptions: preemptions.into(),
                free: free.into(),
                steps: steps.into(),
                words,
            };
        }
        let mut numbers = Numbers(bytes);
        let mut next = || numbers.next().unwrap_or(0);
        // One more, so that `NO_EDGE` is short.
        let own = next().wrapping_sub(1);
        let (preemptions, free, steps) = (next(), next(), next());
        Kept { own, preemptions, free, steps, words: numbers.0 }
    }

    /// The steps of its chain, then the sleepers inside of it.
    pub(super) fn words(&self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        self.steps().chain(self.behind_steps())
    }

    /// The edges of its chain.
    #[inline]
    pub(super) fn chain(&self) -> impl Iterator<Item = EdgeId> + use<'a> {
        self.steps()
    }

    /// One of them, counted from the first.
    #[inline]
    pub(super) fn step(&self, at: usize) -> Option<EdgeId> {
        match self.steps() {
            Steps::Short(mut numbers) => numbers.nth(at),
            Steps::Long(words) => words.as_slice().get(at).map(|word| EdgeId::from_le_bytes(*word)),
        }
    }

    /// Who is asleep inside the chain, and until which step.
    pub(super) fn sleepers(&self) -> impl Iterator<Item = (EdgeId, u32)> + use<'a> {
        let mut rest = self.behind_steps();
        std::iter::from_fn(move || Some((rest.next()?, rest.next()?)))
    }

    #[inline]
    fn steps(&self) -> Steps<'a> {
        let steps = self.steps as usize;
        if self.steps < LONG {
            return Steps::Short(Numbers(self.words).take(steps));
        }
        Steps::Long(self.words[..steps * WIDTH].as_chunks().0.iter())
    }

    #[inline]
    fn behind_steps(&self) -> Numbers<'a> {
        let steps = self.steps as usize;
        if self.steps >= LONG {
            return Numbers(&self.words[steps * WIDTH..]);
        }
        let mut numbers = Numbers(self.words);
        (0..steps).for_each(|_| _ = numbers.next());
        numbers
    }

    /// The same to be changed.
    pub(super) fn to_way(self) -> Way {
        let Kept { own, preemptions, free, steps, .. } = self;
        Way { own, preemptions, free, steps, words: self.words().collect() }
    }
}

/// All ways of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<u32>,
    /// Numbers by hash; as many places as a power of two, some of them with [`NO_WAY`].
    table: Vec<WayId>,
    /// How many there may be before it is worth looking for those that are unused.
    limit: usize,
}

impl Ways {
    #[inline]
    pub(super) fn get(&self, way: WayId) -> Kept<'_> {
        Kept::read(self.row(way))
    }

    /// The first step at which a way is free.
    #[inline]
    pub(super) fn free(&self, way: WayId) -> u32 {
        let start = (way as usize).checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        match self.bytes[start..].first_chunk() {
            Some(&[own, preemptions, free]) if own | preemptions | free < 0x80 => u32::from(free),
            _ => self.get(way).free,
        }
    }

    #[inline]
    fn row(&self, way: WayId) -> &[u8] {
        let at = way as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    /// The number of a way, which may be new. `words` are the edges of its chain, `steps` of them, and
    /// what follows.
    pub(super) fn number(
        &mut self,
        (own, preemptions): (EdgeId, u32),
        free: u32,
        steps: usize,
        words: impl Iterator<Item = u32>,
    ) -> WayId {
        let start = self.bytes.len();
        debug_assert_eq!(NO_EDGE.wrapping_add(1), 0, "it is written as the shortest number");
        for number in [own.wrapping_add(1), preemptions, free, steps as u32] {
            grow(&mut self.bytes, 5);
            write(number, &mut self.bytes);
        }
        for (at, word) in words.enumerate() {
            grow(&mut self.bytes, 5);
            if steps >= LONG as usize && at < steps {
                self.bytes.extend(word.to_le_bytes());
            } else {
                write(word, &mut self.bytes);
            }
        }
        if self.ends.len() * 8 >= self.table.len() * 7 {
            self.rebuild_table((self.table.len() * 2).max(64));
        }
        match self.find(start) {
            Ok(known) => {
                self.bytes.truncate(start);
                known
            }
            Err(place) => {
                let number = self.ends.len() as WayId;
                let end = u32::try_from(self.bytes.len()).expect("ways take less than 4 GB");
                grow(&mut self.ends, 1);
                self.ends.push(end);
                self.table[place] = number;
                number
            }
        }
    }

    /// The number of a way that was changed.
    pub(super) fn number_of(&mut self, way: &Way) -> WayId {
        let words = way.words.iter().copied();
        self.number((way.own, way.preemptions), way.free, way.steps as usize, words)
    }

    /// The way that is written behind the others, from `start` on; or where its number belongs.
    fn find(&self, start: usize) -> Result<WayId, usize> {
        let new = &self.bytes[start..];
        let mut place = self.place_of(new);
        loop {
            match self.table[place] {
                NO_WAY => return Err(place),
                known if self.row(known) == new => return Ok(known),
                _ => place = (place + 1) & (self.table.len() - 1),
            }
        }
    }

    fn place_of(&self, row: &[u8]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write(row);
        hasher.finish() as usize & (self.table.len() - 1)
    }

    fn rebuild_table(&mut self, places: usize) {
        self.table = vec![NO_WAY; places];
        for way in 0..self.ends.len() as WayId {
            let mut place = self.place_of(self.row(way));
            while self.table[place] != NO_WAY {
                place = (place + 1) & (places - 1);
            }
            self.table[place] = way;
        }
    }

    /// Whether there may be many that are unused.
    pub(super) fn may_shrink(&self) -> bool {
        self.ends.len() > self.limit.max(FEW)
    }

    /// Drops what is not `used`; the new numbers, by old ones.
    pub(super) fn retain(&mut self, used: &[bool]) -> Vec<WayId> {
        let mut kept = Ways::default();
        let mut numbers = vec![NO_WAY; self.ends.len()];
        for way in (0..self.ends.len()).filter(|&way| used[way]) {
            let row = self.row(way as WayId);
            grow(&mut kept.bytes, row.len());
            kept.bytes.extend_from_slice(row);
            numbers[way] = kept.ends.len() as WayId;
            grow(&mut kept.ends, 1);
            kept.ends.push(kept.bytes.len() as u32);
        }
        kept.limit = 2 * kept.ends.len();
        kept.rebuild_table((kept.ends.len() * 8 / 7 + 1).next_power_of_two().max(64));
        *self = kept;
        numbers
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that they occupy.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity() + (self.ends.capacity() + self.table.capacity()) * size_of::<u32>()
    }
}

/// Makes room by an eighth, not twofold.
fn grow<T>(all: &mut Vec<T>, more: usize) {
    if all.capacity() - all.len() < more {
        all.reserve_exact(more + all.len() / 8 + 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(number: u32) -> Way {
        let words: SmallVec<_> =
            (0..number % 5 + 1).map(|at| number.wrapping_mul(at)).chain([number, 3]).collect();
        let steps = words.len() as u32 - 2;
        Way { own: number.wrapping_sub(1), preemptions: number % 3, free: steps, steps, words }
    }

    #[test]
    fn equal_ways_have_one_number_and_come_out_as_they_went_in() {
        let mut ways = Ways::default();
        let all: Vec<u32> = (0..5000).chain([u32::MAX - 1, u32::MAX]).collect();
        let numbers: Vec<WayId> = all.iter().map(|&number| ways.number_of(&way(number))).collect();
        assert_eq!(numbers, (0..all.len() as u32).collect::<Vec<_>>());
        for (&number, &id) in all.iter().zip(&numbers) {
            assert_eq!(ways.number_of(&way(number)), id);
            assert_eq!(ways.get(id).to_way(), way(number));
            assert_eq!(ways.free(id), way(number).free);
        }
        assert_eq!((ways.get(0).own, ways.get(7).sleepers().collect::<Vec<_>>()), (NO_EDGE, vec![(7, 3)]));
        assert!(ways.bytes() < 40 * ways.len(), "{} bytes for {}", ways.bytes(), ways.len());
    }

    #[test]
    fn steps_of_short_and_of_long_chains_are_found_in_the_middle() {
        let mut ways = Ways::default();
        for steps in [0, 1, LONG - 1, LONG, LONG + 1, 500] {
            let words: SmallVec<_> = (0..steps).map(|at| at * 1000).chain([7, 1, u32::MAX, 2]).collect();
            let way = Way { own: 3, preemptions: 1, free: steps, steps, words };
            let number = ways.number_of(&way);
            let kept = ways.get(number);
            assert_eq!(kept.to_way(), way);
            assert_eq!(kept.sleepers().collect::<Vec<_>>(), [(7, 1), (u32::MAX, 2)]);
            let found: Vec<_> = (0..steps as usize).filter_map(|at| kept.step(at)).collect();
            assert!(found.iter().copied().eq(kept.chain()) && found.len() == steps as usize);
            assert_eq!(kept.step(steps as usize), None);
        }
    }

    #[test]
    fn what_is_used_stays_when_the_rest_is_dropped() {
        let mut ways = Ways::default();
        (0..3000).for_each(|number| _ = ways.number_of(&way(number)));
        assert!(ways.may_shrink());
        let used: Vec<bool> = (0..3000).map(|way| way % 10 == 4).collect();
        let numbers = ways.retain(&used);
        assert_eq!((ways.len(), ways.may_shrink()), (300, false));
        for old in (4..3000).step_by(10) {
            let new = numbers[old as usize];
            assert_eq!(ways.get(new).to_way(), way(old));
            assert_eq!(ways.number_of(&way(old)), new);
        }
        assert_eq!(numbers[5], NO_WAY);
    }
}
