//! Any convolution, naively: a thread makes one output, and adds in the order of rows, columns, channels. Other kernels are compared
//! with it.

use super::epilogue::{Finish, Sums};
use crate::emit::kernel::{Kernel, Slots};
use crate::emit::launch::whole;
use crate::emit::reader::Reader;
use crate::graph::number::is_byte;
use crate::plan::Convolution;

/// Threads of a block.
const THREADS: usize = 128;

/// The kernel; none where a convolution has too many tensors.
pub(super) fn kernel(convolution: &Convolution) -> Option<Kernel> {
    let Convolution { input, weights, window, groups, zero, output, .. } = convolution;
    let mut slots = Slots::writing([output]);
    let (cells, taps) = (Reader::new(input, &mut slots), Reader::constant(weights, &mut slots));
    let [_, k, p, q] = output.dims[..] else { return None };
    let [_, depth, r, s] = weights.dims[..] else { return None };
    let (sums, sum) = if is_byte(input.ty) { (Sums::Integers, "int") } else { (Sums::Floats, "float") };
    let finish = Finish::new(convolution).source("KERNEL_finish", 1, sums, &mut slots);
    let threads = output.elements();
    let cell = cells.element(&super::super::nest::offset(
        &["n".into(), "(first + c)".into(), "y".into(), "x".into()],
        &input.strides,
    ));
    let tap = taps.element(&super::super::nest::offset(
        &["k".into(), "c".into(), "r".into(), "s".into()],
        &weights.strides,
    ));
    // What is outside of an image of floats adds nothing.
    let (product, outside) = match sums {
        Sums::Floats => (format!("fmaf({cell}, {tap}, sum)"), String::new()),
        Sums::Integers if *zero == 0 => (format!("sum + int({cell}) * int({tap})"), String::new()),
        Sums::Integers => {
            let outside = format!(
                " else {{\n#pragma unroll 4\n                for (int c = 0; c < {depth}; ++c) {{\n                    \
                 sum += {zero} * int({tap});\n                }}\n            }}"
            );
            (format!("sum + int({cell}) * int({tap})"), outside)
        }
    };
    let source = format!(
        "{finish}extern \"C\" __global__ void __launch_bounds__({THREADS}) KERNEL(const Buffers b) {{
    next_begins();
    previous_wait();
    unsigned rest = blockIdx.x * {THREADS}u + threadIdx.x;
    if (rest >= b.count) {{
        return;
    }}
    const unsigned k = rest % {k}u;
    rest /= {k}u;
    const unsigned q = rest % {q}u;
    rest /= {q}u;
    const unsigned p = rest % {p}u;
    const unsigned n = rest / {p}u;
    const unsigned first = k / {per_group}u * {depth}u;
    {sum} sum = 0;
#pragma unroll 1
    for (int r = 0; r < {r}; ++r) {{
        const int y = int(p) * {stride_y} - ({begin_y}) + r * {dilation_y};
#pragma unroll 1
        for (int s = 0; s < {s}; ++s) {{
            const int x = int(q) * {stride_x} - ({begin_x}) + s * {dilation_x};
            if (unsigned(y) < {h}u && unsigned(x) < {w}u) {{
#pragma unroll 4
                for (int c = 0; c < {depth}; ++c) {{
                    sum = {product};
                }}
            }}{outside}
        }}
    }}
    const Pixel at = {{n, p, q, true}};
    KERNEL_finish<1>(b, &sum, k, &at);
}}
",
        per_group = k / groups,
        stride_y = window.strides[0],
        stride_x = window.strides[1],
        begin_y = window.begin[0],
        begin_x = window.begin[1],
        dilation_y = window.dilations[0],
        dilation_x = window.dilations[1],
        h = input.dims[2],
        w = input.dims[3],
    );
    let blocks = whole(threads.div_ceil(THREADS));
    slots
        .fit()
        .then(|| Kernel::new("convolution_naive", &source, blocks, whole(THREADS), slots).counting(threads))
}
