//! Products of matrices.

use super::memory::Memory;
use crate::plan::Product;

/// Runs a product, for one place of the dimensions before the matrices' after the other.
pub(super) fn run(step: &Product, memory: &mut Memory) -> Result<(), String> {
    let (left, right) = (memory.read(&step.left)?, memory.read(&step.right)?);
    let ([.., rows, depth], [.., inner, columns]) = (&step.left.dims[..], &step.right.dims[..]) else {
        return Err(format!("{step:?} has no matrices"));
    };
    if depth != inner {
        return Err(format!("{step:?} multiplies {depth} columns by {inner} rows"));
    }
    let mut made = Vec::with_capacity(step.output.elements());
    for (left, right) in left.chunks_exact(rows * depth).zip(right.chunks_exact(depth * columns)) {
        for row in left.chunks_exact(*depth) {
            let mut sums = vec![0.0; *columns];
            for (factor, numbers) in row.iter().zip(right.chunks_exact(*columns)) {
                sums.iter_mut()
                    .zip(numbers)
                    .for_each(|(sum, number)| *sum += f64::from(*factor) * f64::from(*number));
            }
            made.extend(sums.iter().map(|sum| *sum as f32));
        }
    }
    memory.write(&step.output, &made)
}
