//! Borders.

use super::super::call::{Call, Made};
use crate::graph::number::float;
use crate::graph::{PadMode, Refusal, shape};

/// Pad: attributes before version 11, inputs since.
pub fn pad(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let rank = call.builder.rank(x);
    let (pads, value) = if call.opset < 11 {
        (call.ints("pads").map(<[i64]>::to_vec), call.float("value", 0.0))
    } else {
        let value = call.constant(2)?.filter(|value| !value.is_empty()).map_or(0.0, |value| value.number(0));
        (call.integers(1)?, float(value))
    };
    let pads = pads.ok_or_else(|| Refusal::invalid("it has no pads"))?;
    let axes = match call.integers(3)?.filter(|_| call.opset >= 18) {
        Some(axes) => axes.iter().map(|axis| shape::axis(*axis, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).collect(),
    };
    let mode = match call.text("mode", "constant") {
        "constant" => PadMode::Constant(value),
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        other => return Err(Refusal::unsupported(format!("its mode is '{other}'"))),
    };
    if pads.len() != axes.len() * 2 {
        return Err(Refusal::invalid(format!("its pads are {pads:?} for {} axes", axes.len())));
    }
    let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
    let (first, last) = pads.split_at(axes.len());
    for (axis, (first, last)) in axes.iter().zip(first.iter().zip(last)) {
        let small =
            |pad: i64| isize::try_from(pad).ok().filter(|pad| pad.unsigned_abs() < shape::MOST_ELEMENTS);
        let both = small(*first).zip(small(*last));
        (before[*axis], after[*axis]) =
            both.ok_or_else(|| Refusal::invalid(format!("its pads are {pads:?}")))?;
    }
    Ok(vec![call.builder.pad(x, &before, &after, mode)?])
}
