//! Parts of tensors, and tensors of parts.

use super::super::call::{Call, Made};
use crate::graph::number::signed;
use crate::graph::{Refusal, shape};

/// Slice: attributes before version 10, inputs since.
pub fn slice(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let dims = call.dims(0)?;
    let (starts, ends, axes, steps) = if call.opset < 10 {
        let of = |name: &str| call.ints(name).map(<[i64]>::to_vec);
        (of("starts"), of("ends"), of("axes"), None)
    } else {
        (call.integers(1)?, call.integers(2)?, call.integers(3)?, call.integers(4)?)
    };
    let (Some(starts), Some(ends)) = (starts, ends) else {
        return Err(Refusal::invalid("it has no starts or ends"));
    };
    let axes = axes.unwrap_or_else(|| (0..signed(starts.len())).collect());
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(Refusal::invalid("starts, ends, axes and steps have different lengths"));
    }
    let (mut first, mut step, mut kept) = (vec![0; dims.len()], vec![1; dims.len()], dims.clone());
    for (at, axis) in axes.iter().enumerate() {
        let axis = shape::axis(*axis, dims.len())?;
        (first[axis], step[axis], kept[axis]) = part(dims[axis], starts[at], ends[at], steps[at])?;
    }
    Ok(vec![call.builder.slice(x, first, step, &kept)?])
}

/// What a slice takes of an axis of this length: the first element, the step and the number.
fn part(length: usize, start: i64, end: i64, step: i64) -> Result<(usize, isize, usize), Refusal> {
    let size = signed(length);
    let counted = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let (start, end) = (counted(start).clamp(least.max(0), most.max(0)), counted(end).clamp(least, most));
    let Some(step_back) = isize::try_from(step).ok().filter(|step| *step != 0) else {
        return Err(Refusal::invalid(format!("a step is {step}")));
    };
    let distance = if step > 0 { end - start } else { start - end };
    let count = distance.max(0).cast_unsigned().div_ceil(step.unsigned_abs());
    let whole = |number: u64| usize::try_from(number).unwrap_or(0);
    Ok((whole(start.cast_unsigned()), step_back, whole(count)))
}

/// Split: lengths are an attribute up to version 12, then an input; or all are the same, but for the last one.
pub fn split(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let dims = call.dims(0)?;
    let axis = call.axis(0, dims.len())?;
    let stated = if call.opset < 13 { call.ints("split").map(<[i64]>::to_vec) } else { call.integers(1)? };
    let lengths = match stated {
        Some(lengths) => {
            lengths.iter().map(|length| shape::dimension(*length)).collect::<Result<Vec<_>, _>>()?
        }
        None => {
            let count = shape::dimension(call.int("num_outputs", signed(call.node.outputs.len())))?.max(1);
            let each = dims[axis].div_ceil(count);
            (0..count).map(|part| dims[axis].saturating_sub(part * each).min(each)).collect()
        }
    };
    if lengths.iter().try_fold(0usize, |sum, length| sum.checked_add(*length)) != Some(dims[axis]) {
        return Err(Refusal::invalid(format!("{} is not split into {lengths:?}", shape::text(&dims))));
    }
    let mut start = 0;
    let part = |length: usize| {
        let part = call.builder.slice_axis(x, axis, start, 1, length);
        start += length;
        part
    };
    lengths.into_iter().map(part).collect()
}

/// Concat.
pub fn concat(call: &mut Call<'_>) -> Made {
    let all = call.all()?;
    let rank = call.dims(0)?.len();
    let axis = call.axis(1, rank)?;
    Ok(vec![call.builder.concat(&all, axis)?])
}
