//! Numbers that look random and are the same for the same seed.

/// Knuth's generator.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to one below `sides`, which is not 0.
    pub fn roll(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides).unwrap();
        usize::try_from(self.next() % sides).unwrap()
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.roll(among.len())]
    }

    /// From 0 to below 1.
    pub fn part(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 31) as f64
    }

    /// A number of 31 bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}
