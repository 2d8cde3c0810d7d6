use cudainfer_kernels::tensor::TensorType::{Float16, Float32, Int32, Int64};

use super::{dense, host, nvrtc};
use crate::emit::{Kernel, kernels};
use crate::plan::{Step, Top, View};

fn top(input: View, axis: usize, count: usize, largest: bool) -> Step {
    let mut dims = input.dims.clone();
    dims[axis] = count;
    Step::Top(Top { input, axis, largest, output: dense(1, Int64, &dims) })
}

/// The numbers that the tests compute with repeat: most of these choices are among equal ones.
#[test]
fn the_best_are_those_of_the_reference_and_of_equal_ones_the_first() {
    let mut steps = Vec::new();
    for largest in [true, false] {
        for (length, count) in [(1, 1), (5, 5), (33, 1), (100, 37), (1030, 300), (3000, 1000)] {
            for ty in [Float16, Float32, Int32] {
                steps.push(top(dense(0, ty, &[2, length]), 1, count, largest));
            }
        }
        let image = dense(0, Float32, &[2, 5, 9]);
        steps.push(top(image.clone(), 1, 3, largest));
        steps.push(top(image.transpose(&[1, 0, 2]).part(2, 1, 7), 2, 7, largest));
    }
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&made);
    host::check(&steps);
}

#[test]
fn rows_that_are_too_long_for_registers_are_read_again_and_most_of_them_may_be_taken() {
    let step = top(dense(0, Float32, &[40_000]), 0, 20, true);
    let most = top(dense(0, Float32, &[6100]), 0, 6000, false);
    let made = [&step, &most].map(|step| kernels(step).unwrap()).concat();
    assert!(made[0].source.contains("KEPT = false") && made[0].block[0] == 1024, "{}", made[0].source);
    nvrtc::compile(&made);
    host::check(&[step, most]);
}
