//! The channels of an output, and which of them are measured together.
//!
//! An output may hold numbers of several kinds, as boxes of 0 to 640 pixels beside scores of 0 to 1: by the range of all, any score
//! would do. The kinds lie on the second axis or on the last one, whichever is shorter: `4 + C` beside thousands of anchors, or 6
//! beside 300 detections. They are distinguished by their size. A vector, `[N, C]`, is of one kind.

use cudainfer_kernels::tensor::TensorDesc;

/// By how much the greatest value of a channel may be below its group's: heat maps of other keypoints and scores of other classes
/// stay together, because what rounding does to small sums depends on the size of what was summed up.
const ALIKE: f64 = 16.0;
/// The least measure of a group, as a share of the largest one's: what is smaller makes no difference beside it.
const LEAST: f64 = 1e-5;
/// The least measure of values that are all alike, as a share of the values: rounding does not know their range.
const ALL_ALIKE: f64 = 0.125;

/// The expected values of some channels, and how far the found ones are from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    least: f64,
    greatest: f64,
    far: f64,
    squares: f64,
    count: f64,
}

impl Difference {
    const NONE: Self =
        Self { least: f64::INFINITY, greatest: f64::NEG_INFINITY, far: 0.0, squares: 0.0, count: 0.0 };

    /// Values that are not finite must be the same.
    fn add(&mut self, expected: f64, found: f64) -> Result<(), String> {
        if expected.is_finite() && found.is_finite() {
            let off = (expected - found).abs();
            (self.least, self.greatest) = (self.least.min(expected), self.greatest.max(expected));
            (self.far, self.squares, self.count) =
                (self.far.max(off), self.squares + off.powi(2), self.count + 1.0);
        } else if !(expected.is_nan() && found.is_nan() || expected == found) {
            return Err(format!("{found} instead of {expected}"));
        }
        Ok(())
    }

    fn and(self, other: &Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            far: self.far.max(other.far),
            squares: self.squares + other.squares,
            count: self.count + other.count,
        }
    }

    /// The greatest value expected, whatever its sign.
    pub fn size(&self) -> f64 {
        if self.count > 0.0 { self.least.abs().max(self.greatest.abs()) } else { 0.0 }
    }

    /// How far the farthest is off.
    pub fn far(&self) -> f64 {
        self.far
    }

    /// The root of the mean square.
    pub fn mean(&self) -> f64 {
        (self.squares / self.count.max(1.0)).sqrt()
    }

    /// What differences are shares of: the range, unless the values are almost the same.
    fn measure(&self) -> f64 {
        (self.greatest - self.least).max(self.size() * ALL_ALIKE)
    }
}

/// The channels of an output.
#[derive(Debug)]
pub(super) struct Channels {
    /// Adjacent elements of one channel.
    stride: usize,
    all: Vec<Difference>,
}

impl Channels {
    /// The channels of an output whose first dimension is the batch.
    pub fn of(desc: &TensorDesc) -> Self {
        let dims: Vec<usize> = desc.dims.iter().map(|dim| dim.unwrap_or(1)).collect();
        let (count, stride) = match dims[..] {
            [_, first, .., last] if first <= last => (first, dims[2..].iter().product()),
            [_, _, .., last] => (last, 1),
            _ => (1, 1),
        };
        Self { stride, all: vec![Difference::NONE; count.max(1)] }
    }

    /// Takes the output's elements in.
    ///
    /// # Errors
    /// One is not finite, and not the same in both.
    pub fn add<T>(&mut self, expected: &[T], found: &[T], number: impl Fn(&T) -> f64) -> Result<(), String> {
        let (stride, block) = (self.stride.max(1), (self.stride * self.all.len()).max(1));
        for (expected, found) in expected.chunks(block).zip(found.chunks(block)) {
            let parts = expected.chunks(stride).zip(found.chunks(stride));
            for (channel, (expected, found)) in self.all.iter_mut().zip(parts) {
                let mut pairs = expected.iter().zip(found);
                pairs.try_for_each(|(expected, found)| channel.add(number(expected), number(found)))?;
            }
        }
        Ok(())
    }

    /// The groups of channels of about the same size, the largest first, each with the measure of its differences.
    pub fn groups(mut self) -> impl Iterator<Item = (f64, Difference)> {
        self.all.sort_by(|a, b| b.size().total_cmp(&a.size()));
        let largest = self.all.first().map_or(0.0, Difference::size);
        let groups = self.all.chunk_by({
            let mut head = largest;
            move |_, next| {
                let alike = next.size() * ALIKE >= head;
                if !alike {
                    head = next.size();
                }
                alike
            }
        });
        let joined: Vec<_> =
            groups.map(|group| group.iter().fold(Difference::NONE, Difference::and)).collect();
        joined.into_iter().map(move |group| (group.measure().max(LEAST * largest), group))
    }
}
