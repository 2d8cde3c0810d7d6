//! What does not depend on the numbers of the inputs.

use cudainfer_kernels::tensor::TensorType;

use super::super::call::{Call, Made};
use crate::graph::number::{integer, real_length, signed};
use crate::graph::{Elements, Refusal, shape as dimensions};

/// Shape (of some axes since version 15) and Size.
pub fn shape(call: &mut Call<'_>) -> Made {
    let dims = call.dims(0)?;
    if call.node.operator == "Size" {
        let count = signed(dimensions::elements(&dims)?);
        return Ok(vec![call.builder.constant(TensorType::Int64, &[], Elements::Integers(vec![count]))]);
    }
    let rank = signed(dims.len());
    let at = |name: &str, missing: i64| {
        let at = call.int(name, missing);
        let at = if at < 0 { at.saturating_add(rank) } else { at };
        usize::try_from(at.clamp(0, rank)).unwrap_or(0)
    };
    let (start, end) = (at("start", 0), at("end", rank));
    let kept = dims.get(start..end).unwrap_or_default().iter().map(|dim| signed(*dim)).collect();
    Ok(vec![call.builder.integers(kept)])
}

/// Constant, in whichever attribute it is.
pub fn constant(call: &mut Call<'_>) -> Made {
    let attribute = call.node.attributes.first().ok_or_else(|| Refusal::invalid("it has no value"))?;
    let (float, int) = (TensorType::Float32, TensorType::Int64);
    let made = match (attribute.name.as_str(), &attribute.t) {
        ("value", Some(tensor)) => call.add(tensor)?,
        ("value_float", _) => {
            let value = Elements::Floats(vec![attribute.f.unwrap_or_default()]);
            call.builder.constant(float, &[], value)
        }
        ("value_floats", _) => {
            let values = Elements::Floats(attribute.floats.clone());
            call.builder.constant(float, &[attribute.floats.len()], values)
        }
        ("value_int", _) => {
            call.builder.constant(int, &[], Elements::Integers(vec![attribute.i.unwrap_or_default()]))
        }
        ("value_ints", _) => call.builder.integers(attribute.ints.clone()),
        (other, _) => return Err(Refusal::unsupported(format!("its value is in '{other}'"))),
    };
    Ok(vec![made])
}

/// ConstantOfShape: one number everywhere.
pub fn of_shape(call: &mut Call<'_>) -> Made {
    let dims = call.integers(0)?.ok_or_else(|| Refusal::invalid("it has no dimensions"))?;
    let dims = dims.iter().map(|dim| dimensions::dimension(*dim)).collect::<Result<Vec<_>, _>>()?;
    let value = match call.tensor("value").cloned() {
        Some(tensor) => call.add(&tensor)?,
        None => call.builder.constant(TensorType::Float32, &[], Elements::Floats(vec![0.0])),
    };
    let value = call.builder.reshape(value, &[])?;
    Ok(vec![call.builder.expand(value, &dims)?])
}

/// Range: `start`, `start + delta`, ... below (or above) `limit`.
pub fn range(call: &mut Call<'_>) -> Made {
    /// The most numbers.
    const MOST: f64 = 16_777_216.0;
    let ty = call.builder.ty(call.input(0)?);
    let missing = || Refusal::invalid("it has no start, limit or delta");
    let mut numbers = [0.0; 3];
    for (slot, number) in numbers.iter_mut().enumerate() {
        *number = call.number(slot)?.ok_or_else(missing)?;
    }
    let [start, limit, delta] = numbers;
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !(0.0..=MOST).contains(&count) {
        return Err(Refusal::invalid(format!("it has {count} numbers")));
    }
    let count = usize::try_from(integer(count)).unwrap_or(0);
    let values: Vec<f64> = (0..count).map(|at| start + delta * real_length(at)).collect();
    Ok(vec![call.builder.constant(ty, &[count], Elements::of_numbers(&values, ty))])
}

/// NonZero of a constant: the places of elements that are not 0, an axis a row.
pub fn non_zero(call: &mut Call<'_>) -> Made {
    let dims = call.dims(0)?;
    let elements = call.constant(0)?.ok_or_else(|| Refusal::invalid("it has no input"))?;
    let places: Vec<usize> = (0..elements.len()).filter(|at| elements.number(*at) != 0.0).collect();
    let strides = crate::plan::dense_strides(&dims);
    let along = |(dim, stride): (&usize, &isize)| {
        let (dim, stride) = (*dim, stride.unsigned_abs());
        places.iter().map(move |place| signed(place / stride % dim)).collect::<Vec<_>>()
    };
    let rows: Vec<i64> = dims.iter().zip(&strides).flat_map(along).collect();
    let of = [dims.len(), places.len()];
    Ok(vec![call.builder.constant(TensorType::Int64, &of, Elements::Integers(rows))])
}
