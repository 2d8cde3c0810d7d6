use cudainfer_kernels::tensor::TensorType::{Float16, Float32};

use super::{dense, host, nvrtc, only};
use crate::emit::{Kernel, kernels};
use crate::plan::{Product, Step, View};

fn product(left: View, right: View, output: View) -> Step {
    Step::Product(Product { left, right, output })
}

/// The last two axes change places in memory.
fn turned(view: View) -> View {
    let (rank, mut dims) = (view.dims.len(), view.dims.clone());
    dims.swap(rank - 2, rank - 1);
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 2, rank - 1);
    View::dense(view.buffer, view.ty, &dims).transpose(&order)
}

#[test]
fn small_products_have_small_tiles_and_large_ones_write_four_numbers_at_once() {
    let small =
        only(&product(dense(0, Float32, &[7, 20]), dense(1, Float32, &[20, 5]), dense(2, Float32, &[7, 5])));
    assert_eq!((small.grid[0], small.block[0]), (1, 64), "{}", small.source);
    let of = |buffer: usize, dims: &[usize]| dense(buffer, Float16, dims);
    let large = kernels(&product(of(0, &[8, 640, 64]), of(1, &[8, 64, 640]), of(2, &[8, 640, 640]))).unwrap();
    assert_eq!((large[0].grid[0], large[0].block[0]), (800, 256), "{}", large[0].source);
    assert!(large[0].source.contains("store<4>"), "{}", large[0].source);
}

#[test]
fn products_are_those_of_the_reference_whatever_the_strides() {
    let mut steps = Vec::new();
    for ty in [Float16, Float32] {
        for [m, k, n] in [[1, 1, 1], [1, 33, 70], [67, 16, 3], [33, 17, 65], [80, 40, 96]] {
            let (left, right, output) =
                (dense(0, ty, &[3, m, k]), dense(1, ty, &[3, k, n]), dense(2, ty, &[3, m, n]));
            steps.push(product(left.clone(), right.clone(), output.clone()));
            steps.push(product(turned(left.clone()), turned(right.clone()), turned(output.clone())));
            // One right side for all, and parts of larger tensors.
            let one = dense(1, ty, &[k, n]).broadcast(&[3, k, n]);
            let wide = dense(0, ty, &[3, m, k + 5]).part(2, 3, k);
            steps.push(product(wide, one, dense(2, Float32, &[3, m, n + 2]).part(2, 1, n)));
        }
        // Attention: heads lie side by side in the rows of queries, keys and values.
        let heads = |buffer: usize, count: usize, order: [usize; 4]| {
            dense(buffer, ty, &[2, count, 4, 24]).transpose(&order)
        };
        let scores = dense(2, ty, &[2, 4, 19, 50]);
        steps.push(product(heads(0, 19, [0, 2, 1, 3]), heads(1, 50, [0, 2, 3, 1]), scores.clone()));
        let scores = View { buffer: crate::plan::BufferId(0), ..scores };
        steps.push(product(scores, heads(1, 50, [0, 2, 1, 3]), heads(2, 19, [0, 2, 1, 3])));
    }
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&made);
    host::check(&steps);
}

#[test]
fn products_of_rows_run_on_tensor_cores() {
    let mut steps = Vec::new();
    for [m, k, n] in [[1, 8, 1], [19, 64, 50], [130, 40, 70], [64, 136, 24]] {
        let (left, right) = (dense(0, Float16, &[3, m, k]), turned(dense(1, Float16, &[3, k, n])));
        steps.push(product(left.clone(), right.clone(), dense(2, Float16, &[3, m, n])));
        steps.push(product(left.clone(), right.clone(), turned(dense(2, Float16, &[3, m, n]))));
        steps.push(product(left, right, dense(2, Float32, &[3, m, n + 3]).part(2, 2, n)));
    }
    let one = turned(dense(1, Float16, &[48, 20])).broadcast(&[2, 5, 48, 20]);
    steps.push(product(dense(0, Float16, &[2, 5, 24, 48]), one, dense(2, Float16, &[2, 5, 24, 20])));
    // Heads side by side, in the rows of queries and keys, and of the output.
    let heads = |buffer: usize, count: usize, order: [usize; 4]| {
        dense(buffer, Float16, &[2, count, 4, 24]).transpose(&order)
    };
    let scores = dense(2, Float16, &[2, 4, 19, 56]);
    steps.push(product(heads(0, 19, [0, 2, 1, 3]), heads(1, 56, [0, 2, 3, 1]), scores.clone()));
    let shares = View { buffer: crate::plan::BufferId(0), ..scores };
    let values = turned(dense(1, Float16, &[2, 4, 56, 24]));
    steps.push(product(shares, values, heads(2, 19, [0, 2, 1, 3])));
    let made: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    let on_cores = made.iter().filter(|kernel| kernel.name.starts_with("product_matrix"));
    assert_eq!(
        on_cores.count(),
        made.len(),
        "{:?}",
        made.iter().map(|kernel| &kernel.name).collect::<Vec<_>>()
    );
    nvrtc::compile(&made);
    host::check(&steps);
}
