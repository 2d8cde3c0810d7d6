//! The best of many.

use super::memory::Memory;
use super::{index, places};
use crate::graph::best;
use crate::plan::Top;

/// Runs the choice along each row.
pub(super) fn run(step: &Top, memory: &mut Memory) -> Result<(), String> {
    let input = memory.read(&step.input)?;
    let (dims, axis) = (&step.input.dims, step.axis);
    let mut output = vec![0.0; step.output.elements()];
    let rows: Vec<usize> =
        dims.iter().enumerate().map(|(of, dim)| if of == axis { 1 } else { *dim }).collect();
    for mut at in places(&rows) {
        let row = (0..dims[axis]).map(|i| {
            at[axis] = i;
            f64::from(input[index(dims, &at)])
        });
        let chosen = best(&row.collect::<Vec<_>>(), step.largest);
        for (rank, chosen) in chosen.into_iter().take(step.output.dims[axis]).enumerate() {
            at[axis] = rank;
            output[index(&step.output.dims, &at)] = chosen as f32;
        }
    }
    memory.write(&step.output, &output)
}
