//! Einsum: sums of products over axes that are named by letters.

use super::super::call::{Call, Made};
use crate::graph::{ReduceKind, Refusal, ValueId, shape};

/// A tensor whose axes have names.
struct Named {
    value: ValueId,
    axes: Vec<char>,
}

/// Einsum of one tensor or of two: a product of matrices, whose rows, columns and depth are axes of one, of the other and of both.
pub fn einsum(call: &mut Call<'_>) -> Made {
    let equation: String =
        call.text("equation", "").chars().filter(|letter| !letter.is_whitespace()).collect();
    let refuse = || Refusal::unsupported(format!("its equation is '{equation}'"));
    let (from, to) = equation.split_once("->").ok_or_else(refuse)?;
    let letters = |text: &str| {
        let axes: Vec<char> = text.chars().collect();
        let is_plain = axes
            .iter()
            .enumerate()
            .all(|(at, axis)| axis.is_ascii_alphabetic() && !axes[..at].contains(axis));
        is_plain.then_some(axes)
    };
    let to = letters(to).ok_or_else(refuse)?;
    let mut all = Vec::new();
    for (slot, text) in from.split(',').enumerate() {
        let (value, axes) = (call.input(slot)?, letters(text).ok_or_else(refuse)?);
        if call.builder.rank(value) != axes.len() {
            let dims = shape::text(call.builder.dims(value));
            return Err(Refusal::invalid(format!("'{text}' are the axes of {dims}")));
        }
        call.builder.floats(value)?;
        all.push(Named { value, axes });
    }
    if to.iter().any(|axis| !all.iter().any(|of| of.axes.contains(axis))) {
        return Err(Refusal::invalid(format!("an axis of its output is nowhere else in '{equation}'")));
    }
    let made = match &all[..] {
        [one] => summed(call, one, |axis| to.contains(&axis))?,
        [a, b] => {
            let a = summed(call, a, |axis| to.contains(&axis) || b.axes.contains(&axis))?;
            let b = summed(call, b, |axis| to.contains(&axis) || a.axes.contains(&axis))?;
            product(call, &a, &b, &to)?
        }
        _ => return Err(refuse()),
    };
    Ok(vec![ordered(call, &made, &to)?])
}

/// The sum over the axes that are not kept.
fn summed(call: &mut Call<'_>, of: &Named, is_kept: impl Fn(char) -> bool) -> Result<Named, Refusal> {
    let others = of.axes.iter().enumerate().filter(|(_, axis)| !is_kept(**axis));
    let others: Vec<usize> = others.map(|(at, _)| at).collect();
    let value = call.builder.reduce(ReduceKind::Sum, of.value, &others, false)?;
    Ok(Named { value, axes: of.axes.iter().copied().filter(|axis| is_kept(*axis)).collect() })
}

/// The product of two tensors: axes of both are those of a batch if the output has them, else what is summed over.
fn product(call: &mut Call<'_>, a: &Named, b: &Named, to: &[char]) -> Result<Named, Refusal> {
    let of = |named: &Named, is: &dyn Fn(&char) -> bool| -> Vec<char> {
        named.axes.iter().copied().filter(is).collect()
    };
    let batch = of(a, &|axis| b.axes.contains(axis) && to.contains(axis));
    let depth = of(a, &|axis| b.axes.contains(axis) && !to.contains(axis));
    let rows = of(a, &|axis| !b.axes.contains(axis));
    let columns = of(b, &|axis| !a.axes.contains(axis));
    let left = matrix(call, a, [&batch, &rows, &depth])?;
    let right = matrix(call, b, [&batch, &depth, &columns])?;
    let made = call.builder.multiply(left, right)?;
    let length = |axis: &char| {
        let in_a = a.axes.iter().position(|own| own == axis).map(|at| call.builder.dims(a.value)[at]);
        in_a.or_else(|| b.axes.iter().position(|own| own == axis).map(|at| call.builder.dims(b.value)[at]))
    };
    let axes = [batch, rows, columns].concat();
    let dims: Vec<usize> = axes.iter().filter_map(length).collect();
    Ok(Named { value: call.builder.reshape(made, &dims)?, axes })
}

/// A tensor with its axes in three groups, each of which becomes one: the first one is left out where it has none.
fn matrix(call: &mut Call<'_>, of: &Named, groups: [&Vec<char>; 3]) -> Result<ValueId, Refusal> {
    let turned = ordered(call, of, &groups.map(Vec::as_slice).concat())?;
    let mut rest = call.builder.dims(turned).to_vec();
    let mut dims = Vec::with_capacity(3);
    for group in groups {
        dims.push(shape::elements(&rest.drain(..group.len()).collect::<Vec<_>>())?);
    }
    let first = usize::from(groups[0].is_empty());
    call.builder.reshape(turned, &dims[first..])
}

/// A tensor with its axes in this order.
fn ordered(call: &mut Call<'_>, of: &Named, to: &[char]) -> Result<ValueId, Refusal> {
    let order: Vec<usize> = to.iter().filter_map(|axis| of.axes.iter().position(|own| own == axis)).collect();
    call.builder.transpose(of.value, &order)
}
