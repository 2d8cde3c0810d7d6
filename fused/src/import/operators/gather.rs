//! Elements by indices.

use super::super::call::{Call, Made};
use crate::graph::number::{integer, signed};
use crate::graph::{Binary, Refusal, ValueId, shape};

/// The most slices that are taken for constant indices: from there on, one kernel reads the indices.
const MOST_PARTS: usize = 8;

/// Gather: constant indices that follow each other evenly are a slice, or a few.
pub fn gather(call: &mut Call<'_>) -> Made {
    let (x, indices) = (call.input(0)?, call.input(1)?);
    let (dims, of_indices) = (call.dims(0)?, call.dims(1)?);
    let axis = call.axis(0, dims.len())?;
    let kept = [&dims[..axis], &of_indices, &dims[axis + 1..]].concat();
    let known = call.constant(1).ok().flatten().cloned();
    if let (Some(known), None) = (known, call.builder.elements(x)) {
        let known = known.numbers().into_iter().map(integer);
        let known = known.map(|index| shape::axis(index, dims[axis])).collect::<Result<Vec<_>, _>>()?;
        let parts = even(&known);
        if (1..=MOST_PARTS).contains(&parts.len()) {
            let slices = parts
                .into_iter()
                .map(|(start, step, count)| call.builder.slice_axis(x, axis, start, step, count));
            let slices = slices.collect::<Result<Vec<_>, _>>()?;
            let made = call.builder.concat(&slices, axis)?;
            return Ok(vec![call.builder.reshape(made, &kept)?]);
        }
    }
    let mut wide = vec![1; dims.len()];
    wide[axis] = shape::elements(&of_indices)?;
    let indices = call.builder.reshape(indices, &wide)?;
    let made = call.builder.gather(x, indices, axis)?;
    Ok(vec![call.builder.reshape(made, &kept)?])
}

/// GatherElements: an index for each element of the output.
pub fn elements(call: &mut Call<'_>) -> Made {
    let (x, indices) = (call.input(0)?, call.input(1)?);
    let (mut dims, of_indices) = (call.dims(0)?, call.dims(1)?);
    let axis = call.axis(0, dims.len())?;
    let fits = |at: usize| at == axis || of_indices[at] <= dims[at];
    if dims.len() != of_indices.len() || !(0..dims.len()).all(fits) {
        let (x, indices) = (shape::text(&dims), shape::text(&of_indices));
        return Err(Refusal::invalid(format!("{x} does not fit indices of {indices}")));
    }
    // What no index leads to is left out.
    let length = dims[axis];
    dims.copy_from_slice(&of_indices);
    dims[axis] = length;
    let part = call.builder.slice(x, vec![0; dims.len()], vec![1; dims.len()], &dims)?;
    Ok(vec![call.builder.gather(part, indices, axis)?])
}

/// GatherND: the last axis of the indices says places along several axes, which become one here.
pub fn places(call: &mut Call<'_>) -> Made {
    let (x, indices) = (call.input(0)?, call.input(1)?);
    let (dims, of_indices) = (call.dims(0)?, call.dims(1)?);
    let batch = shape::dimension(call.int("batch_dims", 0))?;
    let Some((depth, places)) = of_indices.split_last().filter(|(depth, places)| {
        batch <= places.len()
            && **depth > 0
            && batch + **depth <= dims.len()
            && places[..batch] == dims[..batch]
    }) else {
        let (x, indices) = (shape::text(&dims), shape::text(&of_indices));
        return Err(Refusal::invalid(format!("{x} does not fit indices of {indices}")));
    };
    let (chosen, rest) = dims[batch..].split_at(*depth);
    let kept = [places, rest].concat();
    let (batches, count) = (shape::elements(&dims[..batch])?, shape::elements(&places[batch..])?);
    let builder = &mut *call.builder;
    let rows = builder.reshape(x, &[batches, shape::elements(chosen)?, shape::elements(rest)?])?;
    let indices = builder.reshape(indices, &[batches, count, *depth])?;
    let row = row_of(call, indices, chosen)?;
    let made = call.builder.gather(rows, row, 1)?;
    Ok(vec![call.builder.reshape(made, &kept)?])
}

/// The index of a place along several axes, of which the last axis of `indices` has one each.
fn row_of(call: &mut Call<'_>, indices: ValueId, dims: &[usize]) -> Result<ValueId, Refusal> {
    let builder = &mut *call.builder;
    if dims.len() == 1 {
        return Ok(indices);
    }
    let mut row = None;
    for (axis, dim) in dims.iter().enumerate() {
        let index = builder.slice_axis(indices, 2, axis, 1, 1)?;
        let length = crate::graph::number::real_length(*dim);
        let is_negative = builder.with_number(Binary::Less, index, 0.0)?;
        let counted = builder.with_number(Binary::Add, index, length)?;
        let index = builder.select(is_negative, counted, index)?;
        // Those outside mean the nearest element.
        let index = builder.with_number(Binary::Maximum, index, 0.0)?;
        let index = builder.with_number(Binary::Minimum, index, length - 1.0)?;
        row = Some(match row {
            None => index,
            Some(row) => {
                let scaled = builder.with_number(Binary::Multiply, row, length)?;
                builder.binary(Binary::Add, scaled, index)?
            }
        });
    }
    row.ok_or_else(|| Refusal::invalid("its indices have no elements"))
}

/// Indices as runs with a step: start, step and number.
fn even(indices: &[usize]) -> Vec<(usize, isize, usize)> {
    let step =
        |at: usize| Some(signed(*indices.get(at + 1)?) - signed(*indices.get(at)?)).filter(|step| *step != 0);
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(start) = indices.get(at) {
        let own = step(at);
        let more = if own.is_some() { (at..).take_while(|at| step(*at) == own).count() } else { 0 };
        runs.push((*start, own.and_then(|step| isize::try_from(step).ok()).unwrap_or(1), more + 1));
        at += more + 1;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::even;

    #[test]
    fn indices_become_even_runs() {
        assert_eq!(even(&[4]), [(4, 1, 1)]);
        assert_eq!(even(&[0, 2, 4]), [(0, 2, 3)]);
        assert_eq!(even(&[2, 1, 0]), [(2, -1, 3)]);
        assert_eq!(even(&[1, 1, 2, 3]), [(1, 1, 1), (1, 1, 3)]);
        assert_eq!(even(&[]), []);
    }
}
