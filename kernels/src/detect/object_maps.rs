//! Masks that a model gives for each of its queries or boxes, in an output of their own.

use crate::tensor::{TensorDesc, TensorType};

/// What an object's map covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The input tensor.
    Input,
    /// The object's box.
    Box,
}

/// The shape of such an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectMaps {
    /// How many maps there are, if that is fixed.
    pub rows: Option<usize>,
    /// Width and height of each in cells.
    pub size: [usize; 2],
}

/// The shape of `output` if it is `[1, N, h, w]`, `[N, 1, h, w]` or `[N, h, w]`, of which N may be open.
pub fn object_maps(output: &TensorDesc) -> Option<ObjectMaps> {
    let (rows, [h, w]) = match output.dims[..] {
        [rows, Some(1), Some(h), Some(w)] => (rows, [h, w]),
        [None | Some(1), rows, Some(h), Some(w)] | [rows, Some(h), Some(w)] => (rows, [h, w]),
        _ => return None,
    };
    (h > 0 && w > 0).then_some(ObjectMaps { rows, size: [w, h] })
}

/// The only one of `outputs` that may be the maps of `rows` queries or boxes, besides those of these indices; of several,
/// the only one that is named so.
pub(super) fn among(outputs: &[TensorDesc], rows: Option<usize>, besides: &[usize]) -> Option<usize> {
    let is_map = |(index, output): &(usize, &TensorDesc)| {
        let float = matches!(output.ty, TensorType::Float32 | TensorType::Float16);
        let of_as_many = |maps: ObjectMaps| match (maps.rows, rows) {
            (Some(maps), Some(rows)) => maps == rows,
            _ => true,
        };
        float
            && output.dims.len() == 4
            && !besides.contains(index)
            && object_maps(output)
                .filter(|maps| maps.size.iter().all(|side| *side > 1))
                .is_some_and(of_as_many)
    };
    let maps: Vec<_> = outputs.iter().enumerate().filter(is_map).collect();
    let named: Vec<_> =
        maps.iter().filter(|(_, output)| output.name.to_ascii_lowercase().contains("mask")).collect();
    match (&named[..], &maps[..]) {
        ([(index, _)], _) | ([], [(index, _)]) => Some(*index),
        _ => None,
    }
}

/// Factors by which maps of the input are smaller than it.
const REDUCTIONS: [usize; 4] = [1, 2, 4, 8];

/// What the maps of final boxes cover: the input, if they are as large as it or reduced as networks do, else their boxes.
pub(super) fn extent(output: &TensorDesc, input: [usize; 2]) -> Extent {
    let is_input = |size: [usize; 2]| REDUCTIONS.iter().any(|factor| size.map(|side| side * factor) == input);
    if object_maps(output).is_some_and(|maps| is_input(maps.size)) { Extent::Input } else { Extent::Box }
}
