//! Maps on the CPU: the reference.

use super::place::{Place, Region, Taps};
use super::plan::{Levels, MapPlan};
use super::summary::Summary;
use crate::preproc::ChannelOrder;

/// The tensor's numbers, to look up cells in.
pub(super) struct Cells<'a> {
    pub plan: &'a MapPlan,
    pub values: &'a [f32],
}

impl Cells<'_> {
    /// A channel's number: a map's as it is, a picture's without its normalisation.
    pub fn number(&self, channel: usize, x: usize, y: usize) -> f32 {
        let MapPlan { shape, params, .. } = self.plan;
        let [cell_step, channel_step] = shape.steps();
        let value = self.values[(y * shape.width + x) * cell_step + channel * channel_step];
        if shape.channels == 1 { value } else { value * params.std[channel] + params.mean[channel] }
    }

    /// Interpolates between four cells. A cell without weight does not count, even if it is NaN.
    pub fn between(&self, channel: usize, x: Taps, y: Taps) -> f32 {
        let row =
            |y: usize| mix(self.number(channel, x.first, y), x.weight, || self.number(channel, x.second, y));
        mix(row(y.first), y.weight, || row(y.second))
    }
}

fn mix(a: f32, weight: f32, b: impl FnOnce() -> f32) -> f32 {
    if weight == 0.0 { a } else { a * (1.0 - weight) + b() * weight }
}

/// The summary of the region's numbers. The tensor has been checked.
pub(super) fn measure(plan: &MapPlan, values: &[f32], region: &Region) -> Summary {
    let cells = Cells { plan, values };
    let levels = plan.fixed();
    let mut found = Summary::NONE;
    let Region { first: [left, top], size: [width, height] } = *region;
    for y in top..top + height {
        for x in left..left + width {
            for channel in 0..plan.shape.channels {
                let number = cells.number(channel, x, y);
                if !number.is_finite() {
                    found.non_finite += 1;
                    continue;
                }
                found.min = found.min.min(number);
                found.max = found.max.max(number);
                found.sum += f64::from(number);
                found.finite += 1;
                let outside = levels.is_some_and(|levels| !levels.holds(levels.level(number)));
                found.out_of_range += u64::from(outside);
            }
        }
    }
    found
}

/// Writes every pixel of the video, whose room has been checked.
pub(super) fn paint(
    plan: &MapPlan,
    values: &[f32],
    place: &Place,
    levels: &Levels,
    out: &mut [u8],
    stride: usize,
) {
    let cells = Cells { plan, values };
    let [width, height] = place.size;
    let columns: Vec<Option<Taps>> = (0..width).map(|x| place.axes[0].taps(x)).collect();
    let swapped = plan.params.order == ChannelOrder::Bgr;
    for (y, row) in out.chunks_mut(stride).take(height).enumerate() {
        let down = place.axes[1].taps(y);
        for (across, pixel) in columns.iter().zip(row.chunks_exact_mut(plan.pixel())) {
            let sample = |channel: usize| {
                across.zip(down).map_or(0.0, |(x, y)| sample(levels, cells.between(channel, x, y)))
            };
            if plan.shape.channels == 1 {
                // Lossless: a whole number from 0 to 65535.
                pixel.copy_from_slice(&(sample(0) as u16).to_le_bytes());
                continue;
            }
            for (at, to) in pixel.iter_mut().enumerate() {
                *to = sample(if swapped { 2 - at } else { at }) as u8;
            }
        }
    }
}

/// The sample of a number: one that is not finite becomes 0.
fn sample(levels: &Levels, number: f32) -> f32 {
    let level = levels.level(number);
    if number.is_finite() && !level.is_nan() { level.clamp(0.0, levels.most) } else { 0.0 }
}
