//! From a root to all points of an instance. In float64, as TensorFlow.js computes, and in the order of `cuda/group.cu`.

use crate::group::Field;
use crate::peaks::MapShape;

/// A peak that an instance may grow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub channel: usize,
    /// `y * width + x`.
    pub cell: usize,
    /// The map's value, without an activation.
    pub value: f32,
    /// On the GPU, the number of its record.
    pub record: usize,
}

/// A point of an instance. `Part` of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct DisplacedPoint {
    /// In continuous tensor pixels.
    pub x: f32,
    pub y: f32,
    /// The map's value, without an activation.
    pub value: f32,
    /// Values that counted as 0 on the way to this point.
    pub non_finite: u32,
}

/// The values of a frame's outputs.
pub(super) struct Outputs<'a> {
    pub maps: Field<'a>,
    pub offsets: Field<'a>,
    pub forward: Field<'a>,
    pub backward: Field<'a>,
    /// The shape of the maps.
    pub shape: MapShape,
}

impl Outputs<'_> {
    /// The cell nearest to a place; a half is rounded up. Places are relative to the first cell's centre.
    fn nearest(&self, place: [f64; 2]) -> [usize; 2] {
        let size = [self.shape.width, self.shape.height];
        [0, 1]
            .map(|i| (place[i] / self.shape.scale[i] + 0.5).floor().clamp(0.0, (size[i] - 1) as f64) as usize)
    }

    /// The two values, x and y, that a field with all y before all x has at a cell.
    fn vector(field: &Field<'_>, [y, x]: [usize; 2], [column, row]: [usize; 2], bad: &mut u32) -> [f64; 2] {
        [x, y].map(|channel| {
            let v = field.at(channel, column, row);
            *bad += u32::from(!v.is_finite());
            if v.is_finite() { f64::from(v) } else { 0.0 }
        })
    }

    /// The place of a point by the offset at a cell.
    fn refined(&self, point: usize, cell: [usize; 2], bad: &mut u32) -> [f64; 2] {
        let offset = Self::vector(&self.offsets, [point, self.shape.channels + point], cell, bad);
        [0, 1].map(|i| self.shape.scale[i] * cell[i] as f64 + offset[i])
    }
}

/// Replaces `parts` by the points of the root's instance, in the skeleton's order.
pub(super) fn walk(outputs: &Outputs<'_>, tree: &[[usize; 2]], root: &Root, parts: &mut Vec<DisplacedPoint>) {
    let MapShape { channels, width, first, .. } = outputs.shape;
    let mut places: Vec<Option<[f64; 2]>> = vec![None; channels];
    parts.clear();
    parts.resize(channels, DisplacedPoint::default());
    let displaced_point = |place: [f64; 2], value, non_finite| {
        let [x, y] = [0, 1].map(|i| (place[i] + first[i]) as f32);
        DisplacedPoint { x, y, value, non_finite }
    };
    let mut non_finite = 0;
    let place = outputs.refined(root.channel, [root.cell % width, root.cell / width], &mut non_finite);
    places[root.channel] = Some(place);
    parts[root.channel] = displaced_point(place, root.value, non_finite);
    let up = tree.iter().enumerate().rev().map(|(edge, [parent, child])| (edge, *child, *parent, true));
    let down = tree.iter().enumerate().map(|(edge, [parent, child])| (edge, *parent, *child, false));
    for (edge, source, target, up) in up.chain(down) {
        let (Some(from), None) = (places[source], places[target]) else { continue };
        let mut non_finite = 0;
        let displacements = if up { &outputs.backward } else { &outputs.forward };
        let cell = outputs.nearest(from);
        let way = Outputs::vector(displacements, [edge, tree.len() + edge], cell, &mut non_finite);
        let mut place = [from[0] + way[0], from[1] + way[1]];
        for _ in 0..2 {
            place = outputs.refined(target, outputs.nearest(place), &mut non_finite);
        }
        let [column, row] = outputs.nearest(place);
        places[target] = Some(place);
        parts[target] = displaced_point(place, outputs.maps.at(target, column, row), non_finite);
    }
}
