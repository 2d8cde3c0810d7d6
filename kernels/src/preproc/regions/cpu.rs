//! The CPU twin: one row of a region after the other, tap by tap, in float32.

use super::grid::{Grid, Position};
use crate::frame::Frame;
use crate::preproc::Interpolation;
use crate::preproc::color::Color;
use crate::preproc::plan::Plan;
use crate::preproc::rows::{Row, row};
use crate::preproc::samples::{self, Component};
use crate::preproc::writer::Writer;

/// Buffers for one row.
#[derive(Debug)]
pub(super) struct Cpu {
    components: Vec<Component>,
    color: Color,
    channels: usize,
    /// The frame's width and height.
    frame: [i32; 2],
    padding: f32,
    /// Two by two pixels a sample, or one.
    taps: &'static [[i32; 2]],
    positions: Vec<Position>,
    /// The taps' pixels.
    pixels: [Row; 4],
    out: Row,
    writer: Writer,
}

impl Cpu {
    /// Makes the buffers.
    pub fn new(plan: &Plan) -> Self {
        let Plan { source, params, color, .. } = plan;
        let mut components = samples::components(source.pixels);
        components.truncate(color.components());
        let planes = components.len();
        let nearest = params.interpolation == Interpolation::Nearest;
        // Lossless: at most MAX_SIDE.
        let frame = [source.width as i32, source.height as i32];
        Self {
            components,
            color: *color,
            channels: color.channels(),
            frame,
            padding: f32::from(params.padding),
            taps: if nearest { &[[0, 0]] } else { &[[0, 0], [1, 0], [0, 1], [1, 1]] },
            positions: vec![Position::default(); params.width],
            pixels: [(); 4].map(|()| row(planes, params.width, 0.0)),
            out: row(color.channels(), params.width, 0.0),
            writer: Writer::new(plan),
        }
    }

    /// Fills one region's `tensor`; the sizes of frame and tensor have been checked.
    pub fn run(&mut self, frame: &Frame<'_>, grid: &Grid, tensor: &mut [u8]) {
        for y in 0..self.writer.height() {
            for plane in &mut self.out {
                plane.fill(0.0);
            }
            let (rows, columns) = (usize::from(grid.rows), usize::from(grid.columns));
            for row in 0..rows {
                for column in 0..columns {
                    self.add(frame, grid, column, y * rows + row);
                }
            }
            for value in self.out.iter_mut().flatten() {
                *value *= grid.inverse;
            }
            self.writer.write(y, &self.out, tensor);
        }
    }

    /// Adds to every pixel of a tensor row its sample of number `column`, at `row` of the grid.
    fn add(&mut self, frame: &Frame<'_>, grid: &Grid, column: usize, row: usize) {
        for (i, position) in self.positions.iter_mut().enumerate() {
            *position = grid.position(i * usize::from(grid.columns) + column, row);
        }
        for (k, tap) in self.taps.iter().enumerate() {
            self.read(frame, *tap, k);
        }
        let [a, b, c, d] = &self.pixels;
        for channel in 0..self.channels {
            let out = &mut self.out[channel];
            if self.taps.len() == 1 {
                for (sum, v) in out.iter_mut().zip(&a[channel]) {
                    *sum += v;
                }
                continue;
            }
            let above = a[channel].iter().zip(&b[channel]);
            let below = c[channel].iter().zip(&d[channel]);
            for (((sum, (a, b)), (c, d)), position) in
                out.iter_mut().zip(above).zip(below).zip(&self.positions)
            {
                let [along, across] = position.weights;
                let above = a + along * (b - a);
                let below = c + along * (d - c);
                *sum += above + across * (below - above);
            }
        }
    }

    /// Reads the pixels at `tap` from the positions, or padding, into the buffer of number `k`.
    fn read(&mut self, frame: &Frame<'_>, tap: [i32; 2], k: usize) {
        let [width, height] = self.frame;
        let pixels = &mut self.pixels[k];
        // Lossless after clamping.
        let clamped = |v: i32, length: i32| v.clamp(0, length - 1) as usize;
        for (component, plane) in self.components.iter().zip(pixels.iter_mut()) {
            let mut current = None;
            let mut row: &[u8] = &[];
            for (value, position) in plane.iter_mut().zip(&self.positions) {
                let y = clamped(position.y + tap[1], height) >> usize::from(component.half_rows);
                if current != Some(y) {
                    current = Some(y);
                    row = frame.row(component.plane, y);
                }
                *value = component.sample(row, clamped(position.x + tap[0], width));
            }
        }
        self.color.convert(pixels.each_mut().map(Vec::as_mut_slice));
        let outside = |v: i32, length: i32| !(0..length).contains(&v);
        for (i, position) in self.positions.iter().enumerate() {
            if outside(position.x + tap[0], width) || outside(position.y + tap[1], height) {
                for plane in pixels.iter_mut().take(self.channels) {
                    plane[i] = self.padding;
                }
            }
        }
    }
}
