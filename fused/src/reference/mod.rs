//! Runs plans on the CPU, step by step and element by element: what the GPU's kernels are compared with.
//!
//! Numbers are read as float32, as the kernels do. Sums are made in float64, so that they are better than any order of a kernel's. What a
//! step writes is rounded to the type of its view.

mod convolution;
mod function;
mod map;
mod memory;
mod number;
mod product;
mod reduce;
mod sample;
mod top;

pub use self::function::{binary, unary};
pub use self::memory::Memory;
pub use self::number::{read, write};
use crate::FusedError;
use crate::plan::{Plan, Step};

/// Runs a plan: the bytes of its inputs become those of its outputs, in the model's order.
///
/// # Errors
/// An input has another size than its buffer, or a step is impossible: a view reaches beyond its buffer, for example.
pub fn run(plan: &Plan, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, FusedError> {
    let mut memory = Memory::new(plan, inputs)?;
    for (number, step) in plan.steps.iter().enumerate() {
        run_step(step, &mut memory).map_err(|why| FusedError::Step { number, why })?;
    }
    Ok(plan.outputs.iter().map(|view| memory.bytes(view.buffer).to_vec()).collect())
}

/// Runs one step of a plan.
///
/// # Errors
/// Why it is impossible.
pub fn run_step(step: &Step, memory: &mut Memory) -> Result<(), String> {
    match step {
        Step::Convolution(step) => convolution::run(step, memory),
        Step::Map(step) => map::run(step, memory),
        Step::Reduce(step) => reduce::run(step, memory),
        Step::Softmax(step) => reduce::softmax(step, memory),
        Step::Normalize(step) => reduce::normalize(step, memory),
        Step::Product(step) => product::run(step, memory),
        Step::Top(step) => top::run(step, memory),
    }
}

/// All places of a tensor, row-major.
fn places(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let count: usize = dims.iter().product();
    let dims = dims.to_vec();
    (0..count).map(move |index| place(&dims, index))
}

/// The place of a row-major index.
fn place(dims: &[usize], mut index: usize) -> Vec<usize> {
    let mut at = vec![0; dims.len()];
    for (at, dim) in at.iter_mut().zip(dims).rev() {
        *at = index % dim;
        index /= dim;
    }
    at
}

/// The row-major index of a place.
fn index(dims: &[usize], at: &[usize]) -> usize {
    dims.iter().zip(at).fold(0, |index, (dim, at)| index * dim + at)
}

#[cfg(test)]
mod tests;
