//! The score of a line between two peaks. Everything is float32 and in the order of `cuda/group.cu`, whose results are the
//! same to the bit.

use super::plan::PafPlan;
use super::{PafConvention, PafParams};
use crate::group::Field;
use crate::peaks::{MapShape, TensorPeak};

/// Added to the length 1 of the parameter's range where sleap-nn interpolates, so that samples fall on the same side of
/// the boundary between two cells.
const EPSILON: f32 = f32::EPSILON;

/// A peak as an end of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// In cells of the fields, from the first one's centre.
    pub cell: [f32; 2],
    /// In tensor pixels.
    pub at: [f32; 2],
}

impl End {
    /// `shape` is that of the fields.
    pub fn new(place: &TensorPeak, shape: &MapShape) -> Self {
        let (x, y) = shape.to_cell(place.x, place.y);
        Self { cell: [x as f32, y as f32], at: [place.x as f32, place.y as f32] }
    }
}

/// The score of a line. `Line` of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct LimbLine {
    /// The score; NaN where both ends are the same place.
    pub score: f32,
    /// Samples above [`PafParams::min_sample`], and 65536 times those that are not finite.
    counts: u32,
}

/// A line that is kept, between the peaks of these numbers in [`Parts::found`](super::Parts::found).
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub from: usize,
    pub to: usize,
    pub score: f32,
}

impl LimbLine {
    /// A line without a length.
    pub const NONE: Self = Self { score: f32::NAN, counts: 0 };

    /// A line whose score is known already.
    pub fn scored(score: f32) -> Self {
        if score.is_finite() { Self { score, counts: 0 } } else { Self { score: f32::NAN, counts: 1 << 16 } }
    }

    /// Samples that are high.
    pub fn high(self) -> u32 {
        self.counts & 0xffff
    }

    /// Samples that are not finite.
    pub fn non_finite(self) -> usize {
        (self.counts >> 16) as usize
    }
}

/// Lengths that follow from the input's size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Tensor pixels that a line may be long without a penalty.
    pub max_length: f32,
}

impl Scale {
    /// `shape` is the fields'.
    pub fn new(params: &PafParams, shape: &MapShape) -> Self {
        let [width, height] = [shape.width as f64 * shape.scale[0], shape.height as f64 * shape.scale[1]];
        let side = match params.convention {
            PafConvention::Sleap | PafConvention::DeepLabCut => width.max(height),
            PafConvention::OpenPose => height,
        };
        Self { max_length: (f64::from(params.max_length) * side) as f32 }
    }
}

/// The line from the first end to the second, in the field whose x is `channel`.
pub(super) fn score(
    field: &Field<'_>,
    channel: usize,
    [a, b]: [&End; 2],
    scale: &Scale,
    plan: &PafPlan,
) -> LimbLine {
    let params = &plan.params;
    let way = [b.at[0] - a.at[0], b.at[1] - a.at[1]];
    let length = (way[0] * way[0] + way[1] * way[1]).sqrt();
    if length.is_nan() || length <= 0.0 {
        return LimbLine::NONE;
    }
    let unit = [way[0] / length, way[1] / length];
    let slope = [0, 1].map(|i| (b.cell[i] - a.cell[i]) / (1.0 + EPSILON));
    let (mut sum, mut counts) = (0.0, 0);
    for t in &plan.samples {
        let [x, y] = [0, 1].map(|i| a.cell[i] + slope[i] * t);
        let at = |channel| match params.convention {
            PafConvention::Sleap | PafConvention::DeepLabCut => nearest(field, channel, x, y),
            PafConvention::OpenPose => interpolated(field, channel, x, y),
        };
        let (along, across) = (at(channel), at(channel + 1));
        if along.is_finite() && across.is_finite() {
            let projection = along * unit[0] + across * unit[1];
            sum += projection;
            counts += u32::from(projection > params.min_sample);
        } else {
            counts += 1 << 16;
        }
    }
    let penalty = (scale.max_length / length - 1.0).min(0.0) * params.length_weight;
    LimbLine { score: sum / plan.samples.len() as f32 + penalty, counts }
}

/// A half goes to the even cell, as PyTorch rounds.
fn nearest(field: &Field<'_>, channel: usize, x: f32, y: f32) -> f32 {
    let cell = |v: f32, size: usize| v.round_ties_even().clamp(0.0, (size - 1) as f32) as usize;
    field.at(channel, cell(x, field.width), cell(y, field.height))
}

fn interpolated(field: &Field<'_>, channel: usize, x: f32, y: f32) -> f32 {
    let cells = |v: f32, size: usize| {
        let v = v.clamp(0.0, (size - 1) as f32);
        (v.floor() as usize, (v.floor() as usize + 1).min(size - 1), v - v.floor())
    };
    let ((x0, x1, fx), (y0, y1, fy)) = (cells(x, field.width), cells(y, field.height));
    let row = |y| field.at(channel, x0, y) * (1.0 - fx) + field.at(channel, x1, y) * fx;
    row(y0) * (1.0 - fy) + row(y1) * fy
}
