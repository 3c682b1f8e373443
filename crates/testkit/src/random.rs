//! Seeded pseudo-random numbers: the same seed gives the same sequence on every machine.

/// A xorshift generator for property tests. A failing seed replays.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// A generator whose whole sequence follows from `seed`; seeds that are close give unlike sequences.
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number from 0 to `limit`, exclusive; 0 where `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit.max(1) as u64) as usize
    }

    /// One of the choices.
    ///
    /// # Panics
    ///
    /// Where there are no choices.
    #[expect(clippy::panic, reason = "a test that chooses from nothing has failed")]
    pub fn choose<T: Clone>(&mut self, choices: &[T]) -> T {
        match choices.get(self.below(choices.len())) {
            Some(choice) => choice.clone(),
            None => panic!("there is nothing to choose from"),
        }
    }

    /// Whether a chance of one in `times` came up.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
