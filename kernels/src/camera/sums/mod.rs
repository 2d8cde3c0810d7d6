//! Pictures as sums of samples: a pixel is the mean over the area that it covers, each source pixel weighted by its covered part, in
//! whole numbers, so that the CPU and the GPU may add in any order. Samples of 8 bits in all formats; the others, and pictures that are
//! larger than their frame, are [`crate::preproc`]'s.
//!
//! In units of 1 / (picture's side / gcd) pixel, a pixel of the picture is `step` long and a source pixel `unit`. Luma is clamped to its
//! range before it is added. Red, green and blue are added one by one, and weighted at the end, where one rounding to float32 and one
//! to 8 bits (half to even) are left.

mod cpu;
mod cuda;

pub(super) use cpu::CpuSums;
pub(super) use cuda::CudaSums;

use crate::frame::{FrameFormat, PixelFormat, Range};
use crate::preproc::{ChannelOrder, Color, components};

/// The largest whole number of source pixels in a pixel, on each axis: their samples' sum fits into 16 bits, and their row, of up
/// to 4 bytes a pixel, into a block of the kernel.
const LARGEST_RATIO: u32 = 120;

/// Adding this to a float of less than 2^22 rounds that to an integer, half to even, and leaves the integer in the low bits.
const ROUND: f32 = 12_582_912.0;

/// How a frame becomes a picture.
#[derive(Clone, Debug)]
pub(super) struct SumPlan {
    format: FrameFormat,
    width: u32,
    height: u32,
    x: Axis,
    y: Axis,
    /// Bytes from one pixel to the next.
    group: usize,
    channels: Vec<Channel>,
    /// The samples that count as 0 and as 255.
    low: u8,
    high: u8,
}

/// A channel that is added up.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// Bytes before its first sample.
    offset: usize,
    /// From a sum to a part of the picture's gray level.
    factor: f32,
}

/// One axis, in units of 1 / (picture's side / gcd) pixel.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The length of a pixel of the picture, `ratio * unit + rest`.
    step: u32,
    /// The length of a source pixel.
    unit: u32,
    ratio: u32,
    rest: u32,
}

/// The source pixels that a pixel of the picture covers, and how much of each: `head` of the first, all of the next `ratio - 1`, and
/// of the two after these, which may lie outside if nothing of them is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coverage {
    first: u32,
    head: u32,
    tails: [u32; 2],
}

impl SumPlan {
    /// None where [`crate::preproc`] must do it. Both sides of both sizes are 1 to [`MAX_SIDE`](crate::preproc::MAX_SIDE).
    pub fn new(format: FrameFormat, [width, height]: [usize; 2]) -> Option<Self> {
        let (x, y) = (Axis::new(format.width, width)?, Axis::new(format.height, height)?);
        let all = components(format.pixels);
        let (low, high, weights) = match (Color::new(&format, ChannelOrder::Gray), format.range) {
            (Color::RgbToLuma(weights), _) => (0, 255, weights.to_vec()),
            (_, Range::Limited) => (16, 235, vec![1.0]),
            (_, Range::Full) => (0, 255, vec![1.0]),
        };
        if format.pixels == PixelFormat::P010Le {
            return None;
        }
        // The sums are below 2^32.
        let area = u64::from(x.step) * u64::from(y.step);
        if area * 255 > u64::from(u32::MAX) {
            return None;
        }
        let scale = 255.0 / (f64::from(high - low) * area as f64);
        let channels = all.iter().zip(weights).map(|(component, weight)| Channel {
            offset: component.offset,
            factor: (f64::from(weight) * scale) as f32,
        });
        Some(Self {
            format,
            width: u32::try_from(width).ok()?,
            height: u32::try_from(height).ok()?,
            x,
            y,
            group: all.first()?.group,
            channels: channels.collect(),
            low,
            high,
        })
    }

    /// Bytes of a row, from the first pixel's first to the last pixel's last.
    fn row_bytes(&self) -> usize {
        self.format.width * self.group
    }
}

impl Axis {
    fn new(frame: usize, picture: usize) -> Option<Self> {
        let divisor = greatest_common_divisor(frame, picture);
        let [step, unit] = [frame, picture].map(|side| u32::try_from(side / divisor).ok());
        let (step, unit) = (step?, unit?);
        let ratio = step / unit;
        (1..=LARGEST_RATIO).contains(&ratio).then_some(Self { step, unit, ratio, rest: step % unit })
    }

    /// What pixel `at` of the picture covers; the kernel calculates the same.
    fn coverage(&self, at: u32) -> Coverage {
        let (first, skipped) = (at * self.step / self.unit, at * self.step % self.unit);
        let rest = self.rest + skipped;
        let tail = rest.min(self.unit);
        Coverage { first, head: self.unit - skipped, tails: [tail, rest - tail] }
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_cover_the_frame_without_gaps() {
        for (frame, picture) in
            [(1920, 480), (1080, 108), (1366, 455), (767, 255), (1280, 182), (5, 5), (7, 4)]
        {
            let axis = Axis::new(frame, picture).unwrap();
            let mut covered = vec![0; frame];
            for at in 0..picture {
                let Coverage { first, head, tails } = axis.coverage(u32::try_from(at).unwrap());
                let whole = std::iter::repeat_n(axis.unit, axis.ratio as usize - 1);
                let weights: Vec<u32> = std::iter::once(head).chain(whole).chain(tails).collect();
                assert_eq!(weights.iter().sum::<u32>(), axis.step, "{frame} to {picture}: {at}");
                for (i, weight) in weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0) {
                    covered[first as usize + i] += weight;
                }
            }
            assert!(covered.iter().all(|covered| *covered == axis.unit), "{frame} to {picture}");
        }
    }

    #[test]
    fn what_sums_cannot_do_is_left_to_preprocessing() {
        let format = |pixels, width, height| FrameFormat {
            pixels,
            width,
            height,
            matrix: crate::frame::Matrix::Bt709,
            range: Range::Limited,
        };
        for pixels in PixelFormat::ALL {
            let plan = SumPlan::new(format(pixels, 1920, 1080), [192, 108]);
            assert_eq!(plan.is_some(), pixels != PixelFormat::P010Le, "{pixels:?}");
        }
        let gray = |width, height| format(PixelFormat::Gray8, width, height);
        assert!(SumPlan::new(gray(100, 100), [101, 100]).is_none(), "a side grows");
        assert!(SumPlan::new(gray(16_384, 100), [128, 100]).is_none(), "128 pixels in one");
        assert!(SumPlan::new(gray(8191, 4099), [178, 100]).is_none(), "sums of 34 bits");
    }
}
