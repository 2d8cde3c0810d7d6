//! The best of many (cuda/top.cuh): a block for each row.

use super::kernel::{Kernel, Slots};
use super::launch::whole;
use super::nest::{Nest, is_small, offset};
use super::reader::Reader;
use crate::FusedError;
use crate::plan::{Top, View};

/// The most keys that a thread keeps in registers.
const MOST_KEPT: usize = 32;

/// The kernel of such a choice.
pub(super) fn kernels(step: &Top) -> Result<Vec<Kernel>, FusedError> {
    let Top { input, axis, largest, output } = step;
    if output.elements() == 0 {
        return Ok(Vec::new());
    }
    if !is_small(input) || !is_small(output) {
        return Err(FusedError::Plan(format!("a choice's tensor has too many elements: {input:?}")));
    }
    let (length, count) = (input.dims[*axis], output.dims[*axis]);
    let threads = length.div_ceil(4).next_power_of_two().clamp(32, 1024);
    let rows: Vec<usize> =
        input.dims.iter().enumerate().map(|(dim, extent)| if dim == *axis { 1 } else { *extent }).collect();
    let nest = Nest::new(&rows, &input.strides, &[&input.strides, &output.strides], &vec![false; rows.len()]);
    let begin = |view: &View| {
        let counters: Vec<String> = (0..nest.axes.len()).map(|axis| format!("c{axis}")).collect();
        offset(&counters, &nest.strides(&view.strides))
    };
    let mut slots = Slots::writing([output]);
    let (reader, writer) = (Reader::new(input, &mut slots), Reader::new(output, &mut slots));
    let (counters, element) = (nest.counters("row", 1), reader.element(" + at"));
    let place = writer.at(&format!("{} + rank * {}", begin(output), output.strides[*axis]));
    let source = format!(
        "struct KERNEL_shape {{
    static constexpr bool LARGEST = {largest}, KEPT = {};
    static constexpr int LENGTH = {length}, LENGTH_BIT = {}, COUNT = {count}, THREADS = {threads}, STRIDE = {};
    static __device__ int begin(unsigned row) {{\n{counters}        return 0{};\n    }}
    static __device__ float read(const Buffers& b, int at) {{ return {element}; }}
    static __device__ void write(const Buffers& b, unsigned row, int rank, int index) {{
{counters}        const float number = float(index);\n        store<1>({place}, &number);\n    }}
}};
extern \"C\" __global__ void __launch_bounds__({threads}) KERNEL(const Buffers b) {{\n    top<KERNEL_shape>(b);\n}}\n",
        length.div_ceil(threads) <= MOST_KEPT,
        1usize << length.ilog2(),
        input.strides[*axis],
        begin(input),
    );
    Ok(vec![Kernel::new("top", &source, whole(nest.count()), whole(threads), slots)])
}
