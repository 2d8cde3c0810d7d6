//! Elements by index, and images at places between pixels.

use cudainfer_kernels::tensor::TensorType::{Float16, Float32, Int8, Int32, Int64};

use super::{channels_last, dense, host, nvrtc, only};
use crate::emit::{Kernel, kernels};
use crate::graph::{Outside, Sampling, Unary};
use crate::plan::{Expression, Map, Program, Source, Step, View};

/// The negative of what a source gives.
fn map(dims: &[usize], source: Source, output: View) -> Step {
    let program = Program(vec![Expression::Source(0), Expression::Unary(Unary::Negate, 0)]);
    Step::Map(Map { dims: dims.to_vec(), sources: vec![source], program, outputs: vec![(output, 1)] })
}

#[test]
fn rows_by_index_are_loaded_and_stored_several_elements_at_a_time() {
    let dims = [3, 40, 64];
    let indices = dense(1, Int64, &[3, 40, 1]).broadcast(&dims);
    let view = dense(0, Float16, &[3, 25, 64]);
    let kernel = only(&map(&dims, Source::Gathered { view, indices, axis: 1 }, dense(2, Float16, &dims)));
    assert!(
        kernel.source.contains("load<false, 8>(s0 + 0") && kernel.source.contains("store<8>"),
        "{}",
        kernel.source
    );
}

/// Indices are from -8 to 23: some lie outside.
#[test]
fn indices_choose_along_any_axis_and_never_outside() {
    let mut steps = Vec::new();
    for (axis, dims) in [(0, [12, 3, 8]), (1, [3, 12, 8]), (2, [3, 8, 12])] {
        for length in [1, 6, 20] {
            for ty in [Int8, Int32, Int64] {
                let mut of = dims;
                of[axis] = length;
                let view = dense(0, Float32, &of);
                let each = dense(1, ty, &dims);
                let mut along = [1; 3];
                along[axis] = dims[axis];
                let along = dense(1, ty, &along).broadcast(&dims);
                for indices in [each.clone(), along, each.transpose(&[0, 1, 2])] {
                    let source = Source::Gathered { view: view.clone(), indices, axis };
                    steps.push(map(&dims, source, dense(2, Float32, &dims)));
                }
            }
        }
    }
    // The tensor lies in another order, and is a part of a larger one.
    let view = dense(0, Float16, &[8, 20, 5]).transpose(&[2, 1, 0]).part(2, 2, 6);
    let indices = dense(1, Int64, &[1, 9, 6]).broadcast(&[5, 9, 6]);
    steps.push(map(&[5, 9, 6], Source::Gathered { view, indices, axis: 1 }, dense(2, Float16, &[5, 9, 6])));
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&made);
    host::check(&steps);
}

#[test]
fn images_are_sampled_as_the_reference_does() {
    let dims = [2, 16, 5, 6];
    let mut steps = Vec::new();
    for nearest in [false, true] {
        for align_corners in [false, true] {
            for outside in [Outside::Zeros, Outside::Border, Outside::Reflection] {
                let how = Sampling { nearest, align_corners, outside };
                // As integers, places are from -8 to 23.
                for ty in [Float32, Float16, Int8] {
                    let grid = dense(1, ty, &[2, 5, 6, 2]);
                    let places =
                        [0, 1].map(|of| grid.part(3, of, 1).transpose(&[0, 3, 1, 2]).broadcast(&dims));
                    for image in [dense(0, Float32, &[2, 16, 4, 7]), channels_last(0, Float16, [2, 16, 4, 7])]
                    {
                        for output in [dense(2, Float32, &dims), channels_last(2, Float16, dims)] {
                            let source = Source::Sampled { view: image.clone(), places: places.clone(), how };
                            steps.push(map(&dims, source, output));
                        }
                    }
                }
            }
        }
    }
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    assert!(made.iter().any(|kernel| kernel.source.contains("load<false, 8>(old")), "{}", made[0].source);
    nvrtc::compile(&made);
    host::check(&steps);
}
