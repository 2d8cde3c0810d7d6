//! Transposed convolutions, as one convolution for each phase of their stride: output `p` gets `x[h] * w[r]` where
//! `p + begin = h * stride + r`. So the outputs of one remainder `f` of `p + begin` see the taps `f, f + stride, ...` alone, and are a
//! convolution with these, written to every stride-th row and column.

use super::Lowering;
use super::convolution::{Emitted, Taps, Zero, unsupported};
use super::epilogue::Sums;
use crate::FusedError;
use crate::graph::{Node, Window};
use crate::plan::{Epilogue, View};

impl Lowering<'_> {
    pub(super) fn transposed(
        &mut self,
        node: &Node,
        window: Window,
        groups: usize,
    ) -> Result<(), FusedError> {
        let weights = node.inputs[1];
        let &[channels, filters, ..] = &self.graph.value(weights).dims[..] else {
            return Err(unsupported(node, "the weights have other than four dimensions"));
        };
        if window.dilations != [1, 1] {
            return Err(unsupported(node, "it has dilations"));
        }
        let numbers =
            self.numbers(weights).ok_or_else(|| unsupported(node, "the weights are not constant"))?;
        let bias = self.bias(node)?;
        let mut input = self.read(node.inputs[0]);
        if channels / groups > 4 && input.strides[1] != 1 {
            input = self.channels_last(input);
        }
        let (epilogue, last) = self.epilogue(node.output, Sums::OfFloats);
        let output = self.place(last);
        let all = Weights { numbers, channels, filters, kernel: window.kernel, groups };
        for row in 0..window.strides[0] {
            for column in 0..window.strides[1] {
                let [rows, columns] = [(0, row), (1, column)].map(|(axis, phase)| {
                    Phase::new(&window, axis, phase, input.dims[axis + 2], output.dims[axis + 2])
                });
                let (Some(rows), Some(columns)) = (rows, columns) else { continue };
                let at = |view: &View| rows.of_output(&columns.of_output(view, 3), 2);
                let phase = epilogue.iter().map(|epilogue| match epilogue {
                    Epilogue::Add(view) => Epilogue::Add(at(view)),
                    Epilogue::Multiply(view) => Epilogue::Multiply(at(view)),
                    Epilogue::Store(view) => Epilogue::Store(at(view)),
                    Epilogue::AddQuantized(view, by) => Epilogue::AddQuantized(at(view), *by),
                    Epilogue::Unary(_) | Epilogue::Table(_) => epilogue.clone(),
                });
                let emitted = Emitted {
                    input: rows.of_input(&columns.of_input(&input, 3), 2),
                    numbers: all.phase(&rows, &columns),
                    taps: Taps {
                        filters: filters * groups,
                        channels: channels / groups,
                        rows: rows.taps.len(),
                        columns: columns.taps.len(),
                    },
                    bias: bias.clone(),
                    window: Window {
                        kernel: [rows.taps.len(), columns.taps.len()],
                        strides: [1, 1],
                        dilations: [1, 1],
                        begin: [rows.begin, columns.begin],
                        end: [rows.end, columns.end],
                    },
                    groups,
                    zero: Zero::default(),
                    epilogue: phase.collect(),
                };
                self.emit(emitted, at(&output));
            }
        }
        self.made[last.0] = true;
        Ok(())
    }
}

/// `[C, K / groups, R, S]`, row-major.
struct Weights {
    numbers: Vec<f32>,
    channels: usize,
    /// Of a group.
    filters: usize,
    kernel: [usize; 2],
    groups: usize,
}

impl Weights {
    /// The taps of a phase as a convolution has them, `[K, C / groups, R, S]`; 0 where there is none.
    fn phase(&self, rows: &Phase, columns: &Phase) -> Vec<f32> {
        let per_group = self.channels / self.groups;
        let mut phase =
            Vec::with_capacity(self.filters * self.channels * rows.taps.len() * columns.taps.len());
        for group in 0..self.groups {
            for filter in 0..self.filters {
                for channel in group * per_group..(group + 1) * per_group {
                    for row in &rows.taps {
                        for column in &columns.taps {
                            let number = row.zip(*column).map_or(0.0, |(row, column)| {
                                let index = (channel * self.filters + filter) * self.kernel[0] + row;
                                self.numbers[index * self.kernel[1] + column]
                            });
                            phase.push(number);
                        }
                    }
                }
            }
        }
        phase
    }
}

/// The outputs of one remainder, along one axis.
#[derive(Debug, PartialEq)]
struct Phase {
    /// The first output.
    first: usize,
    step: usize,
    /// How many outputs there are.
    count: usize,
    /// Which taps they see, in the order of the input; `None` is one that there is not, where there would be none at all.
    taps: Vec<Option<usize>>,
    /// The first cell of the input that is seen, and how many are.
    input: [usize; 2],
    /// Cells before and after these.
    begin: isize,
    end: isize,
}

impl Phase {
    /// `None` where no output has this remainder.
    fn new(window: &Window, axis: usize, phase: usize, input: usize, output: usize) -> Option<Self> {
        let (stride, pad) = (window.strides[axis].cast_signed(), window.begin[axis]);
        let first = (phase.cast_signed() - pad).rem_euclid(stride);
        if first >= output.cast_signed() {
            return None;
        }
        let count = (output.cast_signed() - first + stride - 1) / stride;
        let mut taps: Vec<_> =
            (phase..window.kernel[axis]).step_by(window.strides[axis]).map(Some).rev().collect();
        if taps.is_empty() {
            taps.push(None);
        }
        // The cell that the first output sees through its last tap, which is tap `phase`.
        let last = (first + pad - phase.cast_signed()) / stride;
        let begin = taps.len().cast_signed() - 1 - last;
        let end = count + last - input.cast_signed();
        let (skipped, unused) = ((-begin).max(0), (-end).max(0));
        let seen = (input.cast_signed() - skipped - unused).max(0);
        Some(Self {
            first: first.unsigned_abs(),
            step: stride.unsigned_abs(),
            count: count.unsigned_abs(),
            taps,
            input: [skipped.unsigned_abs(), seen.unsigned_abs()],
            begin: begin.max(0),
            end: end.max(0),
        })
    }

    fn of_input(&self, view: &View, axis: usize) -> View {
        view.part(axis, self.input[0], self.input[1])
    }

    fn of_output(&self, view: &View, axis: usize) -> View {
        let (mut starts, mut steps, mut dims) = (vec![0; 4], vec![1; 4], view.dims.clone());
        (starts[axis], steps[axis], dims[axis]) = (self.first, self.step.cast_signed(), self.count);
        view.slice(&starts, &steps, &dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_output_gets_what_the_definition_says() {
        for (kernel, stride, begin, end, input) in [
            (2, 2, 0, 0, 5),
            (4, 2, 1, 1, 6),
            (3, 2, 1, 0, 4),
            (3, 1, 1, 1, 7),
            (2, 3, 0, -1, 3),
            (5, 2, 2, 1, 3),
            (7, 2, 5, 4, 6),
        ] {
            let window = Window {
                kernel: [kernel; 2],
                strides: [stride; 2],
                dilations: [1; 2],
                begin: [begin; 2],
                end: [end; 2],
            };
            let output = (input - 1) * stride + kernel;
            let output = (output.cast_signed() - begin - end).unsigned_abs();
            let mut wanted = vec![Vec::new(); output];
            for cell in 0..input {
                for tap in 0..kernel {
                    let at = (cell * stride + tap).cast_signed() - begin;
                    if (0..output.cast_signed()).contains(&at) {
                        wanted[at.unsigned_abs()].push((cell, tap));
                    }
                }
            }
            let mut found = vec![Vec::new(); output];
            for phase in (0..stride).filter_map(|phase| Phase::new(&window, 0, phase, input, output)) {
                let [start, seen] = phase.input;
                let count = seen.cast_signed() + phase.begin + phase.end - phase.taps.len().cast_signed() + 1;
                assert_eq!(count, phase.count.cast_signed(), "{phase:?}");
                for index in 0..phase.count {
                    for (place, tap) in phase.taps.iter().enumerate() {
                        let cell = (index + place).cast_signed() - phase.begin;
                        if let (Some(tap), true) = (tap, (0..seen.cast_signed()).contains(&cell)) {
                            found[phase.first + index * phase.step].push((start + cell.unsigned_abs(), *tap));
                        }
                    }
                }
            }
            found.iter_mut().chain(&mut wanted).for_each(|taps| taps.sort_unstable());
            assert_eq!(found, wanted, "{kernel} {stride} {begin} {end} {input}");
        }
    }
}
