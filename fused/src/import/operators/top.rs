//! The best of many.

use super::super::call::{Call, Made};
use crate::graph::number::integer;
use crate::graph::{Refusal, shape};

/// TopK: the values and their indices. How many is an attribute before version 10, an input since.
pub fn top(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let axis = call.axis(-1, call.builder.rank(x))?;
    let count = if call.opset < 10 { Some(call.int("k", 0)) } else { call.number(1)?.map(integer) };
    let count = shape::dimension(count.ok_or_else(|| Refusal::invalid("it has no number of elements"))?)?;
    let largest = call.flag("largest", true);
    let indices = call.builder.top(x, axis, count, largest)?;
    Ok(vec![call.builder.gather(x, indices, axis)?, indices])
}
