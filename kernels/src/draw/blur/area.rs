//! Which pixels a box covers, and its cells.

use std::ops::Range;

use super::MOST_CELLS;
use crate::draw::DrawError;
use crate::draw::canvas::{Layout, Samples};
use crate::draw::record::MOST;
use crate::geometry::Rect;

/// Beyond every frame; even.
const FAR: f64 = (1_u32 << 21) as f64;
/// The least side of a cell in pixels: smaller ones would leave small boxes as they are.
const LEAST_CELL: i32 = 4;

/// A box on the frame: the kernels' `Area`. The corners are even, or the frame's edge, so that two by two pixels with their
/// chroma sample are inside or outside together.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Area {
    /// The first pixel, and the one after the last, across and down. Within the frame.
    pub from: [i32; 2],
    pub to: [i32; 2],
    /// Where the cell that holds the first pixel begins; it may be off the frame. Even.
    pub origin: [i32; 2],
    /// Cells in a row, and rows of cells.
    pub count: [i32; 2],
    /// A cell's side in pixels. Even.
    pub cell: i32,
    /// The number of the first of its cells among those of all areas.
    pub first: u32,
}
const _: () = assert!(size_of::<Area>() == 40);

impl Area {
    /// `None` where nothing of the box is on the frame. A box with a number that is not finite could be anywhere: it covers the
    /// whole frame.
    fn new(size: [i32; 2], rect: &Rect, cells: u32) -> Option<Self> {
        let finite = [rect.x, rect.y, rect.w, rect.h].iter().all(|v| v.is_finite());
        let edges = |start: f32, length: f32, size: i32| {
            let start = f64::from(start);
            let [start, end] = if finite { [start, start + f64::from(length)] } else { [0.0, size.into()] };
            // Rounded outwards to even pixels; a box without a size still covers the pixels around its place.
            let down = |v: f64| 2 * ((v.clamp(-FAR, FAR) / 2.0).floor() as i32);
            let (first, last) = (down(start.min(end)), -down(-start.max(end)));
            (first, last.max(first + 2))
        };
        let (left, right) = edges(rect.x, rect.w, size[0]);
        let (top, bottom) = edges(rect.y, rect.h, size[1]);
        let from = [left.max(0), top.max(0)];
        let to = [right.min(size[0]), bottom.min(size[1])];
        if from[0] >= to[0] || from[1] >= to[1] {
            return None;
        }
        let cells = i32::try_from(cells.clamp(1, MOST_CELLS)).unwrap_or(1);
        let side = (right - left).max(bottom - top);
        let cell = ((side + cells - 1) / cells).max(LEAST_CELL);
        let cell = cell + cell % 2;
        let origin = [(from[0] - left) / cell * cell + left, (from[1] - top) / cell * cell + top];
        let count = [0, 1].map(|axis| (to[axis] - origin[axis] + cell - 1) / cell);
        Some(Self { from, to, origin, count, cell, first: 0 })
    }

    /// How many cells it has.
    pub fn cells(&self) -> u32 {
        self.count.iter().map(|n| n.unsigned_abs()).product()
    }

    /// The samples of cell `number` along `axis`, in a plane with one sample for `step` pixels.
    pub fn samples(&self, axis: usize, number: i32, step: i32) -> Range<usize> {
        let start = self.origin[axis] + number * self.cell;
        let (start, end) = (start.max(self.from[axis]), (start + self.cell).min(self.to[axis]));
        let index = |v: i32| usize::try_from(v).unwrap_or(0);
        index(start / step)..index((end + step - 1) / step)
    }
}

/// The areas that boxes have on a frame, those with the largest cells last, and how many cells they have together.
///
/// # Errors
/// [`DrawError::BlurTooLarge`].
pub(super) fn areas(layout: &Layout, boxes: &[Rect], cells: u32) -> Result<(Vec<Area>, u32), DrawError> {
    let [width, height] = [layout.format.width, layout.format.height];
    if width.max(height) > MOST {
        return Err(DrawError::BlurTooLarge { width, height, most: MOST });
    }
    let size = [width, height].map(|v| i32::try_from(v).unwrap_or(i32::MAX));
    let mut areas: Vec<_> = boxes.iter().filter_map(|rect| Area::new(size, rect, cells)).collect();
    areas.sort_by_key(|area| area.cell);
    let mut first = 0;
    for area in &mut areas {
        area.first = first;
        first = first.saturating_add(area.cells());
    }
    Ok((areas, first))
}

/// A plane's samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub number: usize,
    /// Bytes from sample to sample.
    pub bytes: usize,
    /// The number of bytes that are colours, which come first; alpha is none.
    pub channels: usize,
    /// Which channel of a cell's colour the first byte is.
    pub channel: usize,
    /// Pixels for a sample, across and down.
    pub step: i32,
}

/// The planes of a frame.
pub(super) fn planes(samples: Samples) -> &'static [Plane] {
    const fn plane(number: usize, bytes: usize, channels: usize, channel: usize, step: i32) -> Plane {
        Plane { number, bytes, channels, channel, step }
    }
    const PACKED3: [Plane; 1] = [plane(0, 3, 3, 0, 1)];
    const PACKED4: [Plane; 1] = [plane(0, 4, 3, 0, 1)];
    const NV12: [Plane; 2] = [plane(0, 1, 1, 0, 1), plane(1, 2, 2, 1, 2)];
    const I420: [Plane; 3] = [plane(0, 1, 1, 0, 1), plane(1, 1, 1, 1, 2), plane(2, 1, 1, 2, 2)];
    match samples {
        Samples::Packed3 => &PACKED3,
        Samples::Packed4 => &PACKED4,
        Samples::Nv12 => &NV12,
        Samples::I420 => &I420,
    }
}
