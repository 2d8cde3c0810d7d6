//! Thresholds from the distribution of a detector's confidences.

/// Bins of the histogram, over 0..1.
const BINS: usize = 100;
/// There are no thresholds before this many detections.
const FEW: u32 = 100;
/// The histogram is halved when it has this many, so that the distribution may change.
const MANY: u32 = 20_000;
/// The share of the strong detections, the least confident, that starts no object.
const DOUBTFUL: f64 = 0.25;
/// The threshold between weak and strong detections is at most ByteTrack's: some detectors give hardly any weak ones.
const HIGHEST: f32 = 0.6;

/// The distribution of a detector's confidences so far. Detectors differ: one may give a person 0.7, another 0.98.
#[derive(Clone, Debug)]
pub(super) struct Confidences {
    counts: [u32; BINS],
    total: u32,
}

/// Thresholds from the distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thresholds {
    /// Between weak and strong detections.
    pub(super) high: f32,
    /// A detection of this confidence or more may start an object.
    pub(super) new: f32,
}

impl Default for Confidences {
    fn default() -> Self {
        Self { counts: [0; BINS], total: 0 }
    }
}

impl Confidences {
    /// Takes in the confidences of a frame, each within 0..1.
    pub(super) fn take(&mut self, confidences: impl Iterator<Item = f32>) {
        for confidence in confidences {
            if let Some(count) = self.counts.get_mut(bin(confidence)) {
                *count += 1;
                self.total += 1;
            }
        }
        if self.total >= MANY {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
    }

    /// Otsu's threshold, and the lower quartile of what is above it; `None` while there are too few detections.
    pub(super) fn thresholds(&self) -> Option<Thresholds> {
        let high = edge(self.split()?).min(HIGHEST);
        let strong = self.counts.get(bin(high)..)?;
        let mut doubtful = DOUBTFUL * f64::from(strong.iter().sum::<u32>());
        let above = strong.iter().take_while(|count| {
            doubtful -= f64::from(**count);
            doubtful >= 0.0
        });
        Some(Thresholds { high, new: edge(bin(high) + above.count()) })
    }

    /// The bin at which the variance between those below and the others is greatest (N. Otsu, "A threshold selection method
    /// from gray-level histograms", IEEE Transactions on Systems, Man, and Cybernetics, 1979).
    fn split(&self) -> Option<usize> {
        if self.total < FEW {
            return None;
        }
        let counts = || self.counts.iter().enumerate().map(|(bin, count)| (bin as f64, f64::from(*count)));
        let (all, sum) = counts().fold((0.0, 0.0), |(n, sum), (bin, count)| (n + count, sum + bin * count));
        let (mut below, mut sum_below) = (0.0, 0.0);
        let mut best = (0.0, 0);
        for (index, (bin, count)) in counts().enumerate() {
            let difference = (sum - sum_below) / (all - below).max(1.0) - sum_below / f64::max(below, 1.0);
            let between = below * (all - below) * difference * difference;
            if between > best.0 {
                best = (between, index);
            }
            (below, sum_below) = (below + count, sum_below + bin * count);
        }
        Some(best.1)
    }
}

fn bin(confidence: f32) -> usize {
    // The bins' edges are not exact in f32, but a threshold must fall into its own bin.
    (((confidence + 1e-4) * BINS as f32) as usize).min(BINS - 1)
}

fn edge(bin: usize) -> f32 {
    bin as f32 / BINS as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(confidences: &[(usize, f32)]) -> Confidences {
        let mut made = Confidences::default();
        for &(times, confidence) in confidences {
            made.take(std::iter::repeat_n(confidence, times));
        }
        made
    }

    #[test]
    fn the_threshold_lies_between_weak_and_strong() {
        let two = of(&[(500, 0.1), (300, 0.15), (50, 0.65), (100, 0.75), (50, 0.85)]);
        let Thresholds { high, new } = two.thresholds().unwrap();
        assert!(high > 0.15 && high <= 0.65, "{high}");
        // The 50 weakest are exactly a quarter of the 200 strong ones.
        assert_eq!(new, 0.75);
        assert_eq!(of(&[(500, 0.1), (51, 0.65), (100, 0.75), (49, 0.85)]).thresholds().unwrap().new, 0.65);
    }

    #[test]
    fn a_detector_that_is_always_sure_has_ordinary_thresholds() {
        let sure = of(&[(50, 0.8), (1000, 0.98), (500, 1.0)]);
        assert_eq!(sure.thresholds().unwrap(), Thresholds { high: 0.6, new: 0.98 });
    }

    #[test]
    fn few_detections_give_no_thresholds_and_old_ones_fade() {
        assert_eq!(of(&[(99, 0.9)]).thresholds(), None);
        assert_eq!(of(&[(60, 0.0), (60, 0.0)]).thresholds(), Some(Thresholds { high: 0.0, new: 0.0 }));
        let mut changed = of(&[(15_000, 0.3), (4000, 0.5)]);
        for _ in 0..200 {
            changed.take(std::iter::repeat_n(0.9, 600).chain(std::iter::repeat_n(0.2, 600)));
        }
        let Thresholds { high, new } = changed.thresholds().unwrap();
        assert!(high > 0.2 && high <= 0.6 && new == 0.9, "{high} {new}");
        assert!(changed.total < 2 * MANY);
    }
}
