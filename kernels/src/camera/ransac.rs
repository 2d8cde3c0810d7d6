//! The similarity transform that most pairs of points agree on.

/// Where a point was and where it is, in frame pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub from: [f64; 2],
    pub to: [f64; 2],
}

/// `[a, -b; b, a] point + offset`: rotation, one scale for both axes, translation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Similarity {
    pub a: f64,
    pub b: f64,
    pub offset: [f64; 2],
}

/// The transform that the pairs agree on, and how well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreement {
    pub similarity: Similarity,
    /// Pairs that agree.
    pub inliers: usize,
    /// The mean of the points that the transform was last fitted to.
    pub centre: [f64; 2],
    /// The sum of those points' squared distances from the mean.
    pub spread: f64,
    /// The number of those points.
    pub fitted: usize,
    /// The root mean square of their errors.
    pub scatter: f64,
}

/// Number of samples. Where half of the pairs are wrong, all samples hold a wrong one once in 3 million cases.
const SAMPLES: usize = 100;
/// The first number of each frame's sequence: the result depends on the pairs alone, not on earlier frames.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
/// The largest error of a pair, in `unit`s: first to agree, then to be fitted to, where it becomes smaller step by step,
/// because points on slow objects nearly agree.
const TOLERANCE: f64 = 0.75;
const REFITS: [f64; 3] = [TOLERANCE, 0.5, 0.3];
/// The least distance of sampled points, in `unit`s: nearer ones determine a rotation badly.
const NEAREST: f64 = 16.0;

impl Similarity {
    pub fn point(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.a * x - self.b * y + self.offset[0], self.b * x + self.a * y + self.offset[1]]
    }

    /// The square of the pair's error.
    fn error(&self, pair: &Pair) -> f64 {
        let [x, y] = self.point(pair.from);
        squares([x - pair.to[0], y - pair.to[1]])
    }

    /// The transform of two pairs; none where their first points are nearer to each other than the root of `least`.
    fn through(first: &Pair, second: &Pair, least: f64) -> Option<Self> {
        let [from, to] = [minus(second.from, first.from), minus(second.to, first.to)];
        let length = squares(from);
        (length >= least && length > 0.0).then(|| Self::turning(from, to, length, first.from, first.to))
    }

    fn turning(from: [f64; 2], to: [f64; 2], length: f64, was: [f64; 2], is: [f64; 2]) -> Self {
        let a = (from[0] * to[0] + from[1] * to[1]) / length;
        let b = (from[0] * to[1] - from[1] * to[0]) / length;
        Self { a, b, offset: [is[0] - a * was[0] + b * was[1], is[1] - b * was[0] - a * was[1]] }
    }
}

/// Samples pairs, and fits a transform to those that agree. A `unit` is the length of a pixel of the picture. None for fewer
/// than two pairs apart from each other.
pub(super) fn agree(pairs: &[Pair], unit: f64) -> Option<Agreement> {
    let tolerance = (TOLERANCE * unit).powi(2);
    let mut random = SEED;
    let mut best: Option<(f64, Similarity)> = None;
    for _ in 0..SAMPLES {
        let [first, second] = [below(&mut random, pairs.len()), below(&mut random, pairs.len())];
        let (Some(first), Some(second)) = (pairs.get(first), pairs.get(second)) else { return None };
        let Some(sample) = Similarity::through(first, second, (NEAREST * unit).powi(2)) else { continue };
        // MSAC (Torr and Zisserman, 2000): an error counts as large as it is, up to the tolerance.
        let cost: f64 = pairs.iter().map(|pair| sample.error(pair).min(tolerance)).sum();
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, sample));
        }
    }
    let mut similarity = best?.1;
    let mut agreement = None;
    for refit in REFITS {
        let limit = (refit * unit).powi(2);
        let Some(fitted) = fit(pairs.iter().filter(|pair| similarity.error(pair) <= limit)) else { break };
        similarity = fitted.similarity;
        agreement = Some(fitted);
    }
    let inliers = pairs.iter().filter(|pair| similarity.error(pair) <= tolerance).count();
    agreement.map(|agreement| Agreement { inliers, ..agreement })
}

/// Least squares; none for fewer than two points apart.
fn fit<'a>(pairs: impl Iterator<Item = &'a Pair> + Clone) -> Option<Agreement> {
    let (mut fitted, mut was, mut is) = (0, [0.0; 2], [0.0; 2]);
    for pair in pairs.clone() {
        fitted += 1;
        was = [was[0] + pair.from[0], was[1] + pair.from[1]];
        is = [is[0] + pair.to[0], is[1] + pair.to[1]];
    }
    let number = f64::from(u32::try_from(fitted).unwrap_or(u32::MAX)).max(1.0);
    let (centre, is) = (was.map(|sum| sum / number), is.map(|sum| sum / number));
    let (mut spread, mut along, mut across) = (0.0, 0.0, 0.0);
    for pair in pairs.clone() {
        let (from, to) = (minus(pair.from, centre), minus(pair.to, is));
        spread += squares(from);
        along += from[0] * to[0] + from[1] * to[1];
        across += from[0] * to[1] - from[1] * to[0];
    }
    if spread <= 0.0 {
        return None;
    }
    let similarity = Similarity::turning([1.0, 0.0], [along / spread, across / spread], 1.0, centre, is);
    let scatter = (pairs.map(|pair| similarity.error(pair)).sum::<f64>() / number).sqrt();
    Some(Agreement { similarity, inliers: fitted, centre, spread, fitted, scatter })
}

fn minus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

pub(super) fn squares(v: [f64; 2]) -> f64 {
    v[0] * v[0] + v[1] * v[1]
}

/// A number below `n`, which is small: SplitMix64 (Steele et al., 2014). 0 where `n` is 0.
fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    usize::try_from((u128::from(z) * n as u128) >> 64).unwrap_or(0)
}
