//! The masks of single objects from a map that the model gives for each of them, and from prototypes that are interpolated
//! before they are compared.

use super::plan::{logit, number};
use super::prototypes::Prototypes;
use super::{Activation, SegmentError};
use crate::detect::{Extent, ObjectMaps, object_maps};
use crate::geometry::{Affine, Rect};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// An object's mask: where it is looked up among the cells of the values, and where its bytes lie, `height` rows of `width`
/// bytes, each 0 or 1, from `offset` on. An object without a mask has a width and height of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Window {
    /// Sample `x`, `y` lies at `across[0] * x + (across[1] * y + across[2])`, counted from the centre of the first cell.
    pub across: [f64; 3],
    /// The same down.
    pub down: [f64; 3],
    /// First sample across.
    pub x: u32,
    /// First sample down.
    pub y: u32,
    /// Samples across.
    pub width: u32,
    /// Samples down.
    pub height: u32,
    /// Its first byte among those of all objects.
    pub offset: u32,
    /// The number of the object's map; with prototypes, the object's number.
    pub row: u32,
}

/// A frame's objects.
#[derive(Clone, Copy, Debug)]
pub struct Instances<'a> {
    /// Their boxes, in frame pixels.
    pub boxes: &'a [Rect],
    /// The number of each box's map; empty for prototypes.
    pub rows: &'a [u32],
    /// From the input tensor's pixels to the frame's.
    pub to_frame: Affine,
    /// The frame's width and height in pixels.
    pub frame: [usize; 2],
}

/// Makes the masks of single objects: a sample a pixel of the frame or, for maps, also a sample a cell.
///
/// Values are interpolated bilinearly between the centres of cells, in float32, and beyond the outermost cells theirs are
/// repeated; a sample is 1 where the value is above the gate. Only then are objects cut out:
/// - Prototypes `[1, M, h, w]` and `M` coefficients an object, as YOLO's segmentation models encode them: the values are the
///   sums that [`Prototypes`] compares, the gate is 0, and a pixel is 0 outside of the box (`x1 <= i < x2`). That is
///   Ultralytics' `process_mask` with `upsample`, to the frame's pixels in place of the input tensor's.
/// - Maps of [`Extent::Input`], `[1, N, h, w]`, as DETR's descendants give for each query. They are not cut: rfdetr and
///   transformers keep what lies outside of the box.
/// - Maps of [`Extent::Box`], as Mask R-CNN gives for each box: around the map lies a border of zeros, one cell wide, and map
///   and border are pasted over the box, which is enlarged accordingly and rounded towards 0 to whole pixels, as
///   torchvision's `paste_masks_in_image` does.
#[derive(Clone, Debug)]
pub struct InstanceMasks {
    pub(super) source: Source,
    input: [usize; 2],
    pub(super) gate: f32,
}

/// What the values are.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Prototypes(Prototypes),
    Maps { tensor: TensorDesc, size: [usize; 2], extent: Extent, activation: Activation, threshold: f32 },
}

impl InstanceMasks {
    /// Prepares for prototypes, as [`Prototypes::new`].
    ///
    /// # Errors
    /// As there.
    pub fn of_prototypes(
        prototypes: &TensorDesc,
        input: [usize; 2],
        layout: Option<Layout>,
    ) -> Result<Self, SegmentError> {
        let source = Source::Prototypes(Prototypes::new(prototypes, input, layout)?);
        Ok(Self { source, input, gate: 0.0 })
    }

    /// Prepares for the output `maps` of a network whose input is `input` (width, height) pixels: float16 or float32,
    /// `[1, N, h, w]`, `[N, 1, h, w]` or `[N, h, w]`, of which N may be open. Values above `threshold` after `activation`
    /// are in the mask.
    ///
    /// # Errors
    /// A [`SegmentError`] that says what is wrong with `maps`, the activation or the threshold.
    pub fn of_maps(
        maps: &TensorDesc,
        input: [usize; 2],
        extent: Extent,
        activation: Activation,
        threshold: f32,
    ) -> Result<Self, SegmentError> {
        if !matches!(maps.ty, TensorType::Float32 | TensorType::Float16) {
            return Err(SegmentError::Type(maps.to_string()));
        }
        let Some(ObjectMaps { size, .. }) = object_maps(maps) else {
            return Err(SegmentError::Maps(maps.to_string()));
        };
        if input.contains(&0) {
            return Err(SegmentError::Empty(maps.to_string(), input[0], input[1]));
        }
        let gate = match activation {
            Activation::Softmax => return Err(SegmentError::Softmax(maps.to_string())),
            _ if threshold.is_nan() => return Err(SegmentError::Threshold),
            Activation::Sigmoid => logit(threshold),
            Activation::None => threshold,
        };
        Ok(Self {
            source: Source::Maps { tensor: maps.clone(), size, extent, activation, threshold },
            input,
            gate,
        })
    }

    /// Width and height of the values in cells.
    pub fn size(&self) -> [usize; 2] {
        match &self.source {
            Source::Prototypes(prototypes) => prototypes.size(),
            Source::Maps { size, .. } => *size,
        }
    }

    /// How many coefficients an object has.
    pub fn coefficients(&self) -> usize {
        match &self.source {
            Source::Prototypes(prototypes) => prototypes.coefficients(),
            Source::Maps { .. } => 0,
        }
    }

    /// Whether there is a border of zeros, one cell wide, beyond the outermost cells.
    pub(super) fn has_border(&self) -> bool {
        matches!(self.source, Source::Maps { extent: Extent::Box, .. })
    }

    /// Replaces `windows` by those of a frame's objects, whose samples are the frame's pixels, and returns how many bytes all
    /// masks have together. A box with a corner of NaN has no mask.
    ///
    /// # Errors
    /// [`SegmentError::Map`] where the tensor lies in no area of the frame.
    pub fn pixels(&self, objects: &Instances<'_>, windows: &mut Vec<Window>) -> Result<usize, SegmentError> {
        let Instances { boxes, rows, to_frame, frame } = *objects;
        let cells = self.frame_to_cells(&to_frame, frame)?;
        let whole = [[0, frame[0]], [0, frame[1]]];
        let mut bytes = 0;
        windows.clear();
        windows.extend(boxes.iter().enumerate().map(|(i, object)| {
            let row = rows.get(i).copied().unwrap_or(number(i));
            let sides = [[object.x, object.right()], [object.y, object.bottom()]];
            let axes = [0, 1];
            match &self.source {
                _ if sides.as_flattened().iter().any(|v| v.is_nan()) => {
                    Window { offset: number(bytes), row, ..Window::default() }
                }
                Source::Prototypes(_) => {
                    // Saturates.
                    let within = axes.map(|axis| sides[axis].map(|v| (v.ceil() as usize).min(frame[axis])));
                    window(cells, within, row, &mut bytes)
                }
                Source::Maps { extent: Extent::Input, .. } => window(cells, whole, row, &mut bytes),
                Source::Maps { extent: Extent::Box, size, .. } => {
                    let [across, down] = axes.map(|axis| pasted(sides[axis], size[axis], frame[axis]));
                    let places = [[across.step, 0.0, across.at], [0.0, down.step, down.at]];
                    window(places, [across.within, down.within], row, &mut bytes)
                }
            }
        }));
        Ok(bytes)
    }

    /// As [`Self::pixels`], with all cells of maps as samples: nothing is interpolated.
    pub fn cells(&self, rows: &[u32], windows: &mut Vec<Window>) -> usize {
        let [width, height] = self.size();
        let mut bytes = 0;
        windows.clear();
        let places = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        windows.extend(rows.iter().map(|row| window(places, [[0, width], [0, height]], *row, &mut bytes)));
        bytes
    }

    /// Where the centre of a pixel of the frame lies among the cells, across and down.
    fn frame_to_cells(&self, to_frame: &Affine, frame: [usize; 2]) -> Result<[[f64; 3]; 2], SegmentError> {
        let (size, input) = (self.size(), self.input);
        let Affine { scale: [sx, sy], skew: [kx, ky], offset: [ox, oy] } = *to_frame;
        let determinant = sx * sy - kx * ky;
        let line = |axis: usize, by_x: f64, by_y: f64| {
            let unit = size[axis] as f64 / input[axis] as f64 / determinant;
            let at = by_x * (0.5 - ox) + by_y * (0.5 - oy);
            [by_x * unit, by_y * unit, at * unit - 0.5]
        };
        let places = [line(0, sy, -kx), line(1, -ky, sx)];
        let known = places.as_flattened().iter().all(|v| v.is_finite());
        if known { Ok(places) } else { Err(SegmentError::Map { from: size, frame }) }
    }

    /// Writes the masks of all objects to `masks`; `coefficients` are `[n, M]`, none of maps.
    ///
    /// # Errors
    /// [`SegmentError::Changed`] where `values` is not what was announced, [`SegmentError::Instances`] where the sizes
    /// do not go together, [`SegmentError::Row`] where a map is not there.
    pub fn run(
        &self,
        values: &TensorView<'_>,
        coefficients: &[f32],
        windows: &[Window],
        masks: &mut [u8],
    ) -> Result<(), SegmentError> {
        self.check(values.name, values.ty, &values.dims, coefficients.len(), windows, masks.len())?;
        let numbers = values.to_f32();
        let [w, h] = self.size();
        let border = i64::from(self.has_border());
        let mut sums = Vec::new();
        for (i, window) in windows.iter().enumerate() {
            let out = &mut masks[window.offset as usize..][..window.width as usize * window.height as usize];
            match &self.source {
                Source::Maps { .. } => {
                    let map = &numbers[window.row as usize * w * h..][..w * h];
                    let at = |x: i64, y: i64| match (usize::try_from(x), usize::try_from(y)) {
                        (Ok(x), Ok(y)) if x < w && y < h => map[y * w + x],
                        _ => 0.0,
                    };
                    sample(window, [w, h], border, self.gate, at, out);
                }
                Source::Prototypes(prototypes) => {
                    let each = prototypes.coefficients();
                    let Some([left, top, right, bottom]) = touched(window, [w, h]) else { continue };
                    let width = right - left;
                    sums.resize(width * (bottom - top), 0.0);
                    let coefficients = &coefficients[i * each..][..each];
                    for (y, row) in (top..bottom).zip(sums.chunks_exact_mut(width)) {
                        prototypes.sums(&numbers, coefficients, y * w + left, row);
                    }
                    let at = |x: i64, y: i64| sums[(y as usize - top) * width + (x as usize - left)];
                    sample(window, [w, h], border, self.gate, at, out);
                }
            }
        }
        Ok(())
    }

    /// Checks that the values are those announced, that the windows are as valid as those of [`InstanceMasks::pixels`] or
    /// [`InstanceMasks::cells`], and that there is room for them.
    pub(super) fn check(
        &self,
        name: &str,
        ty: TensorType,
        dims: &[usize],
        coefficients: usize,
        windows: &[Window],
        room: usize,
    ) -> Result<(), SegmentError> {
        let each = self.coefficients();
        let rows = match &self.source {
            Source::Prototypes(prototypes) => {
                prototypes.announced.check(name, ty, dims)?;
                windows.len()
            }
            Source::Maps { tensor, .. } => {
                let got = TensorDesc::fixed(name, ty, dims);
                let same = ty == tensor.ty && dims.len() == tensor.dims.len();
                let fits =
                    dims.iter().zip(&tensor.dims).all(|(got, want)| want.is_none_or(|want| want == *got));
                let count = object_maps(&got).and_then(|maps| maps.rows);
                count.filter(|_| same && fits).ok_or_else(|| SegmentError::Changed {
                    got: got.to_string(),
                    declared: tensor.to_string(),
                })?
            }
        };
        if let Some(window) = windows.iter().find(|window| window.row as usize >= rows) {
            return Err(SegmentError::Row { tensor: name.to_owned(), row: window.row, rows });
        }
        let mut bytes = 0;
        let follow = windows.iter().all(|window| {
            let follows = window.offset as usize == bytes;
            bytes += window.width as usize * window.height as usize;
            follows && window.across.iter().chain(&window.down).all(|v| v.is_finite())
        });
        if follow && bytes == room && u32::try_from(bytes).is_ok() && coefficients == windows.len() * each {
            return Ok(());
        }
        Err(SegmentError::Instances { regions: windows.len(), bytes, coefficients, each, room })
    }
}

/// The window of these samples, from the first up to the last of each axis.
fn window([across, down]: [[f64; 3]; 2], within: [[usize; 2]; 2], row: u32, bytes: &mut usize) -> Window {
    let [width, height] = within.map(|[first, end]| end.saturating_sub(first));
    let (width, height) = if width == 0 || height == 0 { (0, 0) } else { (width, height) };
    let offset = number(*bytes);
    *bytes += width * height;
    let [x, y] = within.map(|[first, _]| number(first));
    Window { across, down, x, y, width: number(width), height: number(height), offset, row }
}

/// Where a map is put along one axis.
struct Pasted {
    /// The pixels, from the first up to the last.
    within: [usize; 2],
    /// Cells from pixel to pixel, and where pixel 0 lies among the cells.
    step: f64,
    at: f64,
}

/// Pastes `cells` cells and the border around them over a box from `from` to `to` in a frame of `frame` pixels.
fn pasted([from, to]: [f32; 2], cells: usize, frame: usize) -> Pasted {
    let padded = cells as f64 + 2.0;
    let (center, half) = ((to + from) * 0.5, (to - from) * 0.5 * (padded / cells as f64) as f32);
    // Saturates.
    let [first, last] = [center - half, center + half].map(|v| v as i64);
    let count = last.saturating_sub(first).saturating_add(1).max(1);
    let pixel = |v: i64| usize::try_from(v.max(0)).unwrap_or(usize::MAX).min(frame);
    let step = padded / count as f64;
    Pasted {
        within: [pixel(first), pixel(last.saturating_add(1))],
        step,
        // The cell of the border lies before the first one.
        at: (0.5 - first as f64) * step - 1.5,
    }
}

/// The cells of an image of `size` cells that a window's samples read: left, top, right, bottom. None if it has no samples.
fn touched(window: &Window, [width, height]: [usize; 2]) -> Option<[usize; 4]> {
    let Window { x, y, width: w, height: h, .. } = *window;
    if w == 0 || h == 0 {
        return None;
    }
    let corners = [(x, y), (x + w - 1, y), (x, y + h - 1), (x + w - 1, y + h - 1)];
    let span = |line: [f64; 3], size: usize| {
        let places = corners.map(|(x, y)| place(line, x, y));
        let lowest = places.into_iter().fold(f64::INFINITY, f64::min).floor();
        let highest = places.into_iter().fold(f64::NEG_INFINITY, f64::max).floor() + 1.0;
        // Saturates.
        let [lowest, highest] = [lowest, highest].map(|v| (v as usize).min(size - 1));
        (lowest, highest + 1)
    };
    let ((left, right), (top, bottom)) = (span(window.across, width), span(window.down, height));
    Some([left, top, right, bottom])
}

/// Where a sample lies among the cells, along one axis.
fn place([by_x, by_y, at]: [f64; 3], x: u32, y: u32) -> f64 {
    by_x * f64::from(x) + (by_y * f64::from(y) + at)
}

/// The two cells between whose centres a place lies, and the weight of the second.
fn taps(place: f64, size: usize, border: i64) -> (i64, i64, f32) {
    let first = place.floor();
    let weight = (place - first) as f32;
    let [low, high] = [-border as f64, (size as i64 - 1 + border) as f64];
    let cell = |v: f64| v.clamp(low, high) as i64;
    (cell(first), cell(first + 1.0), weight)
}

/// Interpolates from `a` to `b`. A value without weight does not count, even if it is NaN.
fn between(a: f32, b: f32, weight: f32) -> f32 {
    if weight == 0.0 { a } else { (1.0 - weight) * a + weight * b }
}

/// Writes the samples of a window to `out`; `at` gives a cell's value.
fn sample(
    window: &Window,
    [w, h]: [usize; 2],
    border: i64,
    gate: f32,
    at: impl Fn(i64, i64) -> f32,
    out: &mut [u8],
) {
    let Window { x, y, width, .. } = *window;
    for (row, out) in (y..).zip(out.chunks_exact_mut((width as usize).max(1))) {
        for (column, out) in (x..).zip(out) {
            let (x0, x1, wx) = taps(place(window.across, column, row), w, border);
            let (y0, y1, wy) = taps(place(window.down, column, row), h, border);
            let line = |y: i64| between(at(x0, y), at(x1, y), wx);
            let value = if wy == 0.0 { line(y0) } else { between(line(y0), line(y1), wy) };
            *out = u8::from(value > gate);
        }
    }
}
