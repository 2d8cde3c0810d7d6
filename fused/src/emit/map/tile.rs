//! Maps between orders of dimensions, such as of images with channels last to ones with channels first: a thread makes a tile, along the
//! outputs' innermost loop and along that of the input, so that it loads and stores several elements at once on both sides.

use std::fmt::Write as _;

use super::source::Input;
use crate::emit::launch::MULTIPROCESSORS;
use crate::emit::nest::{Nest, offset};
use crate::emit::reader::width;

/// The most elements of a tile: registers of a thread for each input.
const MOST: usize = 32;

/// The most inputs that are loaded as tiles.
const MOST_INPUTS: usize = 2;

/// A thread's tile.
pub(super) struct Tile {
    /// Neighbours along the innermost loop.
    pub(super) step: usize,
    /// Neighbours along the loop `axis`.
    pub(super) count: usize,
    axis: usize,
    /// The inputs, by number, whose elements lie together along that loop.
    inputs: Vec<usize>,
}

impl Tile {
    /// Where an input's elements lie together along another loop than the outputs'.
    pub(super) fn new(nest: &Nest, inputs: &[Input], step: usize) -> Option<Self> {
        let axis = (0..nest.axes.len().checked_sub(1)?)
            .find(|axis| inputs.iter().any(|input| together(nest, input, *axis) > 1))?;
        let count = inputs.iter().map(|input| together(nest, input, axis)).max()?;
        let step = step.min(4);
        // Where there is little work, threads make less of it.
        let is_much = |count: usize| nest.count() / (step * count) >= 64 * MULTIPROCESSORS;
        let mut count = count.min(MOST / step);
        while count > 2 && !is_much(count) {
            count /= 2;
        }
        let fitting =
            inputs.iter().filter(|input| together(nest, input, axis) >= count).map(|input| input.number);
        let inputs: Vec<usize> = fitting.take(MOST_INPUTS).collect();
        Some(Self { step, count, axis, inputs })
    }

    /// Whether this input is loaded as a tile.
    pub(super) fn has(&self, input: &Input) -> bool {
        self.inputs.contains(&input.number)
    }

    /// The loops' counters of the tile's first element.
    pub(super) fn counters(&self, nest: &Nest) -> String {
        let last = nest.axes.len() - 1;
        nest.counters_by("thread", |axis| match axis {
            _ if axis == last => self.step,
            _ if axis == self.axis => self.count,
            _ => 1,
        })
    }

    /// Source that loads the inputs' tiles, `t0` for input 0, and begins the loop over the tile's lines, `m`.
    pub(super) fn begin(&self, nest: &Nest, inputs: &[Input]) -> String {
        let Self { step, count, axis, .. } = self;
        let last = nest.axes.len() - 1;
        let mut text = String::new();
        for input in inputs.iter().filter(|input| self.has(input)) {
            let number = input.number;
            let _ = writeln!(text, "    float t{number}[{}];", step * count);
            for lane in 0..*step {
                let mut counters: Vec<String> = (0..=last).map(|axis| format!("c{axis}")).collect();
                counters[last] = format!("(c{last} + {lane})");
                let at = offset(&counters, &nest.strides(&input.strides));
                let load = input.reader.load(&format!("t{number} + {}", lane * count), &at, *count);
                let _ = writeln!(text, "    {load}");
            }
        }
        let _ = writeln!(text, "    const unsigned first = c{axis};");
        let _ = writeln!(text, "#pragma unroll\n    for (int m = 0; m < {count}; ++m) {{");
        let _ = writeln!(text, "    const unsigned c{axis} = first + m;");
        text
    }

    /// Source that takes line `m` out of an input's tile.
    pub(super) fn take(&self, input: &Input) -> String {
        let (number, Self { step, count, .. }) = (input.number, self);
        format!(
            "#pragma unroll\n    for (int l = 0; l < {step}; ++l) {{\n        s{number}[l] = t{number}[l * {count} + m];\n    }}\n"
        )
    }
}

/// How many of an input's elements can be loaded at once along a loop, though not along the innermost one.
fn together(nest: &Nest, input: &Input, axis: usize) -> usize {
    let mut strides = nest.strides(&input.strides);
    if input.special.contains(&true) || strides[axis] != 1 {
        return 1;
    }
    strides.remove(axis);
    strides.push(1);
    let mut most = (16 / input.size).clamp(1, 8);
    while !nest.axes[axis].extent.is_multiple_of(most) {
        most /= 2;
    }
    width(input.offset(), &strides, most)
}
