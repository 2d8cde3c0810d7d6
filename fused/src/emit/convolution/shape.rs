//! The constants of a convolution that the templates in cuda/ are instantiated with, as a struct `KERNEL_shape`.

use std::fmt::Write as _;

use super::epilogue::{Finish, Sums};
use crate::emit::batches::Batches;
use crate::emit::kernel::{Kernel, Slots};
use crate::emit::launch::whole;
use crate::emit::reader::Reader;
use crate::emit::text::c_type;
use crate::plan::Convolution;

/// A kernel that instantiates a template.
pub(super) struct Instance<'a> {
    /// What it is called.
    pub(super) what: &'a str,
    /// The template.
    pub(super) template: &'a str,
    /// Its own constants, beside the convolution's.
    pub(super) constants: &'a [(&'a str, usize)],
    /// Channels that the epilogue takes at once.
    pub(super) finished: usize,
    /// Channels that are read at once.
    pub(super) read: usize,
    /// In what it adds up.
    pub(super) sums: Sums,
    /// Blocks.
    pub(super) blocks: usize,
    /// Threads of each.
    pub(super) threads: usize,
    /// Bytes of dynamic shared memory.
    pub(super) shared: usize,
    /// How many there are of what is counted: pixels, or images.
    pub(super) count: usize,
    /// The products that it computes, if it is no convolution.
    pub(super) batches: Option<&'a Batches<'a>>,
}

impl Instance<'_> {
    /// The kernel; none where the convolution has too many tensors.
    pub(super) fn kernel(&self, convolution: &Convolution) -> Option<Kernel> {
        let Convolution { input, weights, output, .. } = convolution;
        let mut slots = Slots::writing([output]);
        let (cells, taps) = (Reader::new(input, &mut slots), Reader::constant(weights, &mut slots));
        let mut shape = String::new();
        for (name, number) in constants(convolution)? {
            let _ = writeln!(shape, "    static constexpr int {name} = {number};");
        }
        for (name, number) in self.constants {
            let _ = writeln!(shape, "    static constexpr int {name} = {number};");
        }
        shape.push_str(&match self.batches {
            Some(batches) => batches.source(["input", "weights", "output"]),
            None => ["input", "weights", "output"].map(beginning_at_0).concat(),
        });
        let read = cells.load("to", " + at", self.read);
        let _ = writeln!(
            shape,
            "    static __device__ void read(const Buffers& b, float* to, int at) {{ {read} }}"
        );
        let weight = taps.element(" + i");
        let _ = writeln!(
            shape,
            "    static __device__ float weight(const Buffers& b, int i) {{ return {weight}; }}"
        );
        let sum = if self.sums == Sums::Integers { "int" } else { "float" };
        let _ = writeln!(shape, "    using Element = {};\n    using Sum = {sum};", c_type(input.ty));
        for (name, tensor) in [("input", &cells), ("weights", &taps)] {
            // Weights are int8 where the input is uint8.
            let address = format!("reinterpret_cast<const Element*>({})", tensor.at(""));
            let _ = writeln!(
                shape,
                "    static __device__ const Element* {name}(const Buffers& b) {{ return {address}; }}"
            );
        }
        shape.push_str(&Finish::new(convolution).source("finish", self.finished, self.sums, &mut slots));
        let Self { what, template, threads, .. } = self;
        let source = format!(
            "struct KERNEL_shape {{\n{shape}}};\nextern \"C\" __global__ void __launch_bounds__({threads}) \
             KERNEL(const Buffers b) {{\n    {template}<KERNEL_shape>(b);\n}}\n"
        );
        slots.fit().then(|| {
            let kernel = Kernel::new(what, &source, whole(self.blocks), whole(*threads), slots);
            Kernel { shared: whole(self.shared), ..kernel.counting(self.count) }
        })
    }
}

/// Source of the function for a convolution, whose tensors begin where their views say.
fn beginning_at_0(name: &str) -> String {
    format!("    static __device__ int {name}_begin(unsigned) {{ return 0; }}\n")
}

/// The constants that describe a convolution; none where its tensors have not four dimensions.
fn constants(convolution: &Convolution) -> Option<[(&'static str, isize); 22]> {
    let Convolution { input, weights, window, groups, zero, output, .. } = convolution;
    let ([_, channels, rows, columns], [outputs, depth, taps_y, taps_x]) =
        (<[usize; 4]>::try_from(&input.dims[..]).ok()?, <[usize; 4]>::try_from(&weights.dims[..]).ok()?);
    let [image_stride, channel_stride, row_stride, column_stride] =
        <[isize; 4]>::try_from(&input.strides[..]).ok()?;
    let [_, _, out_rows, out_columns] = <[usize; 4]>::try_from(&output.dims[..]).ok()?;
    Some([
        ("CHANNELS", channels.cast_signed()),
        ("IN_ROWS", rows.cast_signed()),
        ("IN_COLUMNS", columns.cast_signed()),
        ("OUTPUTS", outputs.cast_signed()),
        ("OUT_ROWS", out_rows.cast_signed()),
        ("OUT_COLUMNS", out_columns.cast_signed()),
        ("GROUPS", groups.cast_signed()),
        ("DEPTH", depth.cast_signed()),
        ("TAPS_Y", taps_y.cast_signed()),
        ("TAPS_X", taps_x.cast_signed()),
        ("STRIDE_Y", window.strides[0].cast_signed()),
        ("STRIDE_X", window.strides[1].cast_signed()),
        ("DILATION_Y", window.dilations[0].cast_signed()),
        ("DILATION_X", window.dilations[1].cast_signed()),
        ("BEGIN_Y", window.begin[0]),
        ("BEGIN_X", window.begin[1]),
        ("ZERO", (*zero).into()),
        ("IMAGE_STRIDE", image_stride),
        ("CHANNEL_STRIDE", channel_stride),
        ("ROW_STRIDE", row_stride),
        ("COLUMN_STRIDE", column_stride),
        ("WEIGHT_STRIDE", weights.strides[0]),
    ])
}
