//! The same elements in other dimensions, or in another order.

use super::super::call::{Call, Made};
use crate::graph::number::signed;
use crate::graph::{Refusal, shape};

/// Reshape: 0 keeps a dimension (if not `allowzero`), -1 is what remains.
pub fn reshape(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let wanted = call.integers(1)?.ok_or_else(|| Refusal::invalid("it has no dimensions"))?;
    let dims = resolved(&wanted, call.builder.dims(x), call.flag("allowzero", false))?;
    Ok(vec![call.builder.reshape(x, &dims)?])
}

/// Dimensions that Reshape wants, of a tensor of dimensions `from`.
fn resolved(wanted: &[i64], from: &[usize], zero_is_zero: bool) -> Result<Vec<usize>, Refusal> {
    let wrong = || Refusal::invalid(format!("{} does not become {wanted:?}", shape::text(from)));
    let mut dims = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (axis, dim) in wanted.iter().enumerate() {
        match *dim {
            0 if !zero_is_zero => dims.push(*from.get(axis).ok_or_else(wrong)?),
            -1 if open.is_none() => {
                open = Some(axis);
                dims.push(1);
            }
            dim => dims.push(usize::try_from(dim).map_err(|_| wrong())?),
        }
    }
    if let Some(axis) = open {
        let (all, others) = (shape::elements(from)?, shape::elements(&dims)?);
        dims[axis] = all.checked_div(others).ok_or_else(wrong)?;
    }
    Ok(dims)
}

/// Flatten: the axes before one are rows, the others columns.
pub fn flatten(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let dims = call.dims(0)?;
    let axis = call.int("axis", 1);
    // All axes may be before it.
    let axis = if axis == signed(dims.len()) { dims.len() } else { shape::axis(axis, dims.len())? };
    let (rows, columns) = dims.split_at(axis);
    Ok(vec![call.builder.reshape(x, &[rows.iter().product(), columns.iter().product()])?])
}

/// Squeeze: axes are an attribute up to version 12.
pub fn squeeze(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let dims = call.dims(0)?;
    let axes = match call.axes(1, 12)? {
        Some(axes) => shape::axes(&axes, dims.len())?,
        None => (0..dims.len()).filter(|axis| dims[*axis] == 1).collect(),
    };
    if axes.iter().any(|axis| dims[*axis] != 1) {
        return Err(Refusal::invalid(format!("axes {axes:?} of {} are not 1", shape::text(&dims))));
    }
    Ok(vec![call.builder.without(x, &axes)?])
}

/// Unsqueeze: axes are an attribute up to version 12.
pub fn unsqueeze(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let axes = call.axes(1, 12)?.ok_or_else(|| Refusal::invalid("it has no axes"))?;
    let rank = call.builder.rank(x) + axes.len();
    let axes = shape::axes(&axes, rank)?;
    let mut own = call.builder.dims(x).iter();
    let dims = (0..rank).map(|axis| if axes.contains(&axis) { Some(1) } else { own.next().copied() });
    let dims = dims.collect::<Option<Vec<_>>>().ok_or_else(|| Refusal::invalid("it has too few axes"))?;
    Ok(vec![call.builder.reshape(x, &dims)?])
}

/// Transpose; from the last axis to the first, where no order is stated.
pub fn transpose(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let rank = call.builder.rank(x);
    let order = match call.ints("perm") {
        Some(order) => order.iter().map(|axis| shape::axis(*axis, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).rev().collect(),
    };
    Ok(vec![call.builder.transpose(x, &order)?])
}
