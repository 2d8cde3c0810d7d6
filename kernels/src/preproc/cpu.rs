//! The CPU implementation: one row of the tensor after the other, with tables and buffers that are made once.

use multiversion::multiversion;

use super::color::Color;
use super::filtered::Filtered;
use super::filters::Filter;
use super::horizontal::Horizontal;
use super::plan::PreprocPlan;
use super::rows::{ColorRow, Rows, row, spread};
use super::samples::{self, Columns, Component};
use super::taps::Taps;
use super::writer::Writer;
use crate::frame::Frame;

/// Reading an element of a row by index costs about as much as this many consecutive elements.
const PICK: u64 = 3;

/// A prepared conversion.
#[derive(Debug)]
pub(super) struct Cpu {
    steps: Steps,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    /// Whether the frame is grey, and rows of the tensor are not.
    is_spread: bool,
    /// A row of the tensor in 0..255. Only the frame's part is ever written, so the padding left and right of it stays.
    out: ColorRow,
    /// A row of padding.
    bar: ColorRow,
    writer: Writer,
}

/// How rows of the resized frame are made.
#[derive(Debug)]
enum Steps {
    Interpolated(Interpolated),
    Filtered(Filtered),
}

/// Rows are made in float32, without rounding in between.
#[derive(Debug)]
struct Interpolated {
    rows: Rows,
    /// The vertical mix of source rows, and its resampling, where rows are mixed first.
    mixed: Option<(ColorRow, Horizontal)>,
    vertical: Taps,
    channels: usize,
}

impl Cpu {
    /// Makes tables and buffers.
    pub fn new(plan: &PreprocPlan) -> Self {
        let PreprocPlan { source, params, placement, color, .. } = plan;
        let mut components = samples::components(source.pixels);
        components.truncate(color.components());
        let [x, y] = [&placement.x, &placement.y].map(|axis| Taps::new(axis, params.interpolation));
        let steps = if Filter::of(params.interpolation).is_some() {
            Steps::Filtered(Filtered::new(components, *color, x, y))
        } else {
            Steps::Interpolated(Interpolated::new(components, *color, x, y))
        };
        let channels = plan.channels();
        let bar = [0, 1, 2].map(|c| vec![plan.padding[c]; if c < channels { params.width } else { 0 }]);
        Self {
            steps,
            left: placement.x.pad,
            top: placement.y.pad,
            width: placement.x.len,
            height: placement.y.len,
            is_spread: color.channels() < channels,
            out: bar.clone(),
            bar,
            writer: Writer::new(plan),
        }
    }

    /// Fills `tensor`; the sizes of both have been checked.
    pub fn run(&mut self, frame: &Frame<'_>, tensor: &mut [u8]) {
        match &mut self.steps {
            Steps::Interpolated(steps) => steps.rows.reset(),
            Steps::Filtered(steps) => steps.reset(),
        }
        for y in 0..self.writer.height() {
            if y < self.top || y - self.top >= self.height {
                self.writer.write(y, &self.bar, tensor);
            } else {
                self.resample(frame, y - self.top);
                self.writer.write(y, &self.out, tensor);
            }
        }
    }

    /// Puts row `i` of the resized frame into `out`.
    fn resample(&mut self, frame: &Frame<'_>, i: usize) {
        let filled = self.left..self.left + self.width;
        let mut out = self.out.each_mut().map(|plane| plane.get_mut(filled.clone()).unwrap_or_default());
        match &mut self.steps {
            Steps::Interpolated(steps) => steps.resample(frame, i, out.each_mut().map(|plane| &mut **plane)),
            Steps::Filtered(steps) => steps.resample(frame, i, out.each_mut().map(|plane| &mut **plane)),
        }
        if self.is_spread {
            spread(out);
        }
    }
}

impl Interpolated {
    fn new(components: Vec<Component>, color: Color, x: Taps, vertical: Taps) -> Self {
        let columns = Columns::new(x.sources());
        let (read, width, channels) = (columns.len(), x.len(), color.channels());
        let horizontal_first = horizontal_first(&x, &vertical, &columns);
        let horizontal = Horizontal::new(x, &columns);
        let (before, mixed) = if horizontal_first {
            (Some(horizontal), None)
        } else {
            (None, Some((row(channels, read + Horizontal::SLACK, 0.0), horizontal)))
        };
        Self { rows: Rows::new(components, columns, color, before, width), mixed, vertical, channels }
    }

    fn resample(&mut self, frame: &Frame<'_>, i: usize, out: [&mut [f32]; 3]) {
        let (first, weights) = self.vertical.run(i);
        let Some((mixed, horizontal)) = &mut self.mixed else {
            return mix(&mut self.rows, frame, first, weights, out);
        };
        let source = if weights.len() == 1 {
            self.rows.get(frame, first)
        } else {
            mix(&mut self.rows, frame, first, weights, mixed.each_mut().map(Vec::as_mut_slice));
            mixed
        };
        for (plane, out) in source.iter().zip(out).take(self.channels) {
            horizontal.apply(plane, out);
        }
    }
}

/// Whether it is cheaper to resample every source row that is read than to mix rows first. The order shows in the last
/// bits, so the CUDA implementation keeps to it, too.
pub(super) fn horizontal_first(x: &Taps, y: &Taps, columns: &Columns) -> bool {
    let (picks, mixes) = (PICK * x.total() as u64, y.total() as u64);
    let first = y.sources().len() as u64 * picks + mixes * x.len() as u64;
    let last = mixes * columns.len() as u64 + y.len() as u64 * picks;
    first < last
}

/// The weighted mean of the frame's rows from `first` on, one a weight.
fn mix(rows: &mut Rows, frame: &Frame<'_>, first: usize, weights: &[f32], out: [&mut [f32]; 3]) {
    match *weights {
        [_] => {
            for (out, row) in out.into_iter().zip(rows.get(frame, first)) {
                // The kept row can be longer than `out`; unused planes are empty in both or only in `out`.
                let n = out.len().min(row.len());
                out[..n].copy_from_slice(&row[..n]);
            }
        }
        [_, weight] => {
            let (above, below) = rows.pair(frame, first);
            for ((out, above), below) in out.into_iter().zip(above).zip(below) {
                lerp(weight, above, below, out);
            }
        }
        _ => {
            let mut out = out;
            for (k, weight) in weights.iter().enumerate() {
                let row = rows.get(frame, first + k);
                for (out, row) in out.iter_mut().zip(row) {
                    if k == 0 {
                        scale(*weight, row, out);
                    } else {
                        add(*weight, row, out);
                    }
                }
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn lerp(weight: f32, above: &[f32], below: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(above).zip(below) {
        *out = a + weight * (b - a);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn scale(weight: f32, row: &[f32], out: &mut [f32]) {
    for (out, v) in out.iter_mut().zip(row) {
        *out = weight * v;
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add(weight: f32, row: &[f32], out: &mut [f32]) {
    for (out, v) in out.iter_mut().zip(row) {
        *out += weight * v;
    }
}
