//! From successive pictures to the camera's motion.

use super::Picture;
use super::corners::Corners;
use super::flow::follow;
use super::mask::Mask;
use super::pyramid::{LEVELS, Pyramid};
use super::ransac::{Agreement, Pair, agree, squares};
use crate::geometry::{Affine, Rect};

/// The least number of corners that must agree.
const FEWEST: usize = 10;
/// Of five corners that could be followed, this many must agree.
const OF_FIVE: usize = 2;
/// The largest expected error in the picture's corners, in pixels of the picture.
const LARGEST_ERROR: f64 = 0.5;
/// The least scatter that is assumed, in the same unit: it would be chance if corners agreed better.
const LEAST_SCATTER: f64 = 0.05;
/// Sine of 15 degrees.
const LARGEST_TURN: f64 = 0.2588;
/// The largest factor of scale, and the inverse of the smallest.
const LARGEST_SCALE: f64 = 1.2;
/// How far the frame's middle moves at most, as a part of its width and height.
const LARGEST_MOVE: f64 = 0.25;
/// Where no corner of the picture moves farther than this, in pixels of the picture, the camera stands still.
const STILL: f64 = 0.05;
/// Frames that a picture is compared with at most while the camera stands still: light changes, and what was parked leaves.
const OLDEST: u32 = 30;

/// Finds how the camera moves in one video; the module's page says how, and which answers are believed.
#[derive(Debug, Default)]
pub struct Estimator {
    /// The picture that the next is compared with, and its corners.
    before: Pyramid,
    corners: Vec<[f32; 2]>,
    /// Sizes of that picture and of its frame; none at the beginning.
    sizes: Option<[[usize; 2]; 2]>,
    /// Frames since that picture.
    age: u32,
    now: Pyramid,
    mask: Mask,
    finder: Corners,
    pairs: Vec<Pair>,
}

impl Estimator {
    /// An estimator that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next frame's picture, with the boxes of objects that move by themselves in it (in frame pixels; a box that
    /// is not finite or has no area counts as none). Returns where in this frame a point of the previous frame lies, both in
    /// frame pixels; none where that is unknown. Allocates only where a picture is larger than earlier ones.
    pub fn update(&mut self, picture: &Picture<'_>, boxes: &[Rect]) -> Option<Affine> {
        let sizes = Some([picture.size(), picture.frame()]);
        self.now.set(picture);
        self.now.make_all();
        self.mask.set(picture.size(), picture.scale(), boxes);
        let moved = if self.sizes == sizes { self.moved(picture) } else { None };
        self.age = self.age.saturating_add(1);
        if moved == Some(Affine::IDENTITY) && self.age < OLDEST {
            return moved;
        }
        std::mem::swap(&mut self.before, &mut self.now);
        if let Some(finest) = self.before.level(0) {
            self.finder.find(finest, &self.mask, &mut self.corners);
        }
        (self.sizes, self.age) = (sizes, 0);
        moved
    }

    /// Forgets the previous picture, as at a seek.
    pub fn reset(&mut self) {
        self.sizes = None;
    }

    fn moved(&mut self, picture: &Picture<'_>) -> Option<Affine> {
        let scale = picture.scale();
        self.pairs.clear();
        for corner in &self.corners {
            let there = follow(&self.before, &self.now, *corner, [0.0; 2], LEVELS);
            if let Some(there) = there.filter(|there| !self.mask.covers(*there)) {
                let [from, to] =
                    [*corner, there].map(|[x, y]| [f64::from(x * scale[0]), f64::from(y * scale[1])]);
                self.pairs.push(Pair { from, to });
            }
        }
        // Both scales are equal but for rounding of the picture's sides.
        let unit = f64::from(scale[0].max(scale[1]));
        let agreement = agree(&self.pairs, unit)?;
        believed(&agreement, self.pairs.len(), picture.frame(), unit)
    }
}

/// The motion that `followed` pairs agree on in a frame of that size, if it can be believed.
pub(super) fn believed(
    agreement: &Agreement,
    followed: usize,
    frame: [usize; 2],
    unit: f64,
) -> Option<Affine> {
    let [width, height] = frame.map(|side| side as f64);
    let corners = [[0.0, 0.0], [width, 0.0], [0.0, height], [width, height]];
    if agreement.inliers < FEWEST
        || agreement.inliers * 5 < followed * OF_FIVE
        || expected_error(agreement, &corners, unit) > LARGEST_ERROR * unit
    {
        return None;
    }
    let similarity = agreement.similarity;
    let farthest = corners.iter().map(|corner| distance(similarity.point(*corner), *corner));
    if farthest.fold(0.0, f64::max) <= STILL * unit {
        return Some(Affine::IDENTITY);
    }
    let size = similarity.a.hypot(similarity.b);
    let middle = [width / 2.0, height / 2.0];
    let [x, y] = similarity.point(middle);
    let is_believable = (1.0 / LARGEST_SCALE..=LARGEST_SCALE).contains(&size)
        && similarity.a > 0.0
        && similarity.b.abs() <= LARGEST_TURN * size
        && (x - middle[0]).abs() <= LARGEST_MOVE * width
        && (y - middle[1]).abs() <= LARGEST_MOVE * height;
    is_believable.then_some(Affine {
        scale: [similarity.a; 2],
        skew: [-similarity.b, similarity.b],
        offset: similarity.offset,
    })
}

/// The standard error of the transform in the frame's corner that is farthest from the points it was fitted to: that of a
/// regression, for the mean and for rotation and scale.
fn expected_error(agreement: &Agreement, corners: &[[f64; 2]], unit: f64) -> f64 {
    let far = corners.iter().map(|corner| distance(*corner, agreement.centre)).fold(0.0, f64::max);
    let scatter = agreement.scatter.max(LEAST_SCATTER * unit);
    scatter * (1.0 / agreement.fitted as f64 + far * far / agreement.spread).sqrt()
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    squares([a[0] - b[0], a[1] - b[1]]).sqrt()
}
