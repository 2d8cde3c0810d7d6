//! Elements by index, as source.

use super::source::{Input, Place};
use crate::emit::nest::offset;
use crate::plan::View;

/// Source that fills `place.count` elements of an array; `plain` is where the dimensions lead that have no index.
pub(super) fn source(
    view: &View,
    indices: &View,
    axis: usize,
    input: &Input,
    place: &Place,
    plain: &str,
) -> String {
    let index = input.others[0].element(&offset(&place.counters, &place.nest.strides(&indices.strides)));
    let load = input.reader.load(&place.to, &format!("{plain} + i * {}", view.strides[axis]), place.count);
    let length = view.dims[axis];
    format!("    {{\n        const int i = chosen({index}, {length});\n        {load}\n    }}\n")
}
