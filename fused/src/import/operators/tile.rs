//! The same elements several times.

use super::super::call::{Call, Made};
use crate::graph::{Refusal, shape};

/// Expand: dimensions that are 1 on either side are broadcast.
pub fn expand(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let wanted = call.integers(1)?.ok_or_else(|| Refusal::invalid("it has no dimensions"))?;
    let wanted = wanted.iter().map(|dim| shape::dimension(*dim)).collect::<Result<Vec<_>, _>>()?;
    let dims = shape::broadcast(call.builder.dims(x), &wanted)?;
    Ok(vec![call.builder.expand(x, &dims)?])
}

/// Tile: an axis before each one that is repeated is expanded, and both become one.
pub fn tile(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let times = call.integers(1)?.ok_or_else(|| Refusal::invalid("it has no repeats"))?;
    let dims = call.dims(0)?;
    if times.len() != dims.len() {
        return Err(Refusal::invalid(format!("repeats are {times:?} for {}", shape::text(&dims))));
    }
    let (mut split, mut expanded, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    for (dim, times) in dims.iter().zip(&times) {
        let times = shape::dimension(*times)?;
        if times != 1 && *dim != 1 {
            split.push(1);
            expanded.push(times);
        }
        split.push(*dim);
        expanded.push(if *dim == 1 { times } else { *dim });
        joined.push(shape::elements(&[*dim, times])?);
    }
    let split = call.builder.reshape(x, &split)?;
    let expanded = call.builder.expand(split, &expanded)?;
    Ok(vec![call.builder.reshape(expanded, &joined)?])
}
