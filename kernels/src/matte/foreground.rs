//! The colours of what a matte shows, without the background's: Forte, "Approximate Fast Foreground Colour Estimation", ICIP 2021
//! (blur fusion, two passes).

use super::{MatteError, check};

/// The radii of the two passes, in pixels, as published.
const RADII: [usize; 2] = [90, 6];

/// Keeps quotients finite where there is nothing of either.
const LEAST: f64 = 1e-5;

/// Takes the background's colours out of soft edges.
///
/// A pixel of the frame is `matte * foreground + (1 - matte) * background`. In each pass, foreground and background are first the means
/// of the square around a pixel, as far as it lies in the frame, with the matte and the rest of it as weights; then the foreground is moved so that
/// the equation holds. The first pass starts from the frame, the second from what the first has found.
#[derive(Clone, Debug)]
pub struct Foreground {
    frame: [usize; 2],
    radii: [usize; 2],
}

/// The squares' means around each pixel.
struct Means {
    frame: [usize; 2],
    radius: usize,
}

impl Foreground {
    /// For frames of this width and height.
    pub fn new(frame: [usize; 2]) -> Self {
        Self { frame, radii: RADII }
    }

    #[cfg(test)]
    pub(super) fn with_radii(frame: [usize; 2], radii: [usize; 2]) -> Self {
        Self { frame, radii }
    }

    /// Changes the first three bytes of each pixel of four, in rows that begin `stride` bytes apart; `mask` is dense. Pixels where it is 0 stay
    /// as they are.
    ///
    /// # Errors
    /// [`MatteError::Room`].
    pub fn run(&self, pixels: &mut [u8], stride: usize, mask: &[u8]) -> Result<(), MatteError> {
        let [width, height] = self.frame;
        check(width * height, &[mask])?;
        let wanted = stride * height.saturating_sub(1) + 4 * width;
        if stride < 4 * width || pixels.len() < wanted {
            return Err(MatteError::Room { wanted, given: pixels.len() });
        }
        let matte: Vec<f32> = mask.iter().map(|v| f32::from(*v) / 255.0).collect();
        let means = self.radii.map(|radius| Means { frame: self.frame, radius });
        let coverage = means.each_ref().map(|means| means.of(&matte));
        for channel in 0..3 {
            let rows = pixels.chunks(stride).take(height);
            let image: Vec<f32> = rows
                .flat_map(|row| row[..4 * width].iter().skip(channel).step_by(4).map(|v| f32::from(*v)))
                .collect();
            let (mut front, mut back) = (image.clone(), image.clone());
            for (means, coverage) in means.iter().zip(&coverage) {
                fuse(&image, &mut front, &mut back, &matte, means, coverage);
            }
            for (y, row) in pixels.chunks_mut(stride).take(height).enumerate() {
                for (x, pixel) in row[..4 * width].chunks_exact_mut(4).enumerate() {
                    if mask[y * width + x] > 0 {
                        pixel[channel] = (front[y * width + x] + 0.5) as u8;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A pass: the foreground and the background that explain the image better.
fn fuse(
    image: &[f32],
    front: &mut [f32],
    back: &mut Vec<f32>,
    matte: &[f32],
    means: &Means,
    coverage: &[f32],
) {
    let weighed = |of: &[f32], by: &dyn Fn(f32) -> f32| -> Vec<f32> {
        of.iter().zip(matte).map(|(v, matte)| v * by(*matte)).collect()
    };
    let ahead = means.of(&weighed(front, &|matte| matte));
    let behind = means.of(&weighed(back, &|matte| 1.0 - matte));
    back.clear();
    for (at, coverage) in coverage.iter().enumerate() {
        let least = LEAST as f32;
        let (near, far) = (ahead[at] / (coverage + least), behind[at] / (1.0 - coverage + least));
        let matte = matte[at];
        front[at] = (near + matte * (image[at] - matte * near - (1.0 - matte) * far)).clamp(0.0, 255.0);
        back.push(far);
    }
}

impl Means {
    /// By running sums, along rows and then along columns.
    fn of(&self, values: &[f32]) -> Vec<f32> {
        let ([width, height], radius) = (self.frame, self.radius);
        let count = |at: usize, length: usize| (at + radius + 1).min(length) - at.saturating_sub(radius);
        let mut rows = vec![0.0_f64; values.len()];
        for (from, to) in values.chunks_exact(width).zip(rows.chunks_exact_mut(width)) {
            let mut sum: f64 = from[..radius.min(width)].iter().map(|v| f64::from(*v)).sum();
            for (x, to) in to.iter_mut().enumerate() {
                sum += from.get(x + radius).map_or(0.0, |v| f64::from(*v));
                sum -= if x > radius { f64::from(from[x - radius - 1]) } else { 0.0 };
                *to = sum / count(x, width) as f64;
            }
        }
        let row = |y: usize| &rows[y * width..][..width];
        let mut sums = vec![0.0; width];
        for y in 0..radius.min(height) {
            sums.iter_mut().zip(row(y)).for_each(|(sum, v)| *sum += v);
        }
        let mut means = Vec::with_capacity(values.len());
        for y in 0..height {
            if y + radius < height {
                sums.iter_mut().zip(row(y + radius)).for_each(|(sum, v)| *sum += v);
            }
            if y > radius {
                sums.iter_mut().zip(row(y - radius - 1)).for_each(|(sum, v)| *sum -= v);
            }
            let count = count(y, height) as f64;
            means.extend(sums.iter().map(|sum| (sum / count) as f32));
        }
        means
    }
}
