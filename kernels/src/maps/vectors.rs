//! Vectors of two numbers, such as optical flow, as colours: the wheel of Baker et al., "A Database and Evaluation Methodology for
//! Optical Flow" (IJCV 2011), as torchvision's `flow_to_image` has it. The direction is the hue, and the length the saturation:
//! nothing is white, and the longest vector has the wheel's own colour.

use super::Range;
use super::cpu::Cells;
use super::place::{Place, Region, Taps};
use super::plan::MapPlan;

/// Parts of the wheel: how many colours, and which of red, green and blue rises or falls there.
const PARTS: [(u8, usize, bool); 6] =
    [(15, 1, true), (6, 0, false), (4, 2, true), (11, 1, false), (13, 0, true), (6, 2, false)];

/// Colours of the wheel.
const COLOURS: usize = 55;

/// How long the vectors of a frame are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    /// The length that has the wheel's own colour.
    longest: f64,
    /// Longer ones.
    pub beyond: u64,
}

/// The lengths of the region's finite vectors. The tensor has been checked.
pub(super) fn measure(plan: &MapPlan, values: &[f32], region: &Region) -> Lengths {
    let cells = Cells { plan, values };
    let Region { first: [left, top], size: [width, height] } = *region;
    let vectors = (top..top + height).flat_map(|y| (left..left + width).map(move |x| (x, y)));
    let lengths = vectors.map(|(x, y)| length([0, 1].map(|channel| cells.number(channel, x, y))));
    let finite = lengths.filter(|length| length.is_finite());
    match plan.params.range {
        Range::Fixed(_, most) => {
            let longest = f64::from(most);
            Lengths { longest, beyond: finite.filter(|length| *length > longest).count() as u64 }
        }
        Range::Frame => Lengths { longest: finite.fold(0.0, f64::max), beyond: 0 },
    }
}

/// Writes every pixel of the video, whose room has been checked. A vector that is not finite, or of no cell, is black.
pub(super) fn paint(
    plan: &MapPlan,
    values: &[f32],
    place: &Place,
    lengths: &Lengths,
    out: &mut [u8],
    stride: usize,
) {
    let (cells, wheel) = (Cells { plan, values }, wheel());
    let [width, height] = place.size;
    let columns: Vec<Option<Taps>> = (0..width).map(|x| place.axes[0].taps(x)).collect();
    for (y, row) in out.chunks_mut(stride).take(height).enumerate() {
        let down = place.axes[1].taps(y);
        for (across, pixel) in columns.iter().zip(row.chunks_exact_mut(plan.pixel())) {
            let vector = across.zip(down).map(|(x, y)| [0, 1].map(|channel| cells.between(channel, x, y)));
            let finite = vector.filter(|vector| vector.iter().all(|v| v.is_finite()));
            pixel.copy_from_slice(&finite.map_or([0; 3], |vector| colour(&wheel, vector, lengths.longest)));
        }
    }
}

fn length([u, v]: [f32; 2]) -> f64 {
    f64::from(u).hypot(f64::from(v))
}

/// The wheel's colours, red first, then yellow, green, cyan, blue and magenta.
fn wheel() -> [[f64; 3]; COLOURS] {
    let mut now = [255.0, 0.0, 0.0];
    let mut colours = PARTS.into_iter().flat_map(|(steps, channel, rises)| {
        let from = now;
        now[channel] = if rises { 255.0 } else { 0.0 };
        (0..steps).map(move |step| {
            let way = (255.0 * f64::from(step) / f64::from(steps)).floor();
            let mut colour = from;
            colour[channel] = if rises { way } else { 255.0 - way };
            colour
        })
    });
    std::array::from_fn(|_| colours.next().unwrap_or_default())
}

/// The colour of a vector.
fn colour(wheel: &[[f64; 3]; COLOURS], vector: [f32; 2], longest: f64) -> [u8; 3] {
    let [u, v] = vector.map(f64::from);
    // The addend is torchvision's: a frame without any vector is white.
    let share = (length(vector) / (longest + f64::from(f32::EPSILON))).min(1.0);
    let turn = ((-v).atan2(-u) / std::f64::consts::PI + 1.0) / 2.0 * (COLOURS - 1) as f64;
    let first = turn.floor();
    let weight = turn - first;
    // From 0 to 54.
    let first = first as usize;
    let (a, b) = (wheel[first.min(COLOURS - 1)], wheel[(first + 1) % COLOURS]);
    let mixed = [0, 1, 2].map(|channel| ((1.0 - weight) * a[channel] + weight * b[channel]) / 255.0);
    mixed.map(|part| (255.0 * (1.0 - share * (1.0 - part))).floor() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_is_that_of_torchvision() {
        let wheel = wheel();
        // Of torchvision.utils._make_colorwheel().
        for (place, wanted) in [
            (0, [255.0, 0.0, 0.0]),
            (14, [255.0, 238.0, 0.0]),
            (15, [255.0, 255.0, 0.0]),
            (20, [43.0, 255.0, 0.0]),
            (24, [0.0, 255.0, 191.0]),
            (25, [0.0, 255.0, 255.0]),
            (36, [0.0, 0.0, 255.0]),
            (48, [235.0, 0.0, 255.0]),
            (54, [255.0, 0.0, 43.0]),
        ] {
            assert_eq!(wheel[place], wanted, "{place}");
        }
    }

    #[test]
    fn directions_are_hues_and_lengths_saturations() {
        // Calculated by flow_to_image's steps in NumPy, in float64; a rounding error may give the neighbour of a value.
        for (vector, wanted) in [
            ([2.0, 0.0], [255, 0, 0]),
            ([2.0, -0.0], [255, 0, 43]),
            ([0.0, 2.0], [255, 229, 0]),
            ([0.0, -2.0], [88, 0, 255]),
            ([1.0, 1.0], [255, 155, 74]),
            ([-0.5, 0.25], [183, 255, 219]),
            ([0.3, -1.2], [177, 97, 255]),
            ([0.0, 0.0], [255; 3]),
        ] {
            let got = colour(&wheel(), vector, 2.0);
            assert!(
                got.iter().zip(wanted).all(|(got, wanted)| got.abs_diff(wanted) <= 1),
                "{vector:?}: {got:?}"
            );
        }
        assert_eq!(colour(&wheel(), [3.0, 4.0], 2.0), colour(&wheel(), [1.2, 1.6], 2.0), "longer is no more");
        assert_eq!(colour(&wheel(), [0.0, 0.0], 0.0), [255; 3], "nothing moves");
    }
}
