//! The running average of the pictures, and what differs from it.

use super::areas::Areas;
use super::{MotionParams, Moving};
use crate::camera::Picture;
use crate::geometry::Rect;
use crate::zones::geometry::contains;

/// After this time a change is in the background by 63 %. With it, a change of full contrast that stays is background after 43 s. Frigate's
/// average takes 1 % of each of 5 frames a second.
const TIME_CONSTANT: f64 = 20.0;
/// More than this share of the picture is no motion, but another picture (Frigate's `lightning_threshold`).
const ALL: f64 = 0.8;
/// The contrast of a picture is the difference between these percentiles of its gray levels, as in Frigate's `improve_contrast`.
const PERCENTILES: [usize; 2] = [4, 96];
/// The least threshold, in gray levels, however flat the picture is: noise of one level is left after the average.
const LEAST_THRESHOLD: u32 = 4;
/// Bits of the average's fraction.
const FRACTION: u32 = 16;

/// What a camera shows where nothing moves.
#[derive(Debug)]
pub struct Background {
    params: MotionParams,
    /// Sizes of the pictures and of their frames; none at the beginning.
    sizes: Option<[[usize; 2]; 2]>,
    /// A pixel's average gray level times 2^16.
    average: Vec<u32>,
    /// Whether motion counts at a pixel.
    counts: Vec<bool>,
    changed: Vec<bool>,
    areas: Areas,
}

impl Background {
    /// A background that is not known yet.
    pub fn new(params: MotionParams) -> Self {
        Self {
            params,
            sizes: None,
            average: vec![],
            counts: vec![],
            changed: vec![],
            areas: Areas::default(),
        }
    }

    /// From now on, something else counts as motion.
    pub fn set_params(&mut self, params: &MotionParams) {
        if *params != self.params {
            self.params = params.clone();
            if let Some([size, _]) = self.sizes {
                self.counts = counting(&self.params.masks, size);
            }
        }
    }

    /// Takes in the next picture, `elapsed` seconds after the last one, and says where it differs from the background. The first picture and
    /// one of another size are the background, so nothing is known: `None`.
    pub fn update(&mut self, picture: &Picture<'_>, elapsed: f64) -> Option<Moving> {
        let sizes = [picture.size(), picture.frame()];
        if self.sizes != Some(sizes) {
            self.sizes = Some(sizes);
            self.counts = counting(&self.params.masks, picture.size());
            self.begin(picture);
            return None;
        }
        let threshold = self.threshold() << FRACTION;
        // Of 2^16; a picture of an hour later replaces the background.
        let part = ((1.0 - (-elapsed.max(0.0) / TIME_CONSTANT).exp()) * f64::from(1 << FRACTION)) as i64;
        self.changed.clear();
        for ((average, gray), counts) in self.average.iter_mut().zip(picture.pixels()).zip(&self.counts) {
            let now = u32::from(*gray) << FRACTION;
            self.changed.push(*counts && now.abs_diff(*average) > threshold);
            let step = ((i64::from(now) - i64::from(*average)) * part) >> FRACTION;
            *average = average.saturating_add_signed(i32::try_from(step).unwrap_or_default());
        }
        let changed = self.changed.iter().filter(|changed| **changed).count();
        let count = self.counts.iter().filter(|counts| **counts).count();
        if changed as f64 > ALL * count as f64 {
            self.begin(picture);
            let [w, h] = picture.frame().map(|side| side as f32);
            return Some(Moving { boxes: vec![Rect { x: 0.0, y: 0.0, w, h }], all_new: true });
        }
        let areas = self.areas.find(&mut self.changed, picture.size()[0], self.params.contour_area);
        let [across, down] = picture.scale();
        let boxes = areas.iter().map(|area| {
            let [left, top, right, bottom] = area.edges.map(|edge| edge as f32);
            Rect::from_corners(left * across, top * down, right * across, bottom * down)
        });
        Some(Moving { boxes: boxes.collect(), all_new: false })
    }

    /// Forgets the background, as at a seek.
    pub fn reset(&mut self) {
        self.sizes = None;
    }

    fn begin(&mut self, picture: &Picture<'_>) {
        self.average.clear();
        self.average.extend(picture.pixels().iter().map(|gray| u32::from(*gray) << FRACTION));
    }

    /// The threshold in gray levels, for the background's contrast.
    fn threshold(&self) -> u32 {
        let mut histogram = [0_usize; 256];
        for average in &self.average {
            if let Some(count) = histogram.get_mut((average >> FRACTION) as usize) {
                *count += 1;
            }
        }
        let [low, high] = PERCENTILES.map(|percent| {
            let wanted = self.average.len() * percent / 100;
            let mut sum = 0;
            let reaches = |count: &usize| {
                sum += count;
                sum > wanted
            };
            histogram.iter().position(reaches).unwrap_or(255) as u32
        });
        let full = u32::from(self.params.threshold.max(1));
        (full * (high - low) / 255).max(LEAST_THRESHOLD.min(full))
    }
}

/// Whether the middle of each pixel of a picture lies outside of all masks.
fn counting(masks: &[Vec<[f64; 2]>], [width, height]: [usize; 2]) -> Vec<bool> {
    let pixel = |i: usize| {
        let middle = |at: usize, side: usize| (at as f64 + 0.5) / side as f64;
        let at = [middle(i % width, width), middle(i / width, height)];
        !masks.iter().any(|mask| contains(mask, at))
    };
    (0..width * height).map(pixel).collect()
}
