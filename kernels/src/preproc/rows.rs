//! A frame's rows as float channels, read when first asked for.

use super::color::Color;
use super::horizontal::Horizontal;
use super::samples::{self, Columns, Component};
use crate::frame::Frame;

/// One row of pixels in 0..255, a plane a channel; unused planes are empty.
pub(super) type ColorRow = [Vec<f32>; 3];

/// Copies a grey frame's one channel to the others that its row has.
pub(super) fn spread(planes: [&mut [f32]; 3]) {
    let [first, others @ ..] = planes;
    others.into_iter().filter(|plane| !plane.is_empty()).for_each(|plane| plane.copy_from_slice(first));
}

/// A row of `planes` planes of `len` pixels, all of them `value`.
pub(super) fn row(planes: usize, len: usize, value: f32) -> ColorRow {
    [0, 1, 2].map(|c| if c < planes { vec![value; len] } else { Vec::new() })
}

/// The rows of a frame; the last two are kept, because successive tensor rows share them.
#[derive(Debug)]
pub(super) struct Rows {
    components: Vec<Component>,
    columns: Columns,
    color: Color,
    /// How a row is resampled before it is kept, where that is done here.
    horizontal: Option<Horizontal>,
    /// A row before it is resampled.
    raw: ColorRow,
    /// Even rows are kept in the first, odd rows in the second.
    slots: [Slot; 2],
}

#[derive(Debug)]
struct Slot {
    y: Option<usize>,
    row: ColorRow,
}

impl Rows {
    /// Reads `columns` of rows that hold `components`; `width` pixels are left after `horizontal`, if that is given.
    pub fn new(
        components: Vec<Component>,
        columns: Columns,
        color: Color,
        horizontal: Option<Horizontal>,
        width: usize,
    ) -> Self {
        let planes = components.len();
        // The floats after the pixels that Horizontal needs stay 0.
        let read = columns.len() + Horizontal::SLACK;
        let (raw, kept) = if horizontal.is_some() { (read, width) } else { (0, read) };
        Self {
            raw: row(planes, raw, 0.0),
            slots: [0, 1].map(|_| Slot { y: None, row: row(planes, kept, 0.0) }),
            components,
            columns,
            color,
            horizontal,
        }
    }

    /// Forgets the frame.
    pub fn reset(&mut self) {
        for slot in &mut self.slots {
            slot.y = None;
        }
    }

    /// Row `y` of `frame`.
    pub fn get(&mut self, frame: &Frame<'_>, y: usize) -> &ColorRow {
        let slot = &mut self.slots[y % 2];
        if slot.y != Some(y) {
            slot.y = Some(y);
            let target = if self.horizontal.is_some() { &mut self.raw } else { &mut slot.row };
            let n = self.columns.len();
            for (component, plane) in self.components.iter().zip(target.iter_mut()) {
                samples::read(component, frame, y, &self.columns, &mut plane[..n]);
            }
            self.color.convert(target.each_mut().map(|plane| {
                let n = n.min(plane.len());
                &mut plane[..n]
            }));
            if let Some(horizontal) = &self.horizontal {
                for c in 0..self.color.channels() {
                    horizontal.apply(&self.raw[c], &mut slot.row[c]);
                }
            }
        }
        &slot.row
    }

    /// Rows `y` and `y + 1` of `frame`.
    pub fn pair(&mut self, frame: &Frame<'_>, y: usize) -> (&ColorRow, &ColorRow) {
        self.get(frame, y);
        self.get(frame, y + 1);
        let [even, odd] = &self.slots;
        if y.is_multiple_of(2) { (&even.row, &odd.row) } else { (&odd.row, &even.row) }
    }
}
