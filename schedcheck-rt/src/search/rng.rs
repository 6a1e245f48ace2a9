//! Random numbers that are the same everywhere for the same seed.

use super::history::mix;

/// splitmix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A stream of numbers; different seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        Rng(mix(seed))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.number()) * limit as u128) >> 64) as usize
    }
}
