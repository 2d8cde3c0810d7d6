use cudainfer_kernels::tensor::TensorType::{Float16, Float32, Int64};

use super::{channels_last, dense, host, nvrtc, only};
use crate::emit::{Kernel, kernels};
use crate::graph::ReduceKind;
use crate::plan::{Normalize, Reduce, Softmax, Step, View};

fn reduce(kind: Option<ReduceKind>, input: View, axes: &[usize]) -> Step {
    let dims = input.dims.iter().enumerate();
    let dims: Vec<usize> = dims.map(|(dim, extent)| if axes.contains(&dim) { 1 } else { *extent }).collect();
    let ty = if kind.is_some() { input.ty } else { Int64 };
    Step::Reduce(Reduce { kind, input, axes: axes.to_vec(), output: dense(1, ty, &dims) })
}

#[test]
fn means_over_an_image_with_channels_last_load_channels_together() {
    let kernel = only(&reduce(Some(ReduceKind::Mean), channels_last(0, Float16, [1, 64, 56, 56]), &[2, 3]));
    assert!(
        kernel.source.contains("COLUMNS = true") && kernel.source.contains("COUNT = 8"),
        "{}",
        kernel.source
    );
    assert!(kernel.grid[0] * kernel.block[0] >= 1024, "{kernel:?}");
}

#[test]
fn rows_are_loaded_sixteen_bytes_at_a_time() {
    let kernel = only(&reduce(None, channels_last(0, Float32, [1, 64, 56, 56]), &[1]));
    assert!(
        kernel.source.contains("COLUMNS = false") && kernel.source.contains("COUNT = 4"),
        "{}",
        kernel.source
    );
}

#[test]
fn reductions_are_those_of_the_reference() {
    let kinds = [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Maximum, ReduceKind::Minimum, ReduceKind::L2];
    let mut steps = Vec::new();
    for kind in kinds.into_iter().map(Some).chain([None]) {
        for ty in [Float16, Float32] {
            for input in [
                channels_last(0, ty, [2, 24, 13, 9]),
                dense(0, ty, &[2, 24, 13, 9]),
                dense(0, ty, &[1, 7, 1, 1]),
            ] {
                for axes in [&[1][..], &[2, 3], &[0, 1, 2, 3], &[0, 2]] {
                    if kind.is_some() || axes.len() == 1 {
                        steps.push(reduce(kind, input.clone(), axes));
                    }
                }
            }
        }
    }
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&made);
    host::check(&steps);
}

#[test]
fn softmax_is_that_of_the_reference_over_short_and_long_rows() {
    let mut steps = Vec::new();
    for ty in [Float16, Float32] {
        for dims in [[1, 16, 4, 840], [1, 1000, 1, 1], [2, 21, 17, 9], [1, 2, 10, 900], [1, 4, 3, 3000]] {
            for input in [channels_last(0, ty, dims), dense(0, ty, &dims)] {
                for axis in [1, 3] {
                    for output in [channels_last(1, Float32, dims), dense(1, ty, &dims)] {
                        let step = Step::Softmax(Softmax { input: input.clone(), axis, output });
                        steps.push(step);
                    }
                }
            }
        }
    }
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&made);
    host::check(&steps);
}

#[test]
fn a_normalisation_is_that_of_the_reference_over_channels_that_lie_together_and_apart() {
    let mut steps = Vec::new();
    for ty in [Float16, Float32] {
        for (dims, axes) in [
            ([2, 96, 7, 9], &[1][..]),
            ([1, 24, 5, 4], &[1]),
            ([1, 2, 50, 768], &[3]),
            ([1, 3, 4, 30], &[2, 3]),
            ([1, 7, 3, 5], &[1]),
            ([1, 1, 3, 4096], &[3]),
        ] {
            let of_row = |buffer: usize| {
                let own =
                    dims.iter().enumerate().map(|(axis, dim)| if axes.contains(&axis) { *dim } else { 1 });
                dense(buffer, ty, &own.collect::<Vec<_>>()).broadcast(&dims)
            };
            for input in [channels_last(0, ty, dims), dense(0, ty, &dims)] {
                for (added, output) in
                    [(Some(of_row(2)), channels_last(3, ty, dims)), (None, dense(3, ty, &dims))]
                {
                    let (axes, epsilon) = (axes.to_vec(), 1e-3);
                    let step =
                        Normalize { input: input.clone(), axes, epsilon, factor: of_row(1), added, output };
                    steps.push(Step::Normalize(step));
                }
            }
        }
    }
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&made);
    host::check(&steps);
}
