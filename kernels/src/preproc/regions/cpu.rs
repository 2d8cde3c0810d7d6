//! The CPU implementation: one row of a region after the other, in float32. The positions of samples are found for the whole
//! row, then their taps are read component by component, converted together, and mixed.

use multiversion::multiversion;

use super::grid::{Counts, SampleGrid};
use crate::frame::Frame;
use crate::preproc::Interpolation;
use crate::preproc::color::Color;
use crate::preproc::plan::PreprocPlan;
use crate::preproc::rows::{ColorRow, row, spread};
use crate::preproc::samples::{self, Component};
use crate::preproc::writer::Writer;

/// Taps of a sample that is interpolated: two by two.
const FOUR: usize = 4;

/// Buffers for one row.
#[derive(Debug)]
pub(super) struct Cpu {
    components: Vec<Component>,
    color: Color,
    /// Of the rows that the tensor is made from.
    channels: usize,
    /// The frame's width and height.
    frame: [i32; 2],
    padding: [f32; 3],
    nearest: bool,
    samples: Vec<Sample>,
    /// Weights of the second of two taps, in x and y.
    weights: [Vec<f32>; 2],
    /// The taps' pixels, the two above before the two below.
    taps: [ColorRow; FOUR],
    out: ColorRow,
    writer: Writer,
}

/// Where a sample's taps lie: the first and second column and row, clamped to the frame.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    x: [u32; 2],
    y: [u32; 2],
    /// Which of the taps lie outside of the frame, a bit each.
    outside: u8,
}

impl Cpu {
    /// Makes the buffers.
    pub fn new(plan: &PreprocPlan) -> Self {
        let PreprocPlan { source, params, color, .. } = plan;
        let mut components = samples::components(source.pixels);
        components.truncate(color.components());
        let (channels, width) = (plan.channels(), params.width);
        let planes = components.len().max(channels);
        Self {
            components,
            color: *color,
            channels,
            // Lossless: at most MAX_SIDE.
            frame: [source.width as i32, source.height as i32],
            padding: plan.padding,
            nearest: params.interpolation == Interpolation::Nearest,
            samples: vec![Sample::default(); width],
            weights: [(); 2].map(|()| vec![0.0; width]),
            taps: [(); FOUR].map(|()| row(planes, width, 0.0)),
            out: row(channels, width, 0.0),
            writer: Writer::new(plan),
        }
    }

    /// Fills one region's `tensor`; the sizes of frame and tensor have been checked.
    pub fn run(&mut self, frame: &Frame<'_>, grid: &impl SampleGrid, tensor: &mut [u8]) {
        let Counts { columns, rows, inverse } = grid.counts();
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        for y in 0..self.writer.height() {
            for plane in &mut self.out {
                plane.fill(0.0);
            }
            for row in 0..rows {
                for column in 0..columns {
                    if self.nearest {
                        self.add::<1>(frame, grid, column, y * rows + row);
                    } else {
                        self.add::<FOUR>(frame, grid, column, y * rows + row);
                    }
                }
            }
            if rows * columns > 1 {
                for value in self.out.iter_mut().flatten() {
                    *value *= inverse;
                }
            }
            self.writer.write(y, &self.out, tensor);
        }
    }

    /// Adds to every pixel of a tensor row its sample of number `column`, of `N` taps, at `row` of the grid.
    fn add<const N: usize>(&mut self, frame: &Frame<'_>, grid: &impl SampleGrid, column: usize, row: usize) {
        let outside = self.place(grid, column, row);
        for (c, component) in self.components.iter().enumerate() {
            let out = self.taps.each_mut().map(|tap| tap[c].as_mut_slice());
            if component.is_wide() {
                read::<N, true>(component, frame, &self.samples, out);
            } else {
                read::<N, false>(component, frame, &self.samples, out);
            }
        }
        for tap in self.taps.iter_mut().take(N) {
            self.color.convert(tap.each_mut().map(Vec::as_mut_slice));
            if self.color.channels() < self.channels {
                spread(tap.each_mut().map(Vec::as_mut_slice));
            }
        }
        if outside != 0 {
            for (t, tap) in self.taps.iter_mut().enumerate() {
                for (plane, padding) in tap.iter_mut().zip(self.padding).take(self.channels) {
                    for (value, sample) in plane.iter_mut().zip(&self.samples) {
                        let outside = sample.outside >> t & 1 == 1;
                        *value = if outside { padding } else { *value };
                    }
                }
            }
        }
        for (channel, out) in self.out.iter_mut().enumerate().take(self.channels) {
            let taps = self.taps.each_ref().map(|tap| tap[channel].as_slice());
            if N == 1 {
                out.iter_mut().zip(taps[0]).for_each(|(sum, v)| *sum += v);
            } else {
                mix(taps, &self.weights, out);
            }
        }
    }

    /// Finds the samples of a row. Returns which taps lie outside of the frame for any sample.
    fn place(&mut self, grid: &impl SampleGrid, column: usize, row: usize) -> u8 {
        let columns = usize::from(grid.counts().columns);
        let [last_x, last_y] = self.frame.map(|side| side - 1);
        // Lossless after clamping.
        let clamped = |v: i32, last: i32| [v.clamp(0, last) as u32, (v + 1).clamp(0, last) as u32];
        let out = |v: i32, last: i32| u8::from(v < 0 || v > last);
        let [along, across] = &mut self.weights;
        let mut any = 0;
        let weights = along.iter_mut().zip(across);
        for (i, (sample, weights)) in self.samples.iter_mut().zip(weights).enumerate() {
            let at = grid.position(i * columns + column, row);
            let (x, y) =
                ([out(at.x, last_x), out(at.x + 1, last_x)], [out(at.y, last_y), out(at.y + 1, last_y)]);
            let outside = (x[0] | y[0]) | (x[1] | y[0]) << 1 | (x[0] | y[1]) << 2 | (x[1] | y[1]) << 3;
            *sample = Sample { x: clamped(at.x, last_x), y: clamped(at.y, last_y), outside };
            (*weights.0, *weights.1) = (at.weights[0], at.weights[1]);
            any |= outside;
        }
        any
    }
}

/// Reads a component of the first `N` taps of every sample.
fn read<const N: usize, const WIDE: bool>(
    component: &Component,
    frame: &Frame<'_>,
    samples: &[Sample],
    out: [&mut [f32]; FOUR],
) {
    let half = u32::from(component.half_rows);
    let mut current = [u32::MAX; 2];
    let mut rows: [&[u8]; 2] = [&[]; 2];
    let [a, b, c, d] = out;
    let values = a.iter_mut().zip(b).zip(c.iter_mut().zip(d));
    for (sample, ((a, b), (c, d))) in samples.iter().zip(values) {
        let y = sample.y.map(|y| y >> half);
        if y != current {
            current = y;
            rows = y.map(|y| frame.row(component.plane, y as usize));
        }
        let x = sample.x.map(|x| x as usize);
        *a = component.sample::<WIDE>(rows[0], x[0]);
        if N == FOUR {
            *b = component.sample::<WIDE>(rows[0], x[1]);
            *c = component.sample::<WIDE>(rows[1], x[0]);
            *d = component.sample::<WIDE>(rows[1], x[1]);
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn mix([a, b, c, d]: [&[f32]; FOUR], [along, across]: &[Vec<f32>; 2], out: &mut [f32]) {
    let taps = a.iter().zip(b).zip(c.iter().zip(d));
    for ((sum, ((a, b), (c, d))), (along, across)) in out.iter_mut().zip(taps).zip(along.iter().zip(across)) {
        let above = a + along * (b - a);
        let below = c + along * (d - c);
        *sum += above + across * (below - above);
    }
}
