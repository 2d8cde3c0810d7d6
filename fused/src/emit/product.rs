//! Products of matrices: on tensor cores (cuda/matrix.cuh), or of any tensors (cuda/product.cuh).

use std::fmt::Write as _;

use super::batches::Batches;
use super::convolution;
use super::kernel::{Kernel, Slots};
use super::launch::{MULTIPROCESSORS, whole};
use super::nest::is_small;
use super::reader::{Reader, width};
use crate::FusedError;
use crate::plan::{Product, View};

/// Rows and columns of a block's tile.
const TILES: [[usize; 2]; 3] = [[64, 64], [64, 32], [32, 32]];

/// Numbers of the depth that a block loads at once.
const STEP: usize = 16;

/// The kernel of a product, or of many.
pub(super) fn kernels(step: &Product) -> Result<Vec<Kernel>, FusedError> {
    let Product { left, right, output } = step;
    if output.elements() == 0 {
        return Ok(Vec::new());
    }
    if let Some(view) = [left, right, output].into_iter().find(|view| !is_small(view)) {
        return Err(FusedError::Plan(format!("a product's tensor has too many elements: {view:?}")));
    }
    let kernel = convolution::product(step).unwrap_or_else(|| tiled(step));
    Ok(vec![kernel])
}

/// A kernel that multiplies any numbers wherever they lie.
fn tiled(step: &Product) -> Kernel {
    let Product { left, right, output } = step;
    let (batches, inner) = (Batches::new(step), output.dims.len() - 2);
    let [height, columns] = [output.dims[inner], output.dims[inner + 1]];
    let tiles =
        |[down, across]: [usize; 2]| batches.count() * height.div_ceil(down) * columns.div_ceil(across);
    // A number of the depth is 16 times as much work to load as to multiply.
    let work = |[down, across]: [usize; 2]| down * across + 16 * (down + across);
    let cost = |tile: [usize; 2]| tiles(tile).div_ceil(MULTIPROCESSORS) * work(tile);
    let tile = TILES.into_iter().min_by_key(|tile| cost(*tile)).unwrap_or(TILES[0]);
    let [rows, across] = tile;
    let written = together(output);

    let mut slots = Slots::writing([output]);
    let mut shape = String::new();
    let constants = [
        ("ROWS", rows.cast_signed()),
        ("COLUMNS", across.cast_signed()),
        ("STEP", STEP.cast_signed()),
        ("HEIGHT", height.cast_signed()),
        ("WIDTH", columns.cast_signed()),
        ("DEPTH", left.dims[inner + 1].cast_signed()),
        ("WRITTEN", written.cast_signed()),
        ("LEFT_ROW", left.strides[inner]),
        ("LEFT_DEPTH", left.strides[inner + 1]),
        ("RIGHT_DEPTH", right.strides[inner]),
        ("RIGHT_COLUMN", right.strides[inner + 1]),
        ("OUTPUT_ROW", output.strides[inner]),
        ("OUTPUT_COLUMN", output.strides[inner + 1]),
    ];
    for (name, number) in constants {
        let _ = writeln!(shape, "    static constexpr int {name} = {number};");
    }
    shape.push_str(&batches.source(["left", "right", "output"]));
    for (name, view) in [("left", left), ("right", right)] {
        let element = Reader::new(view, &mut slots).element(" + at");
        let _ = writeln!(
            shape,
            "    static __device__ float {name}(const Buffers& b, int at) {{ return {element}; }}"
        );
    }
    let place = Reader::new(output, &mut slots).at(" + at");
    let _ = writeln!(
        shape,
        "    static __device__ void write(const Buffers& b, const float* from, int at) {{ store<{written}>({place}, from); }}"
    );
    let threads = rows * across / 16;
    let source = format!(
        "struct KERNEL_shape {{\n{shape}}};\nextern \"C\" __global__ void __launch_bounds__({threads}) \
         KERNEL(const Buffers b) {{\n    multiply_matrices<KERNEL_shape>(b);\n}}\n"
    );
    Kernel::new("product", &source, whole(tiles(tile)), whole(threads), slots)
}

/// How many neighbours of a row are written at once.
fn together(output: &View) -> usize {
    let all = output.dims.iter().zip(&output.strides);
    let strides: Vec<isize> = all.map(|(dim, stride)| if *dim == 1 { 0 } else { *stride }).collect();
    let most = if output.dims.last().is_some_and(|columns| columns.is_multiple_of(4)) { 4 } else { 1 };
    width(output.offset, &strides, most)
}
