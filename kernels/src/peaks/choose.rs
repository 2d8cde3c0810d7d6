//! From maxima to peaks, the same for host and device: the threshold, the order, how many a channel keeps, their places.

use super::grid::MapShape;
use super::{Activation, Peak, PeakParams};
use crate::geometry::Affine;

/// A maximum; `at` is for further information about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<T = ()> {
    pub channel: usize,
    /// `y * width + x`.
    pub cell: usize,
    /// The map's value, before the activation.
    pub value: f32,
    pub at: T,
}

/// Where a peak lies before it is mapped to the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TensorPeak {
    /// `y * width + x`.
    pub cell: usize,
    /// Across, in continuous tensor pixels.
    pub x: f64,
    /// Down, likewise.
    pub y: f64,
    /// The map's value, before the activation.
    pub value: f32,
}

/// Hands the peaks among `candidates` to `emit`, by channel, score and scan order; `offset` gives a candidate's
/// distance from its cell's centre, in cells. Returns how many [`PeakParams::top_k`] cut off.
pub(super) fn choose<T>(
    candidates: &mut Vec<Candidate<T>>,
    params: &PeakParams,
    shape: &MapShape,
    to_frame: &Affine,
    offset: impl Fn(&Candidate<T>) -> (f64, f64),
    mut emit: impl FnMut(Peak, TensorPeak, &Candidate<T>),
) -> usize {
    let activate = |v| activate(params.activation, v);
    candidates.retain(|c| activate(c.value) >= params.threshold);
    // Sorted by the raw value, because large logits that differ have the same score.
    candidates.sort_unstable_by(|a, b| {
        a.channel.cmp(&b.channel).then(b.value.total_cmp(&a.value)).then(a.cell.cmp(&b.cell))
    });
    let mut truncated = 0;
    for of_channel in candidates.chunk_by(|a, b| a.channel == b.channel) {
        let kept = of_channel.len().min(params.top_k);
        truncated += of_channel.len() - kept;
        for found in &of_channel[..kept] {
            let (x, y) = (found.cell % shape.width, found.cell / shape.width);
            let (dx, dy) = offset(found);
            let (x, y) = shape.to_tensor(x as f64 + dx, y as f64 + dy);
            let place = TensorPeak { cell: found.cell, x, y, value: found.value };
            let (x, y) = to_frame.point(x as f32, y as f32);
            let channel = u32::try_from(found.channel).unwrap_or(u32::MAX);
            emit(Peak { channel, x, y, score: activate(found.value) }, place, found);
        }
    }
    truncated
}

pub(crate) fn activate(activation: Activation, v: f32) -> f32 {
    match activation {
        Activation::None => v,
        Activation::Sigmoid => 1.0 / (1.0 + (-v).exp()),
    }
}

/// A raw value that all cells that pass the threshold reach. For logits it is a little low, because the sigmoid is rounded:
/// near 1 by up to one step of 2^-24, which at a logit of 14 is 0.07; from 17 on the sigmoid is 1.
pub(super) fn gate(params: &PeakParams) -> f32 {
    match (params.activation, params.threshold) {
        (Activation::None, threshold) => threshold,
        (Activation::Sigmoid, p) if p <= 0.0 => f32::NEG_INFINITY,
        (Activation::Sigmoid, p) => {
            let p = f64::from(p).min(0.999_999);
            ((p / (1.0 - p)).ln() - 0.2) as f32
        }
    }
}
