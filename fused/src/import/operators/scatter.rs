//! Tensors of which some elements are others.

use super::super::call::{Call, Made};
use crate::graph::number::signed;
use crate::graph::{Elements, Refusal, shape};
use crate::plan::dense_strides;
use cudainfer_kernels::tensor::TensorType;

/// ScatterND with constant indices: which row of the tensor, or of what is written into it, each row of the output is.
pub fn places(call: &mut Call<'_>) -> Made {
    let (dims, of_indices, updates) = (call.dims(0)?, call.dims(1)?, call.input(2)?);
    check_reduction(call)?;
    let indices = call.integers(1)?.ok_or_else(|| Refusal::invalid("it has no indices"))?;
    let Some((depth, places)) =
        of_indices.split_last().filter(|(depth, _)| (1..=dims.len()).contains(*depth))
    else {
        let (x, indices) = (shape::text(&dims), shape::text(&of_indices));
        return Err(Refusal::invalid(format!("{x} does not fit indices of {indices}")));
    };
    let (chosen, rest) = dims.split_at(*depth);
    let strides = dense_strides(chosen);
    let row = |place: &[i64]| -> Result<usize, Refusal> {
        let along = place.iter().zip(chosen).zip(&strides);
        along.map(|((at, dim), stride)| Ok(shape::axis(*at, *dim)? * stride.unsigned_abs())).sum()
    };
    let rows = indices.chunks_exact(*depth).map(row).collect::<Result<Vec<_>, _>>()?;
    let (count, length) = (shape::elements(chosen)?, shape::elements(rest)?);
    if call.builder.dims(updates) != [places, rest].concat() {
        let text = shape::text(call.builder.dims(updates));
        return Err(Refusal::invalid(format!("{text} is written to {} rows of {length}", rows.len())));
    }
    replaced(call, [count, length], &rows)
}

/// ScatterElements with constant indices along an axis.
pub fn elements(call: &mut Call<'_>) -> Made {
    let (dims, of_indices, updates) = (call.dims(0)?, call.dims(1)?, call.input(2)?);
    check_reduction(call)?;
    let axis = call.axis(0, dims.len())?;
    let indices = call.integers(1)?.ok_or_else(|| Refusal::invalid("it has no indices"))?;
    if dims.len() != of_indices.len() || call.builder.dims(updates) != of_indices {
        let (x, indices) = (shape::text(&dims), shape::text(&of_indices));
        return Err(Refusal::invalid(format!("{x} does not fit indices of {indices}")));
    }
    let (to, from) = (dense_strides(&dims), dense_strides(&of_indices));
    let place = |(at, index): (usize, &i64)| -> Result<usize, Refusal> {
        let along = |of: usize| {
            let own = at / from[of].unsigned_abs() % of_indices[of];
            let own = if of == axis { shape::axis(*index, dims[of])? } else { own };
            Ok((own < dims[of]).then_some(own * to[of].unsigned_abs()))
        };
        let sum = (0..dims.len()).map(along).sum::<Result<Option<usize>, Refusal>>()?;
        sum.ok_or_else(|| Refusal::invalid("its indices have more elements than its input"))
    };
    let rows = indices.iter().enumerate().map(place).collect::<Result<Vec<_>, _>>()?;
    replaced(call, [shape::elements(&dims)?, 1], &rows)
}

/// The tensor as `[count, length]`, of which these rows are the third input's.
fn replaced(call: &mut Call<'_>, [count, length]: [usize; 2], rows: &[usize]) -> Made {
    let (x, updates, dims) = (call.input(0)?, call.input(2)?, call.dims(0)?);
    let mut from: Vec<i64> = (0..signed(count)).collect();
    rows.iter().enumerate().for_each(|(update, row)| from[*row] = signed(count + update));
    let builder = &mut *call.builder;
    let from = builder.constant(TensorType::Int64, &[count, 1], Elements::Integers(from));
    let (x, updates) =
        (builder.reshape(x, &[count, length])?, builder.reshape(updates, &[rows.len(), length])?);
    let both = builder.concat(&[x, updates], 0)?;
    let made = builder.gather(both, from, 0)?;
    Ok(vec![builder.reshape(made, &dims)?])
}

/// Elements are replaced: sums and other functions of old and new ones are not known.
fn check_reduction(call: &Call<'_>) -> Result<(), Refusal> {
    match call.text("reduction", "none") {
        "none" => Ok(()),
        other => Err(Refusal::unsupported(format!("its reduction is '{other}'"))),
    }
}
