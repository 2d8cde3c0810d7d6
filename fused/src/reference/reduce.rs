//! One number of many, and softmax.

use super::memory::Memory;
use super::{index, places};
use crate::graph::ReduceKind;
use crate::plan::{Normalize, Reduce, Softmax};

/// Runs a reduction.
pub(super) fn run(step: &Reduce, memory: &mut Memory) -> Result<(), String> {
    let input = memory.read(&step.input)?;
    let dims = &step.input.dims;
    let mut cells = vec![Vec::new(); step.output.elements()];
    for (at, element) in places(dims).zip(&input) {
        let to: Vec<usize> =
            at.iter().enumerate().map(|(axis, at)| if step.axes.contains(&axis) { 0 } else { *at }).collect();
        cells[index(&step.output.dims, &to)].push(f64::from(*element));
    }
    let numbers: Vec<f32> = cells.iter().map(|cells| number(step.kind, cells) as f32).collect();
    memory.write(&step.output, &numbers)
}

/// Which number; none: the index of the first of the largest ones.
fn number(kind: Option<ReduceKind>, cells: &[f64]) -> f64 {
    match kind {
        Some(ReduceKind::Sum) => cells.iter().sum(),
        Some(ReduceKind::Mean) => cells.iter().sum::<f64>() / cells.len() as f64,
        Some(ReduceKind::Maximum) => cells.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Some(ReduceKind::Minimum) => cells.iter().copied().fold(f64::INFINITY, f64::min),
        Some(ReduceKind::L2) => cells.iter().map(|cell| cell * cell).sum::<f64>().sqrt(),
        None => {
            let largest = cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            cells.iter().position(|cell| *cell == largest).unwrap_or(0) as f64
        }
    }
}

/// Runs a softmax.
pub(super) fn softmax(step: &Softmax, memory: &mut Memory) -> Result<(), String> {
    let input = memory.read(&step.input)?;
    let dims = &step.input.dims;
    let mut output = vec![0.0; input.len()];
    let rows: Vec<usize> =
        dims.iter().enumerate().map(|(axis, dim)| if axis == step.axis { 1 } else { *dim }).collect();
    for mut at in places(&rows) {
        let row: Vec<usize> = (0..dims[step.axis])
            .map(|i| {
                at[step.axis] = i;
                index(dims, &at)
            })
            .collect();
        let largest = row.iter().map(|i| f64::from(input[*i])).fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = row.iter().map(|i| (f64::from(input[*i]) - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        row.iter().zip(powers).for_each(|(i, power)| output[*i] = (power / sum) as f32);
    }
    memory.write(&step.output, &output)
}

/// Runs a normalisation.
pub(super) fn normalize(step: &Normalize, memory: &mut Memory) -> Result<(), String> {
    let (input, factors) = (memory.read(&step.input)?, memory.read(&step.factor)?);
    let added = step.added.as_ref().map(|added| memory.read(added)).transpose()?;
    let dims = &step.input.dims;
    let row_of = |at: &[usize]| -> Vec<usize> {
        at.iter().enumerate().map(|(axis, at)| if step.axes.contains(&axis) { 0 } else { *at }).collect()
    };
    let mut rows = vec![Vec::new(); input.len()];
    for at in places(dims) {
        rows[index(dims, &row_of(&at))].push(index(dims, &at));
    }
    let mut output = vec![0.0; input.len()];
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let of =
            |number: &dyn Fn(usize) -> f64| row.iter().map(|i| number(*i)).sum::<f64>() / row.len() as f64;
        let mean = of(&|i| f64::from(input[i]));
        let variance = of(&|i| (f64::from(input[i]) - mean).powi(2));
        for i in row {
            let normal = (f64::from(input[*i]) - mean) / (variance + f64::from(step.epsilon)).sqrt();
            let added = added.as_ref().map_or(0.0, |added| f64::from(added[*i]));
            output[*i] = (normal * f64::from(factors[*i]) + added) as f32;
        }
    }
    memory.write(&step.output, &output)
}
