//! What there is of a detection besides its box, read for those that remain after the suppression.

use crate::detect::attached::{Attached, Meaning, Spot, element};
use crate::detect::layout::{Coding, Layout};
use crate::detect::locate::{At, Located};
use crate::geometry::Affine;
use crate::tensor::TensorView;

use super::boxes::{self, Numbers};
use super::level::after;

/// Appends what belongs to the detection of `anchor`, in the frame that `map` leads to.
pub fn attach(
    layout: &Layout,
    located: &Located,
    outputs: &[TensorView<'_>],
    anchor: usize,
    map: &Affine,
    into: &mut Attached,
) {
    let Some(extra) = &located.extra else { return };
    match (extra.meaning, spot(layout, located, anchor)) {
        (Meaning::Around(count), Some(spot)) => spot.read(count, outputs, map, into),
        _ => extra.read(outputs, anchor, map, || corners_of(layout, located, outputs, anchor), into),
    }
}

/// Where an anchor's landmarks are, and what they are counted from.
fn spot(layout: &Layout, located: &Located, anchor: usize) -> Option<Spot> {
    let (level, extra) = (located.level_of(anchor)?, located.extra.as_ref()?);
    let (at, cell) = (level.landmarks?, anchor - level.cells.first);
    let (center, unit) = match &layout.coding {
        Coding::Priors { boxes, variances, .. } => {
            let [x, y, width, height] = *boxes.get(anchor)?;
            ([x, y], [variances[0] * width, variances[0] * height])
        }
        _ => (level.cells.corner(cell), [level.cells.stride as f32; 2]),
    };
    Some(Spot { output: at.output, element: at.element + cell * extra.step, center, unit })
}

/// The corners of one anchor's box in tensor pixels, where it is of its first class.
fn corners_of(layout: &Layout, located: &Located, outputs: &[TensorView<'_>], anchor: usize) -> [f32; 4] {
    let Some((index, at)) = located.levels.iter().enumerate().find(|(_, at)| at.has(anchor)) else {
        return [0.0; 4];
    };
    let number = |At { output, element: at }| outputs.get(output).map_or(0.0, |tensor| element(tensor, at));
    let cell = anchor - at.cells.first;
    let value = |k: usize| number(after(at.boxes, located.boxes, cell, k));
    let offset =
        |k: usize| located.offsets.map_or(0.0, |offsets| number(after(offsets.at, offsets.steps, cell, k)));
    boxes::corners(layout, &at.cells, index, cell, Numbers { value, offset })
}
