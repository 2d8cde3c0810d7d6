//! Maps between orders of dimensions, such as of images with channels last to ones with channels first: a thread makes a tile, along the
//! outputs' innermost loop and along that of the input, so that it loads and stores several elements at once on both sides. Some neighbours
//! of a warp follow each other along the input's loop, the others along the outputs', so that both sides move whole sectors of 32 bytes.

use std::fmt::Write as _;

use super::source::Input;
use crate::emit::launch::MULTIPROCESSORS;
use crate::emit::nest::{Nest, offset};
use crate::emit::reader::width;

/// The most elements of all inputs' tiles: registers of a thread.
const MOST: usize = 64;

/// Bytes that the threads of a warp load together, if they can.
const SEGMENT: usize = 64;

/// The most inputs that are loaded as tiles.
const MOST_INPUTS: usize = 2;

/// A thread's tile.
pub(super) struct Tile {
    /// Neighbours along the innermost loop.
    pub(super) step: usize,
    /// Neighbours along the loop `axis`.
    pub(super) count: usize,
    axis: usize,
    /// Threads that follow each other along that loop.
    lanes: usize,
    /// The inputs, by number, whose elements lie together along that loop.
    inputs: Vec<usize>,
}

impl Tile {
    /// Where an input's elements lie together along another loop than the outputs'.
    pub(super) fn new(nest: &Nest, inputs: &[Input], step: usize) -> Option<Self> {
        let axis = (0..nest.axes.len().checked_sub(1)?)
            .find(|axis| inputs.iter().any(|input| together(nest, input, *axis) > 1))?;
        let count = inputs.iter().map(|input| together(nest, input, axis)).max()?;
        let fitting = |count: usize| inputs.iter().filter(move |input| together(nest, input, axis) >= count);
        let (mut step, mut count) = (step, count);
        // Where there is little work, threads make less of it.
        let is_much = |step: usize, count: usize| nest.count() / (step * count) >= 256 * MULTIPROCESSORS;
        let fits =
            |step: usize, count: usize| step * count * fitting(count).take(MOST_INPUTS).count() <= MOST;
        while step * count > 4 && !(is_much(step, count) && fits(step, count)) {
            if count < step {
                step /= 2;
            } else {
                count /= 2;
            }
        }
        let inputs: Vec<&Input> = fitting(count).take(MOST_INPUTS).collect();
        let size = inputs.iter().map(|input| input.size).min().unwrap_or(1);
        let mut lanes = (SEGMENT / (count * size)).clamp(1, 8);
        while !nest.axes[axis].extent.is_multiple_of(count * lanes) {
            lanes /= 2;
        }
        let inputs = inputs.into_iter().map(|input| input.number).collect();
        Some(Self { step, count, axis, lanes, inputs })
    }

    /// Whether this input is loaded as a tile.
    pub(super) fn has(&self, input: &Input) -> bool {
        self.inputs.contains(&input.number)
    }

    /// The loops' counters of the tile's first element.
    pub(super) fn counters(&self, nest: &Nest) -> String {
        let last = nest.axes.len() - 1;
        let from = format!("thread / {}u", self.lanes);
        nest.counters_by(&from, |axis| match axis {
            _ if axis == last => self.step,
            _ if axis == self.axis => self.count * self.lanes,
            _ => 1,
        })
    }

    /// Source that loads the inputs' tiles, `t0` for input 0, and begins the loop over the tile's lines, `m`.
    pub(super) fn begin(&self, nest: &Nest, inputs: &[Input]) -> String {
        let Self { step, count, axis, lanes, .. } = self;
        let last = nest.axes.len() - 1;
        let mut text = format!("    const unsigned first = c{axis} + thread % {lanes}u * {count}u;\n");
        for input in inputs.iter().filter(|input| self.has(input)) {
            let number = input.number;
            let _ = writeln!(text, "    float t{number}[{}];", step * count);
            for lane in 0..*step {
                let mut counters: Vec<String> = (0..=last).map(|axis| format!("c{axis}")).collect();
                counters[last] = format!("(c{last} + {lane})");
                counters[*axis] = "first".into();
                let at = offset(&counters, &nest.strides(&input.strides));
                let load = input.reader.load(&format!("t{number} + {}", lane * count), &at, *count);
                let _ = writeln!(text, "    {load}");
            }
        }
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
