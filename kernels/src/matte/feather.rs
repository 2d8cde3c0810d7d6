//! Softer edges, inwards and outwards.

use super::{MatteError, check};
use crate::segment::spread;

/// The greatest feather in pixels.
pub const MOST_FEATHER: u32 = 64;

/// Turns a hard edge into a straight slope that begins `inwards` pixels inside of it and ends `outwards` pixels outside.
///
/// The mask is dilated or eroded by half of the difference, and each pixel then takes the mean of the square around it, as far as that
/// lies in the frame. A slope of an odd number of pixels is one longer, outwards.
#[derive(Clone, Debug)]
pub struct Feather {
    width: usize,
    inwards: u32,
    outwards: u32,
    rows: Vec<u8>,
    moved: Vec<u8>,
    sums: Vec<u32>,
}

impl Feather {
    /// For masks of this width; both in pixels, [`MOST_FEATHER`] at most.
    pub fn new(width: usize, inwards: u32, outwards: u32) -> Self {
        let [inwards, outwards] = Self::limited(inwards, outwards);
        Self { width: width.max(1), inwards, outwards, rows: Vec::new(), moved: Vec::new(), sums: Vec::new() }
    }

    /// Both, [`MOST_FEATHER`] at most.
    pub(super) fn limited(inwards: u32, outwards: u32) -> [u32; 2] {
        [inwards, outwards].map(|pixels| pixels.min(MOST_FEATHER))
    }

    /// The radius of the mean, and by how many pixels the mask grows before.
    pub(super) fn steps(inwards: u32, outwards: u32) -> (u32, i64) {
        let radius = (inwards + outwards).div_ceil(2);
        (radius, i64::from(radius) - i64::from(inwards))
    }

    /// Makes the edges of `mask`, dense, softer.
    ///
    /// # Errors
    /// [`MatteError::Room`] where its rows are not as wide as was said.
    pub fn run(&mut self, mask: &mut [u8]) -> Result<(), MatteError> {
        let Self { width, inwards, outwards, rows, moved, sums } = self;
        check(mask.len() / *width * *width, &[mask])?;
        let (radius, grown) = Self::steps(*inwards, *outwards);
        if radius == 0 || mask.is_empty() {
            return Ok(());
        }
        let by = u32::try_from(grown.unsigned_abs()).unwrap_or(0);
        match grown {
            0 => {}
            1.. => spread(mask, *width, by, |a, b| a.max(b), rows, moved),
            _ => spread(mask, *width, by, |a, b| a.min(b), rows, moved),
        }
        if grown != 0 {
            mask.copy_from_slice(moved);
        }
        mean(mask, *width, radius as usize, rows, sums);
        Ok(())
    }
}

/// The mean of the square of `radius` around each pixel: along rows, then along columns, rounded after both.
fn mean(mask: &mut [u8], width: usize, radius: usize, rows: &mut Vec<u8>, sums: &mut Vec<u32>) {
    let rounded = |sum: u32, count: usize| ((2 * sum as usize + count) / (2 * count)) as u8;
    rows.clear();
    rows.extend_from_slice(mask);
    for (to, from) in mask.chunks_exact_mut(width).zip(rows.chunks_exact(width)) {
        let mut sum: u32 = from[..radius.min(width)].iter().map(|v| u32::from(*v)).sum();
        for (x, to) in to.iter_mut().enumerate() {
            sum += from.get(x + radius).map_or(0, |v| u32::from(*v));
            sum -= if x > radius { u32::from(from[x - radius - 1]) } else { 0 };
            *to = rounded(sum, (x + radius + 1).min(width) - x.saturating_sub(radius));
        }
    }
    rows.clear();
    rows.extend_from_slice(mask);
    let height = mask.len() / width;
    sums.clear();
    sums.resize(width, 0);
    let row = |y: usize| &rows[y * width..][..width];
    for y in 0..radius.min(height) {
        sums.iter_mut().zip(row(y)).for_each(|(sum, v)| *sum += u32::from(*v));
    }
    for (y, to) in mask.chunks_exact_mut(width).enumerate() {
        if y + radius < height {
            sums.iter_mut().zip(row(y + radius)).for_each(|(sum, v)| *sum += u32::from(*v));
        }
        if y > radius {
            sums.iter_mut().zip(row(y - radius - 1)).for_each(|(sum, v)| *sum -= u32::from(*v));
        }
        let count = (y + radius + 1).min(height) - y.saturating_sub(radius);
        to.iter_mut().zip(&*sums).for_each(|(to, sum)| *to = rounded(*sum, count));
    }
}
