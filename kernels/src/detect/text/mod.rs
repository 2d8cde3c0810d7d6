//! Lines of text from a map of how surely each pixel is text: the post-processing of DB (Liao et al., "Real-time Scene Text
//! Detection with Differentiable Binarization", 2020, section 3.5), as PaddleOCR's `DBPostProcess` computes it.
//!
//! ```text
//! map -> cells above the threshold -> areas that are connected over sides or corners (area.rs)
//!   -> the smallest rectangle around the centres of an area's cells (rectangle.rs); none lower than 3 cells
//!   -> its score: the mean of the map inside of it
//!   -> widened on all sides by area * ratio / perimeter, because the networks learn shrunken lines
//! ```
//!
//! Deviations: a cell's centre is at half a pixel. Rectangles are exact, where PaddleOCR cuts and rounds corners to whole pixels
//! before it widens and afterwards, which moves the edges of upright ones by up to a pixel and of rotated ones by up to two. The
//! score is the mean of the cells whose centres lie inside of the rectangle, where PaddleOCR fills one whose corners are cut to
//! integers: of rotated lines its scores are lower, by 0.06 for a line of 90 by 14 cells. Holes in an area are no areas of
//! their own.

mod area;
mod map;
mod rectangle;
#[cfg(test)]
mod tests;

use super::rotated::Rotated;
use crate::associate::Oriented;
use crate::geometry::Rect;

pub(super) use map::TextMap;

/// Rectangles that are lower than that many cells are noise, as in PaddleOCR.
const LEAST_SIDE: f64 = 3.0;

/// From this height of its width on, a line is taken for one that runs from the top to the bottom, as in PaddleOCR.
const UPRIGHT: f32 = 1.5;

/// How a map is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// Cells above it are text.
    pub threshold: f32,
    /// How much is added on all sides: so much of the rectangle's area by its perimeter.
    pub unclip: f32,
}

/// A line of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Region {
    /// In cells of the map, from its top left corner.
    pub rotated: Rotated,
    /// The mean of the map in the rectangle before it is widened.
    pub score: f32,
}

/// The lines in a map of `width` columns, in the order of their first cells, and the number of cells that are not finite, which are no
/// text.
pub(super) fn regions(map: &[f32], width: usize, reading: Reading) -> (Vec<Region>, usize) {
    let non_finite = map.iter().filter(|cell| !cell.is_finite()).count();
    let areas = area::outlines(map, width, |cell| cell.is_finite() && cell > reading.threshold);
    let regions = areas.iter().filter_map(|outline| {
        let rectangle = rectangle::around(outline)?;
        if rectangle.size[0].min(rectangle.size[1]) < LEAST_SIDE {
            return None;
        }
        let score = rectangle.mean(map, width)?;
        Some(Region { rotated: rectangle.widened(f64::from(reading.unclip)).rotated(), score })
    });
    (regions.collect(), non_finite)
}

/// The same box in the frame, turned so that its text runs along its width: at most an eighth of a turn from horizontal, and a
/// line that is one and a half times as high as wide from the top to the bottom. The angle is above -pi/4 and at most 3 pi/4.
pub(super) fn readable(found: Oriented) -> Oriented {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};
    let level = if found.angle > FRAC_PI_4 { turned(found, -FRAC_PI_2) } else { found };
    if level.rect.h >= UPRIGHT * level.rect.w { turned(level, FRAC_PI_2) } else { level }
}

/// The same box with its sides exchanged, by a quarter turn either way.
fn turned(Oriented { rect, angle }: Oriented, by: f32) -> Oriented {
    let (x, y) = (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0);
    let rect = Rect { x: x - rect.h / 2.0, y: y - rect.w / 2.0, w: rect.h, h: rect.w };
    Oriented { rect, angle: angle + by }
}
