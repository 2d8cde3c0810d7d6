//! A map's values and how they lie.

use super::grid::MapShape;
use crate::preproc::Layout;

/// A map's values and how they lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    pub values: &'a [f32],
    pub width: usize,
    pub height: usize,
    /// Channels side by side in a row: 1 or all of them.
    pub step: usize,
}

impl<'a> Cells<'a> {
    /// `values` are as many as `shape` says.
    pub fn new(values: &'a [f32], shape: &MapShape) -> Self {
        let step = match shape.layout {
            Layout::Nchw => 1,
            Layout::Nhwc => shape.channels,
        };
        Self { values, width: shape.width, height: shape.height, step }
    }

    /// The value of a cell inside the map.
    pub fn get(&self, channel: usize, x: usize, y: usize) -> Option<f32> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let (plane, lane) = (channel / self.step, channel % self.step);
        self.values.get(((plane * self.height + y) * self.width + x) * self.step + lane).copied()
    }

    /// Every row with its plane (the channel of its first element, by `step`) and its y.
    pub fn rows(self) -> impl Iterator<Item = (usize, usize, &'a [f32])> {
        let rows = self.values.chunks_exact(self.width * self.step).enumerate();
        rows.map(move |(i, row)| (i / self.height, i % self.height, row))
    }
}
