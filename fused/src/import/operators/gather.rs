//! Elements by constant indices.

use super::super::call::{Call, Made};
use crate::graph::number::signed;
use crate::graph::{Refusal, ValueId, shape};

/// The most parts that indices may have.
const MOST_PARTS: usize = 64;

/// Gather: indices that follow each other evenly are a slice, others are several.
pub fn gather(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let dims = call.dims(0)?;
    let axis = call.axis(0, dims.len())?;
    let indices = call.integers(1)?.ok_or_else(|| Refusal::invalid("it has no indices"))?;
    let indices =
        indices.iter().map(|index| shape::axis(*index, dims[axis])).collect::<Result<Vec<_>, _>>()?;
    let of_indices = call.dims(1)?;
    let kept = [&dims[..axis], &of_indices, &dims[axis + 1..]].concat();
    let made = if let Some(elements) = call.builder.elements(x) {
        // Whatever the indices are.
        let inner: usize = dims[axis + 1..].iter().product();
        let outer: usize = dims[..axis].iter().product();
        shape::elements(&kept)?;
        let length = dims[axis];
        let rows = (0..outer).flat_map(|row| indices.iter().map(move |index| row * length + index));
        let picked = elements.pick(rows.flat_map(|row| row * inner..(row + 1) * inner));
        call.builder.constant(call.builder.ty(x), &kept, picked)
    } else {
        let made = parts(call, x, axis, &indices)?;
        call.builder.reshape(made, &kept)?
    };
    Ok(vec![made])
}

/// Slices for indices along an axis, one after another.
fn parts(call: &mut Call<'_>, x: ValueId, axis: usize, indices: &[usize]) -> Result<ValueId, Refusal> {
    let parts = even(indices);
    if parts.len() > MOST_PARTS || parts.is_empty() {
        return Err(Refusal::unsupported(format!("its indices are {} slices", parts.len())));
    }
    let slices =
        parts.into_iter().map(|(start, step, count)| call.builder.slice_axis(x, axis, start, step, count));
    let slices = slices.collect::<Result<Vec<_>, _>>()?;
    call.builder.concat(&slices, axis)
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
